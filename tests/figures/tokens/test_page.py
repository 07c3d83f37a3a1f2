"""Tokens and lines in a browser: on a phone and on a wide page, in each row of a text."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from attnbook.figures import HeadsFigure, TranslatorFigure
from tests.figures.shared.page import FRAMES
from tests.figures.shared.trained import open_more_controls
from tests.figures.tokens.page import KEYS, QUERIES, ends_at_borders, touched
from tests.figures.translator.page import LONG
from tests.tools.site.site_checks import NARROW, WIDE

BOXES = """figure => {
    const frame = figure.querySelector('.token-rows').getBoundingClientRect();
    const boxOf = (token) => {
        const { left, top, right, bottom } = token.getBoundingClientRect();
        return { left: left - frame.left, top: top - frame.top,
            right: right - frame.left, bottom: bottom - frame.top };
    };
    const boxes = (row) => [...row.querySelectorAll('.token')].map(boxOf);
    const rows = [...figure.querySelectorAll('.token-row')].map(boxes);
    const lines = [...figure.querySelectorAll('.token-line')].map((line) => [
        line.getAttribute('d') ?? '', Number(line.getAttribute('stroke-width'))]);
    const query = [...figure.querySelectorAll('.queries > .token')].findIndex(
        (token) => token.ariaPressed === 'true');
    return { rows, lines, query };
}"""


def wrong_lines(found) -> list[int]:
    """The keys whose lines do not end at their tokens, or touch one."""
    queries, keys = found["rows"][0], found["rows"][-1]
    boxes = [box for row in found["rows"] for box in row]
    return [
        key
        for key, (path, thick) in enumerate(found["lines"])
        if path
        and (
            touched(path, thick, boxes)
            or not ends_at_borders(path, queries[found["query"]], keys[key])
        )
    ]


FIGURES = {
    "translator": (lambda: TranslatorFigure(text=LONG), "step", 10),
    "heads": (lambda: HeadsFigure(text="abcdefgh" * 4, focus=(0, 0)), "query", 32),
}


@pytest.fixture(scope="module")
def show(stage):
    return stage({name: make() for name, (make, *_) in FIGURES.items()})


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("name", FIGURES)
def test_lines_to_every_row_of_a_text_touch_no_token(show, name, width):
    view, (_, trait, count) = show(name, width), FIGURES[name]
    found = view.read_all(BOXES, [{trait: query} for query in range(count)])
    drawn = {key for each in found for key, (path, _) in enumerate(each["lines"]) if path}
    tops = {each["rows"][-1][key]["top"] for each in found[:1] for key in drawn}
    assert len(tops) == len({box["top"] for box in found[0]["rows"][-1]}) > 1
    assert [wrong_lines(each) for each in found] == [[]] * count


def test_lines_follow_a_change_of_the_layout(show):
    view = show("translator", WIDE)
    view.figure.evaluate("figure => { figure.style.width = '400px' }")
    view.tab.evaluate(FRAMES)
    assert wrong_lines(view.figure.evaluate(BOXES)) == []
    view.figure.evaluate("figure => { figure.parentElement.hidden = true }")
    view.set(step=3)
    view.figure.evaluate("figure => { figure.parentElement.hidden = false }")
    view.tab.evaluate(FRAMES)
    found = view.figure.evaluate(BOXES)
    view.figure.evaluate("figure => { figure.style.width = '' }")
    assert any(path for path, _ in found["lines"])
    assert wrong_lines(found) == []


def test_keys_walk_along_the_tokens_and_enter_chooses_what_attends(show):
    view = show("translator", WIDE)
    queries, keys = (view.figure.locator(f"{row} .token") for row in (QUERIES, KEYS))
    queries.first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        view.tab.keyboard.press(key)
    assert view.get("step") == [2]
    expect(queries.nth(2)).to_have_attribute("aria-pressed", "true")
    readout = view.figure.locator(".readout")
    expect(readout).to_have_attribute("aria-live", "polite")
    expect(readout).to_contain_text("Step 2: to write")
    view.tab.keyboard.press("Tab")
    view.tab.keyboard.press("ArrowRight")
    expect(keys.nth(1)).to_be_focused()
    expect(readout).to_contain_text("At step 2, “e” at position 1 has the score")


def test_a_line_that_is_pointed_at_is_named(show):
    view = show("translator", NARROW)
    view.figure.locator(".token-line[d]").last.dispatch_event("pointermove")
    expect(view.figure.locator(".token-line.lit")).to_have_count(1)
    expect(view.figure.locator(".readout")).to_contain_text("has the score")


LIT = """figure => [
    ...['.token.lit', '.token-line.lit', '.heat-columns .lit', 'tr.lit'].map(
        (part) => figure.querySelectorAll(part).length),
    getComputedStyle(figure.querySelector('.heat-column')).display !== 'none',
]"""


@pytest.mark.parametrize("name", FIGURES)
def test_the_key_that_is_pointed_at_is_lit_everywhere(show, name):
    view = show(name, WIDE)
    keys = view.figure.locator(".token-row").last.locator(".token")
    open_more_controls(view.figure, ".all-weights")
    picture = view.figure.locator(".heat-picture")
    box, mark = picture.bounding_box(), view.figure.locator(".heat-column")
    for key, target in ((2, keys.nth(2)), (4, picture)):
        x = box["width"] * (key + 0.5) / keys.count()
        target.hover(position={"x": x, "y": 5} if target is picture else None)
        assert view.figure.evaluate(LIT) == [1, 1, 1, 1, True]
        left = box["x"] + box["width"] * key / keys.count()
        assert mark.bounding_box()["x"] == pytest.approx(left, abs=1)
    view.tab.mouse.move(0, 0)
    assert view.figure.evaluate(LIT) == [0, 0, 0, 0, False]
