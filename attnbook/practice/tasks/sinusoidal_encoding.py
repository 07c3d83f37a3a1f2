"""Sines and cosines that distinguish positions."""

import math

import torch
from torch import Tensor

import attnbook
from attnbook.practice.list_task import ListTask
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
        Law("The encoding of position 0 is not 0, 1, 0, 1 and so on.", _begins_at_zero),
        Law(
            "The angles of far positions have too few digits: the numbers are a little off.", _exact
        ),
    ),
)

task.case("seven positions")(lambda: (7, 10))
task.case("as many positions as numbers")(lambda: (6, 6))
task.case("one pair")(lambda: (5, 2))
task.case("one position")(lambda: (1, 10))
task.case("five hundred positions")(lambda: (503, 16))
task.case("an odd size")(lambda: (5, 7))
task.case("one number")(lambda: (5, 1))
task.case("fifty thousand positions")(lambda: (50_021, 4))
task.case("131 positions, 130 numbers")(lambda: (131, 130))


def _positions(num_positions: int) -> Tensor:
    return torch.arange(num_positions).double()[:, None]


def _exponents(size: int) -> Tensor:
    """2i/size for each pair."""
    return torch.arange(0, size, 2).double() / size


@task.solution("it is the book's own.")
def the_package(num_positions: int, size: int) -> Tensor:
    return attnbook.sinusoidal_encoding(num_positions, size)


