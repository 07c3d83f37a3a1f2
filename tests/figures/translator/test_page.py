"""The translator figure in a browser: it shows what the model writes for any text."""

from __future__ import annotations

from random import Random

import pytest
from playwright.sync_api import expect

from attnbook.figures.translator.reading import read
from attnbook.models.translator.dates import LOCALES, make_dates
from tests.figures.shared.page import slider
from tests.figures.shared.trained import show_with_model
from tests.figures.tokens.page import KEYS
from tests.figures.translator.page import (
    HEBREW,
    MONTH,
    NO_DATE,
    READ,
    ROOM,
    TEXT,
    differences,
    disagreements,
    field,
)
from tests.tools.site.site_checks import NARROW
from tools.models.checkpoints import SMALL_LOCALES


@pytest.fixture(scope="module")
def show(stage):
    return show_with_model(stage, ROOM, "hidden", "other model")


def test_each_step_shows_where_the_model_attended(show):
    view, figure, python = show()
    view.set(hidden=[3, 8])
    python.hidden = [3, 8]

    def check(step):
        python.step = step
        assert disagreements(figure, python) == []

    for key, step in (("Home", 0), ("ArrowRight", 1), ("End", 9)):
        slider(figure, "step").press(key)
        check(step)
    expect(slider(figure, "step")).to_have_attribute("aria-valuetext", "9 of 9: “9”")
    button, rows = figure.locator(".queries button").nth(4), figure.locator(".heat-picture")
    button.click()
    check(4)
    rows.click(position={"x": 60, "y": rows.bounding_box()["height"] * 0.65})
    check(6)


@pytest.mark.parametrize(
    ("case", "count", "locales"), [("first", 9, LOCALES), ("other model", 4, SMALL_LOCALES)]
)
def test_dates_with_hidden_characters_are_written_like_in_python(show, case, count, locales):
    draw = Random(7)  # noqa: S311 - numbers to test with, no secrets
    view, _, python = show(case)
    texts = [date.text for date in make_dates(1, 1, count, locales=locales, seed=9).test]
    texts += ["hello", NO_DATE, "9", "1987", TEXT * 5]
    changes = []
    for text in texts:
        hidden = sorted(draw.sample(range(len(text)), draw.choice([0, 1, 3, 64]) % (len(text) + 1)))
        changes.append({"text": text, "hidden": hidden, "step": draw.randrange(5)})
    for change, found in zip(changes, view.read_all(READ, changes), strict=True):
        text, hidden, step = change.values()
        truth, whole = read(python.name, text, hidden), read(python.name, text).output
        assert differences(found, truth, whole, hidden, step) == [], change


def test_a_tap_hides_a_character_and_a_second_shows_it(show):
    view, figure, python = show(width=NARROW)
    saves = view.saves()
    column = figure.get_by_role("button", name="hide character 3, “M”")
    for hidden in ([3], []):
        column.tap()
        python.hidden = hidden
        assert disagreements(figure, python) == []
        expect(figure.locator(".lit bdi")).to_have_text("M")
        expect(column).to_have_attribute("aria-pressed", "true" if hidden else "false")
    assert view.saves() == saves + 2


def test_keys_hide_characters_and_changes_are_marked(show):
    view, figure, python = show()
    figure.locator(f"{KEYS} .token").first.focus()
    for hidden in MONTH:
        for _ in range(hidden - (python.hidden[-1] if python.hidden else 0)):
            figure.page.keyboard.press("ArrowRight")
        figure.page.keyboard.press("Space")
        python.hidden = [*python.hidden, hidden]
        assert disagreements(figure, python) == []
    expect(figure.get_by_role("button", name="hide character 6, “z”")).to_be_focused()
    verdict = "Without “März” it writes 1987-09-09 instead of 1987-03-09."
    expect(figure.locator(".verdict")).to_have_text(verdict)
    assert figure.evaluate(READ)["before"] == "1987-03-09"
    changed = figure.locator(".queries button.differs")
    expect(changed).to_have_accessible_name("step 6: “9”, probability 0.999, before: “3”")
    figure.get_by_role("button", name="show all").press("Enter")
    python.hidden = []
    assert disagreements(figure, python) == []
    show_all = figure.get_by_role("button", name="show all")
    expect(show_all).to_be_disabled()
    expect(show_all).to_be_focused()
    expect(changed).to_have_count(0)
    assert view.get("hidden") == [[]]


def test_an_example_can_be_chosen_and_typed_text_is_none(show):
    _, figure, python = show()
    choice = figure.get_by_role("combobox", name="or an example")
    assert choice.locator("option").count() == 3
    expect(choice).to_have_value(TEXT)
    choice.select_option(HEBREW)
    python.text = HEBREW
    assert disagreements(figure, python) == []
    expect(field(figure)).to_have_value(HEBREW)
    order = figure.locator(".token-rows + .note")
    expect(order).to_contain_text("from right to left")
    field(figure).fill("5/1/2000")
    expect(choice).to_have_value("")
    expect(order).not_to_contain_text("from right to left")


def test_a_new_text_hides_nothing_and_keeps_the_step(show):
    view, figure, python = show("hidden")
    view.set(hidden=MONTH)
    slider(figure, "step").press("End")
    field(figure).fill("10 mai 2001")
    python.set_state({"text": "10 mai 2001", "hidden": [], "step": 9})
    assert disagreements(figure, python) == []
    assert view.get("hidden") == [[]]


TOPS = """figure => ['.stepper', '.queries', '.token-rows', '.heat-picture', '.answer'].map(
    part => figure.querySelector(part).getBoundingClientRect().y
        - figure.getBoundingClientRect().y)"""


def test_nothing_moves_when_characters_are_hidden_or_the_text_is_wrong(show):
    figure = show(width=NARROW).figure
    before = figure.evaluate(TOPS)
    assert before == sorted(before)
    for position in MONTH:
        figure.locator(f"{KEYS} .token").nth(position).click()
        assert figure.evaluate(TOPS) == before
    for typed in ("!?%&", "", TEXT):
        field(figure).fill(typed)
        assert figure.evaluate(TOPS) == before, typed
