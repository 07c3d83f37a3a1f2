"""The alignment figure in a browser: at every step it shows the model's numbers."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from attnbook.figures import AlignmentFigure
from attnbook.models.translator.dates import LOCALES
from tests.figures.alignment.cases import CASES, cached_figure, figure_of
from tests.figures.alignment.page import READ, date_choice, differences, expected
from tests.figures.shared.page import slider
from tests.figures.tokens.page import KEYS
from tests.tools.site.site_checks import NARROW, WIDE

GERMAN = LOCALES.index("de")
MONTH = 6  # a step that writes a digit of the month


def make_shortened() -> AlignmentFigure:
    """A text with a long output, then one with an empty output."""
    figure = figure_of("wordy")
    figure.translations = [figure.translations[0], *cached_figure("nothing").translations[:1]]
    return figure


@pytest.fixture(scope="module")
def show(stage):
    """A function that gives a case at this text and step."""
    first = stage({case: cached_figure(case) for case in CASES} | {"shortened": make_shortened()})

    def show_at(case: str = "book", width: int = WIDE, at: tuple[int, int] = (0, 0)) -> Any:
        view = first(case, width)
        view.set(date=at[0], step=at[1])
        return view

    return show_at


def read_position(figure) -> tuple[int, int]:
    """The date and the step that the figure shows."""
    found = figure.evaluate(READ)
    assert found["chosen"] == [found["step"]]
    return found["date"], found["step"]


@pytest.mark.parametrize("case", ["book", "failing", "strings", "wordy", "one_step"])
def test_at_every_step_it_shows_the_model(show, case):
    view = show(case)
    translations = view.state["translations"]
    expecting = [
        each for date in range(len(translations)) for each in expected(case, translations, date)
    ]
    if case == "book":
        expecting = expecting[::3]  # with these, each of the ten steps occurs
    positions = [{name: each[name] for name in ("date", "step")} for each in expecting]
    found = view.read_all(READ, positions)
    for position, one, true in zip(positions, found, expecting, strict=True):
        assert differences(one, true) == [], position


def test_a_wrong_character_is_marked_and_the_expected_one_is_above_it(show):
    _, figure, state, _ = show("failing", NARROW)
    others, wrong = figure.locator(".queries .above"), figure.locator(".queries .differs")
    assert others.all_inner_texts() == [*"1453-05-29"]
    expect(figure.locator(".stage-name").first).to_contain_text("above: expected")
    assert wrong.count() > 0
    for button in wrong.all():
        wanted = button.locator(".above")
        assert f"expected: “{wanted.inner_text()}”" in button.locator(".spoken").text_content()
        above, below = (part.bounding_box() for part in (wanted, button.locator("bdi")))
        assert above["y"] + above["height"] <= below["y"] + 1
    date_choice(figure).select_option("1")
    assert others.count() == wrong.count() == 0
    true = expected("failing", state["translations"], 1)[0]
    assert differences(figure.evaluate(READ), true) == []


def test_an_empty_output_is_reported(show):
    figure = show("nothing", at=(1, 0)).figure
    assert figure.locator(".readout").inner_text() == "The model wrote nothing for this text."
    assert slider(figure, "step").get_attribute("max") == "0"
    assert not figure.locator(".heatmap").is_visible()
    assert not figure.locator(".data-tables").is_visible()
    assert figure.locator(f"{KEYS} bdi").all_inner_texts() == [*"cd␣12"]


def test_controls_are_native_and_have_names_and_values(show):
    _, figure, state, _ = show(at=(GERMAN, MONTH))
    steps = slider(figure, "step")
    assert [steps.get_attribute(name) for name in ("min", "max", "step")] == ["0", "9", "1"]
    assert steps.get_attribute("aria-valuetext") == "6 of 9: “3”, month"
    options = date_choice(figure).locator("option").all_inner_texts()
    assert options[GERMAN] == "de: \u20689. März 1987\u2069"
    assert len(options) == len(state["translations"])
    readout = figure.locator(".readout").inner_text()
    assert readout.startswith("Step 6: to write “3”, a digit of the month, it attended to “")
    heads = figure.locator("th[scope=col]").all_text_contents()
    assert heads == ["character", "score", "weight"]
    assert "step 6" in figure.locator("caption").text_content()
    assert date_choice(show("one_step").figure).count() == 0


def test_a_choice_is_saved_for_python(show):
    view = show("wordy", at=(1, 12))
    saves = view.saves()
    slider(view.figure, "step").press("ArrowLeft")
    assert [*view.get("date", "step"), view.saves()] == [1, 11, saves + 1]
    date_choice(view.figure).select_option("0")
    assert [*view.get("date", "step"), view.saves()] == [0, 11, saves + 2]


def test_a_shorter_output_shows_its_last_step(show):
    view = show("shortened", at=(0, 12))
    date_choice(view.figure).select_option("1")
    assert view.get("step") == [0]
    date_choice(view.figure).select_option("0")
    assert read_position(view.figure) == (0, 0)
