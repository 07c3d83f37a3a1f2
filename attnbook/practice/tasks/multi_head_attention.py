"""Several attentions side by side, on learned projections."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import linear, scaled_dot_product_attention

import attnbook
from attnbook.practice.example_inputs import lengths, normal, with_dtype
from attnbook.practice.task import Function, Task

Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, int, Tensor | None]

task = Task(
    name="multi-head-attention",
    statement=(
        "Write `multi_head_attention(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, "
        "valid_lens=None)`. `queries` has shape (batch, num_queries, query_size), `keys` (batch, "
        "num_keys, key_size), `values` (batch, num_keys, value_size). The weights are as "
        "`nn.Linear` keeps them, (numbers out, numbers in): `W_q` (num_hiddens, query_size), "
        "`W_k` (num_hiddens, key_size), `W_v` (num_hiddens, value_size), `W_o` (num_hiddens, "
        "num_hiddens). Project queries, keys and values; split each vector into num_heads parts "
        "of head_size neighbouring numbers; let each head attend by itself, with scores divided "
        "by √head_size; put the heads side by side again, and project them with `W_o`. "
        "`valid_lens`, (batch,), says how many keys, from the first, may be seen, and None means "
        "all; whatever finite numbers the others hold have no "
        "effect. Where none may be seen, the output is "
        "0. The output has shape (batch, num_queries, num_hiddens)."
    ),
    starter=(
        "def multi_head_attention(\n"
        "    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens=None\n"
        "):\n"
        "    ..."
    ),
)


def _inputs(sizes: tuple[int, int, int], *axes: int, heads: int, valid_lens: Tensor) -> Inputs:
    """Inputs of given sizes of a query, a key and a value, and of (batch, queries, keys)."""
    batch, num_queries, num_keys, num_hiddens = axes
    weights = [
        normal(num_hiddens, size, seed=seed) / math.sqrt(size)
        for seed, size in enumerate((*sizes, num_hiddens), start=3)
    ]
    return (
        2 * normal(batch, num_queries, sizes[0]),
        2 * normal(batch, num_keys, sizes[1], seed=1),
        normal(batch, num_keys, sizes[2], seed=2),
        *weights,
        heads,
        valid_lens,
    )  # type: ignore[return-value]  # four weights


def _plain(heads: int = 5, valid_lens: Tensor | None = None) -> Inputs:
    """All axes of different sizes."""
    lens = lengths(7, 7) if valid_lens is None else valid_lens
    return _inputs((13, 17, 19), 2, 3, 7, 55, heads=heads, valid_lens=lens)


FIRST = "as many queries as keys, and all vectors of one size"


task.case(FIRST)(lambda: _inputs((15, 15, 15), 2, 7, 7, 15, heads=5, valid_lens=lengths(7, 7)))
task.case("axes of different sizes")(_plain)
task.case("no lengths")(lambda: (*_plain()[:8], None))
task.case("a length for each example")(lambda: _plain(valid_lens=lengths(2, 5)))
task.case("one head")(lambda: _plain(heads=1, valid_lens=lengths(4, 7)))
task.case("as many heads as examples")(
    lambda: _inputs((7, 7, 7), 3, 2, 5, 33, heads=3, valid_lens=lengths(1, 4, 2))
)
task.case("one query and one key")(
    lambda: _inputs((3, 5, 7), 2, 1, 1, 22, heads=2, valid_lens=lengths(1, 1))
)


@task.case("padding of 1,000,000,000,000")
def _() -> Inputs:
    queries, keys, values, *rest = _plain(valid_lens=lengths(4, 6))
    for each in (keys, values):
        each[0, 4:] *= 1e12
    return queries, keys, values, *rest  # type: ignore[return-value]  # as they were


task.case("an example that may see nothing")(lambda: _plain(valid_lens=lengths(0, 4)))
task.case("half precision")(lambda: with_dtype(torch.float16, *_plain(valid_lens=lengths(2, 5))))
task.case("double precision")(lambda: with_dtype(torch.float64, *_plain(valid_lens=lengths(2, 5))))


@task.case("a hidden score far above those that are seen")
def _() -> Inputs:
    keys = torch.tensor([[[-300.0, -300], [0, -300], [300, 300]]])
    same = torch.eye(2)
    return 300 * torch.ones(1, 1, 2), keys, normal(1, 3, 2), same, same, same, same, 1, lengths(2)


@task.case("scores of thousands that are seen", gradients=False)
def _() -> Inputs:
    queries = torch.tensor([[[300.0, 300], [-300, -300]]])
    keys = torch.tensor([[[6.0, 6], [6, 6 - 1 / 256], [-6, -6], [0, 0]]])
    same = torch.eye(2)
    return queries, keys, normal(1, 4, 2), same, same, same, same, 1, lengths(3)


task.case("6 examples of 9 queries, 131 keys, 9 heads", gradients=False)(
    lambda: _inputs((7, 10, 5), 6, 9, 131, 99, heads=9, valid_lens=lengths(131, 1, 0, 65, 129, 130))
)


def of_inputs(function: Function) -> Function:
    """Make a function of the nine arguments, which may be named, out of one of all in a row."""

    def written(  # noqa: PLR0913, PLR0917 - the statement's
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        W_q: Tensor,
        W_k: Tensor,
        W_v: Tensor,
        W_o: Tensor,
        num_heads: int,
        valid_lens: Tensor | None = None,
    ) -> Tensor:
        output: Tensor = function(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens)
        return output

    written.__name__, written.__doc__ = function.__name__, function.__doc__
    return written


def unpack(inputs: tuple[Any, ...]) -> Inputs:
    """Give the arguments of a call, with the last one by default."""
    return (*inputs, None)[:9]  # nine of them


def visible_keys(keys: Tensor, valid_lens: Tensor | None) -> Tensor:
    """True where a key is visible to all heads and queries: (batch, 1, 1, num_keys)."""
    if valid_lens is None:
        return torch.ones(len(keys), 1, 1, keys.shape[1], dtype=torch.bool)
    return (torch.arange(keys.shape[1]) < valid_lens[:, None])[:, None, None]


def split(vectors: Tensor, num_heads: int) -> Tensor:
    """Split heads."""
    return vectors.reshape(*vectors.shape[:2], num_heads, -1).transpose(1, 2)


def merge(heads: Tensor) -> Tensor:
    """Merge heads."""
    return heads.transpose(1, 2).flatten(2)


def attend_by_head(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    """Attend in each head; an empty row is zeros."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).masked_fill(~visible, 0) @ v


