"""Known bugs of the task merge-heads."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.merge_heads import task


def _sizes(heads: Tensor) -> tuple[int, int, int]:
    """The shape of the answer."""
    batch, num_heads, num_positions, size = heads.shape
    return batch, num_positions, num_heads * size


@task.bug(
    symptom="It trains, but an output holds what other positions have pooled.",
    origin="hyunwoongko/transformer#15, on the way back",
    mend="swap heads and positions first: `heads.transpose(1, 2).flatten(2)`.",
    case="heads as `split_heads` leaves them",
)
def reshaped_without_a_swap(heads: Tensor) -> Tensor:
    """the heads are reshaped to the final shape at once, and positions are cut up."""
    return heads.reshape(_sizes(heads))


@task.bug(
    symptom="RuntimeError: view size is not compatible with input tensor's size and stride.",
    origin="a common slip",
    mend="use `reshape` or `flatten`, or `contiguous()` before `view`.",
    case="heads as a matrix product makes them",
)
def a_view_of_swapped_axes(heads: Tensor) -> Tensor:
    """axes that were swapped, and do not stand side by side in memory, are joined by `view`."""
    return heads.transpose(1, 2).view(_sizes(heads))


@task.bug(
    symptom="Weights of W_o trained elsewhere give other outputs here.",
    origin="a common slip",
    mend="leave head_size last when you join: (batch, num_positions, num_heads, head_size).",
    case="heads as `split_heads` leaves them",
)
def numbers_taken_in_turn(heads: Tensor) -> Tensor:
    """the heads give their numbers in turn: first the first of each head, then the second."""
    return heads.permute(0, 2, 3, 1).flatten(2)


@task.bug(
    symptom="The shape is right, and positions and numbers are mixed.",
    origin="a common slip",
    mend="swap axes 1 and 2, heads and positions.",
    case="heads as `split_heads` leaves them",
)
def positions_swapped_with_numbers(heads: Tensor) -> Tensor:
    """positions are swapped with the numbers of a head, not with the heads."""
    return heads.transpose(2, 3).reshape(_sizes(heads))


@task.bug(
    symptom="What one example gets depends on the others in its batch.",
    origin="code for torch's default, `batch_first=False`",
    mend="keep the batch first: swap heads and positions only.",
    case="heads as `split_heads` leaves them",
)
def positions_put_before_the_batch(heads: Tensor) -> Tensor:
    """positions are put before the batch, and the reshape reads them as batches."""
    return heads.permute(2, 0, 1, 3).reshape(_sizes(heads))


@task.bug(
    symptom="Merging what was split gives the numbers of a vector in another order.",
    origin="a common slip",
    mend="put each head behind those that you have: `torch.cat([merged, head], dim=-1)`.",
    case="heads as `split_heads` leaves them",
)
def the_last_head_first(heads: Tensor) -> Tensor:
    """each head is put in front of those before it, so the last one comes first."""
    merged = heads[:, 0]
    for head in heads.unbind(1)[1:]:
        merged = torch.cat([head, merged], dim=-1)
    return merged


@task.bug(
    symptom="The sizes no longer fit W_o, or heads do not help.",
    origin="a common slip",
    mend="put the heads side by side: W_o mixes them afterwards.",
    case="heads as `split_heads` leaves them",
)
def averaged(heads: Tensor) -> Tensor:
    """the heads are averaged, not put side by side."""
    return heads.mean(dim=1)


@task.bug(
    symptom="All goes well until a batch of one, or the last, single token.",
    origin="a common slip",
    mend="leave `squeeze()` out: it takes every axis of size 1 away.",
    case="one example, and one position",
)
def squeezed(heads: Tensor) -> Tensor:
    """`squeeze()` takes away every axis of size 1, the batch's too."""
    return heads.transpose(1, 2).flatten(2).squeeze()


@task.bug(
    symptom="The heads, looked at after the call, have their axes swapped.",
    origin="a common slip",
    mend="use `transpose`, without the underscore.",
    case="heads as `split_heads` leaves them",
)
def swapped_in_place(heads: Tensor) -> Tensor:
    """the axes of the caller's own tensor are swapped, by `transpose_`."""
    return heads.transpose_(1, 2).flatten(2)


@task.bug(
    symptom="With a model in half precision the next matrix product complains of two dtypes.",
    origin="a common slip",
    mend="make the new tensor with `heads.new_empty(…)`, or pass `dtype=heads.dtype`.",
    case="half precision",
)
def filled_into_torchs_own_dtype(heads: Tensor) -> Tensor:
    """the numbers end up in torch's own dtype, as in a new tensor that was made without one."""
    size = heads.shape[-1]
    merged = torch.empty(_sizes(heads))
    for head, part in enumerate(heads.unbind(1)):
        merged[..., head * size : (head + 1) * size] = part
    return merged
