"""Kernel regression: an average in which near keys count most."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]


def _scores(query: float, keys: Row, width: float) -> Row:
    return [-((query - key) ** 2) / (2 * width**2) for key in keys]


def _pooled(scores: Row, values: Row) -> float:
    """A softmax, and the sum of weights times values."""
    powers = [math.exp(score - max(scores)) for score in scores]
    return sum(p * v for p, v in zip(powers, values, strict=True)) / sum(powers)


task = ListTask(
    name="kernel-pool-by-hand",
    in_torch="kernel-pool",
    statement=(
        "Write `kernel_pool(query, keys, values, width)`. `query` and `width` are numbers, `width` "
        "above 0; `keys` and `values` are lists of numbers. At a distance d from the query "
        "a key's kernel is e to the power of `-d**2 / (2 * width**2)`. The weights are the "
        "kernels divided by their sum. Return the sum of each weight times its value. It must "
        "also hold where all keys are far, and `math.exp` gives 0 for each."
    ),
    starter="import math\n\ndef kernel_pool(query, keys, values, width):\n    ...",
)


task.case("a width of 1")(lambda: (1.0, [0.0, 2.5, 3.0], [10.0, 20.0, 70.0], 1.0))
task.case("a width of 2")(lambda: (1.0, [0.0, 2.5, 3.0], [10.0, 20.0, 70.0], 2.0))
task.case("a width of 0.5")(lambda: (0.5, [0.0, 1.25], [4.0, 8.0], 0.5))
task.case("a query that lies on a key")(lambda: (2.0, [1.0, 2.0], [-3.0, 5.0], 1.5))
task.case("one key")(lambda: (0.0, [3.0], [7.0], 1.5))
task.case("a query far from all keys")(
    lambda: (1000.0, [0.0, 900.01, 900.0, 10.0], [5.0, 10.0, 20.0, 30.0], 1.0)
)
task.case("a query on one key, and 20 from the first and the last")(
    lambda: (0.0, [20.0, 0.0, 20.0], [5.0, 10.0, 20.0], 1.0)
)
task.case("12 keys")(
    lambda: (4.5, [x * 0.75 for x in range(12)], [x * x - 9.0 for x in range(12)], 1.5)
)


@task.right("powers may all be multiplied by one number: it cancels in their shares.")
def by_the_formula(query: float, keys: Row, values: Row, width: float) -> float:
    scores = [-((query - key) ** 2) / (2 * width**2) for key in keys]
    powers = [math.exp(score - max(scores)) for score in scores]
    weights = [power / sum(powers) for power in powers]
    return sum(w * v for w, v in zip(weights, values, strict=True))


@task.right("a weight is 1 over what all kernels are, seen from its own key.")
def seen_from_each_key(query: float, keys: Row, values: Row, width: float) -> float:
    output = 0.0
    for key, value in zip(keys, values, strict=True):
        total = 0.0
        for other in keys:
            nearer = (query - key) ** 2 - (query - other) ** 2
            # More than 700, and the weight is 0 as far as a float can say.
            total += math.exp(min(nearer / (2 * width**2), 700))
        output += value / total
    return output


@task.right("distances in widths; the smallest square is subtracted, and comes back as a minus.")
def in_units_of_the_width(query: float, keys: Row, values: Row, width: float) -> float:
    squares = [((query - key) / width) ** 2 for key in keys]
    total = weighted = 0.0
    for i in range(len(keys)):
        power = math.exp((min(squares) - squares[i]) / 2)
        total += power
        weighted += power * values[i]
    return weighted / total


@task.bug(
    symptom="The curve is right near the points, and stops far from them.",
    origin="a common slip",
    mend="subtract the largest of the powers' exponents from all, before `math.exp`: it cancels.",
    case="a query far from all keys",
)
def powers_that_vanish(query: float, keys: Row, values: Row, width: float) -> float:
    """all kernels are rounded to 0 far from the keys, and 0 is divided by 0."""
    powers = [math.exp(score) for score in _scores(query, keys, width)]
    return sum(p * v for p, v in zip(powers, values, strict=True)) / sum(powers)


@task.bug(
    symptom="A wide kernel is not as wide as it should be, a narrow one not as narrow.",
    origin="a common slip",
    mend="square the width, as the distance is.",
    case="a width of 2",
)
def width_not_squared(query: float, keys: Row, values: Row, width: float) -> float:
    """the width is not squared."""
    return _pooled([-((query - key) ** 2) / (2 * width) for key in keys], values)


@task.bug(
    symptom="The curve follows the points more closely than others' with the same width.",
    origin="a common slip",
    mend="divide by `2 * width**2`.",
    case="a width of 1",
)
def the_half_forgotten(query: float, keys: Row, values: Row, width: float) -> float:
    """the 2 under the squared distance is missing."""
    return _pooled([-(((query - key) / width) ** 2) for key in keys], values)


@task.bug(
    symptom="A larger width makes the curve less smooth.",
    origin="a common slip: Python divides and multiplies from left to right",
    mend="put brackets around what you divide by: `/ (2 * width**2)`.",
    case="a width of 2",
)
def multiplied_by_the_width(query: float, keys: Row, values: Row, width: float) -> float:
    """the squared distance is multiplied by the squared width, not divided by it."""
    return _pooled([-((query - key) ** 2) / 2 * width**2 for key in keys], values)


@task.bug(
    symptom="The curve is smoother than others' with the same width.",
    origin="a common slip",
    mend="square the width alone: `2 * width**2`, not `(2 * width)**2`.",
    case="a width of 1",
)
def the_2_squared_too(query: float, keys: Row, values: Row, width: float) -> float:
    """the 2 is squared, too, and the squared distance is divided by 4 width²."""
    return _pooled([-(((query - key) / (2 * width)) ** 2) for key in keys], values)


@task.bug(
    symptom="Whatever the width is, the curve is the same.",
    origin="a new reader's first try",
    mend="divide the squared distance by `2 * width**2`.",
    case="a width of 2",
)
def width_never_used(query: float, keys: Row, values: Row, width: float) -> float:  # noqa: ARG001
    """the width is never used, as if it were 1."""
    return _pooled(_scores(query, keys, 1.0), values)


@task.bug(
    symptom="The farthest points decide, and near ones hardly count.",
    origin="a common slip",
    mend="put a minus before the squared distance: what is near fits well.",
    case="a width of 1",
)
def far_keys_weigh_most(query: float, keys: Row, values: Row, width: float) -> float:
    """the minus is missing, and weights grow with the distance."""
    return _pooled([-score for score in _scores(query, keys, width)], values)


@task.bug(
    symptom="Predictions fall to 0 far from the points.",
    origin="a common slip",
    mend="divide each kernel by the sum of all.",
    case="a width of 1",
)
def weights_not_normalised(query: float, keys: Row, values: Row, width: float) -> float:
    """the kernels are used as weights, without dividing by their sum."""
    scores = _scores(query, keys, width)
    return sum(math.exp(s) * v for s, v in zip(scores, values, strict=True))


@task.bug(
    symptom="Near a point the curve has a kink, and far points count more than they should.",
    origin="a common slip",
    mend="square the distance: `(query - key)**2`.",
    case="a width of 1",
)
def distance_not_squared(query: float, keys: Row, values: Row, width: float) -> float:
    """the distance itself stands where its square belongs."""
    return _pooled([-abs(query - key) / (2 * width**2) for key in keys], values)


@task.bug(
    symptom="The curve is a staircase.",
    origin="a common slip",
    mend="average all values by their weights, not the best one alone.",
    case="a width of 1",
)
def the_nearest_key_only(query: float, keys: Row, values: Row, width: float) -> float:
    """the value of the nearest key is returned, and the others never count."""
    scores = _scores(query, keys, width)
    return values[scores.index(max(scores))]


@task.bug(
    symptom="The curve misses points that it should almost touch.",
    origin="a common slip",
    mend="let every key count: leaving one's own out is for choosing a width.",
    case="a query that lies on a key",
)
def own_key_left_out(query: float, keys: Row, values: Row, width: float) -> float:
    """a key on which the query lies is left out, as when each point is predicted from the rest."""
    others = [i for i in range(len(keys)) if keys[i] != query]
    return _pooled(_scores(query, [keys[i] for i in others], width), [values[i] for i in others])


@task.bug(
    symptom="The curve is 0 nearly everywhere.",
    origin="a new reader's first try",
    mend="divide by `/`: `power / sum(powers)`.",
    case="a width of 1",
)
def divided_by_two_strokes(query: float, keys: Row, values: Row, width: float) -> float:
    """the division is `//`, which drops everything after the point."""
    scores = _scores(query, keys, width)
    powers = [math.exp(score - max(scores)) for score in scores]
    return sum(p // sum(powers) * v for p, v in zip(powers, values, strict=True))