def in_steps(
    inputs: Inputs,
    project: Function = linear,
    split: Function = split,
    attend: Function = attend_by_head,
    merge: Function = merge,
) -> Tensor:
    """Correct code, of which a bug changes one step."""
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = unpack(inputs)
    pairs = ((queries, W_q), (keys, W_k), (values, W_v))
    q, k, v = (split(project(vectors, weight), num_heads) for vectors, weight in pairs)
    output: Tensor = project(merge(attend(q, k, v, visible_keys(keys, valid_lens))), W_o)
    return output


@task.solution("it is the book's own layer, with the given weights.")
@of_inputs
def the_package(*inputs: *Inputs) -> Tensor:
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = unpack(inputs)
    sizes = W_k.shape[1], W_q.shape[1], W_v.shape[1], W_o.shape[0], num_heads
    names = ("W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight")
    weights = dict(zip(names, (W_q, W_k, W_v, W_o), strict=True))
    layer = attnbook.MultiHeadAttention(*sizes)
    output: Tensor = functional_call(layer, weights, (queries, keys, values, valid_lens))
    return output


@task.solution("each head has its own rows of W_q, W_k and W_v, and its own columns of W_o.")
@of_inputs
def head_by_head(*inputs: *Inputs) -> Tensor:
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = unpack(inputs)
    visible = visible_keys(keys, valid_lens)[:, 0]
    size = len(W_o) // num_heads
    output = queries.new_zeros(*queries.shape[:2], len(W_o))
    for start in range(0, len(W_o), size):
        part = slice(start, start + size)
        q, k, v = queries @ W_q[part].T, keys @ W_k[part].T, values @ W_v[part].T
        output = output + attend_by_head(q, k, v, visible) @ W_o[:, part].T
    return output


