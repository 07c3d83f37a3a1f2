"""A score by closeness, for one query and one key."""

import math

from attnbook.practice import parts
from attnbook.practice.list_task import ListTask
from attnbook.practice.tasks.kernel_pool import task as kernel_pool

Row = list[float]


def _differences(query: Row, key: Row) -> Row:
    return [q - k for q, k in zip(query, key, strict=True)]


by_hand = ListTask(
    name="score-by-hand",
    in_torch=kernel_pool,
    draws="score",
    statement=(
        "Write `score(query, key)`: it takes two vectors, lists of the same length, and returns "
        "one number. This score is 0 where the vectors are equal. The farther apart they are, the "
        "lower it is: minus the sum of their squared differences, divided by 2."
    ),
    starter="def score(query, key):\n    ...",
)

by_hand.case("vectors of two numbers")(lambda: ([1.5, 2.0], [-0.5, 5.0]))
by_hand.case("vectors that are equal")(lambda: ([1.5, -2.0], [1.5, -2.0]))
by_hand.case("vectors of one number")(lambda: ([0.5], [3.0]))
by_hand.case("vectors of three numbers")(lambda: ([0.0, -1.0, 0.5], [1.0, 2.0, 0.0]))
by_hand.case("differences that cancel")(lambda: ([1.0, -1.0], [-0.5, 0.5]))
by_hand.case("vectors of 12 numbers")(
    lambda: ([x * 0.25 for x in range(12)], [1 - x * 0.125 for x in range(12)])
)

by_hand.solution("it follows the task's text.")(parts.score)


@by_hand.solution("each component subtracts half of its squared difference.")
def number_by_number(query: Row, key: Row) -> float:
    total = 0.0
    for i in range(len(query)):
        total -= 0.5 * (query[i] - key[i]) * (query[i] - key[i])
    return total


@by_hand.solution("as (q - k)² is q² - 2qk + k², it is the dot product minus half of each square.")
def by_dot_products(query: Row, key: Row) -> float:
    dot = sum(q * k for q, k in zip(query, key, strict=True))
    return dot - sum(q * q for q in query) / 2 - sum(k * k for k in key) / 2


@by_hand.bug(fix="subtract, and square: `(q - k)**2` instead of `q * k`.")
def the_dot_product(query: Row, key: Row) -> float:
    """query and key are multiplied number by number: that is the dot product."""
    return sum(q * k for q, k in zip(query, key, strict=True))


@by_hand.bug(fix="put a minus before the sum: a large distance must give a low score.")
def no_minus(query: Row, key: Row) -> float:
    """the minus is missing, and scores grow with the distance."""
    return sum(d**2 for d in _differences(query, key)) / 2


@by_hand.bug(fix="divide the sum of the squares by 2.")
def not_halved(query: Row, key: Row) -> float:
    """the sum is not divided by 2."""
    return -sum(d**2 for d in _differences(query, key))


@by_hand.bug(fix="leave the root out: the score is computed from the squares.")
def root_taken(query: Row, key: Row) -> float:
    """the root of the sum is taken, which gives the distance itself."""
    return -math.sqrt(sum(d**2 for d in _differences(query, key))) / 2


@by_hand.bug(fix="square each difference, instead of taking its `abs`.")
def abs_in_place_of_squares(query: Row, key: Row) -> float:
    """absolute differences are summed instead of squares."""
    return -sum(abs(d) for d in _differences(query, key)) / 2


@by_hand.bug(fix="loop over all components, and add up the squares of their differences.")
def the_first_number_only(query: Row, key: Row) -> float:
    """only the first numbers are compared, as when `return` is inside the loop."""
    return -((query[0] - key[0]) ** 2) / 2


@by_hand.bug(fix="divide the sum by 2 only, and not by the number of components, too.")
def mean_of_the_squares(query: Row, key: Row) -> float:
    return -sum(d**2 for d in _differences(query, key)) / len(query) / 2


@by_hand.bug(fix="divide by 2, whatever the size is.")
def size_in_place_of_2(query: Row, key: Row) -> float:
    """the sum is divided by how many numbers there are, not by 2."""
    return -sum(d**2 for d in _differences(query, key)) / len(query)


@by_hand.bug(fix="square each difference first, then add: a sum of differences can cancel.")
def square_of_the_sum(query: Row, key: Row) -> float:
    """the differences are added first, and their sum is squared."""
    return -(sum(_differences(query, key)) ** 2) / 2


@by_hand.bug(fix="leave `math.exp` to the softmax: a score is its input.")
def the_kernel_itself(query: Row, key: Row) -> float:
    """the exponential is taken already: that is the kernel, and the score is its exponent."""
    return math.exp(-sum(d**2 for d in _differences(query, key)) / 2)


@by_hand.bug(fix="square first, then divide the sum by 2: the square of a half is a quarter.")
def halved_before_the_square(query: Row, key: Row) -> float:
    """the differences are halved before they are squared, which divides by 4."""
    return -sum((d / 2) ** 2 for d in _differences(query, key))


@by_hand.bug(fix="divide with `/`, not with `//`: half of an odd number is not a whole number.")
def divided_by_two_strokes(query: Row, key: Row) -> float:
    """the division is `//`, which rounds down to a whole number."""
    return -sum(d**2 for d in _differences(query, key)) // 2


@by_hand.bug(fix="square each difference: `(q - k)**2`.")
def differences_not_squared(query: Row, key: Row) -> float:
    """the differences are added up as they are, not squared."""
    return -sum(_differences(query, key)) / 2
