"""The numbers of the position figure that are computed in the page, against the package's own."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

from attnbook.figures import PositionFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.position.cases import CASES, CLOSE, along, truth
from tests.figures.shared.node import ask_module

PROGRAM = """
return asked.map(({ state, at }) => ({
  poses: at.map(([start, distance]) => figure.pose(state, start, distance)),
  along: figure.sweep(state, at[0][0]),
  ends: figure.endsOf(state),
  sentence: figure.sentence(figure.wordsOf(state).dot, figure.pose(state, 3, 0)),
}));
"""
MANY = 20
each_case = pytest.mark.parametrize("name", CASES)


def everywhere(state: dict[str, Any]) -> list[tuple[int, int]]:
    """Every position of both sliders; of a long one, all of each and 200 combinations."""
    starts, reach = range(state["positions"]), state["reach"]
    distances = range(-reach, reach + 1)
    if len(starts) <= MANY:
        return list(product(starts, distances))
    rng = torch.Generator().manual_seed(0)
    mixed = [
        [int(torch.randint(len(ends), (), generator=rng)) for ends in (starts, distances)]
        for _ in range(200)
    ]
    rest = [(start, state["distance"]) for start in starts] + [(0, d) for d in distances]
    return rest + [(start, step - reach) for start, step in mixed]


@pytest.fixture(scope="module")
def of_case():
    """The numbers of the shipped module for each case."""
    states = [traits(case()) for case in CASES.values()]
    asked = [{"state": state, "at": everywhere(state)} for state in states]
    return dict(zip(CASES, ask_module(PositionFigure, PROGRAM, asked=asked), strict=True))


@each_case
def test_every_number_of_the_page_equals_attnbook_at_all_positions_of_the_sliders(of_case, name):
    state, answer = traits(CASES[name]()), of_case[name]
    sliders = everywhere(state)
    true = truth(state, sliders)
    largest = max(1.0, *map(abs, [1.0, *state["query"], *state["key"]]))
    for key, power in {"positions": 0, "vectors": 1, "products": 2, "dot": 2}.items():
        numbers = torch.tensor([pose[key] for pose in answer["poses"]], dtype=torch.float64)
        expected = true[key] / largest**power
        assert not differ((numbers / largest**power).tolist(), expected, CLOSE), key
    numbers = torch.tensor(answer["along"], dtype=torch.float64) / largest**2
    assert not differ(numbers.tolist(), along(state, sliders[0][0]) / largest**2, CLOSE)


@each_case
def test_the_numbers_of_python_are_those_of_attnbook(name):
    figure = CASES[name]()
    state = traits(figure)
    sliders = everywhere(state)
    for figure.start, figure.distance in sliders[:: max(1, len(sliders) // 20)]:
        true = truth(state, [(figure.start, figure.distance)])
        scale = true["vectors"].abs().max().item() or 1.0
        assert not differ((figure.vectors / scale).tolist(), true["vectors"][0] / scale, CLOSE)
        products = true["products"][0] / scale**2
        assert not differ((figure.dot_products / scale**2).tolist(), products, CLOSE)


@each_case
def test_the_axis_includes_zero_and_every_dot_product(of_case, name):
    (low, high), dots = of_case[name]["ends"], of_case[name]["along"]
    assert low < min(0, *dots)
    assert high > max(0, *dots)


def test_a_short_sum_is_written_out(of_case):
    assert (
        of_case["sinusoidal"]["sentence"] == "dot product = 1.000 + 1.000 + 1.000 + 1.000 ≈ 4.000"
    )
    assert of_case["one pair"]["sentence"] == "dot product = 1.000"
    assert of_case["the largest"]["sentence"] == "dot product = sum of 8 pairs ≈ 8.000"
    assert of_case["rotary, zeros"]["sentence"] == "query · key = 0 + 0 ≈ 0"
