"""A score by closeness, for one query and one key."""

from __future__ import annotations

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
        "Write `score(query, key)`: two vectors, lists of one length, become one number. It "
        "is 0 where they are equal, and lower the farther they are apart: minus the sum of "
        "their squared differences, divided by 2."
    ),
    starter="def score(query, key):\n    ...",
)


by_hand.case("vectors of two numbers")(lambda: ([1.0, 2.0], [-1.0, 5.0]))
by_hand.case("vectors that are equal")(lambda: ([1.5, -2.0], [1.5, -2.0]))
by_hand.case("vectors of one number")(lambda: ([0.5], [3.0]))
by_hand.case("vectors of three numbers")(lambda: ([0.0, -1.0, 0.5], [1.0, 2.0, 0.0]))
by_hand.case("differences that cancel")(lambda: ([1.0, -1.0], [-0.5, 0.5]))
by_hand.case("vectors of 12 numbers")(
    lambda: ([x * 0.25 for x in range(12)], [1 - x * 0.125 for x in range(12)])
)


by_hand.solution("it is the sentence itself.")(parts.score)


@by_hand.solution("each number takes off its own half of a square.")
def number_by_number(query: Row, key: Row) -> float:
    total = 0.0
    for i in range(len(query)):
        total -= 0.5 * (query[i] - key[i]) * (query[i] - key[i])
    return total


@by_hand.solution("(q - k)² is q² - 2qk + k², so it is the dot product less half of both squares.")
def by_dot_products(query: Row, key: Row) -> float:
    dot = sum(q * k for q, k in zip(query, key, strict=True))
    return dot - sum(q * q for q in query) / 2 - sum(k * k for k in key) / 2


@by_hand.solution("a distance's square is what is under its root.")
def by_the_distance(query: Row, key: Row) -> float:
    distance = math.sqrt(sum(d * d for d in _differences(query, key)))
    return -(distance**2) / 2


@by_hand.bug(fix="subtract, and square: `(q - k)**2` instead of `q * k`.")
def the_dot_product(query: Row, key: Row) -> float:
    """query and key are multiplied number by number: that is the dot product."""
    return sum(q * k for q, k in zip(query, key, strict=True))


@by_hand.bug(fix="put a minus before the sum: a large distance must score low.")
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


@by_hand.bug(fix="square each difference, instead of `abs`.")
def abs_in_place_of_squares(query: Row, key: Row) -> float:
    """absolute differences are summed instead of squares."""
    return -sum(abs(d) for d in _differences(query, key)) / 2


@by_hand.bug(fix="go through all numbers, and add up their squares.")
def the_first_number_only(query: Row, key: Row) -> float:
    """only the first numbers are compared."""
    return -((query[0] - key[0]) ** 2) / 2


@by_hand.bug(fix="divide the sum by 2, and not by how many numbers there are.")
def mean_of_the_squares(query: Row, key: Row) -> float:
    """the squares are averaged over the vector, not summed."""
    return -sum(d**2 for d in _differences(query, key)) / len(query) / 2


@by_hand.bug(fix="divide by 2, whatever the size is.")
def size_in_place_of_2(query: Row, key: Row) -> float:
    """the sum is divided by how many numbers there are, not by 2."""
    return -sum(d**2 for d in _differences(query, key)) / len(query)


@by_hand.bug(fix="square each difference first, then add: a sum of differences can cancel.")
def square_of_the_sum(query: Row, key: Row) -> float:
    """the differences are added first, and their sum is squared."""
    return -(sum(_differences(query, key)) ** 2) / 2


@by_hand.bug(fix="leave `math.exp` to the softmax: a score is what goes into it.")
def the_kernel_itself(query: Row, key: Row) -> float:
    """the power of e is taken already: that is the kernel, and the score is its exponent."""
    return math.exp(-sum(d**2 for d in _differences(query, key)) / 2)


@by_hand.bug(fix="square first, then divide the sum by 2: the square of a half is a quarter.")
def halved_before_the_square(query: Row, key: Row) -> float:
    """the differences are halved before they are squared, which divides by 4."""
    return -sum((d / 2) ** 2 for d in _differences(query, key))


@by_hand.bug(fix="divide by `/`: a half of an odd number is no whole one.")
def divided_by_two_strokes(query: Row, key: Row) -> float:
    """the division is `//`, which goes down to a whole number."""
    return -sum(d**2 for d in _differences(query, key)) // 2