@task.solution("torch's own attention takes the heads; fully masked rows are cleared after it.")
@of_inputs
def torch_itself(*inputs: *Inputs) -> Tensor:
    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        empty = ~visible.any(dim=-1, keepdim=True)
        return scaled_dot_product_attention(q, k, v, visible | empty).masked_fill(empty, 0)

    return in_steps(inputs, attend=attend)


@task.solution("each head has its own matrices, and the heads' outputs are added up.")
@of_inputs
def matrices_for_each_head(*inputs: *Inputs) -> Tensor:
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = unpack(inputs)
    pairs = ((queries, W_q), (keys, W_k), (values, W_v))
    # (batch, 1, positions, size) @ (heads, size, head_size): every pair at once
    q, k, v = (x[:, None] @ W.reshape(num_heads, -1, W.shape[1]).mT for x, W in pairs)
    heads = attend_by_head(q, k, v, visible_keys(keys, valid_lens))
    return (heads @ W_o.T.reshape(num_heads, -1, len(W_o))).sum(dim=1)


@task.solution(
    "heads are folded into the batch, and each example's mask is repeated for its heads."
)
@of_inputs
def heads_as_more_examples(*inputs: *Inputs) -> Tensor:
    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        mask = visible[:, 0].repeat_interleave(q.shape[1], dim=0)
        output = attend_by_head(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), mask)
        return output.reshape(q.shape)

    return in_steps(inputs, attend=attend)


def _call(
    attention: Function,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    num_heads: int = 2,
    valid_lens: Tensor | None = None,
    **weights: Tensor,
) -> Tensor:
    """Call it with weights that change nothing, and with no padding, unless given others."""
    same = torch.eye(queries.shape[-1])
    W_q, W_k, W_v, W_o = (weights.get(name, same) for name in ("W_q", "W_k", "W_v", "W_o"))
    lens = torch.full((len(keys),), keys.shape[1]) if valid_lens is None else valid_lens
    output: Tensor = attention(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, lens)
    return output


@task.test
def test_an_only_key_gives_its_value_projected_twice(attention: Function) -> None:
    W_v = torch.tensor([[0.0, 1], [2, 0]])
    W_o = torch.tensor([[1.0, 1], [0, 1]])
    value = torch.tensor([[[3.0, 5]]])  # (5, 6) after W_v, (11, 6) after W_o
    output = _call(attention, value, value, value, W_v=W_v, W_o=W_o)
    assert torch.allclose(output, torch.tensor([[[11.0, 6]]]))


@task.test
def test_a_position_attends_to_itself_in_every_head(attention: Function) -> None:
    queries = torch.tensor([[[100.0, 0, 100, 0], [0, 100, 0, 100]]])
    values = torch.arange(8.0).reshape(1, 2, 4)
    assert torch.allclose(_call(attention, queries, queries, values), values)


@task.test
def test_scores_are_divided_by_the_root_of_head_size(attention: Function) -> None:
    queries, values = torch.ones(1, 1, 8), torch.tensor([1.0, 0])[None, :, None].expand(1, 2, 8)
    keys = torch.tensor([math.log(9), 0, 0, 0]).repeat(1, 1, 2)  # the same in both heads
    keys = torch.cat([keys, 0 * keys], dim=1)
    assert torch.allclose(_call(attention, queries, keys, values), torch.tensor(0.75))  # √9 to 1


