"""The numbers of the scaling figure that are computed in the page, against PyTorch."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attnbook.figures import ScalingFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.scaling.cases import CASES
from tests.figures.shared.node import in_node, with_fault, written

CLOSE = 1e-12  # the contract asks for 1e-6
# Runs the figure's own module: every number of the picture, at every d. JSON in, JSON out.
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, states, ends, bits } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
const halves = states.map((state) => figure.halvesOf({ get: (name) => state[name] }));
const plain = (_, x) => (typeof x === "number" && !Number.isFinite(x) ? "NaN" : x);
const [spots, sharers] = [ends.map(figure.nameSpots), bits.map(figure.sharers)];
const told = JSON.stringify({ names: Object.keys(figure), halves, spots, sharers }, plain);
process.stdout.write(told.replaceAll('"NaN"', "NaN"));
"""
# Where two lines end, and where their names stand.
SPOTS = {
    (0.9, 0.2): ["above", "above"],
    (0.2, 0.9): ["above", "above"],
    (0.9, 0.7): ["above", "below"],
    (0.7, 0.9): ["below", "above"],
    (1.0, 1.0): ["above", "below"],
    (0.3, 0.1): ["raised", "above"],
    (0.1, 0.3): ["above", "raised"],
}
each_case = pytest.mark.parametrize("name", CASES)


def run(module: str, folder: Path, figures: list[ScalingFigure]) -> dict:
    task = {"states": [traits(figure) for figure in figures]}
    task |= {"ends": list(SPOTS), "bits": [0, 1, 3.5]}
    return in_node(PROGRAM, written(module, folder), **task)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the shipped file computes for each case."""
    figures = [ScalingFigure(*case()) for case in CASES.values()]
    folder = tmp_path_factory.mktemp("shipped")
    return run(str(ScalingFigure._esm), folder, figures)


def truth(scores: Tensor) -> dict[str, Tensor]:
    """Weights and measures in float64, each measure an average over the queries."""
    weights = torch.softmax(scores, -1)
    bits = torch.special.xlogy(weights, weights) / math.log(2)
    slopes = torch.diagonal(
        torch.diag_embed(weights) - weights[:, :, None] * weights[:, None], 0, 1, 2
    )
    return {
        "weights": weights,
        "variance": scores.var(-1).mean(),
        "largest": weights.max(-1).values.mean(),
        "entropy": -bits.sum(-1).mean(),
        "slopes": slopes.sum(-1).mean(),
    }


def wrong(state: dict, halves: list) -> list[str]:
    """Where the page's numbers are not PyTorch's: the d, the half and the number."""
    found = []
    for d, dots, both in zip(state["sizes"], state["scores"], halves, strict=True):
        for half, divisor in zip(both, (1, math.sqrt(d)), strict=True):
            scores = torch.tensor(dots, dtype=torch.float64) / divisor
            shown = half["measures"] | {"weights": half["weights"], "scores": half["scores"]}
            expected = truth(scores) | {"scores": scores}
            assert set(shown) == set(expected)
            found += [
                f"{name} at d = {d}, divisor {divisor:g}"
                for name, numbers in expected.items()
                if differ(shown[name], numbers, CLOSE)
            ]
    return found


@each_case
def test_every_number_of_the_page_equals_torch_at_every_d(answers, name):
    state = traits(ScalingFigure(*CASES[name]()))
    assert wrong(state, answers["halves"][list(CASES).index(name)]) == []


@each_case
def test_python_and_page_tell_the_same_measures(answers, name):
    figure = ScalingFigure(*CASES[name]())
    halves = answers["halves"][list(CASES).index(name)]
    for d, both in zip(figure.sizes, halves, strict=True):
        figure.d = d
        for half, scaled in zip(both, (False, True), strict=True):
            told = torch.tensor(list(figure.measures(scaled=scaled).values()), dtype=torch.float64)
            assert not differ(list(half["measures"].values()), told, CLOSE)


def test_equal_keys_share_evenly_at_every_d(answers):
    halves = answers["halves"][list(CASES).index("equal keys")]
    for measures in (half["measures"] for both in halves for half in both):
        expected = [0, 1 / 5, math.log2(5), 4 / 5]
        assert list(measures.values()) == pytest.approx(expected, abs=1e-14)


def test_an_entropy_is_told_as_so_many_keys_that_share_evenly(answers):
    told = [
        "as if one key had all the weight",
        "as if 2 keys shared the weight evenly",
        "as if 11.3 keys shared the weight evenly",
    ]
    assert answers["sharers"] == told


def test_the_names_of_lines_that_end_near_each_other_part(answers):
    assert answers["spots"] == list(SPOTS.values())


def test_the_module_hides_the_drawing_from_anywidget(answers):
    assert "render" not in answers["names"]


MUTANTS = {
    "both halves are divided": ("divisor: () => 1", "divisor: Math.sqrt"),
    "the scores are divided by d": ("divisor: Math.sqrt", "divisor: (d) => d"),
    "the variance is that of a population": ("(numbers.length - 1)", "numbers.length"),
    "the variance forgets the mean": ("(x - mean) ** 2", "x ** 2"),
    "the entropy is not in bits": ("Math.log2(w)", "Math.log(w)"),
    "the slopes are the squares": ("w * (1 - w)", "w * w"),
    "the first weight is the largest": ("Math.max(...row)", "row[0]"),
    "one query stands for all": ("x, 0) / numbers.length;\n\n", "x, 0) / 3;\n\n"),
    "the last key is padding": ("maskedSoftmax(row, row.length)", "maskedSoftmax(row, 4)"),
    "a weight of 0 is no number": ("w > 0 ?", "w >= 0 ?"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_these_tests_notice_that(tmp_path, mutant):
    figures = [ScalingFigure(*CASES[name]()) for name in ("huge scores", "half precision")]
    halves = run(with_fault(ScalingFigure, MUTANTS[mutant]), tmp_path, figures)["halves"]
    assert [w for f, h in zip(figures, halves, strict=True) for w in wrong(traits(f), h)]
