"""Known bugs of the task grouped-heads."""

from __future__ import annotations

import math

from torch import Tensor

from attnbook.practice.tasks.grouped_heads import attend, group_size, task


@task.bug(
    symptom="Weights of a trained model give nonsense here, though all shapes fit.",
    origin="onnx#7274",
    mend="use `repeat_interleave(group, dim=1)`: 0, 0, 0, 1, 1, 1, not 0, 1, 0, 1, 0, 1.",
    case="six query heads and two key heads",
)
def key_heads_tiled(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """`repeat` lays all key heads one after another again and again: 0, 1, 0, 1, 0, 1."""
    group = group_size(queries, keys)
    return attend(queries, keys.repeat(1, group, 1, 1), values.repeat(1, group, 1, 1))


@task.bug(
    symptom="The weights are those of the right model, and the output is not.",
    origin="a common slip",
    mend="repeat the values as you repeat the keys, with `repeat_interleave`.",
    case="six query heads and two key heads",
)
def values_in_another_order(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the keys are repeated head by head, and the values are tiled."""
    group = group_size(queries, keys)
    return attend(queries, keys.repeat_interleave(group, dim=1), values.repeat(1, group, 1, 1))


@task.bug(
    symptom="Each head sees a few of the positions, several times.",
    origin="prime-rl#2681",
    mend="repeat along the axis of heads, `dim=1` here: positions stand at `dim=2`.",
    case="six query heads and two key heads",
)
def repeated_along_the_positions(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """keys and values are repeated along their positions, and reshaped until they fit."""
    group, num_heads = group_size(queries, keys), queries.shape[1]
    keys, values = (
        each.repeat_interleave(group, dim=2).reshape(len(each), num_heads, -1, each.shape[-1])
        for each in (keys, values)
    )
    return attend(queries, keys, values)


@task.bug(
    symptom="Key heads other than the first never learn: their gradient is 0.",
    origin="a common slip",
    mend="let query head h read key head h // group.",
    case="six query heads and two key heads",
)
def the_first_key_head_for_all(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """all query heads read the first key head, as if there were only that one."""
    return attend(queries, keys[:, :1], values[:, :1])


@task.bug(
    symptom="All key heads end up alike.",
    origin="a common slip",
    mend="keep the key heads apart: each serves its own group of query heads.",
    case="six query heads and two key heads",
)
def key_heads_averaged(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """keys and values are averaged over their heads, and all query heads read the average."""
    return attend(queries, keys.mean(dim=1, keepdim=True), values.mean(dim=1, keepdim=True))


@task.bug(
    symptom="The numbers are right, and stand under the wrong heads.",
    origin="a common slip",
    mend="join (num_key_heads, group) in this order, the key head first.",
    case="six query heads and two key heads",
)
def output_heads_out_of_order(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the heads of the output are joined with the place in the group first."""
    batch, num_query_heads, num_queries, size = queries.shape
    grouped = queries.reshape(batch, keys.shape[1], -1, num_queries, size)
    output = attend(grouped, keys[:, :, None], values[:, :, None])
    return output.transpose(1, 2).reshape(batch, num_query_heads, num_queries, -1)


@task.bug(
    symptom="The weights are flatter than they should be, the more so the more heads there are.",
    origin="bert_language_understanding#9",
    mend="divide by √key_size, the size of one head's keys.",
    case="six query heads and two key heads",
)
def scaled_by_all_heads(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """scores are divided by the root of the size of all query heads together."""
    group = group_size(queries, keys)
    keys = keys.repeat_interleave(group, dim=1) / math.sqrt(queries.shape[1])
    return attend(queries, keys, values.repeat_interleave(group, dim=1))


@task.bug(
    symptom="The weights are almost 0 and 1, the more so the larger the keys.",
    origin="a common slip",
    mend="divide scores by √key_size before the softmax.",
    case="six query heads and two key heads",
)
def not_scaled(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """scores are not divided by √key_size."""
    group = group_size(queries, keys)
    scores = queries @ keys.repeat_interleave(group, dim=1).mT
    return scores.softmax(dim=-1) @ values.repeat_interleave(group, dim=1)
