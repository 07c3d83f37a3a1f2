"""Attention in which several query heads share the keys and values of one head."""

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal, with_dtype
from attnbook.practice.reference_steps import attention
from attnbook.practice.task import Function, Law, Task


def _within_values(output: Tensor, _queries: Tensor, _keys: Tensor, values: Tensor) -> bool:
    low, high = values.amin(dim=(1, 2)) - 1e-2, values.amax(dim=(1, 2)) + 1e-2
    return bool(((output >= low[:, None, None]) & (output <= high[:, None, None])).all())


task = Task(
    name="grouped-heads",
    statement=(
        "Write `grouped_heads(queries, keys, values)`: scaled dot-product attention in which "
        "query heads share KV heads. `queries` has shape (batch, num_query_heads, num_queries, "
        "key_size), `keys` (batch, num_kv_heads, num_keys, key_size) and `values` (batch, "
        "num_kv_heads, num_keys, value_size); num_kv_heads divides num_query_heads. "
        "Neighbouring query heads share one KV head, a head of keys and values: with 6 query "
        "heads and 2 KV heads, query heads 0, 1 and 2 read KV head 0, and 3, 4 and 5 KV head 1. "
        "Scores are divided by √key_size. The output has shape (batch, num_query_heads, "
        "num_queries, value_size) and the dtype of `queries`."
    ),
    starter="def grouped_heads(queries, keys, values):\n    ...",
    laws=(Law("Some output lies outside the range of its example's values.", _within_values),),
)


Pair = tuple[int, int]


def _inputs(batch: int, heads: Pair, numbers: Pair, sizes: Pair) -> tuple[Tensor, Tensor, Tensor]:
    """Heads and numbers of queries and of keys; sizes of keys and of values."""
    queries, keys = (normal(batch, *each, sizes[0]) for each in zip(heads, numbers, strict=True))
    return queries, keys, normal(*keys.shape[:3], sizes[1])


task.case("six query heads and two KV heads")(lambda: _inputs(5, (6, 2), (3, 7), (11, 13)))
task.case("six query heads and three KV heads")(lambda: _inputs(2, (6, 3), (5, 11), (7, 13)))
task.case("as many KV heads as query heads")(lambda: _inputs(2, (3, 3), (5, 11), (7, 13)))
task.case("one KV head for all query heads")(lambda: _inputs(2, (3, 1), (5, 11), (7, 13)))
task.case("axes of one size")(
    lambda: (normal(2, 4, 2, 2), normal(2, 2, 2, 2, seed=1), normal(2, 2, 2, 2, seed=2))
)
task.case("one query and one key")(lambda: _inputs(2, (6, 3), (1, 1), (5, 7)))
task.case("scores around 1000")(
    lambda: (100 * normal(2, 4, 3, 5), 10 * normal(2, 2, 7, 5), normal(2, 2, 7, 11))
)
task.case("half precision")(lambda: with_dtype(torch.half, *_inputs(2, (6, 3), (5, 11), (7, 13))))
task.case("double precision")(
    lambda: with_dtype(torch.double, *_inputs(2, (6, 3), (5, 11), (7, 13)))
)
task.case("18 query heads, 9 KV heads, 131 keys")(lambda: _inputs(1, (18, 9), (1, 131), (2, 3)))


attend = attention()


