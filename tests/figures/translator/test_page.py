"""The translator figure in a browser: it shows what the model writes, whatever is typed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from playwright.sync_api import expect

from attnbook.figures import TranslatorFigure
from attnbook.figures.translator.packing import packed
from attnbook.models.translator.dates import make_dates
from tests.figures.shared.page import FROM_PYTHON, MOVING, UNKEPT, colours_on_paper
from tests.figures.shared.trained import answer, check_refusal, shown_alone
from tests.figures.translator.page import MONTH, READ, ROOM, box, disagreements, field, said, slider
from tests.tools.site.jupyterlab import START, run_all, told_by_last
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE

TEXT = "9. März 1987"
HEBREW = "24 באפריל 2053"
LONG = "keskiviikkona 9. syyskuuta 1987 ja 10. maaliskuuta 2011"
CASES: dict[str, dict[str, Any]] = {
    "first": {"examples": [TEXT, HEBREW]},
    "hidden": {"hidden": MONTH},
    "nothing left": {"hidden": [*range(12)]},
    "right to left": {"text": HEBREW, "hidden": [3]},
    "long": {"text": LONG, "hidden": [*range(13)]},
    "one character": {"text": "9"},
    "other model": {"name": "small"},
}


@pytest.fixture(scope="module")
def show(alone):
    return shown_alone(alone, TranslatorFigure)


# What it shows


@pytest.mark.parametrize("case", CASES)
def test_before_and_after_the_model_comes_it_shows_the_same(show, case):
    with show(weights=False, **CASES[case]) as (tab, figure, python):
        assert disagreements(figure, python, 1e-3) == []
        size = figure.bounding_box()
        answer(tab, python)
        assert disagreements(figure, python) == []
        assert figure.bounding_box() == size


def test_each_step_shows_where_the_model_looked(show):
    with show(hidden=[3, 8]) as (_, figure, python):
        for key, step in [("Home", 0), *[("ArrowRight", step) for step in range(1, 10)]]:
            slider(figure, "step").press(key)
            python.step = step
            assert disagreements(figure, python) == []
        figure.locator(".output-row button").nth(4).click()
        python.step = 4
        assert disagreements(figure, python) == []
        rows = figure.locator(".heat-rows")
        rows.click(position={"x": 60, "y": rows.bounding_box()["height"] * 0.65})
        python.step = 6
        assert disagreements(figure, python) == []


def test_dates_of_all_languages_are_written_as_python_does(show):
    draw = Random(7)  # noqa: S311 - numbers to test with, no secrets
    with show() as (tab, figure, python):
        for date in make_dates(1, 1, 40, seed=9).test:
            field(figure).fill(date.text)
            python.set_state({"text": date.text, "hidden": []})
            assert disagreements(figure, python) == [], date
            hidden = sorted(draw.sample(range(len(date.text)), draw.randint(1, len(date.text))))
            step = draw.randrange(16)
            python.set_state({"hidden": hidden, "step": step})
            for change in (("hidden", hidden), ("step", python.step)):
                tab.evaluate(FROM_PYTHON, list(change))
            assert disagreements(figure, python) == [], (date, hidden)
        python.step = 0 if python.step else 1
        assert "chosen" in disagreements(figure, python)  # what is wrong would be noticed
        tab.evaluate("cleanUps[0]()")
        assert tab.evaluate("models[0].heard.length") == 0


def test_a_click_hides_a_character_and_a_second_shows_it(show):
    with show() as (tab, figure, python):
        column = figure.get_by_role("button", name="hide character 3, “M”")
        column.click()
        python.hidden = [3]
        assert disagreements(figure, python) == []
        expect(slider(figure, "character")).to_have_value("3")
        expect(figure.locator("[data-pointed] bdi")).to_have_text("M")
        expect(box(figure)).to_be_checked()
        column.click()
        python.hidden = []
        assert disagreements(figure, python) == []
        expect(box(figure)).not_to_be_checked()
        assert tab.evaluate("models[0].saves") == 3  # the first is that weights are wanted


def test_range_and_box_hide_by_keyboard_alone(show):
    with show() as (tab, figure, python):
        place = slider(figure, "character")
        place.press("Home")
        for _ in MONTH:
            for _ in range(3 if not python.hidden else 1):
                place.press("ArrowRight")
            box(figure).press("Space")
            python.hidden = [*python.hidden, 3 + len(python.hidden)]
            assert disagreements(figure, python) == []
        assert python.hidden == MONTH
        said_now = "Without “März” it writes 1987-09-09 instead of 1987-03-09."
        expect(figure.locator(".verdict")).to_have_text(said_now)
        expect(figure.get_by_label("hide “z” from attention")).to_be_checked()
        figure.get_by_role("button", name="show all").press("Enter")
        python.hidden = []
        assert disagreements(figure, python) == []
        expect(figure.get_by_role("button", name="show all")).to_be_disabled()
        assert tab.evaluate("models[0].get('hidden')") == []


def test_a_changed_answer_is_marked_and_the_former_one_stands_above(show):
    with show(hidden=MONTH) as (_, figure, python):
        assert figure.evaluate(READ)["before"] == "1987-03-09"
        changed = figure.locator(".output-row .changed")
        assert changed.count() == 1
        expect(changed).to_have_attribute("aria-label", "step 6: “9”, was “3”")
        figure.get_by_role("button", name="show all").click()
        python.hidden = []
        assert disagreements(figure, python) == []
        assert changed.count() == 0


def test_an_example_is_taken_and_what_is_typed_is_none(show):
    with show(examples=[TEXT, HEBREW, TEXT]) as (_, figure, python):
        choice = figure.get_by_role("combobox", name="or an example")
        assert choice.locator("option").count() == 3
        expect(choice).to_have_value(TEXT)
        choice.select_option(HEBREW)
        python.text = HEBREW
        assert disagreements(figure, python) == []
        expect(field(figure)).to_have_value(HEBREW)
        expect(figure.locator(".stage .note")).to_contain_text("from right to left")
        field(figure).fill("5/1/2000")
        expect(choice).to_have_value("")
        expect(figure.locator(".stage .note")).to_be_empty()


def test_a_new_text_hides_nothing_and_keeps_the_step(show):
    with show(hidden=MONTH) as (tab, figure, python):
        slider(figure, "step").press("End")
        field(figure).fill("10 mai 2001")
        python.set_state({"text": "10 mai 2001", "hidden": [], "step": 9})
        assert disagreements(figure, python) == []
        assert tab.evaluate("models[0].get('hidden')") == []


# What is typed


def test_what_cannot_be_read_gets_a_sentence_and_the_last_good_picture_stays(show):
    with show() as (tab, figure, python):
        for typed, told in [
            ("", "Type a date, as people write it."),
            ("9! März", "The model knows no “!”: no date that it learned from has that."),
            ("1" * 65, "The figure takes at most 64 characters, these are 65."),
        ]:
            check_refusal(ROOM, figure, typed, told, TEXT)
            assert disagreements(figure, python) == []
            slider(figure, "step").press("End")  # another control leaves both alone
            slider(figure, "step").press("Home")
            assert field(figure).input_value() == typed
            expect(said(figure)).to_contain_text(told)
        field(figure).fill(f" {TEXT} ")
        expect(said(figure)).to_be_empty()
        expect(figure.locator(".stale")).to_have_count(0)
        assert tab.evaluate("models[0].get('text')") == TEXT


def test_a_text_as_long_as_it_may_be_has_all_its_columns(show):
    with show() as (_, figure, _python):
        field(figure).fill("1" * 64)
        expect(figure.locator(".column")).to_have_count(64)


def test_keys_of_its_controls_are_kept_from_jupyterlab(show):
    with show() as (_, figure, _python):
        field(figure).fill("10 mai 2001")  # what is made anew, too
        assert figure.locator(UNKEPT).count() == 0


def test_by_touch_on_a_phone(show):
    with show(NARROW) as (_, figure, python):
        figure.locator(".output-row button").nth(6).tap()
        for place in MONTH:
            figure.locator(".column").nth(place).tap()
        python.set_state({"hidden": MONTH, "step": 6})
        assert disagreements(figure, python) == []


PLACES = """figure => [...figure.querySelectorAll('.written, .columns, .hiding, .heatmap')].map(
    e => e.getBoundingClientRect().y - figure.getBoundingClientRect().y)"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_moves_when_characters_are_hidden_or_what_is_typed_is_wrong(show, width):
    with show(width) as (_, figure, _python):
        before = figure.evaluate(PLACES)
        assert len(before) == 4
        for place in MONTH:
            figure.locator(".column").nth(place).click()
            assert figure.evaluate(PLACES) == before
        for typed in ("!?%&", "", TEXT):
            field(figure).fill(typed)
            assert figure.evaluate(PLACES) == before, typed