@task.solution("it goes column by column, sines at even indices and cosines at odd ones.")
def column_by_column(num_positions: int, size: int) -> Tensor:
    columns = []
    for number in range(size):
        angles = _positions(num_positions) / 10000 ** (number // 2 * 2 / size)
        columns.append(angles.cos() if number % 2 else angles.sin())
    return torch.hstack(columns).float()


@task.solution(
    "a power of 10000 is a power of e; with an odd size there is one more sine than cosines."
)
def filled_in_steps_of_two(num_positions: int, size: int) -> Tensor:
    speeds = torch.exp(torch.arange(0, size, 2).double() * (-math.log(10000) / size))
    angles = torch.outer(torch.arange(num_positions).double(), speeds)
    encoding = torch.zeros(num_positions, size)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()[:, : size // 2]
    return encoding


@task.solution("a cosine is a sine that is a quarter of a turn ahead.")
def sines_only(num_positions: int, size: int) -> Tensor:
    number = torch.arange(size)
    speeds = 10000 ** -((number - number % 2).double() / size)
    angles = _positions(num_positions) * speeds
    return torch.sin(angles + number % 2 * (math.pi / 2)).float()


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


def _encoded(
    angles: Tensor, size: int, first: Function = torch.sin, second: Function = torch.cos
) -> Tensor:
    """The two numbers of each pair side by side."""
    return torch.stack([first(angles), second(angles)], dim=-1).flatten(1)[:, :size]


def in_steps(
    angles_of: Function = lambda positions, exponents: positions / 10000**exponents,
    encode: Function = _encoded,
) -> Function:
    """Correct code, of which a bug changes one step."""
    return lambda num_positions, size: encode(
        angles_of(_positions(num_positions), _exponents(size)), size
    ).float()


task.bug(
    "one speed for all pairs",
    "the angle is the position itself, in all pairs.",
    symptom="All pairs of columns show the same wave.",
    origin="accepted as a rotary encoding by TorchCode's judge",
    fix="divide positions by 10000^(2i/size), which grows from pair to pair.",
)(in_steps(lambda positions, exponents: positions.expand(-1, len(exponents))))

task.bug(
    "divided by 10000 itself",
    "the exponent is missing, and all positions are divided by 10000.",
    symptom="Neighbouring positions have almost the same encoding.",
    fix="take 10000 to the power of 2i/size before you divide.",
)(in_steps(lambda positions, exponents: positions.expand(-1, len(exponents)) / 10000))

task.bug(
    "a zero forgotten",
    "the base is 1000, not 10000.",
    symptom="Distant positions look the same sooner than they should.",
    fix="write 10000, or 10_000, whose zeros are easier to count.",
)(in_steps(lambda positions, exponents: positions / 1000**exponents))

task.bug(
    "the cosine first",
    "each pair begins with its cosine.",
    symptom="Position 0 reads 1, 0, 1, 0.",
    fix="put sines at even indices and cosines at odd ones.",
)(in_steps(encode=lambda angles, size: _encoded(angles, size, torch.cos, torch.sin)))

task.bug(
    "sines and cosines in halves",
    "all sines come before all cosines: right for weights that were trained so, but not here.",
    symptom="A model that was trained elsewhere confuses positions here.",
    origin="a convention of other code",
    fix="put each sine and its cosine side by side.",
)(in_steps(encode=lambda angles, size: torch.hstack([angles.sin(), angles.cos()[:, : size // 2]])))

task.bug(
    "the exponent not doubled",
    "the exponent is i/size, where i counts pairs, and not 2i/size.",
    symptom="For large sizes, the slowest wave repeats after 600 positions, not almost 63,000.",
    fix="double i in the exponent: 2i/size grows from 0 almost to 1.",
)(in_steps(lambda positions, exponents: positions / 10000 ** (exponents / 2)))

task.bug(
    "the exponent doubled twice",
    "the exponent is doubled twice: `arange(0, size, 2)` is 2i already.",
    symptom="Most columns hardly change from one position to the next.",
    fix="double once: what `arange(0, size, 2)` gives is 2i already.",
)(in_steps(lambda positions, exponents: positions / 10000 ** (2 * exponents)))


@task.bug(
    symptom="A shift by some positions no longer turns each pair by an angle.",
    fix="use 2i for both numbers of a pair: `number // 2 * 2`.",
)
def a_speed_of_its_own_for_each_number(num_positions: int, size: int) -> Tensor:
    """the cosine at index 2i + 1 uses its own index in the exponent, not 2i."""
    angles = _positions(num_positions) / 10000 ** (torch.arange(size).double() / size)
    return torch.where(torch.arange(size) % 2 == 0, angles.sin(), angles.cos()).float()


task.bug(
    "counted from one",
    "the first position is 1, not 0.",
    symptom="A decoder with a cache and one without it differ by one position.",
    fix="count from 0: `torch.arange(num_positions)`.",
)(in_steps(lambda positions, exponents: (positions + 1) / 10000**exponents))


@task.bug(
    symptom="RuntimeError: the expanded size of the tensor must match the existing size.",
    fix="cut the cosines to `size // 2` columns before you write them.",
)
def no_room_for_the_last_cosine(num_positions: int, size: int) -> Tensor:
    """as many cosines as sines are written, but an odd size has room for one cosine less."""
    angles = _positions(num_positions) / 10000 ** _exponents(size)
    encoding = torch.zeros(num_positions, size)
    encoding[:, 0::2], encoding[:, 1::2] = angles.sin(), angles.cos()
    return encoding


task.bug(
    "angles in single precision",
    "the angles are computed in single precision: seven digits are too few for large angles.",
    symptom="Far from the beginning, two ways to compute the same position disagree.",
    fix="use `.double()` for positions and speeds, and `.float()` at the very end.",
)(in_steps(lambda positions, exponents: positions.float() / 10000 ** exponents.float()))


# On plain lists

Row = list[float]


def _encoded_of_lists(angles: Row, size: int) -> Row:
    """The sine and the cosine of each angle, cut to a size."""
    return [turn(angle) for angle in angles for turn in (math.sin, math.cos)][:size]


by_hand = ListTask(
    name="sinusoidal-encoding-by-hand",
    in_torch=task,
    statement=(
        "Write `encoding(position, size)`: it takes two whole numbers, where positions count from "
        "0, and returns a list of `size` numbers. These form pairs, which count from 0 as well. "
        "Pair i holds the sine and then the cosine of `position / 10000**(2 * i / size)`, side by "
        "side. An odd size ends with a sine."
    ),
    starter="import math\n\ndef encoding(position, size):\n    ...",
)

by_hand.case("position 3, six numbers")(lambda: (3, 6))
by_hand.case("position 0")(lambda: (0, 4))
by_hand.case("an odd size")(lambda: (2, 3))
by_hand.case("one number")(lambda: (1, 1))
by_hand.case("position 1000")(lambda: (1000, 4))
by_hand.case("12 numbers")(lambda: (7, 12))


@by_hand.solution("each number belongs to pair `number // 2`; sines and cosines alternate.")
def number_by_number(position: int, size: int) -> Row:
    numbers = []
    for number in range(size):
        angle = position / 10000 ** (2 * (number // 2) / size)
        numbers.append(math.sin(angle) if number % 2 == 0 else math.cos(angle))
    return numbers


@by_hand.solution("it goes in steps of two, and cuts off the last cosine of an odd size.")
def in_steps_of_two(position: int, size: int) -> Row:
    numbers: Row = []
    for even in range(0, size, 2):
        angle = position / 10000 ** (even / size)
        numbers += [math.sin(angle), math.cos(angle)]
    return numbers[:size]


@by_hand.solution("powers of 10000 are powers of e; a cosine is a sine a quarter turn ahead.")
def sines_only_by_hand(position: int, size: int) -> Row:
    numbers = []
    for number in range(size):
        speed = math.exp(-math.log(10000) * (number - number % 2) / size)
        numbers.append(math.sin(position * speed + number % 2 * math.pi / 2))
    return numbers


@by_hand.bug(fix="divide the position by `10000**(2 * i / size)`, which grows from pair to pair.")
def one_speed_for_all_pairs_by_hand(position: int, size: int) -> Row:
    """all angles are the position itself: it is divided by nothing, or by 1 because of a `//`."""
    return _encoded_of_lists([float(position)] * size, size)


@by_hand.bug(fix="take 10000 to the power of `2 * i / size` before you divide.")
def divided_by_10000_itself_by_hand(position: int, size: int) -> Row:
    return _encoded_of_lists([position / 10000] * size, size)


@by_hand.bug()
def a_zero_forgotten_by_hand(position: int, size: int) -> Row:
    return _encoded_of_lists([position / 1000 ** (2 * i / size) for i in range(size)], size)


@by_hand.bug(fix="put sines at the indices 0, 2, 4 and cosines at 1, 3, 5.")
def the_cosine_first_by_hand(position: int, size: int) -> Row:
    angles = [position / 10000 ** (2 * i / size) for i in range(size)]
    return [turn(angle) for angle in angles for turn in (math.cos, math.sin)][:size]


@by_hand.bug()
def sines_and_cosines_in_halves_by_hand(position: int, size: int) -> Row:
    numbers = _encoded_of_lists([position / 10000 ** (2 * i / size) for i in range(size)], size)
    return numbers[0::2] + numbers[1::2]


@by_hand.bug(fix="double i in the exponent: `2 * i / size` grows from 0 almost to 1.")
def the_exponent_not_doubled_by_hand(position: int, size: int) -> Row:
    return _encoded_of_lists([position / 10000 ** (i / size) for i in range(size)], size)


@by_hand.bug(fix="let i count pairs, 0, 1, 2: an index that counts in steps of two is 2i already.")
def the_exponent_doubled_twice_by_hand(position: int, size: int) -> Row:
    """the exponent is 4i/size: an index in steps of two is 2i already, and is doubled again."""
    return _encoded_of_lists([position / 10000 ** (4 * i / size) for i in range(size)], size)


@by_hand.bug(fix="use one angle for both numbers of a pair: i is `number // 2`.")
def a_speed_of_its_own_for_each_number_by_hand(position: int, size: int) -> Row:
    angles = [position / 10000 ** (number / size) for number in range(size)]
    return [math.cos(a) if number % 2 else math.sin(a) for number, a in enumerate(angles)]


@by_hand.bug(fix="take the position as it comes: it counts from 0 already.")
def counted_from_one_by_hand(position: int, size: int) -> Row:
    return _encoded_of_lists([(position + 1) / 10000 ** (2 * i / size) for i in range(size)], size)


@by_hand.bug(fix="leave out the last cosine where the size is odd: `numbers[:size]`.")
def no_room_for_the_last_cosine_by_hand(position: int, size: int) -> Row:
    """an odd size ends with a sine, but the cosine of that pair is returned, too."""
    return _encoded_of_lists([position / 10000 ** (i / size) for i in range(0, size, 2)], size + 1)


@by_hand.bug(fix="include the last sine where the size is odd: there are `(size + 1) // 2` sines.")
def the_last_sine_forgotten(position: int, size: int) -> Row:
    """only whole pairs are made, and the last sine of an odd size is missing."""
    angles = [position / 10000 ** (2 * i / size) for i in range(size // 2)]
    return _encoded_of_lists(angles, size)


@by_hand.bug(fix="divide with `/`, not with `//`: an angle need not be a whole number.")
def divided_by_two_strokes(position: int, size: int) -> Row:
    """the position is divided with `//`, which drops everything after the decimal point."""
    return _encoded_of_lists([position // 10000 ** (2 * i / size) for i in range(size)], size)
