"""The score of today's models: a dot product, divided by √d, for one query and one key."""

import math

from attnbook.practice import parts
from attnbook.practice.list_task import ListTask
from attnbook.practice.tasks.scaled_dot_attention import task as scaled_dot_attention

Row = list[float]


def _dot(query: Row, key: Row) -> float:
    return sum(q * k for q, k in zip(query, key, strict=True))


def _length(vector: Row) -> float:
    return math.sqrt(_dot(vector, vector))


by_hand = ListTask(
    name="scaled-score-by-hand",
    in_torch=scaled_dot_attention,
    statement=(
        "Write `scaled_score(query, key)` for two lists of the same length: the sum of the "
        "products `q * k`, divided by the square root of that length."
    ),
    starter="import math\n\ndef scaled_score(query, key):\n    ...",
)

by_hand.case("vectors of two numbers")(lambda: ([1.5, 2.0], [-0.5, 5.0]))
by_hand.case("vectors of four numbers")(lambda: ([0.5, -1.0, 2.0, 1.0], [1.0, 2.0, 3.0, -0.5]))
by_hand.case("vectors of one number")(lambda: ([0.5], [3.0]))
by_hand.case("vectors that are equal")(lambda: ([1.5, -2.0, 0.5], [1.5, -2.0, 0.5]))
by_hand.case("vectors at a right angle")(lambda: ([1.0, -1.0], [2.0, 2.0]))
by_hand.case("vectors of 12 numbers")(
    lambda: ([x * 0.25 for x in range(12)], [1 - x * 0.125 for x in range(12)])
)

by_hand.solution("it follows the task's text.")(parts.scaled_score)


@by_hand.solution("the products may be added up in a loop.")
def number_by_number(query: Row, key: Row) -> float:
    total = 0.0
    for i in range(len(query)):
        total += query[i] * key[i]
    return total / math.sqrt(len(query))


@by_hand.solution("the query may be divided first: each product is then divided, and so their sum.")
def query_divided_first(query: Row, key: Row) -> float:
    root = math.sqrt(len(query))
    return _dot([q / root for q in query], key)


@by_hand.bug(fix="divide the sum by `math.sqrt(len(query))`.")
def root_forgotten(query: Row, key: Row) -> float:
    """the sum is not divided: that is the dot product alone."""
    return _dot(query, key)


@by_hand.bug(fix="divide by the root of the length: `math.sqrt(len(query))`.")
def divided_by_the_length(query: Row, key: Row) -> float:
    """the sum is divided by the length itself, without its root."""
    return _dot(query, key) / len(query)


@by_hand.bug(fix="divide by the root, instead of multiplying by it.")
def multiplied_by_the_root(query: Row, key: Row) -> float:
    """the sum is multiplied by the root, where it should be divided."""
    return _dot(query, key) * math.sqrt(len(query))


@by_hand.bug(fix="take the root of the length only, and divide the whole sum by it.")
def root_of_the_quotient(query: Row, key: Row) -> float:
    """the root is taken of the absolute quotient, and not of the length."""
    return math.sqrt(abs(_dot(query, key)) / len(query))


@by_hand.bug(fix="divide by the root of how many numbers there are, not by the vectors' lengths.")
def cosine(query: Row, key: Row) -> float:
    """the dot product is divided by the norms of both vectors: that is the cosine."""
    return _dot(query, key) / (_length(query) * _length(key))


@by_hand.bug(fix="divide by the root of how many numbers the key has, not of its squared numbers.")
def divided_by_the_norm_of_the_key(query: Row, key: Row) -> float:
    """the dot product is divided by the norm of the key."""
    return _dot(query, key) / _length(key)


@by_hand.bug(fix="add up the products of all components: put `return` after the loop.")
def the_first_component_only(query: Row, key: Row) -> float:
    """only the first components are multiplied, as when `return` is inside the loop."""
    return query[0] * key[0] / math.sqrt(len(query))


@by_hand.bug(fix="multiply: `q * k`. This score is no distance.")
def minus_half_the_squared_distance(query: Row, key: Row) -> float:
    """the differences are squared: that is the score by closeness again."""
    return parts.score(query, key)


@by_hand.bug(fix="leave the minus out: a large product must give a high score.")
def a_minus_before_the_sum(query: Row, key: Row) -> float:
    """there is a minus before the sum, as in a score by distance."""
    return -_dot(query, key) / math.sqrt(len(query))


@by_hand.bug(fix="multiply each pair of components first, then add up the products.")
def product_of_the_sums(query: Row, key: Row) -> float:
    """the components of each vector are added first, and the sums are multiplied."""
    return sum(query) * sum(key) / math.sqrt(len(query))


@by_hand.bug(fix="leave `math.exp` to the softmax: a score is its input.")
def the_exponential_taken(query: Row, key: Row) -> float:
    """the exponential is taken already, which is the first step of the softmax."""
    return math.exp(_dot(query, key) / math.sqrt(len(query)))


@by_hand.bug(fix="multiply the components with `*`, instead of adding them with `+`.")
def components_added(query: Row, key: Row) -> float:
    """the components are added, where they should be multiplied."""
    return sum(q + k for q, k in zip(query, key, strict=True)) / math.sqrt(len(query))