@task.test
def test_queries_and_keys_have_their_own_weights(attention: Function) -> None:
    queries = torch.tensor([[[0.0, 100]]])
    turned = torch.tensor([[0.0, 1], [0, 0]])  # makes (100, 0) of it: the first key
    keys = torch.eye(2)[None]
    output = _call(attention, queries, keys, keys, num_heads=1, W_q=turned)
    assert torch.allclose(output, torch.tensor([[[1.0, 0]]]))


@task.test
def test_lengths_hold_in_every_head(attention: Function) -> None:
    values = torch.tensor([1.0, 2, 3])[None, :, None].expand(2, 3, 4)
    nothing = torch.zeros(2, 3, 4)  # all scores are equal
    output = _call(attention, nothing, nothing, values, valid_lens=torch.tensor([1, 3]))
    assert torch.allclose(output[0], torch.tensor(1.0))
    assert torch.allclose(output[1], torch.tensor(2.0))


@task.test
def test_a_fully_masked_example_gets_zeros(attention: Function) -> None:
    ones = torch.ones(2, 3, 4)
    output = _call(attention, ones, ones, ones, valid_lens=torch.tensor([0, 3]))
    assert (output[0] == 0).all()


@task.bug(
    symptom="The weights are flatter than they should be, and even flatter with more heads.",
    origin="bert_language_understanding#9",
    fix="divide by the root of head_size: a score is the sum of head_size products.",
)
@of_inputs
def scaled_by_the_whole_width(*inputs: *Inputs) -> Tensor:
    """scores are divided by √num_hiddens, the width of all heads together."""
    return in_steps(
        inputs, attend=lambda q, *rest: attend_by_head(q / math.sqrt(q.shape[1]), *rest)
    )


@task.bug(
    symptom="Each head attends to almost one key only, and even more so with larger heads.",
    fix="divide the scores of a head by the root of head_size, before the softmax.",
)
@of_inputs
def not_scaled(*inputs: *Inputs) -> Tensor:
    """scores are not divided by √head_size."""
    return in_steps(
        inputs, attend=lambda q, *rest: attend_by_head(q * math.sqrt(q.shape[-1]), *rest)
    )


@task.bug(
    symptom="All weights are nearly equal, and even more so with larger heads.",
    fix="take the root of head_size.",
)
@of_inputs
def root_forgotten(*inputs: *Inputs) -> Tensor:
    """scores are divided by head_size, without the root."""
    return in_steps(
        inputs, attend=lambda q, *rest: attend_by_head(q / math.sqrt(q.shape[-1]), *rest)
    )


@task.bug(
    symptom="It trains, but a head gets some positions in full and others not at all.",
    origin="hyunwoongko/transformer#15",
    fix="reshape to (batch, num_positions, num_heads, head_size), then `transpose(1, 2)`.",
)
@of_inputs
def split_by_a_reshape(*inputs: *Inputs) -> Tensor:
    """heads are split by one reshape, without a swap of axes, so that positions are mixed."""
    return in_steps(inputs, split=lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1))


@task.bug(
    symptom="It trains, but an output holds what other queries have pooled.",
    origin="hyunwoongko/transformer#15, when the heads are merged",
    fix="swap heads and queries before the reshape: `heads.transpose(1, 2).flatten(2)`.",
)
@of_inputs
def merged_by_a_reshape(*inputs: *Inputs) -> Tensor:
    """heads are merged by one reshape, without a swap of axes."""
    return in_steps(inputs, merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1))


@task.bug(
    symptom="It trains, but each head attends only within its own part of the positions.",
    origin="hyunwoongko/transformer#15",
    fix="swap positions and heads with `transpose(1, 2)`, after the first reshape and before "
    "the last one.",
)
@of_inputs
def split_and_merged_by_reshapes(*inputs: *Inputs) -> Tensor:
    """heads are split by one reshape and merged by another, and nothing is ever swapped."""
    return in_steps(
        inputs,
        split=lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1),
        merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
    )


