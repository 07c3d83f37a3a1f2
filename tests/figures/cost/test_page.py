"""The cost figure in a browser: at every position of its controls it shows Python's numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Locator

from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import RANGES
from tests.figures.cost.cases import SWEEP, exact, positions, powers, set_all
from tests.figures.cost.page import (
    READ,
    curves,
    differences,
    disagreements,
    expected,
    height,
    slider,
)
from tests.figures.shared.page import Shown
from tests.tools.site.site_checks import NARROW, WIDE

CASES: dict[str, dict[str, Any]] = {
    "small": {},
    "large": {"batch": 16, "size": 256},
    "huge": {"batch": 64, "queries": 4096, "keys": 4096, "size": 1024, "mode": "training"},
}


def made(case: str) -> CostFigure:
    return CostFigure(exact(), **CASES[case]) if case in CASES else CostFigure()


class Both(NamedTuple):
    shown: Shown
    figure: Locator
    python: CostFigure


@pytest.fixture(scope="module")
def show(stage):
    """A function that gives a case's figure and its Python half."""
    given = stage({case: made(case) for case in (*CASES, "stored")})

    def go(case: str = "small", width: int = WIDE) -> Both:
        shown = given(case, width)
        return Both(shown, shown.figure, made(case))

    return go


# Python's numbers


@pytest.mark.parametrize("trait", list(RANGES))
def test_at_the_ends_of_each_slider_it_shows_pythons_numbers(show, trait):
    _, figure, python = show()
    control, sizes = slider(figure, "num_hiddens" if trait == "size" else trait), powers(trait)
    for key, size in (("Home", sizes[0]), ("ArrowRight", sizes[1]), ("End", sizes[-1])):
        control.press(key)
        setattr(python, trait, size)
        assert control.get_attribute("aria-valuetext") == str(size)
        assert disagreements(figure, python) == []


@pytest.mark.parametrize(("case", "every"), [("small", 1), ("stored", 5)])
def test_at_every_position_of_its_controls_it_shows_pythons_numbers(show, case, every):
    shown, _, python = show(case)
    assert len(positions()) == 4 * (7 + 9 + 9 + 7) + 200
    settings = positions()[::every]
    for setting, seen in zip(settings, shown.read_all(READ, settings), strict=True):
        assert differences(seen, set_all(python, setting)) == [], setting


def test_layer_and_mode_are_chosen_by_key_or_by_mouse(show):
    shown, figure, python = show()
    saves = shown.saves()
    figure.get_by_role("radio", name="additive").press("ArrowRight")
    figure.get_by_role("radio", name="training").click()
    set_all(python, {"layer": "dot", "mode": "training"})
    assert disagreements(figure, python) == []
    assert figure.get_by_role("radiogroup").count() == 2
    assert shown.saves() == saves + 2


def test_a_tap_moves_a_slider(show):
    _, figure, python = show(width=NARROW)
    control = slider(figure, "num_keys")
    box = control.bounding_box()
    control.tap(position={"x": box["width"] - 3, "y": box["height"] / 2})
    python.num_keys = 4096
    assert disagreements(figure, python) == []


def test_a_wrong_number_is_noticed(alone):
    python = CostFigure(exact())
    with alone(python) as (_, figure):
        figure.locator("td[data-value]").nth(14).evaluate("cell => { cell.dataset.value *= 1.01 }")
        figure.locator(".here").last.evaluate("dot => { dot.setAttribute('y1', 50) }")
        figure.locator(".cost-key b").first.evaluate("number => { number.textContent = '1 s' }")
        assert disagreements(figure, python) == ["said", "tables", "here"]


# The picture


def test_the_curves_pass_through_their_numbers_and_end_where_the_axis_ends(show):
    _, figure, python = show("large")
    rows = curves(python)
    for column, path in enumerate(figure.locator("path.way").all()):
        kind = "seconds" if column < 2 else "bytes"
        points = [tuple(map(float, p.split())) for p in path.get_attribute("d")[1:].split("L")]
        assert [x for x, _ in points] == [12.5 * step for step in range(9)]
        tops = [height(kind, row[column]) for row in rows]
        assert [y for _, y in points] == pytest.approx(tops, abs=0.01)


RINGS = """figure => [...figure.querySelectorAll('.ring')].map(
    ring => ['x1', 'y1'].map(name => Number(ring.getAttribute(name))))"""


def test_the_dots_of_a_machine_that_never_varies_lie_on_the_curves(show):
    shown, figure, python = show()
    for point in SWEEP:
        sizes = {"num_queries": point.queries, "num_keys": point.keys}
        shown.set(**sizes)
        rings = figure.evaluate(RINGS)
        for place in expected(set_all(python, sizes))["here"]:
            assert any(ring == pytest.approx(place, abs=0.05) for ring in rings)


def test_dots_are_seen_only_where_they_were_measured(show):
    here, there = "Dots: measured on a machine of the tests.", "the dots are at batch 4 and size 64"
    figure = show().figure
    note = figure.locator(".cost-note")
    assert note.inner_text() == here
    slider(figure, "batch").press("ArrowRight")
    assert note.inner_text().endswith(f"{there}.")
    assert figure.evaluate(READ)["dots"] == 0
    slider(figure, "batch").press("ArrowLeft")
    assert (note.inner_text(), figure.evaluate(READ)["dots"]) == (here, 16)


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("case", CASES)
def test_the_two_plots_share_one_axis_whose_labels_stay_apart(show, case, width):
    figure = show(case, width).figure
    boxes = [graph.bounding_box() for graph in figure.locator(".cost-graph").all()]
    assert len({(box["x"], box["width"]) for box in boxes}) == 1
    markers = [marker.bounding_box()["x"] for marker in figure.locator(".cost-marker").all()]
    assert markers[0] == markers[1]
    if case == "small":  # 256 is in the middle of the axis
        assert markers[0] == pytest.approx(boxes[0]["x"] + boxes[0]["width"] / 2, abs=1)
    labels = [name.bounding_box() for name in figure.locator(".cost-axis .ruler span").all()]
    seen = [box for box in labels if box]
    ends = [box["x"] + box["width"] for box in seen]
    assert all(end < box["x"] for end, box in zip(ends, seen[1:], strict=False))


def test_more_than_a_laptop_has_is_said(show):
    figure = show("huge").figure
    said = "(more than most laptops have)"
    assert figure.locator(".readout").inner_text().count(said) == 1  # ours has room
    assert figure.locator(".limit-name").inner_text() == "16 GiB: most laptops end here"
