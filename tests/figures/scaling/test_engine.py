"""The numbers of the scaling figure that are computed in the page, against PyTorch."""

from __future__ import annotations

import math

import pytest
import torch

from attnbook.figures import ScalingFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.scaling.cases import CASES, truth
from tests.figures.shared.node import ask_module

CLOSE = 1e-12  # the contract asks for 1e-6
PROGRAM = """
const halves = states.map((state) => figure.halvesOf({ get: (name) => state[name] }));
return { halves, spots: ends.map(figure.nameSpots), texts: bits.map(figure.describeEntropy) };
"""
# The ends of two lines, and the positions of their names.
SPOTS = {
    (0.9, 0.2): ["above", "above"],
    (0.2, 0.9): ["above", "above"],
    (0.9, 0.7): ["above", "below"],
    (0.7, 0.9): ["below", "above"],
    (1.0, 1.0): ["above", "below"],
    (0.3, 0.1): ["raised", "above"],
    (0.1, 0.3): ["above", "raised"],
}


@pytest.fixture(scope="module")
def answers():
    """The numbers of the shipped module for each case."""
    states = [traits(ScalingFigure(*case())) for case in CASES.values()]
    return ask_module(ScalingFigure, PROGRAM, states=states, ends=list(SPOTS), bits=[0, 1, 3.5])


@pytest.mark.parametrize("name", CASES)
def test_every_number_of_the_page_and_of_python_equals_torch_at_every_d(answers, name):
    figure = ScalingFigure(*CASES[name]())
    halves = answers["halves"][list(CASES).index(name)]
    for d, dots, both in zip(figure.sizes, figure.scores, halves, strict=True):
        figure.d = d
        for half, divisor in zip(both, (1, math.sqrt(d)), strict=True):
            scores = torch.tensor(dots, dtype=torch.float64) / divisor
            true = truth(scores)
            answer = half["measures"] | {"weights": half["weights"], "scores": half["scores"]}
            assert answer.keys() == {*true, "scores"}
            for key, numbers in (true | {"scores": scores}).items():
                assert not differ(answer[key], numbers, CLOSE), (d, divisor, key)
            measures = figure.measures(scaled=half is both[1]).values()
            assert not differ([*measures], torch.stack([*true.values()][1:]), CLOSE)


def test_the_entropy_is_described_as_keys_that_share_evenly(answers):
    assert answers["texts"] == [
        "1 key",
        "2 keys",
        "11.3 keys",
    ]


def test_the_names_of_two_lines_do_not_overlap(answers):
    assert answers["spots"] == list(SPOTS.values())
