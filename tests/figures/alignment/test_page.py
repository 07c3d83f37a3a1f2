"""The alignment figure in a browser: at every step it shows what the model did."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from attnbook.figures import AlignmentFigure
from attnbook.models.translator.dates import LOCALES
from tests.figures.alignment.cases import CASES, figure_of, largest
from tests.figures.alignment.page import READ, date_choice, disagreements, step_slider
from tests.figures.attention.cases import traits
from tests.figures.shared.page import (
    MOVING,
    SMALL_TEXT,
    UNKEPT,
    colours_on_paper,
    handle_centre,
    ill_shown,
)
from tests.tools.site.jupyterlab import START, run_all, told_by_last
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE

GERMAN, HEBREW, JAPANESE = (LOCALES.index(locale) for locale in ("de", "he", "ja"))
MONTH = 6  # a step that writes a digit of the month
each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


@pytest.fixture(scope="module")
def show(alone):
    """A function that opens a page with one case and gives tab, figure and state."""

    @contextmanager
    def go(case="book", width: int = WIDE, at=(0, 0), **options):
        made = figure_of(case, caption="A caption.") if isinstance(case, str) else case
        made.date, made.step = at
        with alone(made, width=width, **options) as (tab, figure):
            yield tab, figure, traits(made)

    return go


# Equal to the model


@pytest.mark.parametrize("case", [case for case in CASES if case != "nothing"])
def test_each_key_press_shows_the_next_step_of_the_model(show, case):
    with show(case) as (_, figure, state):
        dates = range(len(state["translations"]))
        for date in dates if len(dates) < 8 else [0, GERMAN, HEBREW, JAPANESE, len(dates) - 1]:
            if len(dates) > 1:
                date_choice(figure).select_option(str(date))
            slider = step_slider(figure)
            slider.press("Home")
            for step in range(len(state["translations"][date]["output"])):
                seen = figure.evaluate(READ)
                assert (seen["date"], seen["step"]) == (date, step)
                assert disagreements(figure, case, state) == []
                slider.press("ArrowRight")


def test_every_date_of_the_chapter_equals_the_model(show):
    with show(at=(0, MONTH)) as (_, figure, state):
        for date in range(len(LOCALES)):
            date_choice(figure).select_option(str(date))
            assert disagreements(figure, "book", state) == []
            assert figure.evaluate(READ)["step"] == MONTH


@each_width
def test_a_click_or_tap_on_a_character_chooses_its_step(show, width):
    with show(width=width, at=(GERMAN, 0), has_touch=True) as (tab, figure, state):
        for step in (3, 9, 0):
            button = figure.locator(".output-row button").nth(step)
            button.tap() if width == NARROW else button.click()
            assert figure.evaluate(READ)["step"] == step
            assert disagreements(figure, "book", state) == []
        assert tab.evaluate("models[0].saves") == 3


@each_width
def test_a_click_or_tap_on_a_row_of_the_small_picture_chooses_its_step(show, width):
    with show(width=width, at=(GERMAN, 0), has_touch=True) as (tab, figure, state):
        rows = figure.locator(".heat-rows")
        rows.scroll_into_view_if_needed()
        box = rows.bounding_box()
        for step in (7, 0, 9):
            place = (box["x"] + box["width"] - 9, box["y"] + box["height"] * (step + 0.8) / 10)
            tab.touchscreen.tap(*place) if width == NARROW else tab.mouse.click(*place)
            assert figure.evaluate(READ)["step"] == step
            assert disagreements(figure, "book", state) == []


@each_width
def test_the_handle_stands_below_the_character_that_it_chooses(show, width):
    with show(width=width, at=(GERMAN, 0)) as (tab, figure, _state):
        tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
        tab.add_style_tag(content=".output-row { visibility: hidden }")
        slider = step_slider(figure)
        for step in range(10):
            slider.fill(str(step))
            box = figure.locator(".output-row button").nth(step).bounding_box()
            middle = box["x"] + box["width"] / 2
            assert handle_centre(tab, slider) == pytest.approx(middle, abs=1)


def test_a_dragged_handle_chooses_the_character_above_it(show):
    with show(width=NARROW, at=(GERMAN, 2)) as (tab, figure, state):
        slider = step_slider(figure)
        slider.scroll_into_view_if_needed()
        boxes = [button.bounding_box() for button in figure.locator(".output-row button").all()]
        middles = [box["x"] + box["width"] / 2 for box in boxes]
        line = slider.bounding_box()["y"] + slider.bounding_box()["height"] / 2
        for start, end in ((2, 7), (7, 0), (0, 9)):
            tab.mouse.move(middles[start], line)
            tab.mouse.down()
            tab.mouse.move(middles[end], line + 3, steps=4)
            tab.mouse.up()
            assert figure.evaluate(READ)["step"] == end
            assert disagreements(figure, "book", state) == []


def test_a_wrong_number_a_wrong_row_and_a_lost_cell_are_noticed(show):
    with show(at=(GERMAN, MONTH)) as (_, figure, state):
        assert disagreements(figure, "book", state) == []
        figure.locator("tbody td").nth(3).evaluate("e => { e.dataset.value = '0.25' }")
        figure.locator(".heat-mark").evaluate("e => { e.style.setProperty('--at', 5) }")
        figure.locator(".shade-path").last.evaluate("e => { e.remove() }")
        figure.locator(".bar").nth(2).evaluate("e => { e.style.scale = '1 0.4' }")
        assert disagreements(figure, "book", state) == ["mark", "bars", "numbers", "heat"]


# What it says


@each_width
def test_a_wrong_character_is_marked_and_the_expected_one_shown(show, width):
    with show("failing", width) as (_, figure, state):
        row = figure.locator(".expected-row")
        assert row.is_visible()
        assert row.locator("bdi").all_inner_texts() == list("1453-05-29")
        name, stage = row.locator("small"), figure.locator(".stage-picture").first
        ends = [part.evaluate("e => e.getBoundingClientRect().right") for part in (name, stage)]
        assert name.inner_text() == "expected"
        assert ends[0] <= ends[1]
        wrong = figure.locator(".output-row .wrong")
        assert wrong.count() > 0
        wanted = row.locator(".differs").all_inner_texts()
        assert len(wanted) == wrong.count()
        for i, button in enumerate(wrong.all()):
            assert f'wrong, expected "{wanted[i]}"' in button.get_attribute("aria-label")
            assert "underline" in button.evaluate("e => getComputedStyle(e).textDecoration")
        date_choice(figure).select_option("1")
        assert not row.is_visible()
        assert wrong.count() == 0
        assert disagreements(figure, "failing", state) == []


def test_characters_that_are_missing_have_their_place(show):
    with show("wordy", at=(1, 0)) as (_, figure, state):
        assert figure.locator(".missing").count() == 21 - 13
        assert figure.locator(".expected-row bdi").count() == 21
        assert disagreements(figure, "wordy", state) == []
        date_choice(figure).select_option("0")
        assert figure.locator(".missing").count() == 0


def test_an_output_without_characters_is_told(show):
    with show("nothing") as (_, figure, _state):
        for date in ("1", "0"):
            date_choice(figure).select_option(date)
            assert figure.locator(".readout").inner_text() == (
                "The model wrote nothing for this text."
            )
            assert step_slider(figure).get_attribute("max") == "0"
            assert not figure.locator(".heatmap").is_visible()
            assert not figure.locator("details").is_visible()
        assert figure.locator(".column bdi").all_inner_texts() == ["a", "b"]


def test_hebrew_stands_in_reading_order_and_the_page_says_so(show):
    lefts = "figure => [...figure.querySelectorAll('.column bdi')].map(" \
        "e => e.getBoundingClientRect().left)"  # fmt: skip
    with show(at=(HEBREW, 0)) as (_, figure, state):
        note = figure.locator(".reading-note")
        assert "from right to left" in note.inner_text()
        places = figure.evaluate(lefts)
        assert places == sorted(places)
        assert figure.locator(".column bdi").all_inner_texts() == [
            character.replace(" ", "␣") for character in state["translations"][HEBREW]["text"]
        ]
        date_choice(figure).select_option(str(GERMAN))
        assert note.inner_text() == ""


def test_controls_are_native_named_and_say_where_they_stand(show):
    with show(at=(GERMAN, MONTH)) as (_, figure, state):
        slider = step_slider(figure)
        ends = [slider.get_attribute(name) for name in ("min", "max", "step")]
        assert ends == ["0", "9", "1"]
        assert slider.get_attribute("aria-valuetext") == '6 of 9: "3", month'
        options = date_choice(figure).locator("option").all_inner_texts()
        assert options[GERMAN] == "de: \u20689. März 1987\u2069"
        assert len(options) == len(state["translations"])
        live = figure.locator("[aria-live=polite]")
        assert live.inner_text().startswith('Step 6 writes "3", a digit of the month. The peak is')


def test_one_text_needs_no_choice(show):
    with show("one_step") as (_, figure, _state):
        assert date_choice(figure).count() == 0


def test_numbers_are_a_real_table_behind_a_switch(show):
    with show(at=(GERMAN, MONTH)) as (_, figure, _state):
        table = figure.get_by_role("table")
        assert table.count() == 0
        figure.get_by_text("Show numbers").click()
        assert table.get_by_role("columnheader").all_inner_texts() == [
            "character",
            "score",
            "weight",
        ]
        assert "step 6" in table.locator("caption").inner_text()


def test_keys_of_its_controls_are_kept_from_jupyterlab(show):
    with show(at=(GERMAN, MONTH)) as (_, figure, _state):
        date_choice(figure).select_option("0")  # what is made anew, too
        assert figure.locator(UNKEPT).count() == 0


# The model


def test_a_change_from_python_is_painted_until_it_is_cleaned_up(show):
    with show() as (tab, figure, state):
        tab.evaluate(f"models[0].set('date', {GERMAN}); models[0].set('step', {MONTH})")
        assert [figure.evaluate(READ)[name] for name in ("date", "step")] == [GERMAN, MONTH]
        assert disagreements(figure, "book", state) == []
        before = figure.evaluate(READ)
        tab.evaluate("cleanUps[0]()")
        tab.evaluate("models[0].set('step', 3)")
        assert tab.evaluate("models[0].heard.length") == 0
        assert figure.evaluate(READ) == before


def test_a_choice_is_saved_for_python(show):
    with show("wordy", at=(1, 12)) as (tab, figure, _state):
        chosen = "[models[0].get('date'), models[0].get('step'), models[0].saves]"
        step_slider(figure).press("ArrowLeft")
        assert tab.evaluate(chosen) == [1, 11, 1]
        date_choice(figure).select_option("0")
        assert tab.evaluate(chosen) == [0, 11, 2]


def test_a_shorter_output_takes_its_last_step(show):
    figure = figure_of("wordy")
    figure.translations = [figure.translations[0], *figure_of("nothing").translations[:1]]
    with show(figure, at=(0, 12)) as (tab, shown, _state):
        date_choice(shown).select_option("1")
        assert tab.evaluate("models[0].get('step')") == 0
        date_choice(shown).select_option("0")
        assert shown.evaluate(READ)["chosen"] == [0]


def test_two_figures_on_a_page_do_not_meddle_with_each_other(alone):
    figures = [figure_of("failing"), figure_of("failing")]
    with alone(*figures) as (tab, both):
        date_choice(both.nth(0)).select_option("1")
        step_slider(both.nth(1)).press("End")
        for i, place in enumerate(([1, 0], [0, 9])):
            seen = both.nth(i).evaluate(READ)
            assert [seen["date"], seen["step"]] == place
            assert disagreements(both.nth(i), "failing", traits(figures[i])) == []
        assert tab.evaluate("document.querySelectorAll('main [id]').length") == 0


LIVE = """
from attnbook.models.translator.checkpoints import book_model
from attnbook.figures import AlignmentFigure

