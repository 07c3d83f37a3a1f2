"""Attention of one query: scores, weights and output, on plain lists."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]
Rows = list[list[float]]


def _dot(one: Row, other: Row) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _softmax(scores: Row) -> Row:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _scores(query: Row, keys: Rows) -> Row:
    return [_dot(query, key) / math.sqrt(len(query)) for key in keys]


def _pool(weights: Row, values: Rows) -> Row:
    return [_dot(weights, [value[i] for value in values]) for i in range(len(values[0]))]


task = ListTask(
    name="attention-by-hand",
    in_torch="scaled-dot-attention",
    statement=(
        "Write `attend(query, keys, values)`: `query` is a vector, a list of numbers; `keys` is a "
        "list of vectors of that size, and `values` a list of as many vectors, maybe of another "
        "size. A score is the dot product of query and key, divided by the root of the query's "
        "size. A softmax of the scores gives the weights; it must hold for scores of 1000 and of "
        "-1000. Return the sum of the value vectors, each times its weight: a list."
    ),
    starter="import math\n\ndef attend(query, keys, values):\n    ...",
)


task.case("three keys of four numbers")(
    lambda: (
        [2.0, 2.0, 0.0, 0.0],
        [[2.0, 0.0, 0.0, 1.0], [0.0, 2.5, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]],
        [[4.0], [2.0], [1.0]],
    )
)
task.case("values of three numbers")(
    lambda: ([1.0, -1.0], [[0.0, 2.0], [2.0, 1.0]], [[4.0, 0.0, 2.0], [0.0, 8.0, 1.0]])
)
task.case("keys and values of one size")(
    lambda: ([1.0, 0.5], [[2.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 3.0]])
)
task.case("a query of zeros")(lambda: ([0.0, 0.0], [[1.0, 2.0], [3.0, 1.0]], [[2.0], [6.0]]))
task.case("one key")(lambda: ([3.0], [[-2.0]], [[5.0, 7.0]]))
task.case("scores of 1000")(
    lambda: ([1000.0], [[0.0], [1.0], [0.999], [-1.0]], [[1.0], [4.0], [2.0], [3.0]])
)
task.case("scores of -1000")(lambda: ([1000.0], [[-1.0], [-0.999]], [[4.0], [2.0]]))
task.case("9 keys")(
    lambda: (
        [0.5, -1.0, 0.25],
        [[x * 0.5, 1 - x * 0.25, 2.0] for x in range(9)],
        [[x * x - 9.0, 2.0 - x] for x in range(9)],
    )
)


@task.right("it is the three stages, one after the other.")
def stage_by_stage(query: Row, keys: Rows, values: Rows) -> Row:
    scores = _scores(query, keys)
    powers = [math.exp(score - max(scores)) for score in scores]
    weights = [power / sum(powers) for power in powers]
    return _pool(weights, values)


@task.right("the query may be divided by the root before it meets a key.")
def query_scaled_first(query: Row, keys: Rows, values: Rows) -> Row:
    scaled = [q * len(query) ** -0.5 for q in query]
    return _pool(_softmax([_dot(scaled, key) for key in keys]), values)


@task.right("it carries sums from key to key, and corrects them when the highest score rises.")
def in_one_pass(query: Row, keys: Rows, values: Rows) -> Row:
    highest, total, output = -math.inf, 0.0, [0.0] * len(values[0])
    for score, value in zip(_scores(query, keys), values, strict=True):
        new = max(highest, score)
        old, power = math.exp(highest - new), math.exp(score - new)
        highest, total = new, old * total + power
        output = [old * o + power * v for o, v in zip(output, value, strict=True)]
    return [o / total for o in output]


@task.bug(
    symptom="The weights are nearly 0 and 1, the more so the longer the vectors are.",
    origin="a common slip",
    mend="divide each score by `math.sqrt(len(query))` before the softmax.",
    case="three keys of four numbers",
)
def no_scaling(query: Row, keys: Rows, values: Rows) -> Row:
    """the scores are not divided by the root of the query's size."""
    return _pool(_softmax([_dot(query, key) for key in keys]), values)


@task.bug(
    symptom="All weights are nearly alike, the more so the longer the vectors are.",
    origin="a common slip",
    mend="take the root: divide by `math.sqrt(len(query))`.",
    case="three keys of four numbers",
)
def division_by_the_size(query: Row, keys: Rows, values: Rows) -> Row:
    """the scores are divided by the query's size, without the root."""
    return _pool(_softmax([_dot(query, key) / len(query) for key in keys]), values)


@task.bug(
    symptom="The more keys there are, the flatter are the weights.",
    origin="a common slip",
    mend="take the size of the query, `len(query)`; `len(keys)` is how many keys there are.",
    case="three keys of four numbers",
)
def root_of_the_number_of_keys(query: Row, keys: Rows, values: Rows) -> Row:
    """the number of keys stands under the root, where the query's size belongs."""
    return _pool(_softmax([_dot(query, key) / math.sqrt(len(keys)) for key in keys]), values)


@task.bug(
    symptom="The output holds keys, or has their size.",
    origin="a common slip",
    mend="multiply the weights by `values`: keys have done their part in the scores.",
    case="three keys of four numbers",
)
def keys_are_pooled(query: Row, keys: Rows, values: Rows) -> Row:  # noqa: ARG001
    """the keys are added up by the weights, and the values are never used."""
    return _pool(_softmax(_scores(query, keys)), keys)


