"""Axes of numbers, and the steps of the sliders below them."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures import PoolingFigure
from attnbook.figures.shared.axes import axis_of, positions_on, spread_of
from tests.figures.pooling.cases import CASES, two


def test_an_axis_equals_one_computed_by_hand():
    # 1.1 × 6 / 320 is 0.0206, so the step is 0.05, and the ends are half of 0.6 beyond the keys.
    assert axis_of([1, 3, 7], spread=6) == [0.7, 7.3, 0.05]
    positions = positions_on([0.7, 7.3, 0.05])
    assert (positions[:3], positions[-1], len(positions)) == ([0.7, 0.75, 0.8], 7.3, 133)


def test_the_range_of_equal_numbers_is_their_size():
    assert spread_of([2, 5, 4]) == 3
    assert spread_of([-4, -4]) == 4
    assert spread_of([0, 0]) == 1
    assert spread_of([1e9, 1e9 + 1e-6]) == 1e9 + 1e-6  # no slider could separate them


@pytest.mark.parametrize("name", CASES)
def test_the_axis_contains_keys_and_query(name):
    figure = CASES[name]()
    low, high, _ = figure.axis
    keys = [key for key, _ in figure.points]
    assert low < min(figure.query, *keys) <= max(figure.query, *keys) < high


def test_widths_reach_from_a_twentieth_of_the_distance_of_the_keys_to_their_range():
    many = torch.linspace(0, 20, 41).reshape(1, -1, 1)

    def ends(figure: PoolingFigure) -> list[float]:
        return [figure.widths[0], figure.widths[-1]]

    # The keys are 0.5 apart, from 0 to 20.
    assert ends(PoolingFigure(many, many)) == [0.025, 20]
    assert ends(two()) == [0.05, 1]
    # The slider includes a first width beyond that range.
    assert ends(PoolingFigure(many, many, width=0.01)) == [0.01, 20]
    assert ends(PoolingFigure(many, many, width=1000)) == [0.025, 1000]
