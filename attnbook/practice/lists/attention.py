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


def _pool(weights: Row, values: Rows) -> Row:
    return [_dot(weights, [value[i] for value in values]) for i in range(len(values[0]))]


task = ListTask(
    name="attention-by-hand",
    in_torch="scaled-dot-attention",
    statement=(
        "Write `attend(query, keys, values)`: `query` is a vector, a list of numbers; `keys` is a "
        "list of vectors of that size, and `values` a list of as many vectors, maybe of another "
        "size. A score is the dot product of query and key, divided by the root of the query's "
        "size. A softmax of the scores gives the weights; it must hold for scores of 1000, too. "
        "Return the sum of the value vectors, each times its weight: a list."
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


@task.right("it is the three stages, one after the other.")
def stage_by_stage(query: Row, keys: Rows, values: Rows) -> Row:
    root = math.sqrt(len(query))
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) / root for key in keys]
    powers = [math.exp(score - max(scores)) for score in scores]
    weights = [power / sum(powers) for power in powers]
    columns = zip(*values, strict=True)
    return [sum(w * v for w, v in zip(weights, column, strict=True)) for column in columns]


@task.right("the query may be divided by the root before it meets a key.")
def query_scaled_first(query: Row, keys: Rows, values: Rows) -> Row:
    scaled = [q * len(query) ** -0.5 for q in query]
    return _pool(_softmax([_dot(scaled, key) for key in keys]), values)


@task.right("it carries sums from key to key, and corrects them when the highest score rises.")
def in_one_pass(query: Row, keys: Rows, values: Rows) -> Row:
    highest, total, output = -math.inf, 0.0, [0.0] * len(values[0])
    for key, value in zip(keys, values, strict=True):
        score = _dot(query, key) / math.sqrt(len(query))
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
    symptom="Each query takes one value and leaves the others.",
    origin="a common slip",
    mend="divide by the root, `/ math.sqrt(len(query))`, in place of `*`.",
    case="three keys of four numbers",
)
def multiplied_by_the_root(query: Row, keys: Rows, values: Rows) -> Row:
    """the scores are multiplied by the root, where they should be divided."""
    root = math.sqrt(len(query))
    return _pool(_softmax([_dot(query, key) * root for key in keys]), values)


@task.bug(
    symptom="The more keys there are, the flatter are the weights.",
    origin="a common slip",
    mend="take the size of the query, `len(query)`; `len(keys)` is how many keys there are.",
    case="three keys of four numbers",
)
def root_of_the_number_of_keys(query: Row, keys: Rows, values: Rows) -> Row:
    """the number of keys stands under the root, where the query's size belongs."""
    root = math.sqrt(len(keys))
    return _pool(_softmax([_dot(query, key) / root for key in keys]), values)


@task.bug(
    symptom="With longer values the weights change, though the query and the keys did not.",
    origin="`whose d` is asked in threads such as bert_language_understanding#9",
    mend="take the size of the query, `len(query)`: values have no part in the scores.",
    case="three keys of four numbers",
)
def root_of_the_value_size(query: Row, keys: Rows, values: Rows) -> Row:
    """the size of a value stands under the root, where the query's size belongs."""
    root = math.sqrt(len(values[0]))
    return _pool(_softmax([_dot(query, key) / root for key in keys]), values)


@task.bug(
    symptom="The weights do not sum to 1, and the longer the vectors are, the smaller the output.",
    origin="a common slip",
    mend="divide the scores, before the softmax.",
    case="three keys of four numbers",
)
def scaled_after_the_softmax(query: Row, keys: Rows, values: Rows) -> Row:
    """the weights are divided by the root, where the scores should be."""
    weights = _softmax([_dot(query, key) for key in keys])
    return _pool([weight / math.sqrt(len(query)) for weight in weights], values)


@task.bug(
    symptom="A key twice as long gets no more attention.",
    origin="a common slip",
    mend="take the dot product as it is: how long a query or a key is counts.",
    case="three keys of four numbers",
)
def cosine_in_place_of_the_product(query: Row, keys: Rows, values: Rows) -> Row:
    """query and keys are divided by their lengths first, so that only angles count."""
    root = math.sqrt(len(query))
    lengths = [math.sqrt(_dot(query, query) * _dot(key, key)) for key in keys]
    scores = [_dot(query, k) / n / root for k, n in zip(keys, lengths, strict=True)]
    return _pool(_softmax(scores), values)


@task.bug(
    symptom="The output holds keys, or has their size.",
    origin="a common slip",
    mend="multiply the weights by `values`: keys have done their part in the scores.",
    case="three keys of four numbers",
)
def keys_are_pooled(query: Row, keys: Rows, values: Rows) -> Row:  # noqa: ARG001
    """the keys are added up by the weights, and the values are never used."""
    root = math.sqrt(len(query))
    return _pool(_softmax([_dot(query, key) / root for key in keys]), keys)


@task.bug(
    symptom="It works until training has made the scores large, and then it stops.",
    origin="a notebook for Understanding Deep Learning",
    mend="subtract `max(scores)` from each score before `math.exp`: it cancels.",
    case="scores of 1000",
)
def no_maximum_subtracted(query: Row, keys: Rows, values: Rows) -> Row:
    """no maximum is subtracted, so that powers overflow, or all vanish."""
    powers = [math.exp(_dot(query, key) / math.sqrt(len(query))) for key in keys]
    return _pool([power / sum(powers) for power in powers], values)


@task.bug(
    symptom="Outputs lie far outside of the values.",
    origin="a new reader's first try",
    mend="make weights of the scores first: their powers of e, divided by the sum of these.",
    case="three keys of four numbers",
)
def softmax_left_out(query: Row, keys: Rows, values: Rows) -> Row:
    """the scores themselves are used as weights, without a softmax."""
    return _pool([_dot(query, key) / math.sqrt(len(query)) for key in keys], values)


@task.bug(
    symptom="Outputs are larger than the values.",
    origin="a new reader's first try",
    mend="divide each power by the sum of all: `power / sum(powers)`.",
    case="three keys of four numbers",
)
def powers_never_divided(query: Row, keys: Rows, values: Rows) -> Row:
    """the powers of e are not divided by their sum, so that they are no shares."""
    scores = [_dot(query, key) / math.sqrt(len(query)) for key in keys]
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
