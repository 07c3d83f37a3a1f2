"""Sines and cosines that tell positions apart."""

from __future__ import annotations

import math

import torch
from torch import Tensor

import attnbook
from attnbook.practice.task import Function, Law, Task


def _circles(encoding: Tensor, *_: int) -> bool:
    pairs = encoding[:, : encoding.shape[1] // 2 * 2].unflatten(1, (-1, 2))  # type: ignore[no-untyped-call]  # torch's own
    return bool(((pairs.double() ** 2).sum(dim=-1) - 1).abs().lt(1e-3).all())


def _begins_at_zero(encoding: Tensor, *_: int) -> bool:
    return bool((encoding[0, 0::2] == 0).all() and (encoding[0, 1::2] == 1).all())


def _exact(encoding: Tensor, num_positions: int, size: int) -> bool:
    if num_positions < 10_000:
        return True
    apart = (encoding - attnbook.sinusoidal_encoding(num_positions, size)).abs()
    return not (apart[:100].max() < 1e-4 < apart.max() < 0.1)


task = Task(
    name="sinusoidal-encoding",
    statement=(
        "Write `sinusoidal_encoding(num_positions, size)`, which takes two whole numbers and "
        "gives a tensor (num_positions, size) in single precision, torch's default. Positions "
        "count from 0. The numbers 2i and 2i + 1 of position p form a pair, for i = 0, 1, 2 and "
        "so on: the sine and the cosine of p / 10000^(2i/size). An odd size ends with a sine. "
        "Compute the angles in double precision: in single precision far positions are wrong "
        "in their third decimal."
    ),
    starter="def sinusoidal_encoding(num_positions, size):\n    ...",
    laws=(
        Law("The squares of the two numbers of some pair do not sum to 1.", _circles),
        Law("Position 0 is not 0, 1, 0, 1 and so on.", _begins_at_zero),
        Law(
            "The angles of far positions have too few digits: the numbers are a little off.", _exact
        ),
    ),
)


@task.case("seven positions")
def _() -> tuple[int, int]:
    return 7, 10


@task.case("as many positions as numbers")
def _() -> tuple[int, int]:
    return 6, 6


@task.case("one pair")
def _() -> tuple[int, int]:
    return 5, 2


@task.case("one position")
def _() -> tuple[int, int]:
    return 1, 10


@task.case("five hundred positions")
def _() -> tuple[int, int]:
    return 503, 16


@task.case("an odd size")
def _() -> tuple[int, int]:
    return 5, 7


@task.case("one number")
def _() -> tuple[int, int]:
    return 5, 1


@task.case("a hundred thousand positions")
def _() -> tuple[int, int]:
    return 100_003, 10


task.case("131 positions, 130 numbers")(lambda: (131, 130))


@task.right("it is the book's own.")
def the_package(num_positions: int, size: int) -> Tensor:
    return attnbook.sinusoidal_encoding(num_positions, size)


@task.right("it computes one column after another, sines at even places and cosines at odd ones.")
def column_by_column(num_positions: int, size: int) -> Tensor:
    positions = torch.arange(num_positions, dtype=torch.float64)
    columns = []
    for number in range(size):
        angles = positions / 10000 ** (number // 2 * 2 / size)
        columns.append(angles.cos() if number % 2 else angles.sin())
    return torch.stack(columns, dim=1).float()


@task.right("a power of 10000 is a power of e, and there is one sine more in an odd size.")
def filled_in_steps_of_two(num_positions: int, size: int) -> Tensor:
    speeds = torch.exp(torch.arange(0, size, 2).double() * (-math.log(10000) / size))
    angles = torch.outer(torch.arange(num_positions).double(), speeds)
    encoding = torch.zeros(num_positions, size)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()[:, : size // 2]
    return encoding


@task.right("a cosine is a sine that is a quarter of a turn ahead.")
def sines_only(num_positions: int, size: int) -> Tensor:
    number = torch.arange(size)
    speeds = 10000 ** -((number - number % 2).double() / size)
    angles = torch.arange(num_positions).double()[:, None] * speeds
    return torch.sin(angles + number % 2 * (math.pi / 2)).float()


@task.right("the cosine and the sine are the two parts of a number that goes round in a circle.")
def on_a_circle(num_positions: int, size: int) -> Tensor:
    speeds = 10000 ** -(torch.arange(0, size, 2).double() / size)
    angles = torch.arange(num_positions).double()[:, None] * speeds
    pairs = torch.view_as_real(torch.polar(torch.ones_like(angles), angles)).flip(-1)
    return pairs.flatten(1)[:, :size].float()


@task.test
def test_position_zero_is_zero_and_one_in_turn(encode: Function) -> None:
    assert encode(3, 6)[0].tolist() == [0, 1, 0, 1, 0, 1]


@task.test
def test_position_one_of_size_four_is_as_computed_by_hand(encode: Function) -> None:
    # 10000^(0/4) is 1, and 10000^(2/4) is 100.
    expected = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    assert torch.allclose(encode(2, 4)[1], torch.tensor(expected))


@task.test
def test_an_odd_size_ends_with_a_sine(encode: Function) -> None:
    assert encode(3, 5).shape == (3, 5)
    assert torch.isclose(encode(3, 5)[2, 4], torch.tensor(2 / 10000**0.8).sin())


@task.test
def test_a_far_position_is_exact(encode: Function) -> None:
    angle = 100_000 / 10000 ** (2 / 10)
    assert abs(encode(100_001, 10)[-1, 2].item() - math.sin(angle)) < 1e-5
