"""The numbers of the position figure that are computed in the page, against the package's own."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from attnbook.figures import PositionFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.position.cases import CASES, CLOSE, along, truth
from tests.figures.shared.node import in_node, with_fault, written

# Runs the figure's own module at every place of the sliders. JSON in, JSON out.
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, asked } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
const answers = asked.map(({ state, at }) => ({
  poses: at.map(([start, distance]) => figure.pose(state, start, distance)),
  along: figure.sweep(state, at[0][0]),
  ends: figure.endsOf(state),
  said: figure.sentence(figure.wordsOf(state).dot, figure.pose(state, 3, 0)),
}));
process.stdout.write(JSON.stringify({ names: Object.keys(figure), answers }));
"""
MANY = 101
each_case = pytest.mark.parametrize("name", CASES)


def everywhere(state: dict[str, Any]) -> list[tuple[int, int]]:
    """Every place of both sliders; of a very long one, all of each and 200 combinations."""
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


def run(module: str, folder: Path, states: list[dict[str, Any]]) -> dict[str, Any]:
    asked = [{"state": state, "at": everywhere(state)} for state in states]
    return in_node(PROGRAM, written(module, folder), asked=asked)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the shipped file computes for each case."""
    states = [traits(case()) for case in CASES.values()]
    return run(str(PositionFigure._esm), tmp_path_factory.mktemp("shipped"), states)


@pytest.fixture(scope="module")
def of_case(answers):
    return dict(zip(CASES, answers["answers"], strict=True))


def wrong(state: dict[str, Any], answer: dict[str, Any]) -> set[str]:
    """Which of the page's numbers are not the package's, at any place of the sliders."""
    places = everywhere(state)
    true = [truth(state, *at) for at in places]
    largest = max(1.0, *map(abs, [1.0, *state["query"], *state["key"]]))
    powers = {"places": 0, "vectors": 1, "products": 2, "dot": 2}
    found = set()
    for name, power in powers.items():
        shown = torch.tensor([pose[name] for pose in answer["poses"]], dtype=torch.float64)
        expected = torch.stack([one[name] for one in true])
        if differ((shown / largest**power).tolist(), expected / largest**power, CLOSE):
            found.add(name)
    shown = torch.tensor(answer["along"], dtype=torch.float64)
    if differ((shown / largest**2).tolist(), along(state, places[0][0]) / largest**2, CLOSE):
        found.add("along")
    return found


@each_case
def test_every_number_of_the_page_equals_attnbook_wherever_the_sliders_stand(of_case, name):
    assert wrong(traits(CASES[name]()), of_case[name]) == set()


@each_case
def test_python_and_page_tell_the_same(of_case, name):
    figure = CASES[name]()
    state = traits(figure)
    at = everywhere(state)
    for start, distance in at[:: max(1, len(at) // 20)]:
        figure.start, figure.distance = start, distance
        pose = of_case[name]["poses"][at.index((start, distance))]
        scale = figure.vectors.abs().max().item() or 1.0
        vectors = (torch.tensor(pose["vectors"], dtype=torch.float64) / scale).tolist()
        assert not differ(vectors, figure.vectors / scale, CLOSE)
        products = (torch.tensor(pose["products"], dtype=torch.float64) / scale**2).tolist()
        assert not differ(products, figure.dot_products / scale**2, CLOSE)


@pytest.mark.parametrize("name", ["sinusoidal", "rotary", "the largest"])
def test_moving_both_changes_the_vectors_and_never_the_dot_product(of_case, name):
    state = traits(CASES[name]())
    by_distance: dict[int, list[dict[str, Any]]] = {}
    for (_, distance), pose in zip(everywhere(state), of_case[name]["poses"], strict=True):
        by_distance.setdefault(distance, []).append(pose)
    for poses in by_distance.values():
        assert max(p["dot"] for p in poses) - min(p["dot"] for p in poses) < 1e-11
        first = {tuple(pose["vectors"][0]) for pose in poses}
        assert len(first) > 1


def test_a_sinusoidal_curve_is_even_and_a_rotary_one_is_not(of_case):
    even, uneven = of_case["sinusoidal"]["along"], of_case["rotary"]["along"]
    assert even == pytest.approx(even[::-1], abs=1e-14)
    assert max(abs(a - b) for a, b in zip(uneven, uneven[::-1], strict=True)) > 1


@each_case
def test_the_axis_holds_zero_and_every_dot_product(of_case, name):
    (low, high), dots = of_case[name]["ends"], of_case[name]["along"]
    assert low < min(0, *dots)
    assert high > max(0, *dots)


def test_a_sum_is_spelt_out_if_it_is_short(of_case):
    assert of_case["sinusoidal"]["said"] == "dot product = 1.000 + 1.000 + 1.000 + 1.000 ≈ 4.000"
    assert of_case["one hand"]["said"] == "dot product = 1.000"
    assert of_case["the largest"]["said"] == "dot product = sum of 8 pairs ≈ 8.000"
    assert of_case["rotary, zeros"]["said"] == "query · key = 0 + 0 ≈ 0"


def test_the_module_hides_the_drawing_from_anywidget(answers):
    assert "render" not in answers["names"]


MUTANTS = {
    "all hands are equally fast": ("(2 * pair) / size", "0"),
    "the speeds are those of pairs, not of numbers": ("(2 * pair) / size", "pair / size"),
    "the slowest hand is too fast": ("SLOWEST = 10_000", "SLOWEST = 1_000"),
    "sine and cosine change places": (
        "i % 2 ? Math.cos(turn) : Math.sin(turn)",
        "i % 2 ? Math.sin(turn) : Math.cos(turn)",
    ),
    "rotary turns with the clock": (
        "[first * cos - second * sin, first * sin + second * cos]",
        "[first * cos + second * sin, second * cos - first * sin]",
    ),
    "the key stays where it is": ("rotary(key, q)", "key"),
    "p and q change places": (
        "[start + Math.max(distance, 0), start + Math.max(-distance, 0)]",
        "[start + Math.max(-distance, 0), start + Math.max(distance, 0)]",
    ),
    "a pair adds half of what it has": (
        "a[2 * pair] * b[2 * pair] + a[2 * pair + 1] * b[2 * pair + 1]",
        "a[2 * pair] * b[2 * pair]",
    ),
    "the first pair is not counted": ("sum + product, 0)", "sum + product, -products[0])"),
    "the curve stands still": ("i - reach)", "i - reach + 1)"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_these_tests_notice_that(tmp_path, mutant):
    states = [traits(CASES[name]()) for name in ("one place", "rotary, one arrow", "rotary, huge")]
    module = with_fault(PositionFigure, MUTANTS[mutant])
    answers = run(module, tmp_path, states)["answers"]
    assert any(wrong(state, answer) for state, answer in zip(states, answers, strict=True))