@task.solution("the book's own layer lets neighbouring query heads share a KV head.")
def the_package(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return attnbook.DotProductAttention(dropout=0.0)(queries, keys, values)


@task.solution("torch's own attention groups heads with `enable_gqa=True`.")
def torch_itself(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return scaled_dot_product_attention(queries, keys, values, enable_gqa=True)


@task.solution("head by head: query head h reads KV head h // group.")
def head_by_head(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    group = queries.shape[1] // keys.shape[1]
    read = [
        attend(queries[:, head], keys[:, head // group], values[:, head // group])
        for head in range(queries.shape[1])
    ]
    return torch.stack(read, dim=1)


@task.solution("the query heads of a group become an axis of their own; nothing is repeated.")
def an_axis_of_groups(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    batch, num_query_heads, num_queries, size = queries.shape
    grouped = queries.reshape(batch, keys.shape[1], -1, num_queries, size)
    scores = torch.einsum("bhgqd,bhkd->bhgqk", grouped, keys) / math.sqrt(size)
    output = torch.einsum("bhgqk,bhkv->bhgqv", scores.softmax(dim=-1), values)
    return output.reshape(batch, num_query_heads, num_queries, values.shape[-1])


@task.solution("for a KV head, the queries of all heads in its group are simply more queries.")
def more_queries_for_each_kv_head(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    batch, num_query_heads, num_queries, size = queries.shape
    output = attend(queries.reshape(batch, keys.shape[1], -1, size), keys, values)
    return output.reshape(batch, num_query_heads, num_queries, values.shape[-1])


@task.test
def test_keys_are_shared_like_values(grouped_heads: Function) -> None:
    # The keys of head 0 point at position 0, those of head 1 at position 1.
    keys = torch.tensor([[[100.0], [0]], [[0], [100]]])[None]
    values = torch.tensor([[[1.0], [2]], [[3], [4]]])[None]
    output = grouped_heads(torch.ones(1, 4, 1, 1), keys, values)
    assert torch.allclose(output.flatten(), torch.tensor([1.0, 1, 4, 4]))


@task.test
def test_scores_are_divided_by_the_root_of_the_key_size(grouped_heads: Function) -> None:
    keys = torch.tensor([[[[math.log(9), 0, 0, 0], [0, 0, 0, 0]]]])
    output = grouped_heads(torch.ones(1, 2, 1, 4), keys, torch.tensor([[[[1.0], [0]]]]))
    assert torch.allclose(output, torch.tensor(0.75))  # √9 to 1


@task.test
def test_double_precision_is_not_lost(grouped_heads: Function) -> None:
    keys, values = torch.tensor([[[[0], [1e-9]]]]).double(), torch.tensor([[[[-1.0], [1]]]])
    assert (grouped_heads(torch.ones(1, 2, 1, 1).double(), keys, values.double()) > 1e-10).all()


def repeat(heads: Tensor, group: int) -> Tensor:
    """Repeat each head for the query heads of its group."""
    return heads.repeat_interleave(group, dim=1)


def tile(heads: Tensor, group: int) -> Tensor:
    """Repeat all heads as a whole: the bug."""
    return heads.repeat(1, group, 1, 1)


def in_steps(
    share: Function = repeat, share_values: Function | None = None, **steps: Function
) -> Function:
    """Correct code, of which a bug changes one step; values are shared like keys by default."""

    def written(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        group = queries.shape[1] // keys.shape[1]
        both = share(keys, group), (share_values or share)(values, group)
        output: Tensor = attention(**steps)(queries, *both)
        return output

    return written


task.bug(
    "KV heads tiled",
    "`repeat` repeats the KV heads as a whole: 0, 1, 0, 1, 0, 1.",
    symptom="Weights of a trained model give nonsense here, though all shapes fit.",
    origin="onnx#7274",
    fix="use `repeat_interleave(group, dim=1)`: 0, 0, 0, 1, 1, 1, not 0, 1, 0, 1, 0, 1.",
)(in_steps(share=tile))

task.bug(
    "values in another order",
    "the keys are repeated head by head, and the values are tiled.",
    symptom="The attention weights are correct, but the output is not.",
    fix="repeat the values as you repeat the keys, with `repeat_interleave`.",
)(in_steps(share_values=tile))

task.bug(
    "repeated along the positions",
    "keys and values are repeated along their positions, and reshaped to fit.",
    symptom="Each head attends to a few of the positions, several times.",
    origin="prime-rl#2681",
    fix="repeat along the axis of heads, `dim=1` here: positions are at `dim=2`.",
)(in_steps(share=lambda x, group: x.repeat_interleave(group, 2).reshape(len(x), -1, *x.shape[2:])))

task.bug(
    "the first KV head for all",
    "all query heads read the first KV head, as if there were only that one.",
    symptom="KV heads other than the first never learn: their gradient is 0.",
    fix="let query head h read KV head h // group.",
)(in_steps(share=lambda heads, _group: heads[:, :1]))

task.bug(
    "KV heads averaged",
    "keys and values are averaged over their heads, and all query heads read the average.",
    symptom="All KV heads end up the same.",
    fix="keep the KV heads separate: each serves its own group of query heads.",
)(in_steps(share=lambda heads, _group: heads.mean(dim=1, keepdim=True)))


@task.bug(
    symptom="The numbers are correct, but they are at the wrong heads.",
    fix="join (num_kv_heads, group) in this order, the KV head first.",
)
def output_heads_out_of_order(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the output's head axes are joined in the order (group, num_kv_heads)."""
    batch, num_query_heads, num_queries, size = queries.shape
    grouped = queries.reshape(batch, keys.shape[1], -1, num_queries, size)
    output = attend(grouped, keys[:, :, None], values[:, :, None])
    return output.transpose(1, 2).reshape(batch, num_query_heads, num_queries, -1)


task.inherit(in_steps, mistakes.score, mistakes.weighing, mistakes.pooling)
