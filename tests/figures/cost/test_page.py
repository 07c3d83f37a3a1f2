"""The cost figure in a browser: wherever its controls stand, it shows Python's numbers."""

from __future__ import annotations

from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import RANGES
from tests.figures.cost.cases import SWEEP, exact, powers, set_all
from tests.figures.cost.page import READ, curves, disagreements, expected, height, slider
from tests.figures.shared.page import FROM_PYTHON, MOVING, SMALL_TEXT, colours_on_paper
from tests.tools.site.site_checks import LOOKS, NARROW

CASES: dict[str, dict[str, Any]] = {
    "small": {},
    "large": {"batch": 16, "size": 256},
    "dot": {"layer": "dot"},
    "huge": {"batch": 64, "queries": 4096, "keys": 4096, "size": 1024, "mode": "training"},
}


def captioned(case: str) -> CostFigure:
    """The figure of a case, with a caption."""
    return CostFigure(exact(), caption="A caption.", **CASES[case])


@pytest.fixture(scope="module")
def show(alone):
    """A function that opens a page with one case and gives tab, figure and its Python half."""

    @contextmanager
    def go(case: str = "small", **options):
        made = captioned(case)
        with alone(made, **options) as (tab, figure):
            yield tab, figure, made

    return go


# Python's numbers


@pytest.mark.parametrize("trait", list(RANGES))
def test_each_key_press_doubles_a_size_and_shows_pythons_numbers(show, trait):
    with show() as (_, figure, python):
        control = slider(figure, "num_hiddens" if trait == "size" else trait)
        control.press("Home")
        for size in powers(trait):
            setattr(python, trait, size)
            assert control.get_attribute("aria-valuetext") == str(size)
            assert disagreements(figure, python) == []
            control.press("ArrowRight")


def test_anywhere_else_it_shows_pythons_numbers(show):
    rng = Random(2)  # noqa: S311 - numbers to test with, no secrets
    with show() as (tab, figure, python):
        for layer, mode in [(a, b) for a in ("additive", "dot") for b in ("inference", "training")]:
            setting = {name: rng.choice(powers(name)) for name in RANGES}
            set_all(python, setting | {"layer": layer, "mode": mode})
            for name, value in (setting | {"layer": layer, "mode": mode}).items():
                tab.evaluate(FROM_PYTHON, [name, value])
            assert disagreements(figure, python) == []


def test_layer_and_mode_are_chosen_by_key_or_by_mouse(show):
    with show() as (tab, figure, python):
        figure.get_by_role("radio", name="additive").press("ArrowRight")
        figure.get_by_role("radio", name="training").click()
        set_all(python, {"layer": "dot", "mode": "training"})
        assert disagreements(figure, python) == []
        assert figure.get_by_role("radiogroup").count() == 2
        assert tab.evaluate("models[0].saves") == 2


def test_a_tap_moves_a_slider(show):
    with show(width=NARROW, has_touch=True, is_mobile=True) as (_, figure, python):
        control = slider(figure, "num_keys")
        box = control.bounding_box()
        control.tap(position={"x": box["width"] - 3, "y": box["height"] / 2})
        python.num_keys = 4096
        assert disagreements(figure, python) == []


def test_a_wrong_number_is_noticed(show):
    with show() as (_, figure, python):
        figure.locator("td[data-value]").nth(14).evaluate("cell => { cell.dataset.value *= 1.01 }")
        figure.locator(".here").last.evaluate("dot => { dot.setAttribute('y1', 50) }")
        figure.locator(".cost-key b").first.evaluate("number => { number.textContent = '1 s' }")
        assert disagreements(figure, python) == ["told", "tables", "here"]


# The picture


def test_the_curves_pass_through_their_numbers_and_end_where_the_axis_ends(show):
    with show("large") as (_, figure, python):
        rows = curves(python)
        for column, path in enumerate(figure.locator("path.way").all()):
            kind = "seconds" if column < 2 else "bytes"
            points = [tuple(map(float, p.split())) for p in path.get_attribute("d")[1:].split("L")]
            assert [x for x, _ in points] == [12.5 * step for step in range(9)]
            tops = [height(kind, row[column]) for row in rows]
            assert [y for _, y in points] == pytest.approx(tops, abs=0.01)


