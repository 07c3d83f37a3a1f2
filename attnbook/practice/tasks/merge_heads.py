"""The parts that heads have made, put back into one vector per position."""

import torch
from torch import Tensor

import attnbook
from attnbook.practice.example_inputs import normal
from attnbook.practice.task import Function, Task

task = Task(
    name="merge-heads",
    statement=(
        "Write `merge_heads(heads)`. `heads` has shape (batch, num_heads, num_positions, "
        "head_size). The answer has shape (batch, num_positions, num_heads · head_size) and the "
        "dtype of `heads`: at each position the numbers of the first head come first, then "
        "those of the second, and so on. The caller's tensor stays as it is, its shape included."
    ),
    starter="def merge_heads(heads):\n    ...",
)


def _as_split(batch: int, num_heads: int, num_positions: int, size: int) -> Tensor:
    """Heads that lie in memory as `split_heads` leaves them: positions first."""
    return normal(batch, num_positions, num_heads, size).transpose(1, 2)


task.case("heads as `split_heads` leaves them")(lambda: (_as_split(2, 5, 3, 7),))
task.case("heads as a matrix product makes them")(lambda: (normal(2, 5, 3, 7),))
task.case("as many heads as positions")(lambda: (_as_split(2, 3, 3, 5),))
task.case("four axes of one size")(lambda: (_as_split(3, 3, 3, 3),))
task.case("one head")(lambda: (_as_split(2, 1, 3, 5),))
task.case("heads of one number")(lambda: (_as_split(2, 5, 3, 1),))
task.case("one example, and one position")(lambda: (_as_split(1, 3, 1, 2),))
task.case("half precision")(lambda: (_as_split(2, 5, 3, 7).half(),))
task.case("double precision")(lambda: (_as_split(2, 5, 3, 7).double(),))
task.case("one example with one head")(lambda: (normal(1, 1, 3, 5),))
task.case("6 examples of 131 positions, 9 heads")(lambda: (normal(6, 9, 131, 11),))


@task.solution("it is the book's own.")
def the_package(heads: Tensor) -> Tensor:
    return attnbook.merge_heads(heads)


@task.solution("it unbinds the heads, and concatenates them along the last axis.")
def joined_end_to_end(heads: Tensor) -> Tensor:
    return torch.cat(heads.unbind(1), dim=-1)


@task.solution("it copies one head after another into its part of a new tensor.")
def head_by_head(heads: Tensor) -> Tensor:
    batch, num_heads, num_positions, size = heads.shape
    merged = heads.new_zeros(batch, num_positions, num_heads * size)
    for head in range(num_heads):
        merged[..., head * size : (head + 1) * size] = heads[:, head]
    return merged


