"""Layer norm of one vector: numbers with mean 0 and variance 1."""

import math

from attnbook.practice.list_task import ListTask
from attnbook.practice.tasks.transformer_block import task as transformer_block

Row = list[float]


def _mean(numbers: Row) -> float:
    return sum(numbers) / len(numbers)


def _centred(numbers: Row, divisor: float = 1.0) -> Row:
    mean = _mean(numbers)
    return [(x - mean) / divisor for x in numbers]


def _variance(numbers: Row) -> float:
    return _mean([x**2 for x in _centred(numbers)])


by_hand = ListTask(
    name="layer-norm-by-hand",
    in_torch=transformer_block,
    statement=(
        "Write `layer_norm(numbers, eps)`. `numbers` is a list, the vector of one position, and "
        "`eps` is a small number above 0. Return a list of the same length: subtract the mean of "
        "all from each number, and divide what is left by √(variance + eps). The variance is the "
        "mean of the squared distances from the mean: divide by how many numbers there are."
    ),
    starter="import math\n\ndef layer_norm(numbers, eps):\n    ...",
)

by_hand.case("three numbers")(lambda: ([1.0, 3.0, 8.0], 0.00001))
by_hand.case("negative numbers, too")(lambda: ([-5.0, 2.0, 0.0], 0.00001))
by_hand.case("numbers around 100")(lambda: ([101.0, 99.0, 104.0], 0.00001))
by_hand.case("an eps of 0.5")(lambda: ([2.0, 0.0, 1.0], 0.5))
by_hand.case("two numbers")(lambda: ([4.0, 10.0], 0.01))
by_hand.case("tiny numbers")(lambda: ([0.001, -0.002], 0.00001))
by_hand.case("equal numbers")(lambda: ([7.0, 7.0], 0.00001))
by_hand.case("one number")(lambda: ([3.0], 0.00001))
by_hand.case("numbers near a million")(lambda: ([1000000.1, 1000001.3], 0.00001))
by_hand.case("four numbers")(lambda: ([1.6, 0.4] * 2, 0.64))


@by_hand.solution("it is the formula: the mean, the variance, the quotient.")
def by_the_formula(numbers: Row, eps: float) -> Row:
    mean = sum(numbers) / len(numbers)
    variance = sum((x - mean) ** 2 for x in numbers) / len(numbers)
    return [(x - mean) / math.sqrt(variance + eps) for x in numbers]


@by_hand.solution("distances from the mean come first; their squares' mean is the variance.")
def distances_first(numbers: Row, eps: float) -> Row:
    distances = _centred(numbers)
    root = (sum(d * d for d in distances) / len(distances) + eps) ** 0.5
    return [d / root for d in distances]


@by_hand.solution("it loops over the numbers three times, and appends to a new list.")
def in_three_loops(numbers: Row, eps: float) -> Row:
    mean, variance, output = 0.0, 0.0, []
    for x in numbers:
        mean += x / len(numbers)
    for x in numbers:
        variance += (x - mean) * (x - mean) / len(numbers)
    for x in numbers:
        output.append((x - mean) * (variance + eps) ** -0.5)  # noqa: PERF401 - as some write it
    return output


@by_hand.solution("the variance is half the mean of the squared differences of all pairs.")
def from_one_another(numbers: Row, eps: float) -> Row:
    count = len(numbers)
    variance = sum((x - y) ** 2 for x in numbers for y in numbers) / (2 * count * count)
    return [sum(x - y for y in numbers) / count / math.sqrt(variance + eps) for x in numbers]


@by_hand.bug(fix="add `eps` to the variance first, and take the root of the sum.")
def eps_outside_the_root(numbers: Row, eps: float) -> Row:
    """`eps` is added to the root of the variance, not to the variance itself."""
    return _centred(numbers, math.sqrt(_variance(numbers)) + eps)


