"""Known bugs of the task sinusoidal-encoding."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.sinusoidal_encoding import task


def _positions(num_positions: int) -> Tensor:
    return torch.arange(num_positions).double()[:, None]


def _exponents(size: int) -> Tensor:
    """2i/size for each pair."""
    return torch.arange(0, size, 2).double() / size


def _interleaved(first: Tensor, second: Tensor, size: int) -> Tensor:
    """The two numbers of each pair side by side."""
    return torch.stack([first, second], dim=-1).flatten(1)[:, :size].float()


def _encoded(angles: Tensor, size: int) -> Tensor:
    return _interleaved(angles.sin(), angles.cos(), size)


@task.bug(
    symptom="All pairs of columns show the same wave.",
    origin="accepted as a rotary encoding by TorchCode's judge",
    mend="divide positions by 10000^(2i/size), which grows from pair to pair.",
    case="seven positions",
)
def one_speed_for_all_pairs(num_positions: int, size: int) -> Tensor:
    """the angle is the position itself, in all pairs."""
    return _encoded(_positions(num_positions).expand(-1, len(_exponents(size))), size)


@task.bug(
    symptom="Neighbouring positions have almost the same code.",
    origin="a common slip",
    mend="take 10000 to the power of 2i/size before you divide.",
    case="seven positions",
)
def divided_by_10000_itself(num_positions: int, size: int) -> Tensor:
    """the power is forgotten, and all positions are divided by 10000."""
    return _encoded(_positions(num_positions).expand(-1, len(_exponents(size))) / 10000, size)


@task.bug(
    symptom="Far positions look alike sooner than they should.",
    origin="a common slip",
    mend="write 10000, or 10_000, where you count zeros.",
    case="seven positions",
)
def a_zero_forgotten(num_positions: int, size: int) -> Tensor:
    """the base is 1000, not 10000."""
    return _encoded(_positions(num_positions) / 1000 ** _exponents(size), size)


@task.bug(
    symptom="Position 0 reads 1, 0, 1, 0.",
    origin="a common slip",
    mend="put sines at even places and cosines at odd ones.",
    case="seven positions",
)
def the_cosine_first(num_positions: int, size: int) -> Tensor:
    """each pair begins with its cosine."""
    angles = _positions(num_positions) / 10000 ** _exponents(size)
    return _interleaved(angles.cos(), angles.sin(), size)


@task.bug(
    symptom="A model that was trained elsewhere loses its sense of order here.",
    origin="a convention of other code",
    mend="put each sine and its cosine side by side.",
    case="seven positions",
)
def sines_and_cosines_in_halves(num_positions: int, size: int) -> Tensor:
    """all sines come first and then all cosines: right with weights trained so, not here."""
    angles = _positions(num_positions) / 10000 ** _exponents(size)
    return torch.cat([angles.sin(), angles.cos()[:, : size // 2]], dim=1).float()


@task.bug(
    symptom="The slowest wave comes back after 600 positions, and should take almost 63,000.",
    origin="a common slip",
    mend="double i in the exponent: 2i/size grows from 0 almost to 1.",
    case="seven positions",
)
def the_exponent_not_doubled(num_positions: int, size: int) -> Tensor:
    """the exponent is i/size, where i counts pairs, and not 2i/size."""
    return _encoded(_positions(num_positions) / 10000 ** (_exponents(size) / 2), size)


@task.bug(
    symptom="Most columns hardly change from one position to the next.",
    origin="a common slip",
    mend="double once: what `arange(0, size, 2)` gives is 2i already.",
    case="seven positions",
)
def the_exponent_doubled_twice(num_positions: int, size: int) -> Tensor:
    """the exponent is doubled twice: `arange(0, size, 2)` is 2i already."""
    return _encoded(_positions(num_positions) / 10000 ** (2 * _exponents(size)), size)


@task.bug(
    symptom="Moving by some positions is no longer a turn of each pair.",
    origin="a common slip",
    mend="use 2i for both numbers of a pair: `number // 2 * 2`.",
    case="seven positions",
)
def a_speed_of_its_own_for_each_number(num_positions: int, size: int) -> Tensor:
    """the cosine at place 2i + 1 uses its own place in the exponent, not 2i."""
    angles = _positions(num_positions) / 10000 ** (torch.arange(size).double() / size)
    return torch.where(torch.arange(size) % 2 == 0, angles.sin(), angles.cos()).float()


@task.bug(
    symptom="A cached decoder and a fresh one disagree by one position.",
    origin="a common slip",
    mend="count from 0: `torch.arange(num_positions)`.",
    case="seven positions",
)
def counted_from_one(num_positions: int, size: int) -> Tensor:
    """the first position is 1, not 0."""
    return _encoded((_positions(num_positions) + 1) / 10000 ** _exponents(size), size)


@task.bug(
    symptom="RuntimeError: the expanded size of the tensor must match the existing size.",
    origin="a common slip",
    mend="cut the cosines to `size // 2` columns before you write them.",
    case="an odd size",
)
def no_room_for_the_last_cosine(num_positions: int, size: int) -> Tensor:
    """as many cosines as sines are written, and an odd size has room for one less."""
    angles = _positions(num_positions) / 10000 ** _exponents(size)
    encoding = torch.zeros(num_positions, size)
    encoding[:, 0::2], encoding[:, 1::2] = angles.sin(), angles.cos()
    return encoding


@task.bug(
    symptom="Far from the beginning, two ways to compute the same position disagree.",
    origin="a common slip",
    mend="use `.double()` for positions and speeds, and `.float()` at the very end.",
    case="a hundred thousand positions",
)
def angles_in_single_precision(num_positions: int, size: int) -> Tensor:
    """the angles are computed in single precision, which has seven digits for all their turns."""
    angles = _positions(num_positions).float() / 10000 ** _exponents(size).float()
    return _encoded(angles, size)
