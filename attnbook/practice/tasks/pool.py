"""Values averaged by weights."""

import math

import torch
from torch import Tensor

import attnbook
from attnbook.practice import parts
from attnbook.practice.example_inputs import normal
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Function, Task

task = Task(
    name="pool",
    statement=(
        "Write `pool(weights, values)`. `weights` has shape (batch, num_queries, num_keys) and "
        "`values` (batch, num_keys, value_size). Give one output per query, (batch, num_queries, "
        "value_size): the sum of its example's values, each multiplied by the weight that the "
        "query gives to its key. There may be an axis for heads after the batch: (batch, "
        "num_heads, …) in both inputs and in the output; each head has its own weights and values. "
        "Weights are taken as they are: a row that sums to 0.5 gives an output half as large."
    ),
    starter="def pool(weights, values):\n    ...",
)


def _weights(*shape: int) -> Tensor:
    return normal(*shape).softmax(dim=-1)


def _times(factor: Tensor) -> tuple[Tensor, Tensor]:
    return _weights(2, 3, 5) * factor, normal(2, 5, 7)


task.case("weights that sum to 1", gradients=False)(lambda: (_weights(2, 3, 5), normal(2, 5, 7)))
task.case("weights that do not sum to 1, after dropout")(lambda: _times(2 * (normal(2, 3, 5) > 0)))
task.case("one query")(lambda: (_weights(2, 1, 5), normal(2, 5, 7)))
task.case("one key")(lambda: (_weights(2, 3, 1), normal(2, 1, 7)))
task.case("as many queries as keys, and values of that size")(
    lambda: (_weights(3, 3, 3), normal(3, 3, 3))
)
task.case("all weight on one key, and values of 1e37")(
    lambda: (torch.eye(5)[torch.tensor([[3, 0, 0], [4, 1, 2]])], 1e37 * normal(2, 5, 7))
)
task.case("a row of weights that is all 0")(lambda: _times(torch.tensor([1.0, 0, 1])[:, None]))
task.case("heads")(lambda: (_weights(2, 3, 5, 7), normal(2, 3, 7, 11)))
task.case("weights and values that are views of other tensors, axes swapped")(
    lambda: (_weights(2, 3, 5).mT.contiguous().mT, normal(2, 7, 5).mT)
)
task.case("weights below 0, in double precision")(
    lambda: (normal(2, 3, 5).double(), normal(2, 5, 7).double())
)
task.case("half precision")(lambda: (_weights(2, 3, 5).half(), normal(2, 5, 7).half()))
task.case("2 examples of 3 queries, 257 keys")(lambda: (_weights(2, 3, 257), normal(2, 257, 3)))


def pairs(weights: Tensor, values: Tensor) -> Tensor:
    """Multiply every value by every weight of its key: (…, queries, keys, value_size)."""
    return weights.unsqueeze(-1) * values.unsqueeze(-3)


task.solution("it is the book's own.", name="the package")(attnbook.pool)

task.solution(
    "a matrix product sums over the keys: the last axis of weights, the second to last of values.",
    name="by einsum",
)(lambda weights, values: torch.einsum("...qk,...kv->...qv", weights, values))

task.solution(
    "it follows the task's text: each value multiplied by its weight, summed over the keys.",
    name="every pair at once",
)(lambda weights, values: pairs(weights, values).sum(dim=-2))


@task.solution("it loops over the keys, and adds each key's weighted value to every output.")
def key_by_key(weights: Tensor, values: Tensor) -> Tensor:
    output = torch.zeros(*weights.shape[:-1], values.shape[-1], dtype=values.dtype)
    for key in range(values.shape[-2]):
        output = output + weights[..., key, None] * values[..., None, key, :]
    return output


@task.test
def test_each_example_and_head_has_its_own_values(function: Function) -> None:
    values = torch.arange(6.0).reshape(2, 3, 1, 1)
    assert torch.equal(function(torch.ones(2, 3, 1, 1), values), values)


@task.test
def test_gradients_reach_the_weights(function: Function) -> None:
    weights = torch.ones(1, 1, 2, requires_grad=True)
    function(weights, torch.tensor([[[2.0], [3.0]]])).sum().backward()
    assert weights.grad is not None
    assert weights.grad.tolist() == [[[2, 3]]]


task.bug(
    "divided by the number of keys",
    "weighted values are averaged, where they should be summed.",
    symptom="All outputs are smaller than they should be, the more so the more keys there are.",
    fix="sum over the keys; the weights already make it an average.",
)(lambda weights, values: pairs(weights, values).mean(dim=-2))