@by_hand.bug(fix="add `eps` to the variance, under the root: nothing is divided by 0 then.")
def eps_forgotten(numbers: Row, eps: float) -> Row:
    """`eps` is never used."""
    return _centred(numbers, math.sqrt(_variance(numbers)))


@by_hand.bug(fix="divide the sum of squares by `len(numbers)`, not by one less.")
def divided_by_one_less(numbers: Row, eps: float) -> Row:
    """the squares are divided by one less than there are, as for a sample."""
    variance = _variance(numbers) * len(numbers) / (len(numbers) - 1)
    return _centred(numbers, math.sqrt(variance + eps))


@by_hand.bug(fix="take the root of the variance before you divide.")
def root_forgotten(numbers: Row, eps: float) -> Row:
    """the numbers are divided by the variance, without a root."""
    return _centred(numbers, _variance(numbers) + eps)


@by_hand.bug(fix="write `** 0.5` or `** (1 / 2)`: `x ** 1 / 2` means `(x ** 1) / 2`.")
def half_in_place_of_the_root(numbers: Row, eps: float) -> Row:
    """`** 1 / 2` halves the variance, where its root is wanted."""
    return _centred(numbers, (_variance(numbers) + eps) / 2)


@by_hand.bug(fix="subtract the mean in the numerator, too: `(x - mean) / …`.")
def mean_not_subtracted(numbers: Row, eps: float) -> Row:
    """the mean is subtracted in the variance only, and not from the numbers that are divided."""
    return [x / math.sqrt(_variance(numbers) + eps) for x in numbers]


@by_hand.bug(fix="subtract the mean first; the variance is the mean square of what is left.")
def no_mean_at_all(numbers: Row, eps: float) -> Row:
    """the mean is never subtracted; the divisor is the root of the mean square (RMSNorm)."""
    root = math.sqrt(_mean([x * x for x in numbers]) + eps)
    return [x / root for x in numbers]


@by_hand.bug(fix="square the distance from the mean, `(x - mean) ** 2`, and not the number.")
def squares_of_the_numbers(numbers: Row, eps: float) -> Row:
    """the mean of the squared numbers is used as the variance, without subtracting the mean."""
    return _centred(numbers, math.sqrt(_mean([x * x for x in numbers]) + eps))


@by_hand.bug(fix="square the distances, take their mean, then the root.")
def distances_not_squared(numbers: Row, eps: float) -> Row:
    """the divisor is the mean of the absolute distances, not the root of their mean square."""
    return _centred(numbers, _mean([abs(x) for x in _centred(numbers)]) + eps)


@by_hand.bug(fix="divide the sum of the squares by `len(numbers)`: the variance is a mean.")
def squares_only_summed(numbers: Row, eps: float) -> Row:
    """the squares are added up, and never divided by how many there are."""
    return _centred(numbers, math.sqrt(_variance(numbers) * len(numbers) + eps))


@by_hand.bug(fix="divide what is left by `math.sqrt(variance + eps)`.")
def only_the_mean_subtracted(numbers: Row, eps: float) -> Row:
    """the mean is subtracted, and nothing is divided."""
    return _centred(numbers)


@by_hand.bug(fix="put brackets around the difference: `(x - mean) / root`.")
def brackets_forgotten(numbers: Row, eps: float) -> Row:
    """`x - mean / root` divides the mean only."""
    shift = _mean(numbers) / math.sqrt(_variance(numbers) + eps)
    return [x - shift for x in numbers]


@by_hand.bug(fix="put what you compute into a new list.")
def written_into_the_list(numbers: Row, eps: float) -> Row:
    """the caller's own list is changed."""
    numbers[:] = _centred(numbers, math.sqrt(_variance(numbers) + eps))
    return numbers


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_inside_the_loop(numbers: Row, eps: float) -> Row:
    """`return` is inside the loop, and ends it at the first number."""
    return _centred(numbers, math.sqrt(_variance(numbers) + eps))[:1]
