"""Weights from scores, with padding left out."""

from __future__ import annotations

import math

import torch
from torch import Tensor

import attnbook
from attnbook.practice.inputs import lengths, normal
from attnbook.practice.task import Function, Law, Task


def _padding_weighs_nothing(weights: Tensor, scores: Tensor, valid_lens: Tensor | None) -> bool:
    hidden = weights[~where_visible(scores, valid_lens)]
    return bool(((hidden == 0) | hidden.isnan()).all())  # NaN is reported as such


def _rows_sum_to_one(weights: Tensor, scores: Tensor, valid_lens: Tensor | None) -> bool:
    sums, sees = weights.double().sum(dim=-1), where_visible(scores, valid_lens).any(dim=-1)
    return bool((((sums - 1).abs() < 1e-2) | ~sees | sums.isnan()).all())


task = Task(
    name="masked-softmax",
    statement=(
        "Write `masked_softmax(scores, valid_lens)`. `scores` has shape (batch, num_queries, "
        "num_keys). `valid_lens` says how many keys, from the first, may be seen, for each "
        "example, (batch,), or for each query, (batch, num_queries); None, the default, means "
        "all. Scores may have an axis for heads after the batch, too: (batch, num_heads, "
        "num_queries, num_keys), and lengths then hold for all heads of an example. Each row of "
        "weights is the softmax of the visible scores, and sums to 1; padding weighs exactly 0, "
        "whatever its scores are; a row that sees nothing is all zeros. No gradient is NaN, even "
        "if NaN flows back to the weights of padding, as it does where values there are infinite. "
        "The caller's `scores` stay as they are, and weights have their type."
    ),
    starter="def masked_softmax(scores, valid_lens=None):\n    ...",
    laws=(
        Law("The weights of some padding are not exactly 0.", _padding_weighs_nothing),
        Law("Some row of weights does not sum to 1.", _rows_sum_to_one),
    ),
)


def _empty() -> tuple[Tensor, Tensor]:
    return normal(2, 3, 5), lengths([0, 4, 1], [5, 0, 2])


task.case("a length for each example")(lambda: (normal(2, 3, 5), lengths(4, 2)))


task.case("a length for each query")(lambda: (normal(2, 3, 5), lengths([1, 4, 5], [2, 5, 3])))


task.case("as many examples as queries")(lambda: (normal(3, 3, 5), lengths(5, 1, 3)))


task.case("no lengths")(lambda: (normal(2, 3, 5), None))


task.case("heads, and a length for each example")(lambda: (normal(2, 3, 5, 7), lengths(4, 2)))


task.case("as many heads as examples, and a length for each query")(
    lambda: (normal(2, 2, 3, 5), lengths([1, 4, 5], [2, 5, 3]))
)


task.case("one query and one key")(lambda: (normal(2, 1, 1), lengths(1, 1)))


task.case("scores that are a view of another tensor, its axes swapped")(
    lambda: (normal(2, 5, 3).mT, lengths(4, 2))
)


task.case("scores of 1000, and of -1000", gradients=False)(
    lambda: (torch.tensor([[[1000.0, 999]], [[-1000, -1001]]]), lengths(2, 2))
)


task.case("a padded score 200 above those that are seen", gradients=False)(
    lambda: (torch.tensor([[[0.0, 1, 200]]]), lengths(2))
)


task.case("scores of -2,000,000")(lambda: (torch.full((1, 2, 5), -2e6), lengths(2)))


task.case("a query that may see nothing", gradients=False)(_empty)


task.case("what flows back past a query that may see nothing")(_empty)


task.case("NaN that flows back to the weights of padding", leftovers=True)(
    lambda: (normal(2, 3, 5), lengths(4, 2))
)


task.case("double precision")(lambda: (normal(2, 3, 5).double(), lengths(4, 2)))


task.case("half precision")(lambda: (normal(2, 3, 5).half(), lengths([4, 0, 1], [2, 5, 3])))


def where_visible(scores: Tensor, valid_lens: Tensor | None) -> Tensor:
    """True where a key may be seen, for each score."""
    if valid_lens is None:
        return torch.ones_like(scores, dtype=torch.bool)
    per_query = valid_lens if valid_lens.dim() == 2 else valid_lens[:, None]
    visible = torch.arange(scores.shape[-1]) < per_query[..., None]
    return (visible if scores.dim() == 3 else visible[:, None]).expand_as(scores)


def filled(scores: Tensor, visible: Tensor) -> Tensor:
    """Put -inf at padding, and 0 into rows that see nothing."""
    empty = ~visible.any(dim=-1, keepdim=True)
    return scores.masked_fill(~visible, -math.inf).masked_fill(empty, 0)


def weigh(scores: Tensor, visible: Tensor) -> Tensor:
    """Clear rows that see nothing before the softmax and after it."""
    return filled(scores, visible).softmax(-1).masked_fill(~visible, 0)


@task.case("heads, and no lengths")
def _() -> tuple[Tensor, None]:
    return normal(2, 3, 5, 7), None


@task.case("infinity and NaN at padding", gradients=False)
def _() -> tuple[Tensor, Tensor]:
    return torch.tensor([[[0.0, 1, math.inf]], [[0, 1, math.nan]]]), lengths(2, 2)


