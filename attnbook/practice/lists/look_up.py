"""A look-up by closeness: the dictionary's, made soft."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]

task = ListTask(
    name="look-up-by-hand",
    in_torch="pool",
    statement=(
        "`look_up(query, keys, values)` finds, as it stands, the value whose key is equal to the "
        "query; `keys` and `values` are lists of numbers, and `query` is a number. Make it soft. A "
        "key's closeness is 1 where it is equal to the query, and halves with each step of "
        "distance: `2 ** -abs(query - key)`. The weights are the closenesses divided by their "
        "sum. Return the sum of each weight times its value. Keys may come in any order, and twice."
    ),
    starter=(
        "def look_up(query, keys, values):\n"
        "    weights = [1.0 if key == query else 0.0 for key in keys]\n"
        "    return sum(w * v for w, v in zip(weights, values))"
    ),
)


task.case("a query between keys")(lambda: (2.5, [1.0, 2.0, 4.5], [10.0, 20.0, 70.0]))
task.case("a query that is equal to a key")(lambda: (3.0, [1.0, 3.0], [8.0, 4.0]))
task.case("a query halfway between two keys")(lambda: (1.5, [1.0, 2.0], [10.0, 20.0]))
task.case("a query below all keys")(lambda: (-1.0, [0.0, 2.0], [6.0, 1.0]))
task.case("one key")(lambda: (3.0, [0.5], [7.0]))
task.case("two items with the same key, and keys in no order")(
    lambda: (1.0, [3.0, 1.0, 0.0, 1.0], [2.0, 4.0, -6.0, 9.0])
)
task.case("a query far from all keys")(lambda: (60.0, [0.0, 1.0], [2.0, 5.0]))
task.case("12 keys")(lambda: (4.5, [x * 0.75 for x in range(12)], [x * x - 9.0 for x in range(12)]))


@task.right("it is the sentence itself: closenesses, weights, sum.")
def by_the_sentence(query: float, keys: Row, values: Row) -> float:
    near = [2 ** -abs(query - key) for key in keys]
    weights = [each / sum(near) for each in near]
    return sum(w * v for w, v in zip(weights, values, strict=True))


@task.right("all weights have the same sum under them, so it can be divided by once, at the end.")
def divided_at_the_end(query: float, keys: Row, values: Row) -> float:
    total = weighted = 0.0
    for i in range(len(keys)):
        near = 0.5 ** abs(query - keys[i])
        total += near
        weighted += near * values[i]
    return weighted / total


@task.right("a power of 2 is a power of e, and what all keys are far off by cancels.")
def as_a_softmax(query: float, keys: Row, values: Row) -> float:
    scores = [-abs(query - key) * math.log(2) for key in keys]
    powers = [math.exp(score - max(scores)) for score in scores]
    return sum(p / sum(powers) * v for p, v in zip(powers, values, strict=True))


@task.bug(
    symptom="Between two keys it finds 0.",
    origin="the dictionary's own look-up",
    mend="let each key have some closeness: `2 ** -abs(query - key)`.",
    case="a query between keys",
)
def all_or_nothing(query: float, keys: Row, values: Row) -> float:
    """only a key that is equal to the query counts: the look-up is still all or nothing."""
    weights = [1.0 if key == query else 0.0 for key in keys]
    return sum(w * v for w, v in zip(weights, values, strict=True))


@task.bug(
    symptom="Where keys are dense the answer is larger than every value.",
    origin="a new reader's first try",
    mend="divide each closeness by the sum of all, so that the weights sum to 1.",
    case="a query between keys",
)
def never_divided(query: float, keys: Row, values: Row) -> float:
    """the closenesses are not divided by their sum, so that they are no shares."""
    near = [2 ** -abs(query - key) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True))


@task.bug(
    symptom="Answers are too small, and the farther the keys are, the nearer to 0.",
    origin="a common slip",
    mend="divide by `sum(…)` of the closenesses, not by `len(keys)`.",
    case="a query between keys",
)
def divided_by_the_count(query: float, keys: Row, values: Row) -> float:
    """the closenesses are divided by how many keys there are, not by their sum."""
    near = [2 ** -abs(query - key) / len(keys) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True))


@task.bug(
    symptom="The answer leaps from one value to the next.",
    origin="a common slip",
    mend="let all keys count, each by its closeness: the nearest gets most, not all.",
    case="a query between keys",
)
def the_nearest_key_only(query: float, keys: Row, values: Row) -> float:
    """the nearest key gets all the weight, and the others none."""
    distances = [abs(query - key) for key in keys]
    return values[distances.index(min(distances))]


@task.bug(
    symptom="The farthest keys decide, and near ones hardly count.",
    origin="a common slip",
    mend="put a minus into the power: `2 ** -distance` halves, and `2 ** distance` doubles.",
    case="a query between keys",
)
def far_keys_weigh_most(query: float, keys: Row, values: Row) -> float:
    """the minus is missing, and closeness doubles with each step of distance."""
    near = [2 ** abs(query - key) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@task.bug(
    symptom="Keys above the query count more the farther they are.",
    origin="a common slip",
    mend="take the distance without its sign: `abs(query - key)`.",
    case="a query between keys",
)
def abs_forgotten(query: float, keys: Row, values: Row) -> float:
    """`abs` is missing, and a key above the query has a distance below 0."""
    near = [2 ** (key - query) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@task.bug(
    symptom="Keys two steps away count less than they should.",
    origin="the chapter on attention pooling has a kernel like this",
    mend="take the distance itself as the power, not its square.",
    case="a query between keys",
)
def distance_squared(query: float, keys: Row, values: Row) -> float:
    """the distance is squared, and closeness halves faster and faster."""
    near = [2 ** -((query - key) ** 2) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@task.bug(
    symptom="Near keys get a little more weight than they should.",
    origin="a common slip",
    mend="take powers of 2: e is 2.7, and its powers fall by more than half.",
    case="a query between keys",
)
def powers_of_e(query: float, keys: Row, values: Row) -> float:
    """the powers are those of e, as in a softmax, and fall by more than half."""
    near = [math.exp(-abs(query - key)) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@task.bug(
    symptom="Far keys count for too much.",
    origin="a common slip",
    mend="halve at each step: 1, 1/2, 1/4, 1/8, which is `2 ** -distance`.",
    case="a query between keys",
)
def one_over_the_distance(query: float, keys: Row, values: Row) -> float:
    """closeness is 1 / (1 + distance), which halves in the first step only."""
    near = [1 / (1 + abs(query - key)) for key in keys]
    return sum(n * v for n, v in zip(near, values, strict=True)) / sum(near)


@task.bug(
    symptom="Whatever is asked, the answer is the same.",
    origin="a common slip",
    mend="multiply each value by its own key's weight before you add.",
    case="a query between keys",
)
def the_plain_average(query: float, keys: Row, values: Row) -> float:  # noqa: ARG001
    """the values are averaged, and the weights are not used."""
    return sum(values) / len(values)


@task.bug(
    symptom="The answer is 0, except where there is one key.",
    origin="a new reader's first try",
    mend="divide by `/`: `each / sum(near)`.",
    case="a query between keys",
)
def divided_by_two_strokes(query: float, keys: Row, values: Row) -> float:
    """the division is `//`, which drops everything after the point."""
    near = [2 ** -abs(query - key) for key in keys]
    return sum(n // sum(near) * v for n, v in zip(near, values, strict=True))


@task.bug(
    symptom="Only the first item has any say.",
    origin="a new reader's first try",
    mend="return after the loop: put `return` as far left as `for`.",
    case="a query between keys",
)
def returned_inside_the_loop(query: float, keys: Row, values: Row) -> float:
    """`return` stands inside the loop, and ends it at the first item."""
    near = [2 ** -abs(query - key) for key in keys]
    return near[0] / sum(near) * values[0]


@task.bug(
    symptom="The first key has a weight of 1, wherever the query is.",
    origin="a new reader's first try",
    mend="finish the sum over all keys before you divide the first closeness by it.",
    case="a query between keys",
)
def divided_by_the_sum_so_far(query: float, keys: Row, values: Row) -> float:
    """each closeness is divided by the sum of those up to it, not of all."""
    total = output = 0.0
    for key, value in zip(keys, values, strict=True):
        total += 2 ** -abs(query - key)
        output += 2 ** -abs(query - key) / total * value
    return output


@task.bug(
    symptom="Weights do not sum to 1, and the later ones are too large.",
    origin="a new reader's first try",
    mend="take the sum once, before the loop: `total = sum(near)`.",
    case="a query between keys",
)
def divided_while_the_sum_changes(query: float, keys: Row, values: Row) -> float:
    """the closenesses are divided in their own list, and their sum changes from one to the next."""
    near = [2 ** -abs(query - key) for key in keys]
    for i in range(len(near)):
        near[i] /= sum(near)
    return sum(n * v for n, v in zip(near, values, strict=True))
