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


@task.solution("`contiguous` copies the swapped axes to new memory, so that `view` can join them.")
def written_out_first(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).contiguous().view(_sizes(heads))


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


task.bug(
    "reshaped without a swap",
    "the heads are reshaped to the final shape without a swap, and positions are mixed.",
    symptom="It trains, but an output holds what other positions have pooled.",
    origin="hyunwoongko/transformer#15, when the heads are merged",
    fix="swap heads and positions first: `heads.transpose(1, 2).flatten(2)`.",
)(lambda heads: heads.reshape(_sizes(heads)))

task.bug(
    "a view of swapped axes",
    "`view` is used to join swapped axes, which are not contiguous in memory.",
    symptom="RuntimeError: view size is not compatible with input tensor's size and stride.",
    fix="use `reshape` or `flatten`, or `contiguous()` before `view`.",
)(lambda heads: heads.transpose(1, 2).view(_sizes(heads)))

task.bug(
    "numbers taken in turn",
    "the heads' numbers alternate: the first number of each head, then the second of each.",
    symptom="Weights of W_o trained elsewhere give other outputs here.",
    fix="leave head_size last when you join: (batch, num_positions, num_heads, head_size).",
)(lambda heads: heads.permute(0, 2, 3, 1).flatten(2))

task.bug(
    "positions swapped with numbers",
    "positions are swapped with the numbers of a head, not with the heads.",
    symptom="The shape is right, but positions and numbers are mixed.",
    fix="swap axes 1 and 2, heads and positions.",
)(lambda heads: heads.transpose(2, 3).reshape(_sizes(heads)))

task.bug(
    "positions put before the batch",
    "positions are put before the batch, and the reshape takes them for examples.",
    symptom="What one example gets depends on the others in its batch.",
    origin="code for torch's default, `batch_first=False`",
    fix="keep the batch first: swap heads and positions only.",
)(lambda heads: heads.permute(2, 0, 1, 3).reshape(_sizes(heads)))

task.bug(
    "the last head first",
    "each head is put in front of those before it, so the last one comes first.",
    symptom="Merging what was split gives the numbers of a vector in another order.",
    fix="put each head after those before it: `torch.cat([merged, head], dim=-1)`.",
)(lambda heads: torch.cat(heads.unbind(1)[::-1], dim=-1))

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
    "the result is a new tensor of torch's default dtype, not of the dtype of `heads`.",
    symptom="With a model in half precision the next matrix product raises an error about dtypes.",
    fix="make the new tensor with `heads.new_empty(…)`, or pass `dtype=heads.dtype`.",
)(lambda heads: joined(heads, torch.empty(_sizes(heads))))