figure = AlignmentFigure(book_model("convolutional"), ["9. März 1987", "9 mars 1987"])
figure
"""
CHANGE = "import ipywidgets; control = ipywidgets.IntSlider(max=9); control"
LINK = "link = ipywidgets.link((control, 'value'), (figure, 'step'))"
TELL = "print('date', figure.date, 'step', figure.step)"


@pytest.mark.slow
@pytest.mark.parametrize("lab", [(LIVE, CHANGE, LINK, TELL)], indirect=True, ids=["alignment"])
def test_in_jupyterlab_it_speaks_with_python(browser, lab):
    tab = browser.new_page(viewport={"width": 1280, "height": 1800})
    run_all(tab, lab)
    figure = tab.locator("[data-attnbook-figure]")
    slider = step_slider(figure)
    expect(slider).to_have_value("0", timeout=START * 1000)
    slider.press("ArrowRight")
    date_choice(figure).select_option("1")
    told_by_last(tab, "date 1 step 1")
    tab.locator(".widget-slider [role=slider], .widget-slider .noUi-handle").first.press(
        "ArrowRight"
    )
    expect(slider).to_have_value("2")
    assert figure.evaluate(READ)["chosen"] == [2]
    tab.close()


def test_it_lives_on_a_page_of_the_book(in_a_book):
    figure = figure_of("failing")
    with in_a_book(figure) as shown:
        for date in ("1", "0"):
            date_choice(shown).select_option(date)
            for key in ("Home", "End"):
                step_slider(shown).press(key)
                assert disagreements(shown, "failing", traits(figure)) == []


# Looks

LOOKED_AT = [
    ("book", (GERMAN, MONTH)),
    ("book", (HEBREW, MONTH)),
    ("book", (JAPANESE, 0)),
    ("failing", (0, 1)),
    ("strings", (4, 7)),
    ("wordy", (1, 12)),
    ("nothing", (1, 0)),
]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page, each at its text and step."""
    figures = [figure_of(case, caption="A caption.") for case, _ in LOOKED_AT]
    for figure, (_, at) in zip(figures, LOOKED_AT, strict=True):
        figure.date, figure.step = at
    return on_one_page(figures)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize(("case", "at"), LOOKED_AT)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, at, width, scheme
):
    page, place = looked_at(width, scheme), LOOKED_AT.index((case, at))
    figure = page.figure(place)
    keep_picture(figure, f"alignment-{case}-{at[0]}-{width}-{scheme}")
    assert page.problems(place) == []


