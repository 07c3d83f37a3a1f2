"""The scaling figure in Python: its errors, its traits and its text."""

from __future__ import annotations

import pytest

import attnbook
from attnbook.figures import ScalingFigure
from tests.figures.attention.cases import differ
from tests.figures.scaling.cases import CASES, by_hand, random


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
