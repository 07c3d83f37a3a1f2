"""The parts that heads have made, put back into one vector per position."""

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal
from attnbook.practice.task import Function, Task

task = Task(
    name="merge-heads",
    statement=(
        "Write `merge_heads(heads)`. `heads` has shape (batch, num_heads, num_positions, "
        "head_size). The answer has shape (batch, num_positions, num_heads · head_size) and the "
        "dtype of `heads`: at each position the numbers of the first head come first, then "
        "those of the second, and so on."
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
task.case("131 positions, 9 heads")(lambda: (normal(2, 9, 131, 2),))


def _sizes(heads: Tensor) -> tuple[int, int, int]:
    """The shape of the answer."""
    batch, num_heads, num_positions, size = heads.shape
    return batch, num_positions, num_heads * size


def joined(heads: Tensor, merged: Tensor) -> Tensor:
    """Copy one head after another into a tensor."""
    size = heads.shape[-1]
    for head, part in enumerate(heads.unbind(1)):
        merged[..., head * size : (head + 1) * size] = part
    return merged


task.solution("it is the book's own.", name="the package")(attnbook.merge_heads)

task.solution(
    "it unbinds the heads, and concatenates them along the last axis.", name="joined end to end"
)(lambda heads: torch.cat(heads.unbind(1), dim=-1))


@task.solution("it copies one head after another into its part of a new tensor.")
def head_by_head(heads: Tensor) -> Tensor:
    return joined(heads, heads.new_zeros(_sizes(heads)))


@task.solution("number n of the answer is number n % head_size of head n // head_size.")
def looked_up(heads: Tensor) -> Tensor:
    size = heads.shape[-1]
    number = torch.arange(size * heads.shape[1])
    return heads.movedim(2, 1)[:, :, number // size, number % size]


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
def test_the_dtype_is_kept(merge_heads: Function) -> None:
    assert merge_heads(torch.zeros(2, 3, 5, 7).half()).dtype == torch.float16


@task.test
def test_the_callers_heads_keep_their_shape(merge_heads: Function) -> None:
    heads = torch.zeros(2, 3, 5, 7)
    merge_heads(heads)
    assert heads.shape == (2, 3, 5, 7)


task.bug(
    "a view of swapped axes",
    "`view` is used to join swapped axes, which are not contiguous in memory.",
    symptom="RuntimeError: view size is not compatible with input tensor's size and stride.",
    fix="use `reshape` or `flatten`, or `contiguous()` before `view`.",
)(lambda heads: heads.transpose(1, 2).view(_sizes(heads)))

task.bug(
    "averaged",
    "the heads are averaged, not put side by side.",
    symptom="The output has only head_size numbers, which do not fit `W_o`.",
    fix="put the heads side by side: W_o mixes them afterwards.",
)(lambda heads: heads.mean(dim=1))

task.bug(
    "squeezed",
    "`squeeze()` removes every axis of size 1, even that of the batch.",
    symptom="All goes well until a batch has one example, or a text only one token.",
    fix="leave out `squeeze()`: it removes every axis of size 1.",
)(lambda heads: heads.transpose(1, 2).flatten(2).squeeze())

task.bug(
    "swapped in place",
    "the axes of the caller's own tensor are swapped, by `transpose_`.",
    symptom="After the call, the axes of the caller's heads are swapped.",
    fix="use `transpose`, without the underscore.",
)(lambda heads: heads.transpose_(1, 2).flatten(2))

task.bug(
    "filled into torchs own dtype",
    "the result has torch's default dtype, as after `.float()` or in a new tensor without a dtype.",
    symptom="With a model in half precision the next matrix product raises an error about dtypes.",
    fix="leave the dtype as it is; make a new tensor with `heads.new_empty(…)`.",
)(lambda heads: joined(heads, torch.empty(_sizes(heads))))

task.inherit(lambda merge: merge, mistakes.merging)
