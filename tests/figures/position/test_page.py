"""The position figure in a browser: it shows attnbook's numbers at all positions of its sliders."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.position.cases import CASES, CLOSE, along, truth
from tests.figures.shared.page import reading

READ = reading("""
    start: Number(all('input')[0].value),
    distance: Number(all('input')[1].value),
    labels: all('input').map((input) => input.ariaValueText),
    bodies: bodies(),
    printed: all('.pair:has(.circle)').map((pair) => texts('span', pair)),
    arrows: all('.pair:has(.circle)').map((pair) => attributes('.arrow line', ['x2', 'y2'], pair)),
    dot: attributes('.graph .dot', ['x1', 'y1'])[0],
    curve: points('.graph .line'),
    note: all('.stage-name').at(-1).textContent,
    readout: figure.querySelector('.readout').textContent,
""")
FACE = 44  # the length of the longest arrow
DRAWN = 0.01  # of 100


def disagreements(seen: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """What a figure shows that differs from attnbook's numbers at the positions of its sliders."""
    all_true = truth(state, [(seen["start"], seen["distance"])])
    true = {name: numbers[0] for name, numbers in all_true.items()}
    vectors, products = true["vectors"], true["products"]
    (*numbers, (dot,)), sweep = seen["bodies"]
    longest = vectors.unflatten(1, (-1, 2)).norm(dim=-1).max() or 1
    arrows = (FACE * vectors / longest).unflatten(1, (-1, 2)).transpose(0, 1).clone()
    arrows[..., 1] *= -1  # pictures point down
    on_curve = seen["curve"][seen["distance"] + len(seen["curve"]) // 2]
    wrong = {
        "numbers": differ([row[:2] for row in numbers], vectors.T, CLOSE),
        "parts": differ([row[2] for row in numbers], vectors.prod(dim=0), CLOSE),
        "dot": differ(dot, true["dot"], CLOSE),
        "sweep": differ([row[0] for row in sweep], along(state, seen["start"]), CLOSE),
        "arrows": differ(seen["arrows"], arrows, DRAWN),
        "labels": seen["labels"]
        != ["p = {}, q = {}".format(*true["positions"].tolist()), str(seen["distance"])],
        "note": seen["note"]
        != f"Dot product{decimals(true['dot'].item())} at distance {seen['distance']}",
        "readout": not seen["readout"].endswith(f" {decimals(true['dot'].item())}"),
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


@pytest.fixture(scope="module")
def show(stage):
    return stage({name: make() for name, make in CASES.items()})


@pytest.mark.parametrize("case", [case for case in CASES if case != "rotary, huge"])
def test_the_start_and_the_ends_equal_attnbook(show, case):
    view = show(case)
    last, reach = view.state["positions"] - 1, view.state["reach"]
    changes = [{"start": s, "distance": d} for s in (0, last) for d in (-reach, 0, reach)]
    for change, seen in zip([{}, *changes], view.read_all(READ, [{}, *changes]), strict=True):
        assert seen.items() >= change.items()
        assert disagreements(seen, view.state) == []


def test_keys_move_both_sliders(show):
    view = show("rotary")
    saves = view.saves()
    for name, key in [
        *(("start", key) for key in ("Home", "ArrowRight", "PageUp", "End", "ArrowLeft")),
        *(("distance", key) for key in ("Home", "ArrowRight", "End")),
    ]:
        slider(view.figure, name).press(key)
        seen = view.figure.evaluate(READ)
        assert disagreements(seen, view.state) == []
    ends = [view.state["positions"] - 2, view.state["reach"]]
    assert [seen["start"], seen["distance"]] == ends == view.get("start", "distance")
    assert view.saves() == saves + 8