task.bug(
    "all keys weigh the same",
    "the weights are not used, and the values' plain average is returned.",
    symptom="All queries of an example get the same output.",
    fix="multiply by the weights: `weights @ values`.",
)(lambda weights, values: values.mean(dim=-2, keepdim=True) + 0 * weights[..., :1])


@task.bug(
    symptom="Outputs jump from one value to another, and no gradient reaches the scores.",
    fix="use all weights, not only the largest one.",
)
def the_heaviest_key_only(weights: Tensor, values: Tensor) -> Tensor:
    """only the value of the key with the largest weight is used."""
    best = weights.argmax(dim=-1, keepdim=True)
    return values.gather(-2, best.expand(*best.shape[:-1], values.shape[-1]))


task.bug(
    "softmax taken twice",
    "a softmax is applied to weights that already come from a softmax.",
    symptom="Attention is far too even: outputs are all near the plain average.",
    fix="take only one softmax: the inputs are weights already.",
)(lambda weights, values: weights.softmax(dim=-1) @ values)

task.bug(
    "weights normalised again",
    "each row of weights is divided by its sum once more.",
    symptom="Dropout on the weights seems to do little, and empty rows give NaN.",
    fix="use the weights as they are: only the softmax should normalise them.",
)(lambda weights, values: weights / weights.sum(dim=-1, keepdim=True) @ values)

task.bug(
    "the first examples values for all",
    "the values of the first example are pooled for the whole batch.",
    symptom="The first example is right, and all others get its values.",
    fix="pool each example's own values: `weights @ values`.",
)(lambda weights, values: weights @ values[0])

task.bug(
    "examples summed",
    "the einsum has two letters for the batch, so that values are summed over the batch, too.",
    symptom="An output changes with other examples of the batch, and is too large.",
    fix="let both inputs share the batch axes: `...qk,...kv->...qv`.",
)(lambda weights, values: torch.einsum("b...qk,c...kv->b...qv", weights, values))

task.bug(
    "weights detached",
    "the weights are cut off from their graph, by `detach()` or `.data`.",
    symptom="The outputs are right, but the layers that compute the scores never learn.",
    fix="detach weights only for display, not where they are used.",
)(lambda weights, values: weights.detach() @ values)

task.bug(
    "three axes only",
    "the product is written for three axes, as `torch.bmm` is, but with heads there are four.",
    symptom="It works for one head, and fails as soon as there is an axis for heads.",
    fix="use `@`, which takes any axes before the last two; `torch.bmm` takes just one.",
)(lambda weights, values: weights.bmm(values))

task.bug(
    "multiplied number by number",
    "weights and values are multiplied number by number, instead of by a matrix product.",
    symptom="It stops where weights and values are multiplied, unless their sizes are equal.",
    origin="a new reader's first try",
    fix="take the matrix product, `weights @ values`: it multiplies, and adds up over the keys.",
)(lambda weights, values: (weights * values).sum(dim=-1))


# On plain lists

Row = list[float]
Rows = list[list[float]]


by_hand = ListTask(
    name="pool-by-hand",
    in_torch=task,
    statement=(
        "Write `pool(weights, values)`: `weights` is a list of numbers, and `values` is a list of "
        "the same number of vectors, each a list of numbers. Return one vector: the sum of all "
        "vectors, each multiplied by its weight. Use the weights as they are: if they sum to 0.5, "
        "the output is half as large."
    ),
    starter="def pool(weights, values):\n    ...",
)

by_hand.case("three vectors of two numbers")(
    lambda: ([0.5, 0.3, 0.2], [[8.0, 1.0], [5.0, 0.0], [6.0, -2.0]])
)
by_hand.case("as many vectors as numbers in each")(lambda: ([0.25, 0.75], [[4.0, 8.0], [0.0, 2.0]]))
by_hand.case("two vectors of three numbers")(
    lambda: ([0.4, 0.6], [[5.0, 0.0, -5.0], [1.0, 2.0, 3.0]])
)
by_hand.case("all weight on one of three")(lambda: ([0.0, 1.0, 0.0], [[9.0], [4.0], [7.0]]))
by_hand.case("one vector")(lambda: ([1.0], [[3.0, -2.0]]))
by_hand.case("weights that sum to 0.5")(lambda: ([0.25, 0.25], [[4.0], [8.0]]))
by_hand.case("weights that are all 0")(lambda: ([0.0, 0.0], [[4.0, 1.0], [8.0, 2.0]]))
by_hand.case("a weight below 0")(lambda: ([-0.5, 1.5], [[4.0, 1.0], [8.0, 2.0]]))
by_hand.case("12 vectors")(
    lambda: ([x / 66 for x in range(12)], [[x * x - 9.0, 2.0 - x] for x in range(12)])
)


