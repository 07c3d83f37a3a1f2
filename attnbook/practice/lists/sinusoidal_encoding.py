"""Sines and cosines that tell one position from another."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]


def _encoded(angles: Row, size: int) -> Row:
    """The sine and the cosine of each angle, cut to a size."""
    return [turn(angle) for angle in angles for turn in (math.sin, math.cos)][:size]


task = ListTask(
    name="sinusoidal-encoding-by-hand",
    in_torch="sinusoidal-encoding",
    statement=(
        "Write `encoding(position, size)`: two whole numbers, the first counted from 0, become a "
        "list of `size` numbers. They form pairs, which count from 0 as well. Pair i holds the "
        "sine and then the cosine of `position / 10000**(2 * i / size)`, side by side. An odd "
        "size ends with a sine."
    ),
    starter="import math\n\ndef encoding(position, size):\n    ...",
)


task.case("position 3, six numbers")(lambda: (3, 6))
task.case("position 0")(lambda: (0, 4))
task.case("an odd size")(lambda: (2, 3))
task.case("one number")(lambda: (1, 1))
task.case("position 1000")(lambda: (1000, 4))
task.case("12 numbers")(lambda: (7, 12))


@task.right("each number has its pair, `number // 2`, and is a sine or a cosine by turns.")
def number_by_number(position: int, size: int) -> Row:
    numbers = []
    for number in range(size):
        angle = position / 10000 ** (2 * (number // 2) / size)
        numbers.append(math.sin(angle) if number % 2 == 0 else math.cos(angle))
    return numbers


@task.right("it goes in steps of two, and cuts off the cosine that an odd size has no room for.")
def in_steps_of_two(position: int, size: int) -> Row:
    numbers: Row = []
    for even in range(0, size, 2):
        angle = position / 10000 ** (even / size)
        numbers += [math.sin(angle), math.cos(angle)]
    return numbers[:size]


@task.right("a power of 10000 is a power of e, and a cosine is a sine a quarter of a turn ahead.")
def sines_only(position: int, size: int) -> Row:
    numbers = []
    for number in range(size):
        speed = math.exp(-math.log(10000) * (number - number % 2) / size)
        numbers.append(math.sin(position * speed + number % 2 * math.pi / 2))
    return numbers


@task.bug(
    symptom="All pairs show the same wave.",
    origin="accepted as a rotary encoding by TorchCode's judge",
    mend="divide the position by `10000**(2 * i / size)`, which grows from pair to pair.",
    case="position 3, six numbers",
)
def one_speed_for_all_pairs(position: int, size: int) -> Row:
    """all angles are the position itself: nothing divides it, or a power that `//` makes 1."""
    return _encoded([float(position)] * size, size)


@task.bug(
    symptom="Neighbouring positions have almost the same code.",
    origin="a common slip",
    mend="take 10000 to the power of `2 * i / size` before you divide.",
    case="position 3, six numbers",
)
def divided_by_10000_itself(position: int, size: int) -> Row:
    """the power is forgotten, and the position is divided by 10000 in all pairs."""
    return _encoded([position / 10000] * size, size)


@task.bug(
    symptom="Far positions look alike sooner than they should.",
    origin="a common slip",
    mend="write 10000, or 10_000, where you count zeros.",
    case="position 3, six numbers",
)
def a_zero_forgotten(position: int, size: int) -> Row:
    """the base is 1000, not 10000."""
    return _encoded([position / 1000 ** (2 * i / size) for i in range(size)], size)


@task.bug(
    symptom="Position 0 reads 1, 0, 1, 0.",
    origin="a common slip",
    mend="put sines at the places 0, 2, 4 and cosines at 1, 3, 5.",
    case="position 3, six numbers",
)
def the_cosine_first(position: int, size: int) -> Row:
    """each pair begins with its cosine."""
    angles = [position / 10000 ** (2 * i / size) for i in range(size)]
    return [turn(angle) for angle in angles for turn in (math.cos, math.sin)][:size]


@task.bug(
    symptom="A model that was trained elsewhere loses its sense of order here.",
    origin="a convention of other code",
    mend="put each sine and its cosine side by side.",
    case="position 3, six numbers",
)
def sines_and_cosines_in_halves(position: int, size: int) -> Row:
    """all sines come first and then all cosines: right with weights trained so, not here."""
    numbers = _encoded([position / 10000 ** (2 * i / size) for i in range(size)], size)
    return numbers[0::2] + numbers[1::2]


@task.bug(
    symptom="The slowest wave comes back far too soon.",
    origin="a common slip",
    mend="double i in the power: `2 * i / size` grows from 0 almost to 1.",
    case="position 3, six numbers",
)
def the_exponent_not_doubled(position: int, size: int) -> Row:
    """the power is i/size, where i counts pairs, and not 2i/size."""
    return _encoded([position / 10000 ** (i / size) for i in range(size)], size)


@task.bug(
    symptom="Most numbers hardly change from one position to the next.",
    origin="a common slip",
    mend="let i count pairs, 0, 1, 2: where it counts in steps of two, it is 2i already.",
    case="position 3, six numbers",
)
def the_exponent_doubled_twice(position: int, size: int) -> Row:
    """the power is 4i/size: what counts in steps of two is 2i already, and is doubled again."""
    return _encoded([position / 10000 ** (4 * i / size) for i in range(size)], size)


@task.bug(
    symptom="Moving by some positions is no longer a turn of each pair.",
    origin="a common slip",
    mend="use one angle for both numbers of a pair: i is `number // 2`.",
    case="position 3, six numbers",
)
def a_speed_of_its_own_for_each_number(position: int, size: int) -> Row:
    """the cosine at place 2i + 1 uses its own place in the power, not 2i."""
    angles = [position / 10000 ** (number / size) for number in range(size)]
    return [math.cos(a) if number % 2 else math.sin(a) for number, a in enumerate(angles)]


@task.bug(
    symptom="A cached decoder and a fresh one disagree by one position.",
    origin="a common slip",
    mend="take the position as it comes: it counts from 0 already.",
    case="position 3, six numbers",
)
def counted_from_one(position: int, size: int) -> Row:
    """the position is counted from 1, not from 0."""
    return _encoded([(position + 1) / 10000 ** (2 * i / size) for i in range(size)], size)


@task.bug(
    symptom="With an odd size there is a number too many.",
    origin="a common slip",
    mend="leave out the last cosine where the size is odd: `numbers[:size]`.",
    case="an odd size",
)
def no_room_for_the_last_cosine(position: int, size: int) -> Row:
    """the last sine has its cosine with it, and an odd size has no room for that."""
    return _encoded([position / 10000 ** (i / size) for i in range(0, size, 2)], size + 1)


@task.bug(
    symptom="With an odd size there is a number too few.",
    origin="a common slip",
    mend="go on to the last sine where the size is odd: there are `(size + 1) // 2` of them.",
    case="an odd size",
)
def the_last_sine_forgotten(position: int, size: int) -> Row:
    """only whole pairs are made, and the last sine of an odd size is missing."""
    angles = [position / 10000 ** (2 * i / size) for i in range(size // 2)]
    return _encoded(angles, size)


@task.bug(
    symptom="Positions that are close together have the same slow waves.",
    origin="a new reader's first try",
    mend="divide by `/`: an angle need not be a whole number.",
    case="position 3, six numbers",
)
def divided_by_two_strokes(position: int, size: int) -> Row:
    """the position is divided by `//`, which drops everything after the point."""
    return _encoded([position // 10000 ** (2 * i / size) for i in range(size)], size)