@task.bug(
    symptom="`W_o` never learns.",
    fix="project the merged heads with `W_o`: nothing else mixes them.",
)
@of_inputs
def without_an_output_projection(*inputs: *Inputs) -> Tensor:
    """`W_o` is forgotten."""
    return in_steps((*inputs[:6], torch.eye(len(inputs[6]), dtype=inputs[6].dtype), *inputs[7:]))


@task.bug(
    symptom="`W_v` never learns, and values of another size than keys do not fit.",
    fix="project values with `W_v`.",
)
@of_inputs
def values_projected_by_W_k(*inputs: *Inputs) -> Tensor:
    """the values are projected with `W_k`, like the keys."""
    return in_steps((*inputs[:5], inputs[4], *inputs[6:]))


@task.bug(
    symptom="All is well until queries and keys differ in size: then it crashes.",
    origin="the book's own first draft",
    fix="use `W_q` for queries, and `W_k` for keys.",
)
@of_inputs
def W_q_and_W_k_exchanged(*inputs: *Inputs) -> Tensor:
    """`W_k` is applied to the queries, and `W_q` to the keys."""
    return in_steps((*inputs[:3], inputs[4], inputs[3], *inputs[5:]))


@task.bug(
    symptom="A trained layer's weights give other outputs here, or do not fit.",
    fix="transpose: `vectors @ W.T`, as `nn.Linear` does.",
)
@of_inputs
def weights_not_transposed(*inputs: *Inputs) -> Tensor:
    """the weights are not transposed: `vectors @ W`."""
    return in_steps(inputs, project=torch.matmul)


@task.bug(
    symptom="A query's weights do not sum to 1 within a head.",
    origin="a common mistake: `softmax(dim=1)`, left from before there were heads",
    fix="take the softmax over the keys: `dim=-1`.",
)
@of_inputs
def softmax_over_the_heads(*inputs: *Inputs) -> Tensor:
    """the softmax is taken over the heads."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return scores.softmax(dim=1).masked_fill(~visible, 0) @ v

    return in_steps(inputs, attend=attend)


@task.bug(
    symptom="What one example gets depends on the others in its batch.",
    origin="torch's default, `batch_first=False`",
    fix="keep the batch first: the axis of positions is the one before the last.",
)
@of_inputs
def attention_over_the_batch(*inputs: *Inputs) -> Tensor:
    """the first axis is taken for positions, so that examples attend to one another."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        q, k, v = (each.transpose(0, 2) for each in (q, k, v))
        return attend_by_head(q, k, v, visible.transpose(0, 3)).transpose(0, 2)

    return in_steps(inputs, attend=attend)


@task.bug(
    symptom="Outputs change with what is in the padding.",
    fix="hide the keys from valid_lens on, in every head.",
)
@of_inputs
def padding_not_hidden(*inputs: *Inputs) -> Tensor:
    """valid_lens is never used."""
    return in_steps(
        inputs, attend=lambda q, k, v, mask: attend_by_head(q, k, v, torch.ones_like(mask))
    )


@task.bug(
    symptom="Some heads attend to padding, and others to too few keys.",
    fix="use `repeat_interleave(num_heads)`: the heads of one example are together.",
)
@of_inputs
def lengths_tiled(*inputs: *Inputs) -> Tensor:
    """heads are folded into the batch, and lengths are tiled: a, b, a, b, instead of a, a, b, b."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        mask = visible[:, 0].repeat(q.shape[1], 1, 1)
        output = attend_by_head(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), mask)
        return output.reshape(q.shape)

    return in_steps(inputs, attend=attend)


@task.bug(
    symptom="An empty example's output is the mean of its padding.",
    origin="Dive into Deep Learning's masked softmax",
    fix="clear the weights of padding after the softmax.",
)
@of_inputs
def an_empty_row_pools_padding(*inputs: *Inputs) -> Tensor:
    """all padding gets the same finite score, so a fully masked row attends to it evenly."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return scores.masked_fill(~visible, torch.finfo(scores.dtype).min).softmax(dim=-1) @ v

    return in_steps(inputs, attend=attend)
