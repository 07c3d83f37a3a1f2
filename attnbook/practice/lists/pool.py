"""One output: vectors of values, added up by their weights."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]
Rows = list[list[float]]


def _pooled(weights: Row, values: Rows) -> Row:
    places = range(len(values[0]))
    return [sum(w * v[i] for w, v in zip(weights, values, strict=True)) for i in places]


task = ListTask(
    name="pool-by-hand",
    in_torch="pool",
    statement=(
        "Write `pool(weights, values)`: a list of weights, and a list of as many vectors, each a "
        "list of numbers. Return one vector: the sum of all vectors, each times its weight. "
        "Weights are taken as they are: where they sum to 0.5, the output is half as large."
    ),
    starter="def pool(weights, values):\n    ...",
)


task.case("three vectors of two numbers")(
    lambda: ([0.5, 0.3, 0.2], [[8.0, 1.0], [5.0, 0.0], [6.0, -2.0]])
)
task.case("as many vectors as numbers in each")(lambda: ([0.75, 0.25], [[4.0, 8.0], [0.0, 2.0]]))
task.case("two vectors of three numbers")(lambda: ([0.4, 0.6], [[5.0, 0.0, -5.0], [1.0, 2.0, 3.0]]))
task.case("all weight on one of three")(lambda: ([0.0, 1.0, 0.0], [[9.0], [4.0], [7.0]]))
task.case("one vector")(lambda: ([1.0], [[3.0, -2.0]]))
task.case("weights that sum to 0.5")(lambda: ([0.25, 0.25], [[4.0], [8.0]]))
task.case("weights that are all 0")(lambda: ([0.0, 0.0], [[4.0, 1.0], [8.0, 2.0]]))
task.case("a weight below 0")(lambda: ([-0.5, 1.5], [[4.0, 1.0], [8.0, 2.0]]))
task.case("12 vectors")(
    lambda: ([x / 66 for x in range(12)], [[x * x - 9.0, 2.0 - x] for x in range(12)])
)


@task.right("each number of the output goes through all vectors, at its own place.")
def place_by_place(weights: Row, values: Rows) -> Row:
    output = [0.0] * len(values[0])
    for i in range(len(output)):
        for j in range(len(weights)):
            output[i] += weights[j] * values[j][i]
    return output


@task.right("it goes through the keys, and adds what each gives to every place.")
def key_by_key(weights: Row, values: Rows) -> Row:
    output = [0.0] * len(values[0])
    for weight, value in zip(weights, values, strict=True):
        output = [o + weight * v for o, v in zip(output, value, strict=True)]
    return output


@task.right("`zip(*values)` gives columns, and each has a dot product with the weights.")
def column_by_column(weights: Row, values: Rows) -> Row:
    columns = list(zip(*values, strict=True))
    return [sum(w * v for w, v in zip(weights, column, strict=True)) for column in columns]


@task.bug(
    symptom="Outputs are too small, the more so the more keys there are.",
    origin="a common slip",
    mend="only add up; the weights have seen to the average already.",
    case="three vectors of two numbers",
)
def divided_by_the_number_of_keys(weights: Row, values: Rows) -> Row:
    """weighted vectors are averaged, where they should be summed."""
    return [number / len(weights) for number in _pooled(weights, values)]


@task.bug(
    symptom="Whatever is asked, the output is the same.",
    origin="a common slip",
    mend="multiply each vector by its weight before you add.",
    case="three vectors of two numbers",
)
def all_keys_weigh_the_same(weights: Row, values: Rows) -> Row:
    """the weights are not used, and the vectors' plain average is returned."""
    return _pooled([1 / len(weights)] * len(weights), values)


@task.bug(
    symptom="Outputs jump from one vector to another.",
    origin="a common slip",
    mend="use all vectors, each by its weight, not only the one with the largest.",
    case="three vectors of two numbers",
)
def the_heaviest_key_only(weights: Row, values: Rows) -> Row:
    """only the vector with the largest weight is returned."""
    return values[weights.index(max(weights))]


