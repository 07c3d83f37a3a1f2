"""A look-up by closeness: a soft dictionary."""

import math

from attnbook.practice.list_task import ListTask
from attnbook.practice.tasks.pool import task as pool

Row = list[float]

by_hand = ListTask(
    name="look-up-by-hand",
    in_torch=pool,
    statement=(
        "Make `look_up(query, keys, values)` soft. `keys` and `values` are lists of numbers, and "
        "`query` is a number. The closeness of a key is `2 ** -abs(query - key)`: 1 where it is "
        "equal to the query, and halved with each step of distance. The weights are the "
        "closenesses divided by their sum. Return the sum of each weight times its value."
    ),
    starter=(
        "def look_up(query, keys, values):\n"
        "    weights = [1.0 if key == query else 0.0 for key in keys]\n"
        "    return sum(w * v for w, v in zip(weights, values))"
    ),
)

by_hand.case("a query between keys")(lambda: (2.5, [1.0, 2.0, 4.5], [10.0, 20.0, 70.0]))
by_hand.case("a query that is equal to a key")(lambda: (3.0, [1.0, 3.0], [8.0, 4.0]))
by_hand.case("a query halfway between two keys")(lambda: (1.5, [1.0, 2.0], [10.0, 20.0]))
by_hand.case("a query below all keys")(lambda: (-1.0, [0.0, 2.0], [6.0, 1.0]))
by_hand.case("one key")(lambda: (3.0, [0.5], [7.0]))
by_hand.case("two items with the same key, and keys in no order")(
    lambda: (1.0, [3.0, 1.0, 0.0, 1.0], [2.0, 4.0, -6.0, 9.0])
)
by_hand.case("a query far from all keys")(lambda: (60.0, [0.0, 1.0], [2.0, 5.0]))
by_hand.case("12 keys")(
    lambda: (4.5, [x * 0.75 for x in range(12)], [x * x - 9.0 for x in range(12)])
)


@by_hand.solution("it follows the statement: closenesses, weights, sum.")
def by_the_sentence(query: float, keys: Row, values: Row) -> float:
    near = [2 ** -abs(query - key) for key in keys]
    weights = [each / sum(near) for each in near]
    return sum(w * v for w, v in zip(weights, values, strict=True))


@by_hand.solution("all weights have the same denominator, so you can divide once, at the end.")
def divided_at_the_end(query: float, keys: Row, values: Row) -> float:
    total = weighted = 0.0
    for i in range(len(keys)):
        near = 0.5 ** abs(query - keys[i])
        total += near
        weighted += near * values[i]
    return weighted / total


@by_hand.solution("`2 ** -d` is e to the power of `-d * log(2)`; the subtracted maximum cancels.")
def as_a_softmax(query: float, keys: Row, values: Row) -> float:
    scores = [-abs(query - key) * math.log(2) for key in keys]
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return sum(p / sum(exponentials) * v for p, v in zip(exponentials, values, strict=True))


@by_hand.bug(fix="let each key have some closeness: `2 ** -abs(query - key)`.")
def all_or_nothing(query: float, keys: Row, values: Row) -> float:
    """only a key that is equal to the query counts: the look-up is still all or nothing."""
    weights = [1.0 if key == query else 0.0 for key in keys]
    return sum(w * v for w, v in zip(weights, values, strict=True))


@by_hand.bug(fix="divide each closeness by the sum of all, so that the weights sum to 1.")
def never_divided(query: float, keys: Row, values: Row) -> float:
    """the closenesses are not divided by their sum, so they do not sum to 1."""
    near = [2 ** -abs(query - key) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True))


@by_hand.bug(fix="divide by `sum(…)` of the closenesses, not by `len(keys)`.")
def divided_by_the_count(query: float, keys: Row, values: Row) -> float:
    """the closenesses are divided by how many keys there are, not by their sum."""
    near = [2 ** -abs(query - key) / len(keys) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True))


@by_hand.bug(fix="let all keys count, each by its closeness: the nearest gets most, not all.")
def the_nearest_key_only(query: float, keys: Row, values: Row) -> float:
    """the nearest key gets all the weight, and the others none."""
    distances = [abs(query - key) for key in keys]
    return values[distances.index(min(distances))]


@by_hand.bug(
    fix="put a minus in the exponent: `2 ** -distance` halves, and `2 ** distance` doubles."
)
def far_keys_weigh_most(query: float, keys: Row, values: Row) -> float:
    """the minus is missing, and closeness doubles with each step of distance."""
    near = [2 ** abs(query - key) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@by_hand.bug(fix="take the distance without its sign: `abs(query - key)`.")
def abs_forgotten(query: float, keys: Row, values: Row) -> float:
    """`abs` is missing, and a key above the query has a distance below 0."""
    near = [2 ** (key - query) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@by_hand.bug(fix="use minus the distance as the exponent, not minus its square.")
def distance_squared(query: float, keys: Row, values: Row) -> float:
    """the distance is squared, and closeness halves faster and faster."""
    near = [2 ** -((query - key) ** 2) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@by_hand.bug(fix="use the base 2: with e, closeness falls by more than half at each step.")
def powers_of_e(query: float, keys: Row, values: Row) -> float:
    """the base is e, as in a softmax, and closeness falls by more than half at each step."""
    near = [math.exp(-abs(query - key)) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@by_hand.bug(fix="halve at each step: 1, 1/2, 1/4, 1/8, which is `2 ** -distance`.")
def one_over_the_distance(query: float, keys: Row, values: Row) -> float:
    """closeness is 1 / (1 + distance), which halves in the first step only."""
    near = [1 / (1 + abs(query - key)) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@by_hand.bug(fix="multiply each value by its own key's weight before you add.")
def the_plain_average(query: float, keys: Row, values: Row) -> float:
    """the values are averaged, and the weights are not used."""
    return sum(values) / len(values)


@by_hand.bug(fix="divide with `/`, not `//`: `each / sum(near)`.")
def divided_by_two_strokes(query: float, keys: Row, values: Row) -> float:
    """the division is `//`, which drops everything after the decimal point."""
    near = [2 ** -abs(query - key) for key in keys]
    return sum(n // sum(near) * v for n, v in zip(near, values, strict=True))


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_inside_the_loop(query: float, keys: Row, values: Row) -> float:
    """`return` is inside the loop, and ends it at the first item."""
    near = [2 ** -abs(query - key) for key in keys]
    return near[0] / sum(near) * values[0]


@by_hand.bug(fix="finish the sum over all keys before you divide the first closeness by it.")
def divided_by_the_sum_so_far(query: float, keys: Row, values: Row) -> float:
    """each closeness is divided by the sum of those up to it, not of all."""
    total = output = 0.0
    for key, value in zip(keys, values, strict=True):
        total += 2 ** -abs(query - key)
        output += 2 ** -abs(query - key) / total * value
    return output


@by_hand.bug(fix="take the sum once, before the loop: `total = sum(near)`.")
def divided_while_the_sum_changes(query: float, keys: Row, values: Row) -> float:
    """each division changes the list, so the next closeness is divided by another sum."""
    near = [2 ** -abs(query - key) for key in keys]
    for i in range(len(near)):
        near[i] /= sum(near)
    return sum(n * v for n, v in zip(near, values, strict=True))


@by_hand.bug(fix="the keys come second and the values third: `look_up(query, keys, values)`.")
def keys_and_values_exchanged(query: float, keys: Row, values: Row) -> float:
    """keys and values are exchanged."""
    near = [2 ** -abs(query - value) for value in values]
    return sum(n * k for n, k in zip(near, keys, strict=True)) / sum(near)
