"""The scaling figure in Python: its errors, its traits and its text."""

from __future__ import annotations

import re

import pytest
import torch
import traitlets
from torch import Tensor

import attnbook
from attnbook.figures import ScalingFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.scaling.cases import CASES, by_hand, random

NAN, INFINITE = float("nan"), float("inf")


# Refusals


def zeros(*shape: int, dtype=torch.float32) -> Tensor:
    return torch.zeros(*shape, dtype=dtype)


def tensor_with(number: float) -> Tensor:
    tensor = zeros(1, 3, 8)
    tensor[0, 2, 5] = number
    return tensor


COUNTED = "a figure shows at most"
REFUSED = [
    (zeros(3, 8), zeros(1, 5, 8), "queries must have shape (batch, [heads,] num_queries, "
     "query_size), got (3, 8)"),
    (zeros(1, 3, 8), zeros(1, 5, 4), "keys must have query_size=8 numbers in the last axis, "
     "got 4 in shape (1, 5, 4)"),
    (zeros(1, 2, 3, 8), zeros(1, 2, 5, 8), "a figure shows one head, got four axes; pass "
     "queries[:, 0] and so on"),
    (zeros(2, 3, 8), zeros(2, 5, 8), f"{COUNTED} 1 of examples, got 2; show a part of it"),
    (zeros(1, 33, 8), zeros(1, 5, 8), f"{COUNTED} 32 of queries, got 33; show a part of it"),
    (zeros(1, 0, 8), zeros(1, 5, 8), "a figure needs at least 1 of queries, got 0"),
    (zeros(1, 3, 8), zeros(1, 33, 8), f"{COUNTED} 32 of keys, got 33; show a part of it"),
    (zeros(1, 3, 8), zeros(1, 1, 8), "a figure needs at least 2 of keys to share the weight, "
     "got 1"),
    (zeros(1, 3, 12), zeros(1, 5, 12), "size must be a power of two from 2 to 1024, got 12"),
    (zeros(1, 3, 1), zeros(1, 5, 1), "size must be a power of two from 2 to 1024, got 1"),
    (zeros(1, 3, 2048), zeros(1, 5, 2048), "size must be a power of two from 2 to 1024, got 2048"),
    (tensor_with(NAN), zeros(1, 5, 8), "queries must be finite, got nan at index (0, 2, 5)"),
    (zeros(1, 5, 8), tensor_with(INFINITE), "keys must be finite, got inf at index (0, 2, 5)"),
    (zeros(1, 1, 2, dtype=torch.float64) + 1e200, zeros(1, 2, 2, dtype=torch.float64) + 1e200,
     "scores must be finite, got inf at index (0, 0, 0)"),
]  # fmt: skip
WRONG_TYPES = [
    ([[[1.0, 2.0]]], zeros(1, 5, 8), "queries must be a tensor, got list"),
    (zeros(1, 3, 8).long(), zeros(1, 5, 8), "queries must hold floating-point numbers, "
     "got torch.int64"),
    (zeros(1, 3, 8).half(), zeros(1, 5, 8), "keys must have the dtype of queries, torch.float16, "
     "got torch.float32"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "queries", "keys", "message"),
    [(ValueError, *row) for row in REFUSED] + [(TypeError, *row) for row in WRONG_TYPES],
)
def test_wrong_arguments_raise_an_error_of_one_sentence(error, queries, keys, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        ScalingFigure(queries, keys)


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("d", 3, "d must be one of [1, 2, 4, 8], got 3"),
        ("d", 0, "d must be one of [1, 2, 4, 8], got 0"),
        ("d", 2.5, "expected an int"),
        ("query", 3, "query must lie in [0, num_queries=3), got 3"),
        ("query", -1, "should not be less than 0"),
    ],
)
def test_setting_a_trait_out_of_range_raises_and_changes_nothing(trait, value, message):
    figure = ScalingFigure(*random(3, 5, 8))
    before = traits(figure)
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        setattr(figure, trait, value)
    assert traits(figure) == before


# Traits and text


@pytest.mark.parametrize("name", CASES)
def test_the_scores_are_the_dot_products_of_the_first_numbers(name):
    queries, keys = (tensor.double() for tensor in CASES[name]())
    figure = ScalingFigure(*CASES[name]())
    assert figure.sizes == [2**i for i in range(len(figure.sizes))]
    assert figure.sizes[-1] == queries.shape[-1]
    for d, scores in zip(figure.sizes, figure.scores, strict=True):
        assert not differ(scores, attnbook.dot_score(queries[..., :d], keys[..., :d])[0], 1e-9)


@pytest.mark.parametrize(("size", "start"), [(2, 2), (32, 32), (64, 64), (1024, 64)])
def test_the_first_d_is_the_size_of_a_head_or_the_largest_below(size, start):
    assert ScalingFigure(*random(1, 2, size)).d == start


def test_the_text_of_a_case_worked_by_hand():
    figure = by_hand()
    half = "variance of the scores 0.603, largest weight 0.750, entropy 0.811 bits, slopes 0.375"
    assert repr(figure) == (
        f"ScalingFigure: d = 2\nq · k: {half}\nq · k / √d: variance of the scores 0.302, "
        "largest weight 0.685, entropy 0.899 bits, slopes 0.432"
    )
    figure.d = 1
    assert repr(figure) == f"ScalingFigure: d = 1\nq · k: {half}\nq · k / √d: {half}"
    assert isinstance(figure.d, int)


def test_weights_are_those_of_the_layer_at_each_d():
    queries, keys = random(3, 5, 32)
    figure, layer = ScalingFigure(queries, keys), attnbook.DotProductAttention()
    for d in figure.sizes:
        figure.d = d
        q, k = queries[..., :d], keys[..., :d]
        layer(q, k, k)
        assert not differ(figure.weights(scaled=True).tolist(), layer.attention_weights, 1e-5)
        plain = attnbook.masked_softmax(attnbook.dot_score(q, k))
        assert not differ(figure.weights(scaled=False).tolist(), plain, 1e-5)