@task.solution("number n of the answer is number n % head_size of head n // head_size.")
def looked_up(heads: Tensor) -> Tensor:
    _, num_heads, _, size = heads.shape
    number = torch.arange(num_heads * size)
    return heads.movedim(2, 1)[:, :, number // size, number % size]


@task.solution("`contiguous` copies the swapped axes to new memory, so that `view` can join them.")
def written_out_first(heads: Tensor) -> Tensor:
    batch, num_heads, num_positions, size = heads.shape
    return heads.transpose(1, 2).contiguous().view(batch, num_positions, num_heads * size)


@task.test
def test_the_heads_of_a_position_are_next_to_each_other(merge_heads: Function) -> None:
    heads = torch.tensor([[[[1.0, 2], [5, 6]], [[3, 4], [7, 8]]]])
    assert torch.equal(merge_heads(heads), torch.tensor([[[1.0, 2, 3, 4], [5, 6, 7, 8]]]))


@task.test
def test_examples_do_not_mix(merge_heads: Function) -> None:
    heads = torch.zeros(2, 3, 5, 7)
    heads[1] = 1
    assert torch.equal(merge_heads(heads).mean(dim=(1, 2)), torch.tensor([0.0, 1.0]))


@task.test
def test_an_axis_of_size_one_is_kept(merge_heads: Function) -> None:
    assert merge_heads(torch.zeros(1, 3, 1, 2)).shape == (1, 1, 6)


@task.test
def test_the_dtype_is_kept(merge_heads: Function) -> None:
    assert merge_heads(torch.zeros(2, 3, 5, 7).half()).dtype == torch.float16


@task.test
def test_the_callers_heads_keep_their_shape(merge_heads: Function) -> None:
    heads = torch.zeros(2, 3, 5, 7)
    merge_heads(heads)
    assert heads.shape == (2, 3, 5, 7)


def _sizes(heads: Tensor) -> tuple[int, int, int]:
    """The shape of the answer."""
    batch, num_heads, num_positions, size = heads.shape
    return batch, num_positions, num_heads * size


@task.bug(
    symptom="It trains, but an output holds what other positions have pooled.",
    origin="hyunwoongko/transformer#15, when the heads are merged",
    fix="swap heads and positions first: `heads.transpose(1, 2).flatten(2)`.",
)
def reshaped_without_a_swap(heads: Tensor) -> Tensor:
    """the heads are reshaped to the final shape without a swap, and positions are mixed."""
    return heads.reshape(_sizes(heads))


@task.bug(
    symptom="RuntimeError: view size is not compatible with input tensor's size and stride.",
    fix="use `reshape` or `flatten`, or `contiguous()` before `view`.",
)
def a_view_of_swapped_axes(heads: Tensor) -> Tensor:
    """`view` is used to join swapped axes, which are not contiguous in memory."""
    return heads.transpose(1, 2).view(_sizes(heads))


@task.bug(
    symptom="Weights of W_o trained elsewhere give other outputs here.",
    fix="leave head_size last when you join: (batch, num_positions, num_heads, head_size).",
)
def numbers_taken_in_turn(heads: Tensor) -> Tensor:
    """the heads' numbers alternate: the first number of each head, then the second of each."""
    return heads.permute(0, 2, 3, 1).flatten(2)


@task.bug(
    symptom="The shape is right, but positions and numbers are mixed.",
    fix="swap axes 1 and 2, heads and positions.",
)
def positions_swapped_with_numbers(heads: Tensor) -> Tensor:
    """positions are swapped with the numbers of a head, not with the heads."""
    return heads.transpose(2, 3).reshape(_sizes(heads))


@task.bug(
    symptom="What one example gets depends on the others in its batch.",
    origin="code for torch's default, `batch_first=False`",
    fix="keep the batch first: swap heads and positions only.",
)
def positions_put_before_the_batch(heads: Tensor) -> Tensor:
    """positions are put before the batch, and the reshape takes them for examples."""
    return heads.permute(2, 0, 1, 3).reshape(_sizes(heads))


@task.bug(
    symptom="Merging what was split gives the numbers of a vector in another order.",
    fix="put each head after those before it: `torch.cat([merged, head], dim=-1)`.",
)
def the_last_head_first(heads: Tensor) -> Tensor:
    """each head is put in front of those before it, so the last one comes first."""
    merged = heads[:, 0]
    for head in heads.unbind(1)[1:]:
        merged = torch.cat([head, merged], dim=-1)
    return merged


@task.bug(
    symptom="The output has only head_size numbers, which do not fit `W_o`.",
    fix="put the heads side by side: W_o mixes them afterwards.",
)
def averaged(heads: Tensor) -> Tensor:
    """the heads are averaged, not put side by side."""
    return heads.mean(dim=1)


@task.bug(
    symptom="All goes well until a batch has one example, or a text only one token.",
    fix="leave out `squeeze()`: it removes every axis of size 1.",
)
def squeezed(heads: Tensor) -> Tensor:
    """`squeeze()` removes every axis of size 1, even that of the batch."""
    return heads.transpose(1, 2).flatten(2).squeeze()


@task.bug(
    symptom="After the call, the axes of the caller's heads are swapped.",
    fix="use `transpose`, without the underscore.",
)
def swapped_in_place(heads: Tensor) -> Tensor:
    """the axes of the caller's own tensor are swapped, by `transpose_`."""
    return heads.transpose_(1, 2).flatten(2)


@task.bug(
    symptom="With a model in half precision the next matrix product raises an error about dtypes.",
    fix="make the new tensor with `heads.new_empty(…)`, or pass `dtype=heads.dtype`.",
)
def filled_into_torchs_own_dtype(heads: Tensor) -> Tensor:
    """the result is a new tensor of torch's default dtype, not of the dtype of `heads`."""
    size = heads.shape[-1]
    merged = torch.empty(_sizes(heads))
    for head, part in enumerate(heads.unbind(1)):
        merged[..., head * size : (head + 1) * size] = part
    return merged
