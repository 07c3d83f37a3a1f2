"""Axes of numbers, and the steps of the sliders below them."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from attnbook.figures import PoolingFigure
from attnbook.figures.shared.axes import axis_of, positions_on, spread_of, widths_for
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
def test_the_axis_contains_keys_and_query_and_its_slider_has_round_steps(name):
    figure = CASES[name]()
    low, high, step = figure.axis
    assert low < min(key for key, _ in figure.points) <= max(key for key, _ in figure.points) < high
    assert low < figure.query < high
    assert 128 <= round((high - low) / step) <= 322
    assert float(f"{step:.0e}") == step
    assert f"{step:e}"[0] in "125"


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


@pytest.mark.parametrize("width", [0.5, 0.19903, 1e-5, 1234.5])
def test_widths_are_round_and_their_ratios_are_about_equal(width):
    steps = widths_for([0, 1, 3, 7], width)
    assert all(float(f"{step:.1e}") == step for step in steps)
    ratios = [after / step for step, after in pairwise(steps)]
    assert 1.05 < min(ratios) <= max(ratios) < 1.21
    assert steps[0] <= width <= steps[-1]
