"""Kernel regression: attention by closeness."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.practice.inputs import normal
from attnbook.practice.task import Function, Law, Task

Width = float | Tensor


Inputs = tuple[Tensor, Tensor, Tensor, Width]


def _between_the_values(
    output: Tensor, _queries: Tensor, _keys: Tensor, values: Tensor, _width: Width
) -> bool:
    low, high = values.amin(dim=1, keepdim=True), values.amax(dim=1, keepdim=True)
    return not ((output < low - 1e-2) | (output > high + 1e-2)).any()  # NaN is reported as such


task = Task(
    name="kernel-pool",
    statement=(
        "Write `kernel_pool(queries, keys, values, width)`. `queries` has shape (batch, "
        "num_queries, size), `keys` (batch, num_keys, size), `values` (batch, num_keys, "
        "value_size). Give (batch, num_queries, value_size): for each query the weighted average "
        "of its example's values. The weight of a key goes with the Gaussian kernel $e^{-d^2 / (2 "
        "width^2)}$, where $d^2$ is the sum of the squared differences of query and key, and the "
        "weights of each query sum to 1, however far all keys are from it, or all from 0. `width` "
        "is a positive number, or a tensor of one, shape (), that can be learned: gradients flow "
        "back to it, and to all others, also where a query lies on a key."
    ),
    starter="def kernel_pool(queries, keys, values, width):\n    ...",
    laws=(Law("Some output lies outside the values that it averages.", _between_the_values),),
)


def _inputs(width: float, size: int = 2) -> Inputs:
    return normal(2, 3, size), normal(2, 5, size), normal(2, 5, 7), width


def _far() -> Inputs:
    keys = torch.tensor([[[0.0], [-0.0625], [-0.03125]]])
    return torch.tensor([[[20.0], [0.0]]]), keys, torch.tensor([[[1.0], [2.0], [4.0]]]), 1.0


task.case("a width of 1")(lambda: _inputs(1.0))


task.case("a width of 2")(lambda: _inputs(2.0))


task.case("a width of 0.5")(lambda: _inputs(0.5))


task.case("vectors of one number")(lambda: _inputs(0.75, size=1))


task.case("as many queries as keys, and all sizes equal")(
    lambda: (normal(3, 3, 3), normal(3, 3, 3, seed=1), normal(3, 3, 3, seed=2), 1.5)
)


task.case("one key")(lambda: (normal(2, 3, 2), normal(2, 1, 2), normal(2, 1, 7), 1.5))


task.case("queries and keys that are views of other tensors, axes swapped")(
    lambda: (normal(2, 2, 3).mT, normal(2, 2, 5).mT, normal(2, 7, 5).mT, 1.5)
)


task.case("a width to be learned")(lambda: (*_inputs(0.0)[:3], torch.tensor(1.5)))


task.case("queries that lie on keys")(
    lambda: (normal(2, 5, 2)[:, :3], normal(2, 5, 2), normal(2, 5, 7), 1.5)
)


task.case("a query far from all keys", gradients=False)(_far)


task.case("double precision")(
    lambda: (*(each.double() for each in _inputs(1.5)[:3] if isinstance(each, Tensor)), 1.5)
)


def squared_distances(queries: Tensor, keys: Tensor) -> Tensor:
    """Squared distances. (batch, queries, 1, size) - (batch, 1, keys, size): every pair at once."""
    return (queries[:, :, None] - keys[:, None]).square().sum(dim=-1)


@task.case("times of day in seconds, 10,000 from zero")
def _() -> tuple[Tensor, Tensor, Tensor, float]:
    places = torch.tensor([[[0.0, 1], [1, 1], [2, 0]]])
    return 10_000 + torch.zeros(1, 1, 2), 10_000 + places, normal(1, 3, 2), 1.0


task.case("a query on one key, and 20 from the first and the last", gradients=False)(
    lambda: (torch.zeros(1, 1, 1), torch.tensor([[[20.0], [0], [20]]]), normal(1, 3, 2), 1.0)
)


task.case("26 keys near 10,000")(
    lambda: (10_000 + normal(1, 3, 2), 10_000 + normal(1, 26, 2), normal(1, 26, 2), 1.0)
)


task.case("6 examples of 9 queries, 131 keys, vectors of three numbers")(
    lambda: (normal(6, 9, 3), normal(6, 131, 3), normal(6, 131, 7), 1.5)
)


@task.right("it is the book's own.")
def the_package(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    return attnbook.kernel_pool(queries, keys, values, width)


@task.right("powers may be multiplied by anything before they are divided by their sum.")
def by_the_formula(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    squares = squared_distances(queries, keys)
    nearest = squares.amin(dim=-1, keepdim=True)
    powers = torch.exp((nearest - squares) / (2 * width**2))
    return (powers @ values) / powers.sum(dim=-1, keepdim=True)


@task.right(
    "in the softmax what depends on the query alone, q², cancels; all is moved to the middle of "
    "the keys first, since far from 0 the rest, q · k and k², would lose its digits."
)
def by_attention(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    middle = keys.mean(dim=1, keepdim=True)  # no distance changes when all move
    queries, keys = (queries - middle) / width, (keys - middle) / width
    bias = -keys.square().sum(dim=-1)[:, None].expand(-1, queries.shape[1], -1) / 2
    return scaled_dot_product_attention(queries, keys, values, bias, scale=1.0)


@task.right("`torch.cdist` gives the root of the squared distance, with a slope of 0 at 0.")
def by_cdist(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    exact = "donot_use_mm_for_euclid_dist"  # the other way loses digits far from 0
    distances = torch.cdist(queries / width, keys / width, compute_mode=exact)
    return (-(distances**2) / 2).softmax(dim=-1) @ values


@task.right("it goes through the queries one by one.")
def query_by_query(queries: Tensor, keys: Tensor, values: Tensor, width: Width) -> Tensor:
    outputs = []
    for query in queries.unbind(dim=1):
        scaled = (query[:, None] - keys) / width
        weights = (-scaled.square().sum(dim=-1) / 2).softmax(dim=-1)
        outputs.append((weights[..., None] * values).sum(dim=1))
    return torch.stack(outputs, dim=1)


@task.test
def test_a_query_at_a_key_weighs_another_one_a_third_of_it(function: Function) -> None:
    away = 2 * math.log(3) ** 0.5  # in both directions, so that the square is 8 log 3
    keys = torch.tensor([[[0.0, 0.0], [away, away]]])
    output = function(torch.zeros(1, 1, 2), keys, torch.tensor([[[0.0], [4.0]]]), 2.0)
    assert torch.allclose(output, torch.tensor([[[1.0]]]))


@task.test
def test_two_keys_equally_far_count_the_same_however_far(function: Function) -> None:
    keys, values = torch.tensor([[[0.0, 1.0], [0.0, -1.0]]]), torch.tensor([[[1.0], [3.0]]])
    output = function(torch.tensor([[[1.0, 0.0], [1000.0, 0.0]]]), keys, values, 1.0)
    assert torch.allclose(output, torch.full((1, 2, 1), 2.0))


@task.test
def test_gradients_flow_to_a_query_on_a_key_and_to_the_width(function: Function) -> None:
    queries = torch.zeros(1, 1, 1, requires_grad=True)
    width = torch.tensor(1.0, requires_grad=True)
    keys = values = torch.tensor([[[0.0], [1.0]]])
    function(queries, keys, values, width).sum().backward()
    assert queries.grad is not None
    assert queries.grad.item() > 0
    assert width.grad is not None
    assert width.grad.item() > 0
