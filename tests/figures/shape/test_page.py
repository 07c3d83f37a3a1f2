"""The shape figure in a browser: at every step it shows what the trace recorded."""

from __future__ import annotations

import pytest

from attnbook.figures import ShapeFigure
from attnbook.figures.shared.base import decimals
from tests.figures.shape.cases import CASES
from tests.figures.shape.page import CENTRE, READ, disagreements, step_slider
from tests.figures.shared.page import ill_shown
from tests.tools.site.site_checks import JUDGED, NARROW, UNFOLD, WIDE

each_width = pytest.mark.parametrize("width", [WIDE, NARROW])
SPLIT = 7  # the step at which the heads of "heads" are split


# Equal to the trace


@pytest.mark.parametrize("case", CASES)
def test_every_fourth_step_and_its_neighbour_are_those_of_the_trace(show, case):
    tab, figure, x_ray, state = show(case)
    tab.evaluate(UNFOLD)
    last = len(state["steps"]) - 1
    for place in (*range(0, last, 4), last):
        step_slider(figure).fill(str(place))
        for now in (place, min(place + 1, last)):
            assert figure.evaluate(READ)["step"] == now
            assert disagreements(figure, x_ray, state) == []
            step_slider(figure).press("ArrowRight")


def test_a_click_on_a_line_leads_to_its_first_step(show):
    tab, figure, x_ray, state = show()
    tab.evaluate(UNFOLD)
    saves = tab.evaluate("models[0].saves")
    for section, line in ((0, 5), (1, 4), (0, 11), (2, 3)):
        rows = figure.locator(".source-block").nth(section).locator("button")
        source = x_ray.sections[section][1][line - 1 - (section > 0)].source
        rows.filter(has_text=source).click()
        steps = [(it["section"], it["line"]) for it in state["steps"]]
        assert figure.evaluate(READ)["step"] == steps.index((section, line))
        assert disagreements(figure, x_ray, state) == []
    assert tab.evaluate("models[0].saves") == saves + 4


def test_integers_are_written_in_their_cells(show):
    _, figure, _, state = show("kinds")
    step_slider(figure).fill(str([it["name"] for it in state["steps"]].index("whole")))
    assert figure.evaluate(READ)["printed"] == ["-2500", "-1500", "-500", "500", "1500", "2500"]
    step_slider(figure).press("ArrowRight")
    assert figure.evaluate(READ)["printed"] == ["9007199254740993"]


# Numbers that move


@each_width
def test_a_number_that_is_pointed_at_says_where_it_was(show, width):
    tab, figure, x_ray, _ = show("heads", SPLIT, width)
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
    _, figure, _, _ = show("heads", SPLIT)
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
    _, figure, _, _ = show("heads", SPLIT - 1, width)
    (one, tall), other = figure.evaluate(sizes)
    assert other == pytest.approx([one, tall], abs=0.2)
    assert one == pytest.approx(tall, abs=0.2)
    assert 9 < one <= 22
    first, second = (part.bounding_box() for part in figure.locator(".tensor").all())
    assert (second["x"] > first["x"] + first["width"]) == (width == WIDE)


# The source


@each_width
def test_the_line_in_focus_can_be_seen_in_its_box_and_the_page_stays(show, width):
    inside = """figure => {
        const box = figure.querySelector('.source').getBoundingClientRect();
        const line = figure.querySelector('.source-line[aria-current]').getBoundingClientRect();
        return line.top >= box.top && line.bottom <= box.bottom;
    }"""
    tab, figure, _, state = show(width=width)
    tab.evaluate("scrollTo(0, 0)")
    for place in (SPLIT, len(state["steps"]) - 1, 0, 25):
        tab.evaluate(f"models[0].set('step', {place})")
        assert figure.evaluate(inside)
        assert tab.evaluate("scrollY") == 0


def test_the_part_that_is_made_is_marked_in_its_line(show):
    _, figure, _, _ = show("heads", 4)
    assert figure.locator("mark").all_inner_texts() == ["self.W_q(queries)"]
    step_slider(figure).fill("8")
    assert figure.locator("mark").count() == 0


def test_an_exception_is_shown_at_its_line(show):
    _, figure, _, _ = show("failing", len(CASES["failing"]().steps) - 1)
    notes = figure.locator(".line-note.error")
    assert notes.first.inner_text() == "RuntimeError in Half.split"
    said = " ".join(notes.all_inner_texts()[1:])
    assert "Provided sizes [5, -1] don't multiply up" in said
    row = notes.nth(1).locator("xpath=..")
    assert row.locator("code").inner_text().strip() == "parts = vectors.unflatten(-1, (5, -1))"
    box, note = figure.locator(".source").bounding_box(), notes.nth(1).bounding_box()
    assert box["y"] < note["y"] < box["y"] + box["height"]


def test_on_paper_the_whole_source_and_all_steps_are_there(show):
    tab, figure, _, _ = show("heads", SPLIT)
    figure.locator("details").evaluate_all("all => all.forEach(e => { e.open = false })")
    rows = figure.locator(".step-table tbody tr")
    assert not rows.first.is_visible()
    tab.emulate_media(media="print")
    whole = figure.locator(".source").evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    there = rows.first.is_visible()
    tab.emulate_media(media="screen")
    assert whole
    assert there


@each_width
@pytest.mark.parametrize("case", ["heads", "kinds", "largest"])
def test_no_step_makes_the_page_scroll_sideways(show, case, width):
    _, figure, _, state = show(case, 0, width)
    # A step's drawing follows from these.
    steps = {(str(it["shape"]), it["before"] >= 0): i for i, it in enumerate(state["steps"])}
    for place in steps.values():
        step_slider(figure).fill(str(place))
        assert ill_shown(figure) == []


# Looks

LOOKED_AT = [("heads", 6), ("heads", 21), ("kinds", 14), ("failing", 4), ("pairs", 4)]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page, each at its step."""
    figures = [ShapeFigure(CASES[case](), caption="A caption.") for case, _ in LOOKED_AT]
    for figure, (_, step) in zip(figures, LOOKED_AT, strict=True):
        figure.step = step
    return on_one_page(figures)


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
@pytest.mark.parametrize(("case", "step"), LOOKED_AT)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, step, width, scheme
):
    page, place = looked_at(width, scheme), LOOKED_AT.index((case, step))
    figure = page.figure(place)
    keep_picture(figure, f"shape-{case}-{step}-{width}-{scheme}")
    assert page.problems(place) == []
