"""Attention in which several query heads share the keys and values of one head."""

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.practice.example_inputs import normal, with_dtype
from attnbook.practice.task import Function, Law, Task


def _within_values(output: Tensor, _queries: Tensor, _keys: Tensor, values: Tensor) -> bool:
    low, high = values.amin(dim=(1, 2)) - 1e-2, values.amax(dim=(1, 2)) + 1e-2
    return bool(((output >= low[:, None, None]) & (output <= high[:, None, None])).all())


task = Task(
    name="grouped-heads",
    statement=(
        "Write `grouped_heads(queries, keys, values)`: scaled dot-product attention in which "
        "query heads share key heads. `queries` has shape (batch, num_query_heads, num_queries, "
        "key_size), `keys` (batch, num_key_heads, num_keys, key_size) and `values` (batch, "
        "num_key_heads, num_keys, value_size); num_key_heads divides num_query_heads. "
        "Neighbouring query heads share one head of keys and values: with 6 query heads and 2 "
        "key heads, query heads 0, 1 and 2 read key head 0, and 3, 4 and 5 read key head 1. "
        "Scores are divided by √key_size. The output has shape (batch, num_query_heads, "
        "num_queries, value_size) and the dtype of `queries`."
    ),
    starter="def grouped_heads(queries, keys, values):\n    ...",
    laws=(Law("Some output lies outside the range of its example's values.", _within_values),),
)


task.case("six query heads and two key heads")(
    lambda: (normal(5, 6, 3, 11), normal(5, 2, 7, 11), normal(5, 2, 7, 13))
)
task.case("six query heads and three key heads")(
    lambda: (normal(2, 6, 5, 7), normal(2, 3, 11, 7), normal(2, 3, 11, 13))
)
task.case("as many key heads as query heads")(
    lambda: (normal(2, 3, 5, 7), normal(2, 3, 11, 7), normal(2, 3, 11, 13))
)
task.case("one key head for all query heads")(
    lambda: (normal(2, 3, 5, 7), normal(2, 1, 11, 7), normal(2, 1, 11, 13))
)
task.case("axes of one size")(
    lambda: (normal(2, 4, 2, 2), normal(2, 2, 2, 2, seed=1), normal(2, 2, 2, 2, seed=2))
)
task.case("one query and one key")(
    lambda: (normal(2, 6, 1, 5), normal(2, 3, 1, 5), normal(2, 3, 1, 7))
)
task.case("scores around 1000")(
    lambda: (100 * normal(2, 4, 3, 5), 10 * normal(2, 2, 7, 5), normal(2, 2, 7, 11))
)
task.case("half precision")(
    lambda: with_dtype(torch.float16, normal(2, 6, 5, 7), normal(2, 3, 11, 7), normal(2, 3, 11, 13))
)
task.case("double precision")(
    lambda: with_dtype(torch.float64, normal(2, 6, 5, 7), normal(2, 3, 11, 7), normal(2, 3, 11, 13))
)


