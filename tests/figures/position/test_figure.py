"""The position figure in Python: its errors, its traits and its text."""

from __future__ import annotations

import pytest
import torch

import attnbook
from attnbook.figures import PositionFigure
from tests.figures.position.cases import positions


@pytest.mark.parametrize(
    ("distance", "expected"), [(5, [8, 3]), (0, [3, 3]), (-5, [3, 8]), (24, [27, 3])]
)
def test_the_earlier_of_the_two_stays_at_the_start(distance, expected):
    figure = PositionFigure(4)
    figure.distance = distance
    assert positions(figure.start, distance) == expected
    assert f"p = {expected[0]}, q = {expected[1]}\n" in repr(figure)
    rows = attnbook.sinusoidal_encoding(28, size=4, dtype=torch.float64)[expected]
    assert torch.equal(figure.vectors, rows)


def test_the_text_of_a_case_worked_by_hand():
    figure = PositionFigure(2)
    figure.start, figure.distance = 0, 0
    along = "1.000, 0.540, -0.416, -0.990, -0.654, 0.284, 0.960, 0.754, -0.146"  # cos 0 to cos 8
    assert repr(figure) == (
        "PositionFigure: sinusoidal, size 2, p = 0, q = 0\n"
        "p: [0, 1.000]\nq: [0, 1.000]\n"
        "dot product: 1.000, of its pairs [1.000]\n"
        f"at distances 0 to 8: [{along}]"
    )


def test_the_text_of_a_rotary_figure_has_both_directions():
    up, right = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])
    figure = PositionFigure.rotary(right, up)
    figure.start, figure.distance = 0, 1
    text = repr(figure)
    assert "\nquery: [0.540, 0.841]\nkey: [0, 1.000]\ndot product: 0.841," in text
    assert "\nat distances -8 to 8: [" in text
    figure.distance = -1
    assert "\ndot product: -0.841," in repr(figure)