@task.case("the lowest score that there is")
def _() -> tuple[Tensor, Tensor]:
    lowest = torch.finfo(torch.float32).min
    return torch.tensor([[[lowest, lowest, 0, 0]]]), lengths(2)


task.case("seen scores 1000 apart", gradients=False)(
    lambda: (torch.tensor([[[0.0, 1000, 1, 2], [1000, 0, 999, 3]]]), lengths(3))
)


task.case("rows of one example 1000 apart", gradients=False)(
    lambda: (normal(1, 2, 5) + torch.tensor([[[1000.0], [0]]]), lengths(4))
)


task.case("as many heads as queries, and a length for each query")(
    lambda: (normal(2, 3, 3, 5), lengths([1, 3, 5], [4, 2, 0]))
)


task.case("6 examples of 9 queries, 131 keys")(
    lambda: (normal(6, 9, 131), lengths(131, 1, 0, 65, 129, 130))
)


@task.right("it is the book's own.")
def the_package(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    return attnbook.masked_softmax(scores, valid_lens)


@task.right("-inf is below every score, and rows that see nothing are cleared before and after.")
def filled_with_infinity(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    return weigh(scores, where_visible(scores, valid_lens))


@task.right("it takes each row's visible part by itself, and the rest stays 0.")
def row_by_row(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    if valid_lens is None:
        return scores.softmax(-1)
    heads = scores.reshape(len(scores), -1, *scores.shape[-2:])
    weights = torch.zeros_like(heads)
    for example, numbers in enumerate(valid_lens.tolist()):
        for query in range(scores.shape[-2]):
            length = numbers[query] if isinstance(numbers, list) else numbers
            if length:
                visible = heads[example, :, query, :length]
                weights[example, :, query, :length] = visible.softmax(-1)
    return weights.reshape(scores.shape)


@task.right("it is the formula: powers over their sum; a maximum subtracted from a row cancels.")
def by_the_formula(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    padding = ~where_visible(scores, valid_lens)
    low = torch.finfo(scores.dtype).min
    highest = scores.masked_fill(padding, low).amax(-1, keepdim=True).detach()
    powers = (scores - highest).masked_fill(padding, low).exp().masked_fill(padding, 0)
    totals = powers.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)
    return (powers / totals).masked_fill(padding, 0)


@task.right("the lowest double lies below every score of a narrower type, and is cleared after.")
def in_double_precision(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    padding = ~where_visible(scores, valid_lens)
    low = torch.finfo(torch.float64).min
    weights = scores.double().masked_fill(padding, low).softmax(-1)
    return weights.masked_fill(padding, 0).to(scores.dtype)


@task.test
def test_padding_never_weighs_anything(function: Function) -> None:
    weights = function(torch.tensor([[[0.0, 0, 0, 0], [1, 1, 300, 9]]]), torch.tensor([2]))
    assert weights.tolist() == [[[0.5, 0.5, 0, 0]] * 2]


@task.test
def test_two_equal_scores_share_the_weight_however_high_or_low(function: Function) -> None:
    for score in (1000.0, -2e6, torch.finfo(torch.float32).min):
        weights = function(torch.full((1, 1, 3), score), torch.tensor([2]))
        assert weights.tolist() == [[[0.5, 0.5, 0]]]


@task.test
def test_what_stands_at_padding_never_matters(function: Function) -> None:
    for padded in (math.inf, math.nan):
        weights = function(torch.tensor([[[1.0, 1, padded]]]), torch.tensor([2]))
        assert weights.tolist() == [[[0.5, 0.5, 0]]]


@task.test
def test_without_lengths_all_keys_are_seen(function: Function) -> None:
    assert function(torch.zeros(1, 1, 4)).tolist() == [[[0.25] * 4]]


@task.test
def test_a_row_that_sees_nothing_is_zero_and_its_gradient_is_finite(function: Function) -> None:
    scores = torch.ones(1, 2, 2, requires_grad=True)
    weights = function(scores * 1, torch.tensor([[0, 2]]))
    assert weights.tolist() == [[[0, 0], [0.5, 0.5]]]
    weights[0, 1, 0].backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


@task.test
def test_nothing_flows_back_through_padding(function: Function) -> None:
    scores = torch.zeros(1, 1, 3, requires_grad=True)
    weights = function(scores * 1, torch.tensor([2]))
    weights.backward(torch.tensor([[[1.0, 0, math.nan]]]))
    assert scores.grad is not None
    assert scores.grad.tolist() == [[[0.25, -0.25, 0]]]


@task.test
def test_half_precision_is_no_harder(function: Function) -> None:
    scores = torch.zeros(1, 1, 4, dtype=torch.float16)
    assert function(scores, torch.tensor([2])).tolist() == [[[0.5, 0.5, 0, 0]]]


@task.test
def test_each_head_has_its_examples_lengths(function: Function) -> None:
    weights = function(torch.zeros(2, 2, 1, 3), torch.tensor([1, 3]))
    assert (weights > 0).sum(dim=-1).flatten().tolist() == [1, 1, 3, 3]


@task.test
def test_the_scores_are_left_alone(function: Function) -> None:
    scores = torch.ones(1, 2, 3)
    function(scores, torch.tensor([2]))
    assert torch.equal(scores, torch.ones(1, 2, 3))