# In a notebook

LIVE = """
from attnbook.figures import TranslatorFigure

figure = TranslatorFigure()
figure
"""
TELL = "print(figure.text, figure.hidden, len(figure.weights['arrays']), figure.reading.output)"


@pytest.mark.slow
@pytest.mark.parametrize("lab", [(LIVE, TELL)], indirect=True, ids=["translator"])
def test_in_jupyterlab_the_kernel_brings_the_weights(browser, lab):
    tab = browser.new_page(viewport={"width": 1280, "height": 1800})
    run_all(tab, lab)
    figure = tab.locator("[data-attnbook-figure]")
    expect(field(figure)).to_have_value(TEXT, timeout=START * 1000)
    field(figure).fill("5 mars 2001")
    figure.get_by_role("button", name="hide character 2, “m”").click()
    python = TranslatorFigure(text="5 mars 2001", hidden=[2])
    expect(figure.locator(".verdict")).to_contain_text("Without “m” it")
    assert disagreements(figure, python) == []
    count = len(packed("convolutional")["arrays"])
    told = f"5 mars 2001 [2] {count} {python.reading.output}"
    told_by_last(tab, told)
    tab.close()


# Looks


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all cases on one page."""
    figures = [TranslatorFigure(caption="A caption.", **case) for case in CASES.values()]
    return on_one_page(figures)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_they_fit_their_column_are_legible_and_please_axe(looked_at, keep_picture, width, scheme):
    seen = looked_at(width, scheme)
    for place, case in enumerate(CASES):
        keep_picture(seen.figure(place), f"translator-{case}-{width}-{scheme}")
        assert seen.problems(place) == [], case


def test_it_prints_in_its_colours_and_nothing_moves_by_itself(show, keep_picture):
    with show(**CASES["hidden"]) as (tab, figure, _python):
        assert colours_on_paper(figure, keep_picture, "translator") == "exact"
        tab.emulate_media(media="screen", reduced_motion="reduce")
        assert figure.evaluate(MOVING) == 0
