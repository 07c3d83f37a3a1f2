"""The position figure in a browser: it shows attnbook's numbers at all positions of its sliders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.position.cases import CASES, CLOSE, along, truth
from tests.figures.shared.page import handle_centre
from tests.tools.site.site_checks import NARROW, WIDE

READ = """figure => ({
    start: Number(figure.querySelector('.both input').value),
    distance: Number(figure.querySelector('.curve-axis input').value),
    label: figure.querySelector('.both input').getAttribute('aria-valuetext'),
    bodies: [...figure.querySelectorAll('tbody')].map(body => [...body.rows].map(
        row => [...row.querySelectorAll('td[data-value]')].map(
            cell => Number(cell.dataset.value)))),
    printed: [...figure.querySelectorAll('.pair')].map(pair => [...pair.querySelectorAll(
        '.pair-row span:not(:first-child)')].map(number => number.textContent)),
    hands: [...figure.querySelectorAll('.pair')].map(pair => [...pair.querySelectorAll(
        '.hand line')].map(hand => ['x2', 'y2'].map(end => Number(hand.getAttribute(end))))),
    dot: ['x1', 'y1'].map(end => Number(figure.querySelector('.graph .dot').getAttribute(end))),
    curve: figure.querySelector('.graph .line').getAttribute('d').slice(1).split('L')
        .map(point => point.split(' ').map(Number)),
    title: figure.querySelector('.chart > b').textContent,
})"""
FACE = 44  # the length of the longest hand
DRAWN = 0.01  # of 100


def disagreements(seen: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """What a figure shows that differs from attnbook's numbers at the positions of its sliders."""
    all_true = truth(state, [(seen["start"], seen["distance"])])
    true = {name: numbers[0] for name, numbers in all_true.items()}
    vectors, products = true["vectors"], true["products"]
    (*numbers, (dot,)), sweep = seen["bodies"]
    longest = vectors.unflatten(1, (-1, 2)).norm(dim=-1).max() or 1
    hands = (FACE * vectors / longest).unflatten(1, (-1, 2)).transpose(0, 1).clone()
    hands[..., 1] *= -1  # pictures point down
    on_curve = seen["curve"][seen["distance"] + len(seen["curve"]) // 2]
    wrong = {
        "numbers": differ([row[:2] for row in numbers], vectors.T, CLOSE),
        "parts": differ([row[2] for row in numbers], vectors.prod(dim=0), CLOSE),
        "dot": differ(dot, true["dot"], CLOSE),
        "sweep": differ([row[0] for row in sweep], along(state, seen["start"]), CLOSE),
        "hands": differ(seen["hands"], hands, DRAWN),
        "label": seen["label"] != "p = {}, q = {}".format(*true["positions"].tolist()),
        "printed": seen["printed"]
        != [
            [decimals(x) for x in (*vectors[:, 2 * i : 2 * i + 2].flatten().tolist(), part)]
            for i, part in enumerate(products.tolist())
        ],
        "marker": max(abs(a - b) for a, b in zip(seen["dot"], on_curve, strict=True)) > DRAWN,
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]


def slider(figure: Locator, name: str) -> Locator:
    """One of the two sliders."""
    names = {"start": "move both positions", "distance": "distance"}
    return figure.get_by_role("slider", name=names[name], exact=True)


each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


@pytest.fixture(scope="module")
def show(stage):
    return stage({name: make() for name, make in CASES.items()})


# Equal to attnbook


@pytest.mark.parametrize("case", [case for case in CASES if case != "rotary, huge"])
def test_the_start_and_the_ends_equal_attnbook(show, case):
    shown = show(case)
    last, reach = shown.state["positions"] - 1, shown.state["reach"]
    changes = [{"start": s, "distance": d} for s in (0, last) for d in (-reach, 0, reach)]
    for change, seen in zip([{}, *changes], shown.read_all(READ, [{}, *changes]), strict=True):
        assert seen.items() >= change.items()
        assert disagreements(seen, shown.state) == []


@pytest.mark.parametrize("case", ["sinusoidal", "rotary"])
def test_keys_move_both_sliders(show, case):
    shown = show(case)
    saves = shown.saves()
    for name, key in [
        *(("start", key) for key in ("Home", "ArrowRight", "PageUp", "End", "ArrowLeft")),
        *(("distance", key) for key in ("Home", "ArrowRight", "End")),
    ]:
        slider(shown.figure, name).press(key)
        seen = shown.figure.evaluate(READ)
        assert disagreements(seen, shown.state) == []
    ends = [shown.state["positions"] - 2, shown.state["reach"]]
    assert [seen["start"], seen["distance"]] == ends == shown.get("start", "distance")
    assert shown.saves() == saves + 8


# What moves and what does not


@pytest.mark.parametrize("case", ["sinusoidal", "rotary"])
def test_moving_both_positions_rotates_the_hands_and_does_not_change_the_dot_product(show, case):
    changes = [{"start": start} for start in (0, 1, 50, 100)] + [{"distance": 6}]
    *poses, farther = show(case).read_all(READ, changes)
    first, *moved = poses
    for before, pose in zip(poses, moved, strict=False):
        assert pose["hands"] != before["hands"]
        assert pose["title"] == first["title"]
        assert pose["dot"] == pytest.approx(first["dot"], abs=DRAWN)
        assert np.array(pose["curve"]) == pytest.approx(np.array(first["curve"]), abs=2 * DRAWN)
    assert farther["title"] != first["title"]


@each_width
def test_the_handle_is_at_its_distance_on_the_axis(show, width):
    tab, figure, state, _ = show("sinusoidal", width)
    tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
    for distance in (-24, -7, 0, 24):
        slider(figure, "distance").fill(str(distance))
        box = figure.locator(".graph").bounding_box()
        at = box["x"] + box["width"] * (distance + state["reach"]) / (2 * state["reach"])
        marker = figure.locator(".marker").evaluate("e => e.getBoundingClientRect().x")
        assert handle_centre(tab, slider(figure, "distance")) == pytest.approx(at, abs=1.5)
        assert marker == pytest.approx(at, abs=1.5)


@each_width
def test_the_height_does_not_change_while_a_slider_moves(show, width):
    shown = show("rotary", width)
    heights = set()
    for start, distance in ((0, 0), (3, 5), (100, -24), (57, 13), (20, -9)):
        shown.set(start=start, distance=distance)
        heights.add(shown.figure.bounding_box()["height"])
    assert len(heights) == 1
    assert width == WIDE or heights.pop() < 780  # on a phone in portrait
