"""The numbers of each vector shared out among heads."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.inputs import normal
from attnbook.practice.task import Function, Task

task = Task(
    name="split-heads",
    statement=(
        "Write `split_heads(vectors, num_heads)`. `vectors` has shape (batch, num_positions, "
        "num_hiddens), and `num_heads` divides num_hiddens. The answer has shape (batch, "
        "num_heads, num_positions, head_size), where head_size is num_hiddens / num_heads, and "
        "the dtype of `vectors`. The first head gets the first head_size numbers of each "
        "vector, the second head the next head_size numbers, and so on."
    ),
    starter="def split_heads(vectors, num_heads):\n    ...",
)


@task.case("five heads of seven numbers")
def _() -> tuple[Tensor, int]:
    return normal(2, 3, 35), 5


@task.case("as many heads as positions")
def _() -> tuple[Tensor, int]:
    return normal(2, 3, 15), 3


@task.case("as many heads as numbers in a head")
def _() -> tuple[Tensor, int]:
    return normal(2, 5, 9), 3


@task.case("one head")
def _() -> tuple[Tensor, int]:
    return normal(2, 3, 5), 1


@task.case("heads of one number")
def _() -> tuple[Tensor, int]:
    return normal(2, 3, 5), 5


@task.case("one example, and one position")
def _() -> tuple[Tensor, int]:
    return normal(1, 1, 6), 2


@task.case("vectors with their axes swapped in memory")
def _() -> tuple[Tensor, int]:
    return normal(6, 5, 3).permute(2, 1, 0), 2


@task.case("half precision")
def _() -> tuple[Tensor, int]:
    return normal(2, 3, 10).half(), 2


@task.case("double precision")
def _() -> tuple[Tensor, int]:
    return normal(2, 3, 10).double(), 2


task.case("6 examples of 131 positions, 9 heads")(lambda: (normal(6, 131, 99), 9))


@task.right("it is the book's own.")
def the_package(vectors: Tensor, num_heads: int) -> Tensor:
    return attnbook.split_heads(vectors, num_heads)


@task.right("it cuts the last axis, and stacks the pieces as a new axis behind the batch.")
def cut_and_stacked(vectors: Tensor, num_heads: int) -> Tensor:
    return torch.stack(vectors.chunk(num_heads, dim=-1), dim=1)


@task.right("it copies head after head into its place.")
def head_by_head(vectors: Tensor, num_heads: int) -> Tensor:
    batch, num_positions, num_hiddens = vectors.shape
    size = num_hiddens // num_heads
    heads = vectors.new_zeros(batch, num_heads, num_positions, size)
    for head in range(num_heads):
        heads[:, head] = vectors[..., head * size : (head + 1) * size]
    return heads


@task.right("number n of head h is number h · head_size + n of the vector, which it looks up.")
def looked_up(vectors: Tensor, num_heads: int) -> Tensor:
    numbers = torch.arange(vectors.shape[-1]).reshape(num_heads, -1)
    return vectors[..., numbers].movedim(2, 1)


@task.right("with positions last, the numbers of one head stand together, and a reshape is right.")
def positions_out_of_the_way(vectors: Tensor, num_heads: int) -> Tensor:
    batch, num_positions, _ = vectors.shape
    columns = vectors.transpose(1, 2).reshape(batch, num_heads, -1, num_positions)
    return columns.transpose(2, 3)


@task.test
def test_each_head_gets_neighbouring_numbers(split_heads: Function) -> None:
    vectors = torch.tensor([[[1.0, 2, 3, 4, 5, 6]]])
    expected = torch.tensor([[[[1.0, 2, 3]], [[4, 5, 6]]]])
    assert torch.equal(split_heads(vectors, 2), expected)


@task.test
def test_heads_come_before_positions(split_heads: Function) -> None:
    assert split_heads(torch.zeros(2, 3, 35), 5).shape == (2, 5, 3, 7)


@task.test
def test_a_position_keeps_its_place(split_heads: Function) -> None:
    vectors = torch.zeros(2, 3, 4)
    vectors[1, 2] = 1.0
    heads = split_heads(vectors, 2)
    assert (heads[1, :, 2] == 1).all()
    assert heads.sum() == 4


@task.test
def test_the_dtype_is_kept(split_heads: Function) -> None:
    assert split_heads(torch.zeros(2, 3, 4).half(), 2).dtype == torch.float16


@task.test
def test_what_flows_back_reaches_the_vectors(split_heads: Function) -> None:
    vectors = torch.zeros(2, 3, 4, requires_grad=True)
    heads = split_heads(vectors, 2)
    assert heads.requires_grad
