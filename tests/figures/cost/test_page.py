"""The cost figure in a browser: at every setting it shows Python's numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator

from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import RANGES
from tests.figures.cost.cases import exact, make_settings, powers, set_all
from tests.figures.cost.page import READ, curves, differences, disagreements, height
from tests.figures.shared.page import Shown, slider
from tests.tools.site.site_checks import UNFOLD

MAKERS: dict[str, Callable[[], CostFigure]] = {
    "small": lambda: CostFigure(exact()),
    "large": lambda: CostFigure(exact(), batch=16, size=256),
    "stored": CostFigure,
}


@pytest.fixture(scope="module")
def show(stage):
    """A function that gives a figure as shown, its element, and its Python half."""
    first = stage({name: make() for name, make in MAKERS.items()})

    def show_both(name: str = "small") -> tuple[Shown, Locator, CostFigure]:
        shown = first(name)
        shown.tab.evaluate(UNFOLD)
        return shown, shown.figure, MAKERS[name]()

    return show_both


@pytest.mark.parametrize("trait", list(RANGES))
def test_at_the_ends_of_each_slider_it_shows_pythons_numbers(show, trait):
    _, figure, python = show()
    control, sizes = slider(figure, "num_hiddens" if trait == "size" else trait), powers(trait)
    for key, size in (("Home", sizes[0]), ("ArrowRight", sizes[1]), ("End", sizes[-1])):
        control.press(key)
        setattr(python, trait, size)
        assert control.get_attribute("aria-valuetext") == str(size)
        assert disagreements(figure, python) == []


@pytest.mark.parametrize(("case", "every"), [("small", 4), ("stored", 30)])
def test_at_many_settings_it_shows_pythons_numbers(show, case, every):
    shown, _, python = show(case)
    settings = make_settings()[::every]
    for setting, found in zip(settings, shown.read_all(READ, settings), strict=True):
        assert differences(found, set_all(python, setting)) == [], setting


def test_layer_and_mode_can_be_chosen_by_key_and_mouse(show):
    shown, figure, python = show()
    saves = shown.saves()
    figure.get_by_role("radio", name="additive").press("ArrowRight")
    figure.get_by_role("radio", name="training").click()
    set_all(python, {"layer": "dot", "mode": "training"})
    assert disagreements(figure, python) == []
    assert figure.get_by_role("radiogroup").count() == 2
    assert shown.saves() == saves + 2


def test_the_curves_pass_through_their_numbers_and_end_where_the_axis_ends(show):
    _, figure, python = show("large")
    rows = curves(python)
    for column, path in enumerate(figure.locator("path.way").all()):
        kind = "seconds" if column < 2 else "bytes"
        points = [tuple(map(float, p.split())) for p in path.get_attribute("d")[1:].split("L")]
        assert [x for x, _ in points] == [12.5 * step for step in range(9)]
        tops = [height(kind, row[column]) for row in rows]
        assert [y for _, y in points] == pytest.approx(tops, abs=0.01)


def test_dots_are_shown_only_at_the_measured_setting(show):
    here, there = "Dots: measured on a machine of the tests.", "the dots are at batch 4 and size 64"
    figure = show()[1]
    note = figure.locator(".note")
    time = figure.get_by_role("group", name="Time")
    assert note.inner_text() == here
    assert "lines: predicted, hollow dots: measured" in time.inner_text()
    slider(figure, "batch").press("ArrowRight")
    assert note.inner_text().endswith(f"{there}.")
    assert "lines: predicted; not measured here" in time.inner_text()
    assert figure.evaluate(READ)["dots"] == 0
    slider(figure, "batch").press("ArrowLeft")
    assert (note.inner_text(), figure.evaluate(READ)["dots"]) == (here, 16)
