"""Weights from scores, where all keys may be seen."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.practice.inputs import normal
from attnbook.practice.task import Function, Law, Task, rows_sum_to_one


def _no_row_sums_to_another_number(weights: Tensor, _scores: Tensor) -> bool:
    return rows_sum_to_one(weights[weights.isfinite().all(dim=-1)])  # NaN is reported as such


task = Task(
    name="softmax",
    statement=(
        "Write `softmax(scores)`. `scores` has shape (batch, num_queries, num_keys). Give a new "
        "tensor of the same shape and type: $e^{score}$, divided by the sum of these powers over "
        "all keys of the same query. So each row, one query's, sums to 1. It must also hold for "
        "scores of 1000, and where scores are 1000 apart, in a row or between rows. The caller's "
        "`scores` stay as they are."
    ),
    starter="def softmax(scores):\n    ...",
    laws=(Law("Some row of weights does not sum to 1.", _no_row_sums_to_another_number),),
)


task.case("a few scores around 0")(lambda: (normal(2, 3, 5),))


task.case("as many queries as keys, and as examples")(lambda: (normal(3, 3, 3),))


task.case("one query")(lambda: (normal(2, 1, 5),))


task.case("one key")(lambda: (normal(2, 3, 1),))


task.case("scores that are a view of another tensor, its axes swapped")(
    lambda: (normal(2, 5, 3).transpose(1, 2),)
)


task.case("scores of 1000", gradients=False)(
    lambda: (1000 + torch.tensor([[[0.0, 1, 3], [2, 0, 1]]]),)
)


task.case("a row whose own scores are 1000 apart", gradients=False)(
    lambda: (torch.tensor([[[0.0, 1000, 999], [1000, 0, 1]]]),)
)


task.case("rows that are 1000 apart", gradients=False)(
    lambda: (torch.tensor([[[1000.0, 1001, 1003], [0, 2, 1]], [[-1000, -999, -1002], [3, 1, 2]]]),)
)


task.case("double precision")(lambda: (normal(2, 3, 5).double(),))


task.case("half precision, where powers of 12 overflow")(
    lambda: (torch.tensor([[[12.0, 11, 9], [0, 1, 2]]]).half(),)
)


task.case("6 examples of 9 queries, 131 keys")(lambda: (normal(6, 9, 131),))


@task.right("it is the book's own, for which keys without lengths are all seen.")
def the_package(scores: Tensor) -> Tensor:
    return attnbook.masked_softmax(scores)


@task.right("it is torch's own, over the last axis.")
def of_torch(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


@task.right("it is the formula; a row's maximum, subtracted from all its scores, cancels.")
def by_the_formula(scores: Tensor) -> Tensor:
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@task.right("it goes through the rows; each is divided by the sum of its own powers.")
def row_by_row(scores: Tensor) -> Tensor:
    rows = [(row - row.max()).exp() for example in scores for row in example]
    return torch.stack([row / row.sum() for row in rows]).reshape(scores.shape)


@task.right("dividing by a sum is subtracting its logarithm, before the power is taken.")
def by_logarithms(scores: Tensor) -> Tensor:
    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()


@task.right("attention that pools the rows of an identity matrix gives its own weights.")
def pooled_identity(scores: Tensor) -> Tensor:
    identity = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(len(scores), -1, -1)
    return scaled_dot_product_attention(scores, identity, identity, scale=1.0)


@task.test
def test_weights_share_1_as_3_to_1(function: Function) -> None:
    scores = torch.tensor([[[3.0, 1.0], [1.0, 3.0]]]).log()
    expected = torch.tensor([[[0.75, 0.25], [0.25, 0.75]]])
    assert torch.allclose(function(scores), expected)


@task.test
def test_each_row_sums_to_1(function: Function) -> None:
    weights = function(torch.tensor([[[1.0, 2, 4], [0, 0, 3]], [[5, 1, 1], [2, 7, 2]]]))
    assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 2))


@task.test
def test_keys_keep_their_order(function: Function) -> None:
    first, second = function(torch.tensor([[[3.0, 2, 1], [9, 6, 0]]]))[0]
    assert first[0] > first[1] > first[2]
    assert second[0] > second[1] > second[2]


@task.test
def test_equal_scores_share_equally_however_high(function: Function) -> None:
    weights = function(torch.tensor([[[1000.0, 1000.0], [-1000.0, -1000.0]]]))
    assert torch.allclose(weights, torch.full((1, 2, 2), 0.5), atol=1e-4)


@task.test
def test_the_scores_are_left_alone(function: Function) -> None:
    scores = torch.ones(1, 2, 3)
    function(scores)
    assert torch.equal(scores, torch.ones(1, 2, 3))