@task.bug(
    symptom="It works until training has made the scores large, and then it stops.",
    origin="a notebook for Understanding Deep Learning",
    mend="subtract `max(scores)` from each score before `math.exp`: it cancels.",
    case="scores of 1000",
)
def no_maximum_subtracted(query: Row, keys: Rows, values: Rows) -> Row:
    """no maximum is subtracted, so that powers overflow, or all vanish."""
    powers = [math.exp(score) for score in _scores(query, keys)]
    return _pool([power / sum(powers) for power in powers], values)


@task.bug(
    symptom="Outputs lie far outside of the values.",
    origin="a new reader's first try",
    mend="make weights of the scores first: their powers of e, divided by the sum of these.",
    case="three keys of four numbers",
)
def softmax_left_out(query: Row, keys: Rows, values: Rows) -> Row:
    """the scores themselves are used as weights, without a softmax."""
    return _pool(_scores(query, keys), values)


@task.bug(
    symptom="Outputs are larger than the values.",
    origin="a new reader's first try",
    mend="divide each power by the sum of all: `power / sum(powers)`.",
    case="three keys of four numbers",
)
def powers_never_divided(query: Row, keys: Rows, values: Rows) -> Row:
    """the powers of e are not divided by their sum, so that they are no shares."""
    scores = _scores(query, keys)
    return _pool([math.exp(score - max(scores)) for score in scores], values)


@task.bug(
    symptom="Outputs jump from one value to another.",
    origin="a common slip",
    mend="add up all values by their weights: the best key gets most, not all.",
    case="three keys of four numbers",
)
def the_best_key_only(query: Row, keys: Rows, values: Rows) -> Row:
    """the value of the key with the highest score is returned, and the others never count."""
    scores = [_dot(query, key) for key in keys]
    return values[scores.index(max(scores))]


@task.bug(
    symptom="Outputs are far too small, or nothing at all.",
    origin="a new reader's first try",
    mend="subtract the maximum below the fraction bar, too: then it cancels.",
    case="three keys of four numbers",
)
def maximum_subtracted_above_only(query: Row, keys: Rows, values: Rows) -> Row:
    """the maximum is subtracted above the fraction bar only, where it does not cancel."""
    scores = _scores(query, keys)
    total = sum(math.exp(score) for score in scores)
    return _pool([math.exp(score - max(scores)) / total for score in scores], values)


@task.bug(
    symptom="The key that fits best gets the smallest weight.",
    origin="a new reader's first try",
    mend="subtract the maximum from the score, `score - highest`, not the other way round.",
    case="three keys of four numbers",
)
def turned_round(query: Row, keys: Rows, values: Rows) -> Row:
    """the sign of the scores is turned, and the highest gets the smallest weight."""
    return _pool(_softmax([-score for score in _scores(query, keys)]), values)


@task.bug(
    symptom="Outputs are 0, except where one key has all the weight.",
    origin="a new reader's first try",
    mend="divide by `/`: `power / sum(powers)`.",
    case="three keys of four numbers",
)
def divided_by_two_strokes(query: Row, keys: Rows, values: Rows) -> Row:
    """the powers are divided by `//`, which drops everything after the point."""
    return _pool([weight // 1 for weight in _softmax(_scores(query, keys))], values)


@task.bug(
    symptom="Scores depend on the order of the keys.",
    origin="a new reader's first try",
    mend="begin each key's sum with 0, inside the loop over the keys.",
    case="three keys of four numbers",
)
def sum_not_reset(query: Row, keys: Rows, values: Rows) -> Row:
    """the sum of a dot product goes on with the next key, where it should begin with 0."""
    scores = _scores(query, keys)
    return _pool(_softmax([sum(scores[: i + 1]) for i in range(len(keys))]), values)


@task.bug(
    symptom="Outputs are too small, the more so the more keys there are.",
    origin="a new reader's first try",
    mend="only add up: weights sum to 1, and have seen to the average.",
    case="three keys of four numbers",
)
def divided_by_the_number_of_keys(query: Row, keys: Rows, values: Rows) -> Row:
    """the sum is divided by how many keys there are, though the weights sum to 1."""
    return [number / len(keys) for number in _pool(_softmax(_scores(query, keys)), values)]


@task.bug(
    symptom="It stops where all scores are far below 0.",
    origin="a new reader's first try",
    mend="let the search for the highest score begin with the first one, or take `max(scores)`.",
    case="scores of -1000",
)
def maximum_sought_from_0(query: Row, keys: Rows, values: Rows) -> Row:
    """the search for the highest score begins at 0, and with lower scores all powers vanish."""
    scores = _scores(query, keys)
    powers = [math.exp(score - max(0.0, *scores)) for score in scores]
    return _pool([power / sum(powers) for power in powers], values)


@task.bug(
    symptom="It agrees with torch where values are as long as queries, and nowhere else.",
    origin="a new reader's first try",
    mend="divide by the root of the query's size: `math.sqrt(len(query))`.",
    case="values of three numbers",
)
def root_of_the_values_size(query: Row, keys: Rows, values: Rows) -> Row:
    """scores are divided by the root of the values' size, where the query's belongs."""
    scores = [_dot(query, key) / math.sqrt(len(values[0])) for key in keys]
    return _pool(_softmax(scores), values)
