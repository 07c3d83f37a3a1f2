"""Several attentions side by side, on learned projections."""

import math

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import linear, scaled_dot_product_attention

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal, with_dtype
from attnbook.practice.reference_steps import attention, visible_keys
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
        "all; whatever finite numbers the others hold have no effect. Where none may be seen, the "
        "output is 0. The output has shape (batch, num_queries, num_hiddens)."
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
    return _inputs((6, 8, 9), 2, 3, 7, 20, heads=heads, valid_lens=lens)


FIRST = "as many queries as keys, and all vectors of one size"


task.case(FIRST)(lambda: _inputs((15, 15, 15), 2, 7, 7, 15, heads=5, valid_lens=lengths(7, 7)))
task.case("axes of different sizes")(_plain)
task.case("no lengths")(lambda: (*_plain()[:8], None))
task.case("a length for each example")(lambda: _plain(valid_lens=lengths(2, 5)))
task.case("one head")(lambda: _plain(heads=1, valid_lens=lengths(4, 7)))
task.case("as many heads as examples")(
    lambda: _inputs((7, 7, 7), 3, 2, 5, 33, heads=3, valid_lens=lengths(1, 4, 2))
)


@task.case("one query and one key, which scores 0")
def _() -> Inputs:
    queries, *others = _inputs((3, 5, 7), 2, 1, 1, 22, heads=2, valid_lens=lengths(1, 1))
    return 0 * queries, *others  # type: ignore[return-value]  # as they were


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