@by_hand.solution("each component of the output is summed over all vectors, by an inner loop.")
def place_by_place(weights: Row, values: Rows) -> Row:
    output = [0.0] * len(values[0])
    for i in range(len(output)):
        for j in range(len(weights)):
            output[i] += weights[j] * values[j][i]
    return output


by_hand.solution("it adds each vector, multiplied by its weight, to the output.")(parts.pool)


def column_by_column(weights: Row, values: Rows) -> Row:
    columns = list(zip(*values, strict=True))
    return [sum(w * v for w, v in zip(weights, column, strict=True)) for column in columns]


by_hand.solution(
    "`zip(*values)` gives columns; each one's dot product with the weights is a component."
)(column_by_column)


@by_hand.bug(fix="only add up; the weights already make it an average.")
def divided_by_the_number_of_keys_by_hand(weights: Row, values: Rows) -> Row:
    return [number / len(weights) for number in column_by_column(weights, values)]


@by_hand.bug(fix="multiply each vector by its weight before you add.")
def all_keys_weigh_the_same_by_hand(weights: Row, values: Rows) -> Row:
    return column_by_column([1 / len(weights)] * len(weights), values)


@by_hand.bug()
def the_heaviest_key_only_by_hand(weights: Row, values: Rows) -> Row:
    return values[weights.index(max(weights))]


@by_hand.bug(fix="take no softmax here: the inputs are weights already.")
def softmax_taken_twice_by_hand(weights: Row, values: Rows) -> Row:
    exponentials = [math.exp(weight) for weight in weights]
    return column_by_column([each / sum(exponentials) for each in exponentials], values)


@by_hand.bug(fix="use the weights as they are: only the softmax should divide by a sum.")
def weights_normalised_again_by_hand(weights: Row, values: Rows) -> Row:
    return column_by_column([weight / sum(weights) for weight in weights], values)


@by_hand.bug(fix="add the weighted vectors up, component by component.")
def never_added(weights: Row, values: Rows) -> Rows:
    """each vector is multiplied by its weight, but the vectors are not added up."""
    return [[w * number for number in v] for w, v in zip(weights, values, strict=True)]


@by_hand.bug(fix="for each component, add over the keys: `sum(w * v[i] for w, v in …)`.")
def added_inside_each_vector(weights: Row, values: Rows) -> Row:
    """it adds over the components of each vector, where it should add over the vectors."""
    return [w * sum(v) for w, v in zip(weights, values, strict=True)]


@by_hand.bug(fix="keep a sum for each component of the vectors.")
def all_in_one_sum(weights: Row, values: Rows) -> float:
    """everything is added to one sum, but each component needs its own."""
    return sum(column_by_column(weights, values))


@by_hand.bug(fix="begin with zeros, and add each key's share to what is there: `output[i] += …`.")
def the_last_key_only(weights: Row, values: Rows) -> Row:
    """each key's share replaces what was there, where it should be added."""
    return [weights[-1] * number for number in values[-1]]


@by_hand.bug(fix="make room for `len(values[0])` numbers: the output is as long as a vector.")
def as_long_as_the_weights(weights: Row, values: Rows) -> Row:
    """the output begins with a 0 for each weight, and not for each component of a vector."""
    output = [0.0] * len(weights)
    for weight, value in zip(weights, values, strict=True):
        for i in range(len(value)):
            output[i] += weight * value[i]
    return output


@by_hand.bug(fix="begin with a new list of zeros, `[0.0] * len(values[0])`.")
def summed_into_the_first_vector(weights: Row, values: Rows) -> Row:
    """the sum is written into the caller's own first vector."""
    output = values[0]
    for i, number in enumerate(column_by_column(weights, values)):
        output[i] = number
    return output


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_inside_the_loop(weights: Row, values: Rows) -> Row:
    """`return` is inside the loop, and ends it at the first number."""
    return column_by_column(weights, values)[:1]


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_with_the_first_vector(weights: Row, values: Rows) -> Row:
    """only the first vector counts, as when `return` is inside the loop over the vectors."""
    return [weights[0] * number for number in values[0]]