def test_the_dots_of_a_machine_that_never_varies_lie_on_the_curves(show):
    with show() as (tab, figure, python):
        for point in SWEEP:
            for name, size in (("num_queries", point.queries), ("num_keys", point.keys)):
                tab.evaluate(FROM_PYTHON, [name, size])
            set_all(python, {"num_queries": point.queries, "num_keys": point.keys})
            rings = figure.evaluate(
                """figure => [...figure.querySelectorAll('.ring')].map(
                    ring => ['x1', 'y1'].map(name => Number(ring.getAttribute(name))))"""
            )
            for place in expected(python)["here"]:
                assert any(ring == pytest.approx(place, abs=0.05) for ring in rings)


def test_dots_are_seen_only_where_they_were_measured(show):
    here, there = "Dots: measured on a machine of the tests.", "the dots are at batch 4 and size 64"
    with show() as (_, figure, _python):
        note = figure.locator(".cost-note")
        assert note.inner_text() == here
        slider(figure, "batch").press("ArrowRight")
        assert note.inner_text().endswith(f"{there}.")
        assert figure.evaluate(READ)["dots"] == 0
        slider(figure, "batch").press("ArrowLeft")
        assert (note.inner_text(), figure.evaluate(READ)["dots"]) == (here, 16)


def test_the_two_plots_share_one_axis(show):
    with show() as (_, figure, _python):
        boxes = [graph.bounding_box() for graph in figure.locator(".cost-graph").all()]
        assert len({(box["x"], box["width"]) for box in boxes}) == 1
        marks = figure.locator(".cost-marker").evaluate_all(
            "all => all.map(line => line.getBoundingClientRect().x)"
        )
        assert marks[0] == marks[1]
        assert marks[0] == pytest.approx(boxes[0]["x"] + boxes[0]["width"] / 2, abs=1)


def test_more_than_a_laptop_has_is_said(show):
    with show("huge") as (_, figure, _python):
        said = "(more than most laptops have)"
        assert figure.locator(".readout").inner_text().count(said) == 1  # ours has room
        assert figure.locator(".limit-name").inner_text() == "16 GiB: most laptops end here"


# The model


def test_a_change_from_python_is_painted_until_it_is_cleaned_up(show):
    with show() as (tab, figure, python):
        tab.evaluate("models[0].set('num_queries', 1024)")
        python.num_queries = 1024
        assert disagreements(figure, python) == []
        tab.evaluate("cleanUps[0]()")
        tab.evaluate("models[0].set('num_queries', 16)")
        assert tab.evaluate("models[0].heard.length") == 0
        assert disagreements(figure, python) == []


def test_it_lives_on_a_page_of_the_book_beside_another(in_a_book):
    both = [CostFigure(exact()), CostFigure(exact(), layer="dot")]
    with in_a_book(*both) as shown:
        shown.first.get_by_role("radio", name="training").click()
        both[0].mode = "training"
        for figure, python in zip(shown.all(), both, strict=True):
            assert disagreements(figure, python) == []


# Looks


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all cases on one page."""
    return on_one_page([*map(captioned, CASES)])


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("case", CASES)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, width, scheme
):
    page, place = looked_at(width, scheme), [*CASES].index(case)
    figure = page.figure(place)
    keep_picture(figure, f"cost-{case}-{width}-{scheme}")
    assert page.problems(place) == []
    labels = [name.bounding_box() for name in figure.locator(".cost-axis .ruler span").all()]
    seen = [box for box in labels if box]
    ends = [box["x"] + box["width"] for box in seen]
    assert all(end < box["x"] for end, box in zip(ends, seen[1:], strict=False))


def test_it_prints_in_its_colours_and_nothing_moves_by_itself(show, keep_picture):
    with show(reduced_motion="no-preference") as (_, figure, _):
        assert figure.evaluate(MOVING) == 0
        assert colours_on_paper(figure, keep_picture, "cost") == "exact"
        assert figure.evaluate(SMALL_TEXT) == []