@each_width
@pytest.mark.parametrize("case", ["book", "strings", "wordy"])
def test_no_step_of_any_text_makes_the_page_scroll_sideways(show, case, width):
    with show(case, width) as (tab, figure, state):
        for date, shown in enumerate(state["translations"]):
            for step in {0, MONTH, len(shown["output"]) - 1}:
                tab.evaluate(f"models[0].set('date', {date}); models[0].set('step', {step})")
                assert ill_shown(figure) == []


@each_width
def test_the_chosen_character_of_a_long_output_can_be_seen(show, width):
    inside = """figure => {
        const box = figure.querySelector('.written').parentElement.getBoundingClientRect();
        const cell = figure.querySelector('[aria-current]').getBoundingClientRect();
        return cell.left >= box.left - 1 && cell.right <= box.right + 1;
    }"""
    with show("strings", width) as (tab, figure, _state):
        for step in (15, 0, 14):
            tab.evaluate(f"models[0].set('step', {step})")
            assert figure.evaluate(inside)


@each_width
def test_columns_of_the_text_and_of_the_small_picture_are_the_same(show, width):
    edges = """figure => {
        const box = figure.querySelector('.heat-picture').getBoundingClientRect();
        const columns = [...figure.querySelectorAll('.column')];
        return [box.left, box.right, columns[0].getBoundingClientRect().left,
            columns.at(-1).getBoundingClientRect().right];
    }"""
    with show(width=width, at=(GERMAN, MONTH)) as (_, figure, _state):
        left, right, first, last = figure.evaluate(edges)
        assert [left, right] == pytest.approx([first, last], abs=0.5)


REPAINT = """async () => {
    for (let i = 0; i < 24; i += 1) {
        models[0].set("date", (7 * i + 1) % 64);
        models[0].set("step", i % 16);
        await new Promise(requestAnimationFrame);
    }
}"""


def test_the_largest_figure_repaints_and_shows_every_text(show):
    made = AlignmentFigure(*largest())
    with show(made) as (tab, figure, state):
        tab.evaluate(REPAINT)
        seen = figure.evaluate(READ)
        assert (seen["date"], seen["step"]) == ((7 * 23 + 1) % 64, 23 % 16)
        shown = state["translations"][seen["date"]]
        assert seen["text"] == [c.replace(" ", "␣") for c in shown["text"]]
        assert len(seen["output"]) == 16


def test_it_prints_in_its_colours_and_rests_for_those_who_ask(show, keep_picture):
    with show(at=(GERMAN, MONTH)) as (_, figure, _state):
        assert figure.evaluate(MOVING) == 0
        assert colours_on_paper(figure, keep_picture, "alignment") == "exact"
        assert figure.evaluate(SMALL_TEXT) == []
    with show(at=(GERMAN, MONTH), reduced_motion="no-preference") as (_, figure, _state):
        assert figure.evaluate(MOVING) > 0
