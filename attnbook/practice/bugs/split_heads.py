"""Known bugs of the task split-heads."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.split_heads import task


def _sizes(vectors: Tensor, num_heads: int) -> tuple[int, int, int, int]:
    """The shape of the answer."""
    batch, num_positions, num_hiddens = vectors.shape
    return batch, num_heads, num_positions, num_hiddens // num_heads


@task.bug(
    symptom="It trains, but a head sees some positions in full and others not at all.",
    origin="hyunwoongko/transformer#15",
    mend="reshape to (batch, num_positions, num_heads, head_size), then `transpose(1, 2)`.",
    case="five heads of seven numbers",
)
def reshaped_without_a_swap(vectors: Tensor, num_heads: int) -> Tensor:
    """the vectors are reshaped to the final shape at once, so that heads cut up positions."""
    return vectors.reshape(_sizes(vectors, num_heads))


@task.bug(
    symptom="Attention compares the heads of one position, not the positions.",
    origin="a common slip",
    mend="put the axis of heads before that of positions: `transpose(1, 2)`.",
    case="five heads of seven numbers",
)
def heads_left_behind_positions(vectors: Tensor, num_heads: int) -> Tensor:
    """the numbers are cut into heads, and the axis of heads is left behind that of positions."""
    return vectors.reshape(*vectors.shape[:2], num_heads, -1)


@task.bug(
    symptom="Weights trained elsewhere give other outputs here.",
    origin="a common slip",
    mend="let num_heads come first where the numbers are cut: (num_heads, head_size).",
    case="five heads of seven numbers",
)
def numbers_dealt_out_in_turn(vectors: Tensor, num_heads: int) -> Tensor:
    """the numbers are dealt out in turn: each head gets every num_heads-th one."""
    return vectors.reshape(*vectors.shape[:2], -1, num_heads).permute(0, 3, 1, 2)


@task.bug(
    symptom="More heads do not help, and all of them attend to the same keys.",
    origin="a common slip",
    mend="begin the part of head h at number h · head_size.",
    case="five heads of seven numbers",
)
def the_first_part_for_every_head(vectors: Tensor, num_heads: int) -> Tensor:
    """every head gets the same numbers, the first ones."""
    batch, _, num_positions, size = _sizes(vectors, num_heads)
    return vectors[:, None, :, :size].expand(batch, num_heads, num_positions, size)


@task.bug(
    symptom="The shape is right, and positions and numbers are mixed.",
    origin="a common slip",
    mend="reshape before you swap: only neighbours in the last axis belong to one head.",
    case="five heads of seven numbers",
)
def swapped_before_the_reshape(vectors: Tensor, num_heads: int) -> Tensor:
    """positions and numbers are swapped first, and the reshape then cuts up positions."""
    return vectors.transpose(1, 2).reshape(_sizes(vectors, num_heads))


@task.bug(
    symptom="What one example gets depends on the others in its batch.",
    origin="code for torch's default, `batch_first=False`",
    mend="keep the batch first, as it comes.",
    case="five heads of seven numbers",
)
def batch_taken_for_positions(vectors: Tensor, num_heads: int) -> Tensor:
    """the first axis is taken for positions and the second for the batch."""
    sizes = _sizes(vectors, num_heads)
    folded = vectors.reshape(sizes[0], -1, sizes[-1])
    return folded.transpose(0, 1).reshape(sizes)


@task.bug(
    symptom="It works with 8 heads of 8 numbers, and with no other model.",
    origin="a common slip",
    mend="`split` takes the size of a part: give it head_size, or use `chunk(num_heads)`.",
    case="five heads of seven numbers",
)
def parts_of_num_heads_numbers(vectors: Tensor, num_heads: int) -> Tensor:
    """each part has num_heads numbers, where there should be num_heads parts."""
    return torch.stack(torch.split(vectors, num_heads, dim=-1), dim=1)


@task.bug(
    symptom="With a model in half precision the next matrix product complains of two dtypes.",
    origin="a common slip",
    mend="make the new tensor with `vectors.new_empty(…)`, or pass `dtype=vectors.dtype`.",
    case="half precision",
)
def filled_into_torchs_own_dtype(vectors: Tensor, num_heads: int) -> Tensor:
    """the numbers end up in torch's own dtype, as in a new tensor that was made without one."""
    heads = torch.empty(_sizes(vectors, num_heads))
    for head, part in enumerate(vectors.chunk(num_heads, dim=-1)):
        heads[:, head] = part
    return heads


@task.bug(
    symptom="The loss falls a little and stops: only the last layers learn.",
    origin="a common slip",
    mend="work on `vectors` itself; `.data`, `.detach()`, `torch.tensor(…)` cut what flows back.",
    case="five heads of seven numbers",
)
def detached(vectors: Tensor, num_heads: int) -> Tensor:
    """the numbers are copied without their history, by `.data` say: no gradient flows back."""
    return vectors.data.reshape(*vectors.shape[:2], num_heads, -1).transpose(1, 2)