@task.bug(
    symptom="Attention is far too even: outputs are all near the plain average.",
    origin="a common slip",
    mend="take no softmax here: what comes in is weights already.",
    case="three vectors of two numbers",
)
def softmax_taken_twice(weights: Row, values: Rows) -> Row:
    """a softmax is taken of weights that had theirs."""
    powers = [math.exp(weight) for weight in weights]
    return _pooled([power / sum(powers) for power in powers], values)


@task.bug(
    symptom="Where nothing is seen it stops, or weights that were cut down have no effect.",
    origin="a common slip",
    mend="take the weights as they are, and leave the dividing to the softmax.",
    case="weights that sum to 0.5",
)
def weights_normalised_again(weights: Row, values: Rows) -> Row:
    """the weights are divided by their sum once more."""
    return _pooled([weight / sum(weights) for weight in weights], values)


@task.bug(
    symptom="A list of many vectors comes back, and one was wanted.",
    origin="a new reader's first try",
    mend="add the weighted vectors up, place by place.",
    case="three vectors of two numbers",
)
def never_added(weights: Row, values: Rows) -> Rows:
    """each vector is multiplied by its weight, and they are not added up."""
    return [[w * number for number in v] for w, v in zip(weights, values, strict=True)]


@task.bug(
    symptom="The output has one number for each key.",
    origin="a common slip",
    mend="for each place in a vector, add over the keys: `sum(w * v[i] for w, v in …)`.",
    case="three vectors of two numbers",
)
def added_inside_each_vector(weights: Row, values: Rows) -> Row:
    """the numbers inside each vector are added up, and not those at one place of all vectors."""
    return [w * sum(v) for w, v in zip(weights, values, strict=True)]


@task.bug(
    symptom="One number comes back, and a vector was wanted.",
    origin="a new reader's first try",
    mend="keep a sum for each place in the vectors.",
    case="three vectors of two numbers",
)
def all_in_one_sum(weights: Row, values: Rows) -> float:
    """everything goes into one sum, where each place has its own."""
    return sum(_pooled(weights, values))


@task.bug(
    symptom="Only the last key has any say.",
    origin="a common slip",
    mend="begin with zeros, and add each key's share to what is there: `output[i] += …`.",
    case="three vectors of two numbers",
)
def the_last_key_only(weights: Row, values: Rows) -> Row:
    """each key's share replaces what was there, where it should be added."""
    return [weights[-1] * number for number in values[-1]]


@task.bug(
    symptom="The output is too long, or it stops at an index.",
    origin="a common slip",
    mend="make room for `len(values[0])` numbers: the output is as long as a vector.",
    case="three vectors of two numbers",
)
def as_long_as_the_weights(weights: Row, values: Rows) -> Row:
    """the output begins with a 0 for each weight, and not for each place in a vector."""
    output = [0.0] * len(weights)
    for weight, value in zip(weights, values, strict=True):
        for i in range(len(value)):
            output[i] += weight * value[i]
    return output


@task.bug(
    symptom="A second call with the same lists gives something else.",
    origin="a common slip",
    mend="begin with a new list of zeros, `[0.0] * len(values[0])`.",
    case="three vectors of two numbers",
)
def summed_into_the_first_vector(weights: Row, values: Rows) -> Row:
    """the sum is written into the caller's own first vector."""
    output = values[0]
    for i, number in enumerate(_pooled(weights, values)):
        output[i] = number
    return output


@task.bug(
    symptom="One number comes back, in a list.",
    origin="a new reader's first try",
    mend="return after the loop: put `return` as far left as `for`.",
    case="three vectors of two numbers",
)
def returned_inside_the_loop(weights: Row, values: Rows) -> Row:
    """`return` stands inside the loop, and ends it at the first number."""
    return _pooled(weights, values)[:1]
