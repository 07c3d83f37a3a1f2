"""The shape figure in a browser: at every step it shows what the trace recorded."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from attnbook.figures import ShapeFigure
from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import traits
from tests.figures.shape.cases import CASES
from tests.figures.shape.page import READ, disagreements, step_slider
from tests.figures.shared.page import MOVING, colours_on_paper, ill_shown
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE

each_width = pytest.mark.parametrize("width", [WIDE, NARROW])
SPLIT = 7  # the step at which the heads of "heads" are split


@pytest.fixture(scope="module")
def show(alone):
    """A function that opens a page with one case and gives tab, figure, trace and state."""

    @contextmanager
    def go(case: str = "heads", width: int = WIDE, step=None, **options):
        x_ray = CASES[case]()
        made = ShapeFigure(x_ray, caption="A caption.")
        if step is not None:
            made.step = step
        with alone(made, width=width, **options) as (tab, figure):
            yield tab, figure, x_ray, traits(made)

    return go


def unfold(figure):
    for summary in figure.locator("summary").all():
        summary.click()


# Equal to the trace


@pytest.mark.parametrize("case", CASES)
def test_each_key_press_shows_the_next_step_of_the_trace(show, case):
    with show(case) as (_, figure, x_ray, state):
        unfold(figure)
        slider = step_slider(figure)
        assert figure.evaluate(READ)["step"] == state["step"]
        slider.press("Home")
        for place in range(len(state["steps"])):
            assert figure.evaluate(READ)["step"] == place
            assert disagreements(figure, x_ray, state) == []
            slider.press("ArrowRight")


def test_a_click_on_a_line_leads_to_its_first_step(show):
    with show() as (tab, figure, x_ray, state):
        unfold(figure)
        for section, line in ((0, 5), (1, 4), (0, 11), (2, 3)):
            rows = figure.locator(".source-block").nth(section).locator("button")
            rows.filter(
                has_text=x_ray.sections[section][1][line - 1 - (section > 0)].source
            ).click()
            steps = [(it["section"], it["line"]) for it in state["steps"]]
            assert figure.evaluate(READ)["step"] == steps.index((section, line))
            assert disagreements(figure, x_ray, state) == []
        assert tab.evaluate("models[0].saves") == 4


def test_a_wrong_number_a_wrong_name_and_a_lost_cell_are_noticed(show):
    with show(step=SPLIT) as (_, figure, x_ray, state):
        unfold(figure)
        assert disagreements(figure, x_ray, state) == []
        figure.locator(".number-table td").nth(3).evaluate("e => { e.dataset.value = '0.25' }")
        figure.locator(".tensor-name").last.evaluate("e => { e.textContent = 'x (2, 3)' }")
        figure.locator(".level").last.evaluate("e => { e.remove() }")
        assert disagreements(figure, x_ray, state) == ["names", "numbers", "cells"]


def test_integers_stand_in_their_cells(show):
    with show("kinds") as (_, figure, _x_ray, state):
        place = [it["name"] for it in state["steps"]].index("whole")
        step_slider(figure).fill(str(place))
        assert figure.evaluate(READ)["printed"] == ["-2500", "-1500", "-500", "500", "1500", "2500"]
        step_slider(figure).press("ArrowRight")
        assert figure.evaluate(READ)["printed"] == ["9007199254740993"]


# Numbers that move


CENTRE = """(cells, [x, y]) => {
    const frame = cells.querySelector('svg').getBoundingClientRect();
    const box = cells.querySelector('svg').viewBox.baseVal;
    return [frame.x + frame.width * x / box.width, frame.y + frame.height * y / box.height];
}"""


@each_width
def test_a_number_that_is_pointed_at_says_where_it_was(show, width):
    with show(width=width, step=SPLIT, has_touch=True) as (tab, figure, x_ray, _):
        readout = figure.locator(".readout")
        assert readout.inner_text().startswith("Point at a cell")
        cells = figure.locator(".tensor-cells").last
        cells.scroll_into_view_if_needed()
        before, after = x_ray.steps[SPLIT - 1].numbers, x_ray.steps[SPLIT].numbers
        # Example 1, head 2, query 3, number 0: two gaps to the left of it, one above.
        place = cells.evaluate(CENTRE, [2 * 4.8 + 0.5, 5.8 + 3.5])
        tab.touchscreen.tap(*place) if width == NARROW else tab.mouse.move(*place)
        said = decimals(after[1, 2, 3, 0].item())
        assert before[1, 3, 2, 0] == after[1, 2, 3, 0]
        assert readout.inner_text() == (
            f"return[1, 2, 3, 0] = {said} (batch 1, heads 2, queries 3, hiddens/heads 0); "
            "before: parts[1, 3, 2, 0]"
        )
        marks = [mark.get_attribute("d") for mark in figure.locator(".mark").all()]
        assert [d.split("h")[0] for d in marks] == ["M14.4 5.8", "M9.6 8.8"]


def test_arrow_keys_walk_over_the_numbers(show):
    with show(step=SPLIT) as (_, figure, _x_ray, _state):
        cells = figure.locator(".tensor-cells").last
        cells.focus()
        for key, index in (
            ("ArrowRight", "0, 0, 0, 1"),
            ("ArrowDown", "0, 0, 1, 1"),
            ("ArrowLeft", "0, 0, 1, 0"),
            ("ArrowUp", "0, 0, 0, 0"),
            ("ArrowUp", "0, 0, 0, 0"),
        ):
            cells.press(key)
            assert figure.locator(".readout").inner_text().startswith(f"return[{index}] = ")


@each_width
def test_cells_of_both_drawings_are_squares_of_one_size(show, width):
    sizes = """figure => [...figure.querySelectorAll('.tensor-cells svg')].map(svg => {
        const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
        return [box.width / view.width, box.height / view.height];
    })"""
    with show(width=width, step=6) as (_, figure, _x_ray, _state):
        (one, tall), other = figure.evaluate(sizes)
        assert other == pytest.approx([one, tall], abs=0.2)
        assert one == pytest.approx(tall, abs=0.2)
        assert 9 < one <= 22
        first, second = (part.bounding_box() for part in figure.locator(".tensor").all())
        beside = second["x"] > first["x"] + first["width"]
        assert beside == (width == WIDE)


# The source


@each_width
def test_the_line_in_focus_can_be_seen_in_its_box_and_the_page_stays(show, width):
    inside = """figure => {
        const box = figure.querySelector('.source').getBoundingClientRect();
        const line = figure.querySelector('.source-line[aria-current]').getBoundingClientRect();
        return line.top >= box.top && line.bottom <= box.bottom;
    }"""
    with show(width=width) as (tab, figure, _x_ray, state):
        for place in (SPLIT, len(state["steps"]) - 1, 0, 25):
            tab.evaluate(f"models[0].set('step', {place})")
            assert figure.evaluate(inside)
            assert tab.evaluate("scrollY") == 0


def test_the_part_that_is_made_is_marked_in_its_line(show):
    with show(step=4) as (_, figure, _x_ray, _state):
        assert figure.locator("mark").all_inner_texts() == ["self.W_q(queries)"]
        tab_slider = step_slider(figure)
        tab_slider.fill("8")
        assert figure.locator("mark").count() == 0


def test_an_exception_is_shown_at_its_line(show):
    with show("failing") as (_, figure, _x_ray, state):
        notes = figure.locator(".line-note.error")
        assert notes.first.inner_text() == "RuntimeError in Half.split"
        said = " ".join(notes.all_inner_texts()[1:])
        assert "Provided sizes [5, -1] don't multiply up" in said
        row = notes.nth(1).locator("xpath=..")
        assert row.locator("code").inner_text().strip() == "parts = vectors.unflatten(-1, (5, -1))"
        assert figure.evaluate(READ)["step"] == len(state["steps"]) - 1
        box, note = figure.locator(".source").bounding_box(), notes.nth(1).bounding_box()
        assert box["y"] < note["y"] < box["y"] + box["height"]


# The model


def test_a_change_from_python_is_painted_until_it_is_cleaned_up(show):
    with show() as (tab, figure, x_ray, state):
        unfold(figure)
        tab.evaluate("models[0].set('step', 21)")
        assert figure.evaluate(READ)["step"] == 21
        assert disagreements(figure, x_ray, state) == []
        before = figure.evaluate(READ)
        tab.evaluate("cleanUps[0]()")
        tab.evaluate("models[0].set('step', 3)")
        assert tab.evaluate("models[0].heard.length") == 0
        assert figure.evaluate(READ) == before


def test_it_lives_on_a_page_of_the_book(in_a_book):
    x_ray = CASES["heads"]()
    figure = ShapeFigure(x_ray)
    with in_a_book(figure) as shown:
        unfold(shown)
        for key in ("Home", "End"):
            step_slider(shown).press(key)
            assert disagreements(shown, x_ray, traits(figure)) == []


# Looks

LOOKED_AT = [("heads", 6), ("heads", 21), ("kinds", 14), ("failing", 4), ("pairs", 4)]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page, each at its step."""
    figures = [ShapeFigure(CASES[case](), caption="A caption.") for case, _ in LOOKED_AT]
    for figure, (_, step) in zip(figures, LOOKED_AT, strict=True):
        figure.step = step
    return on_one_page(figures)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize(("case", "step"), LOOKED_AT)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, step, width, scheme
):
    page, place = looked_at(width, scheme), LOOKED_AT.index((case, step))
    figure = page.figure(place)
    keep_picture(figure, f"shape-{case}-{step}-{width}-{scheme}")
    assert page.problems(place) == []


@each_width
@pytest.mark.parametrize("case", ["heads", "kinds", "largest"])
def test_no_step_makes_the_page_scroll_sideways(show, case, width):
    with show(case, width) as (tab, figure, _x_ray, state):
        for place in range(len(state["steps"])):
            tab.evaluate(f"models[0].set('step', {place})")
            assert ill_shown(figure) == []


def test_on_paper_the_whole_source_and_all_steps_are_there(show, keep_picture):
    with show(step=SPLIT) as (_, figure, _x_ray, _state):
        rows = figure.locator(".step-table tbody tr")
        assert not rows.first.is_visible()
        assert colours_on_paper(figure, keep_picture, "shape") == "exact"
        source = figure.locator(".source")
        assert source.evaluate("e => e.scrollHeight <= e.clientHeight + 1")
        assert rows.first.is_visible()


def test_nothing_moves_by_itself(show):
    with show(reduced_motion="no-preference") as (_, figure, _x_ray, _state):
        assert figure.evaluate(MOVING) == 0
