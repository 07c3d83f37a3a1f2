"""Values averaged by weights."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.inputs import normal
from attnbook.practice.task import Function, Task

task = Task(
    name="pool",
    statement=(
        "Write `pool(weights, values)`. `weights` has shape (batch, num_queries, num_keys) and "
        "`values` (batch, num_keys, value_size). Give one output per query, (batch, num_queries, "
        "value_size): the sum of its example's values, each times the weight that the query gives "
        "to its key. There may be an axis for heads after the batch: (batch, num_heads, …) in "
        "both and in the output; each head has its own weights and values. Weights are taken as "
        "they are: a row that sums to 0.5 gives an output half as large."
    ),
    starter="def pool(weights, values):\n    ...",
)


def _weights(*shape: int) -> Tensor:
    return normal(*shape).softmax(dim=-1)


task.case("weights that sum to 1", gradients=False)(lambda: (_weights(2, 3, 5), normal(2, 5, 7)))


task.case("weights that do not sum to 1, after dropout")(
    lambda: (_weights(2, 3, 5) * 2 * (normal(2, 3, 5) > 0), normal(2, 5, 7))
)


task.case("one query")(lambda: (_weights(2, 1, 5), normal(2, 5, 7)))


task.case("one key")(lambda: (_weights(2, 3, 1), normal(2, 1, 7)))


task.case("as many queries as keys, and values of that size")(
    lambda: (_weights(3, 3, 3), normal(3, 3, 3))
)


task.case("all weight on one key")(
    lambda: (torch.eye(5)[torch.tensor([[3, 0, 0], [4, 1, 2]])], normal(2, 5, 7))
)


task.case("a row of weights that is all 0")(
    lambda: (_weights(2, 3, 5) * torch.tensor([1.0, 0, 1])[:, None], normal(2, 5, 7))
)


task.case("heads")(lambda: (_weights(2, 3, 5, 7), normal(2, 3, 7, 11)))


task.case("weights and values that are views of other tensors, axes swapped")(
    lambda: (_weights(2, 3, 5).mT.contiguous().mT, normal(2, 7, 5).mT)
)


task.case("double precision")(lambda: (_weights(2, 3, 5).double(), normal(2, 5, 7).double()))


task.case("half precision")(lambda: (_weights(2, 3, 5).half(), normal(2, 5, 7).half()))


task.case("6 examples of 9 queries, 131 keys")(
    lambda: (normal(6, 9, 131).softmax(-1), normal(6, 131, 7))
)


@task.right("it is the book's own.")
def the_package(weights: Tensor, values: Tensor) -> Tensor:
    return attnbook.pool(weights, values)


@task.right(
    "a matrix product sums over the keys: the last axis of weights, the last but one of values."
)
def by_einsum(weights: Tensor, values: Tensor) -> Tensor:
    return torch.einsum("...qk,...kv->...qv", weights, values)


@task.right("it is the sentence itself: each value times its weight, summed over the keys.")
def every_pair_at_once(weights: Tensor, values: Tensor) -> Tensor:
    # (…, queries, keys, 1) * (…, 1, keys, value_size)
    return (weights.unsqueeze(-1) * values.unsqueeze(-3)).sum(dim=-2)


@task.right("it goes through the keys, and adds what each gives to every query.")
def key_by_key(weights: Tensor, values: Tensor) -> Tensor:
    output = torch.zeros(*weights.shape[:-1], values.shape[-1], dtype=values.dtype)
    for key in range(values.shape[-2]):
        output = output + weights[..., key, None] * values[..., None, key, :]
    return output


@task.right("heads are examples of their own while it pools, and get their axis back.")
def heads_in_the_batch(weights: Tensor, values: Tensor) -> Tensor:
    output = torch.bmm(
        weights.reshape(-1, *weights.shape[-2:]), values.reshape(-1, *values.shape[-2:])
    )
    return output.reshape(*weights.shape[:-1], values.shape[-1])


@task.test
def test_half_of_each_value_is_their_average(function: Function) -> None:
    output = function(torch.tensor([[[0.5, 0.5], [0, 1]]]), torch.tensor([[[2.0, 0], [4, 8]]]))
    assert output.tolist() == [[[3, 4], [4, 8]]]


@task.test
def test_weights_are_taken_as_they_are(function: Function) -> None:
    output = function(torch.tensor([[[0.5, 0], [0, 0]]]), torch.tensor([[[2.0], [4]]]))
    assert output.tolist() == [[[1], [0]]]


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