task.case("2 examples of one query, 257 keys, 9 heads", gradients=False)(
    lambda: _inputs((2, 3, 2), 2, 1, 257, 9, heads=9, valid_lens=lengths(257, 130))
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


def split(vectors: Tensor, num_heads: int) -> Tensor:
    """Split heads."""
    return vectors.reshape(*vectors.shape[:2], num_heads, -1).transpose(1, 2)


def merge(heads: Tensor) -> Tensor:
    """Merge heads."""
    return heads.transpose(1, 2).flatten(2)


attend_by_head = attention()


def in_steps(
    weights: Function = lambda *matrices: matrices,
    project: Function = linear,
    split: Function = split,
    attend: Function | None = None,
    merge: Function = merge,
    **steps: Function,
) -> Function:
    """Correct code, of which a bug changes one step."""
    of_heads = attend or attention(**steps)

    @of_inputs
    def written(*inputs: *Inputs) -> Tensor:
        queries, keys, values, *matrices, num_heads, valid_lens = inputs
        W_q, W_k, W_v, W_o = weights(*matrices)
        pairs = ((queries, W_q), (keys, W_k), (values, W_v))
        q, k, v = (split(project(vectors, weight), num_heads) for vectors, weight in pairs)
        visible = visible_keys(valid_lens, keys.mT)[:, None]
        output: Tensor = project(merge(of_heads(q, k, v, visible)), W_o)
        return output

    return written


@task.solution("it is the book's own layer, with the given weights.")
@of_inputs
def the_package(*inputs: *Inputs) -> Tensor:
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = inputs
    sizes = W_k.shape[1], W_q.shape[1], W_v.shape[1], W_o.shape[0], num_heads
    names = ("W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight")
    weights = dict(zip(names, (W_q, W_k, W_v, W_o), strict=True))
    layer = attnbook.MultiHeadAttention(*sizes)
    output: Tensor = functional_call(layer, weights, (queries, keys, values, valid_lens))
    return output


@task.solution("each head has its own rows of W_q, W_k and W_v, and its own columns of W_o.")
@of_inputs
def head_by_head(*inputs: *Inputs) -> Tensor:
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = inputs
    visible = visible_keys(valid_lens, keys.mT)
    size = len(W_o) // num_heads
    output = queries.new_zeros(*queries.shape[:2], len(W_o))
    for start in range(0, len(W_o), size):
        part = slice(start, start + size)
        q, k, v = queries @ W_q[part].T, keys @ W_k[part].T, values @ W_v[part].T
        output = output + attend_by_head(q, k, v, visible) @ W_o[:, part].T
    return output


def _torch_itself(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    empty = ~visible.any(dim=-1, keepdim=True)
    return scaled_dot_product_attention(q, k, v, visible | empty).masked_fill(empty, 0)


def _folded(repeat: Function) -> Function:
    """Fold heads into the batch, and repeat masks for them."""

    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        mask = repeat(visible[:, 0], q.shape[1])
        output = attend_by_head(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), mask)
        return output.reshape(q.shape)

    return in_steps(attend=attend)


task.solution(
    "torch's own attention takes the heads; fully masked rows are cleared after it.",
    name="torch itself",
)(in_steps(attend=_torch_itself))


@task.solution("each head has its own matrices, and the heads' outputs are added up.")
@of_inputs
def matrices_for_each_head(*inputs: *Inputs) -> Tensor:
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = inputs
    pairs = ((queries, W_q), (keys, W_k), (values, W_v))
    # (batch, 1, positions, size) @ (heads, size, head_size): every pair at once
    q, k, v = (x[:, None] @ W.reshape(num_heads, -1, W.shape[1]).mT for x, W in pairs)
    heads = attend_by_head(q, k, v, visible_keys(valid_lens, keys.mT)[:, None])
    return (heads @ W_o.T.reshape(num_heads, -1, len(W_o))).sum(dim=1)


task.solution(
    "heads are folded into the batch, and each example's mask is repeated for its heads.",
    name="heads as more examples",
)(_folded(lambda mask, heads: mask.repeat_interleave(heads, dim=0)))


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
    queries = ones.clone().requires_grad_()
    output = _call(attention, queries, ones, ones, valid_lens=torch.tensor([0, 3]))
    assert (output[0] == 0).all()
    (flow,) = torch.autograd.grad(output.sum(), queries)
    assert flow.isfinite().all()


@task.test
def test_padding_weighs_nothing_however_low_the_scores_are(attention: Function) -> None:
    queries, keys = torch.full((1, 1, 2), 200.0), torch.tensor([[[-100.0, -100], [0, 0]]])
    output = _call(attention, queries, keys, keys + 1, valid_lens=torch.tensor([1]))
    assert torch.allclose(output, torch.tensor(-99.0))


@task.test
def test_double_precision_is_not_lost(attention: Function) -> None:
    one = torch.ones(1, 1, 1).double()
    keys, values = torch.tensor([[[0], [1e-9]]]).double(), torch.tensor([[[-1.0], [1]]]).double()
    same = one[0]
    assert attention(one, keys, values, same, same, same, same, 1) > 1e-10


task.bug(
    "split and merged by reshapes",
    "heads are split by one reshape and merged by another, and nothing is ever swapped.",
    symptom="It trains, but each head attends only within its own part of the positions.",
    origin="hyunwoongko/transformer#4",
    fix="swap positions and heads with `transpose(1, 2)`, after the first reshape and before "
    "the last one.",
)(
    in_steps(
        split=mistakes.splitting.bugs["split by a reshape"].function,
        merge=mistakes.merging.bugs["merged by a reshape"].function,
    )
)

task.bug(
    "without an output projection",
    "`W_o` is forgotten.",
    symptom="`W_o` never learns.",
    fix="project the merged heads with `W_o`: nothing else mixes them.",
)(in_steps(weights=lambda *W: (*W[:3], torch.eye(len(W[3])).to(W[3]))))

task.bug(
    "values projected by W k",
    "the values are projected with `W_k`, like the keys.",
    symptom="`W_v` never learns, and values of another size than keys do not fit.",
    fix="project values with `W_v`.",
)(in_steps(weights=lambda W_q, W_k, _W_v, W_o: (W_q, W_k, W_k, W_o)))

task.bug(
    "W q and W k exchanged",
    "`W_k` is applied to the queries, and `W_q` to the keys.",
    symptom="All is well until queries and keys differ in size: then it crashes.",
    origin="the book's own first draft",
    fix="use `W_q` for queries, and `W_k` for keys.",
)(in_steps(weights=lambda W_q, W_k, W_v, W_o: (W_k, W_q, W_v, W_o)))

task.bug(
    "weights not transposed",
    "the weights are not transposed: `vectors @ W`.",
    symptom="A trained layer's weights give other outputs here, or do not fit.",
    fix="transpose: `vectors @ W.T`, as `nn.Linear` does.",
)(in_steps(project=torch.matmul))


def _attend_over_the_batch(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    q, k, v = (each.transpose(0, 2) for each in (q, k, v))
    return attend_by_head(q, k, v, visible.transpose(0, 3)).transpose(0, 2)


task.bug(
    "attention over the batch",
    "the first axis is taken for positions, so that examples attend to one another.",
    symptom="What one example gets depends on the others in its batch.",
    origin="torch's default, `batch_first=False`",
    fix="keep the batch first: the axis of positions is the one before the last.",
)(in_steps(attend=_attend_over_the_batch))

task.bug(
    "lengths tiled",
    "heads are folded into the batch, and lengths are tiled: a, b, a, b, instead of a, a, b, b.",
    symptom="Some heads attend to padding, and others to too few keys.",
    fix="use `repeat_interleave(num_heads)`: the heads of one example are together.",
)(_folded(lambda mask, heads: mask.repeat(heads, 1, 1)))

task.inherit(
    in_steps,
    *mistakes.ATTENTION,
    mistakes.splitting,
    mistakes.merging,
    without=(*mistakes.OF_ROWS, "root of the value size"),
)