def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention with equally many heads, for the implementations below."""
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
    return scores.softmax(dim=-1) @ values


def group_size(queries: Tensor, keys: Tensor) -> int:
    """How many query heads share a key head."""
    return queries.shape[1] // keys.shape[1]


task.case("6 examples of 18 query heads, 9 key heads, 131 keys")(
    lambda: (normal(6, 18, 3, 5), normal(6, 9, 131, 5), normal(6, 9, 131, 7))
)


@task.solution("the book's own layer lets neighbouring query heads share a key head.")
def the_package(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return attnbook.DotProductAttention(dropout=0.0)(queries, keys, values)


@task.solution("torch's own attention groups heads with `enable_gqa=True`.")
def torch_itself(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return scaled_dot_product_attention(queries, keys, values, enable_gqa=True)


@task.solution("head by head: query head h reads key head h // group.")
def head_by_head(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    group = group_size(queries, keys)
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


@task.solution("for a key head, the queries of all heads in its group are simply more queries.")
def more_queries_for_each_key_head(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    batch, num_query_heads, num_queries, size = queries.shape
    output = attend(queries.reshape(batch, keys.shape[1], -1, size), keys, values)
    return output.reshape(batch, num_query_heads, num_queries, values.shape[-1])


@task.test
def test_neighbouring_query_heads_share_a_key_head(grouped_heads: Function) -> None:
    values = torch.tensor([10.0, 20.0]).reshape(1, 2, 1, 1)
    output = grouped_heads(torch.ones(1, 6, 1, 3), torch.ones(1, 2, 1, 3), values)
    assert output.flatten().tolist() == [10, 10, 10, 20, 20, 20]


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
def test_each_query_head_keeps_its_position(grouped_heads: Function) -> None:
    queries = torch.tensor([0.0, 100, 0, 0]).reshape(1, 4, 1, 1)
    keys = torch.tensor([1.0, 0]).reshape(1, 1, 2, 1).expand(1, 2, 2, 1)
    output = grouped_heads(
        queries, keys, torch.tensor([1.0, 0]).reshape(1, 1, 2, 1).expand_as(keys)
    )
    assert torch.allclose(output.flatten(), torch.tensor([0.5, 1, 0.5, 0.5]))


@task.bug(
    symptom="Weights of a trained model give nonsense here, though all shapes fit.",
    origin="onnx#7274",
    fix="use `repeat_interleave(group, dim=1)`: 0, 0, 0, 1, 1, 1, not 0, 1, 0, 1, 0, 1.",
)
def key_heads_tiled(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """`repeat` repeats the key heads as a whole: 0, 1, 0, 1, 0, 1."""
    group = group_size(queries, keys)
    return attend(queries, keys.repeat(1, group, 1, 1), values.repeat(1, group, 1, 1))


@task.bug(
    symptom="The attention weights are correct, but the output is not.",
    fix="repeat the values as you repeat the keys, with `repeat_interleave`.",
)
def values_in_another_order(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the keys are repeated head by head, and the values are tiled."""
    group = group_size(queries, keys)
    return attend(queries, keys.repeat_interleave(group, dim=1), values.repeat(1, group, 1, 1))


@task.bug(
    symptom="Each head attends to a few of the positions, several times.",
    origin="prime-rl#2681",
    fix="repeat along the axis of heads, `dim=1` here: positions are at `dim=2`.",
)
def repeated_along_the_positions(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """keys and values are repeated along their positions, and reshaped to fit."""
    group, num_heads = group_size(queries, keys), queries.shape[1]
    keys, values = (
        each.repeat_interleave(group, dim=2).reshape(len(each), num_heads, -1, each.shape[-1])
        for each in (keys, values)
    )
    return attend(queries, keys, values)


@task.bug(
    symptom="Key heads other than the first never learn: their gradient is 0.",
    fix="let query head h read key head h // group.",
)
def the_first_key_head_for_all(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """all query heads read the first key head, as if there were only that one."""
    return attend(queries, keys[:, :1], values[:, :1])


@task.bug(
    symptom="All key heads end up the same.",
    fix="keep the key heads separate: each serves its own group of query heads.",
)
def key_heads_averaged(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """keys and values are averaged over their heads, and all query heads read the average."""
    return attend(queries, keys.mean(dim=1, keepdim=True), values.mean(dim=1, keepdim=True))


@task.bug(
    symptom="The numbers are correct, but they are at the wrong heads.",
    fix="join (num_key_heads, group) in this order, the key head first.",
)
def output_heads_out_of_order(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the output's head axes are joined in the order (group, num_key_heads)."""
    batch, num_query_heads, num_queries, size = queries.shape
    grouped = queries.reshape(batch, keys.shape[1], -1, num_queries, size)
    output = attend(grouped, keys[:, :, None], values[:, :, None])
    return output.transpose(1, 2).reshape(batch, num_query_heads, num_queries, -1)


@task.bug(
    symptom="The weights are flatter than they should be, and even flatter with more heads.",
    origin="bert_language_understanding#9",
    fix="divide by √key_size, the size of one head's keys.",
)
def scaled_by_all_heads(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """scores are divided by the root of the size of all query heads together."""
    group = group_size(queries, keys)
    keys = keys.repeat_interleave(group, dim=1) / math.sqrt(queries.shape[1])
    return attend(queries, keys, values.repeat_interleave(group, dim=1))


@task.bug(
    symptom="Each weight is close to 0 or 1, and even closer with a larger key_size.",
    fix="divide scores by √key_size before the softmax.",
)
def not_scaled(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """scores are not divided by √key_size."""
    group = group_size(queries, keys)
    scores = queries @ keys.repeat_interleave(group, dim=1).mT
    return scores.softmax(dim=-1) @ values.repeat_interleave(group, dim=1)
