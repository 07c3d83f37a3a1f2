"""The shape figure in a browser: at each step it shows what the trace recorded."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from playwright.sync_api import Locator

from attnbook.figures import ShapeFigure
from attnbook.figures.shape.figure import describe_shape
from attnbook.figures.shared.base import decimals
from attnbook.tracing import Trace
from tests.figures.shape.cases import CASES, state_of, trace_case
from tests.figures.shared.page import reading, slider
from tests.tools.site.site_checks import NARROW, UNFOLD, WIDE
from tools import BUDGETS

READ = reading("""
    step: Number(figure.querySelector('input[type=range]').value),
    line: texts('.source-line[aria-current] .line-number').map(Number)[0] ?? null,
    source: texts('.source-line[aria-current] code')[0] ?? null,
    title: figure.querySelector('.source-line[aria-current]')?.parentElement
        .querySelector('b').textContent ?? null,
    names: texts('.tensor-name'),
    note: figure.querySelector('.step-note').textContent,
    cells: all('.tensor').map((tensor) => Object.fromEntries(all('.level', tensor).map(
        (e) => [e.dataset.level, e.getAttribute('d').split('z').length - 1]))),
    printed: texts('.tensor-cells span'),
    steps: all('.step-table tbody tr').map((row) => texts('th, td', row)),
    focus: where('.step-table tbody tr', (row) => row.hasAttribute('aria-current'))[0] ?? -1,
    numbers: all('.number-table tbody td:not(:first-child)').map((cell) => cell.dataset.value),
    rows: texts('.number-table tbody tr > :first-child'),
    caption: texts('.number-table caption'),
""")

CENTRE = """(cells, [x, y]) => {
    const frame = cells.querySelector('svg').getBoundingClientRect();
    const box = cells.querySelector('svg').viewBox.baseVal;
    return [frame.x + frame.width * x / box.width, frame.y + frame.height * y / box.height];
}"""


def expected(traced: Trace, state: dict[str, Any], index: int) -> dict[str, Any]:
    """What `READ` must find at a step, without the numbers."""
    steps = traced.steps
    step = steps[index]
    before = state["steps"][index]["before"]
    parts = [*([steps[before]] if before >= 0 else []), step]
    names = [f"{part.name} {describe_shape([*part.shape], [*part.symbols])}" for part in parts]
    lines = {line.number: line.source for line in traced.sections[step.section][1]}
    return {
        "step": index,
        "line": step.line,
        "source": lines[step.line],
        "title": step.title,
        "names": names,
        "caption": names[-1:],
        "note": state["steps"][index]["note"],
        "focus": index,
        "steps": [
            [str(n), it.title, str(it.line), it.name, describe_shape([*it.shape], [*it.symbols])]
            for n, it in enumerate(steps)
        ],
    }


def disagreements(figure: Locator, traced: Trace, state: dict[str, Any], index: int) -> list[str]:
    """What a figure shows that differs from a step of the trace."""
    figure.locator(".number-table[aria-busy=true]").wait_for(state="detached")
    seen = figure.evaluate(READ)
    true = expected(traced, state, index)
    wrong = [name for name in true if seen[name] != true[name]]
    numbers = traced.steps[index].numbers
    if numbers is None or numbers.is_complex():
        return wrong + ["numbers"] * bool(seen["numbers"] or seen["cells"][-1])
    exact = numbers.flatten().tolist()
    floats = [int(n) if n.lstrip("-").isdigit() else float(n) for n in seen["numbers"]]
    close = len(floats) == len(exact) and all(map(_is_close, floats, exact))
    counted = sum(seen["cells"][-1].values()) == len(exact)
    leading = numbers.shape[:-1]
    rows = len(seen["rows"]) == (math.prod(leading) if numbers.numel() else 0)
    return wrong + ["numbers"] * (not close) + ["cells"] * (not counted) + ["rows"] * (not rows)


def _is_close(number: float, exact: float) -> bool:
    if math.isnan(exact):
        return math.isnan(number)
    return number == exact or float(f"{exact:.9g}") == number


CLOSE = 1e-6
SPLIT = 7  # the step at which the heads of "heads" are split


@pytest.fixture(scope="module")
def show(open_figures):
    """A function that sets the width of the page and the step of a case.

    It returns the tab, the figure, its trace and its traits.
    """
    made = [ShapeFigure(trace_case(name), caption="A caption.") for name in CASES]
    with open_figures(*made, has_touch=True) as (tab, figures):

        def go(case: str = "heads", step: int = 0, width: int = WIDE):
            figure = figures.nth([*CASES].index(case))
            tab.set_viewport_size({"width": width, "height": 800})
            tab.mouse.move(0, 0)
            slider(figure, "step").fill(str(step))
            return tab, figure, trace_case(case), state_of(case)

        yield go


@pytest.mark.parametrize("case", CASES)
def test_every_seventh_step_and_the_last_are_those_of_the_trace(show, case):
    tab, figure, traced, state = show(case)
    tab.evaluate(UNFOLD)
    last = len(state["steps"]) - 1
    for index in (*range(0, last, 7), last):
        slider(figure, "step").fill(str(index))
        assert disagreements(figure, traced, state, index) == []


# The captions of the tables that are made after changes of the step, each to a large table.
CAPTIONS = """async (figure, [index, steps]) => {
    const captions = [], table = figure.querySelector('.number-table');
    const note = () => captions.push(table.caption.textContent);
    new MutationObserver(note).observe(table, { childList: true });
    for (const step of steps) {
        models[index].set('step', step);
        await null;
    }
    await new Promise((done) => setTimeout(done, 1000));  // after the tables: they wait less
    return captions;
}"""


def test_the_large_table_of_a_skipped_step_is_not_made(show):
    tab, figure, traced, _ = show("largest", 0)
    tab.evaluate(UNFOLD)
    captions = figure.evaluate(CAPTIONS, [[*CASES].index("largest"), [1, 2]])
    assert [caption.split(" (")[0] for caption in captions] == [traced.steps[2].name]


def test_a_click_on_a_line_selects_its_first_step(show):
    tab, figure, traced, state = show()
    tab.evaluate(UNFOLD)
    saves = tab.evaluate("models[0].saves")
    for section, line in ((0, 5), (1, 4), (0, 11), (2, 3)):
        rows = figure.locator(".source-block").nth(section).locator("button")
        source = traced.sections[section][1][line - 1 - (section > 0)].source
        rows.filter(has_text=source).click()
        steps = [(it["section"], it["line"]) for it in state["steps"]]
        assert disagreements(figure, traced, state, steps.index((section, line))) == []
    assert tab.evaluate("models[0].saves") == saves + 4


def test_pointing_at_a_number_shows_where_it_was_before(show):
    tab, figure, traced, _ = show("heads", SPLIT, NARROW)
    readout = figure.locator(".readout")
    assert readout.inner_text().startswith("return[0, 0, 0, 0] = ")  # before anything is pointed at
    cells = figure.locator(".tensor-cells").last
    cells.scroll_into_view_if_needed()
    before, after = traced.steps[SPLIT - 1].numbers, traced.steps[SPLIT].numbers
    # Example 1, head 2, query 3, number 0: two gaps to the left of it, one above.
    point = cells.evaluate(CENTRE, [2 * 4.8 + 0.5, 5.8 + 3.5])
    tab.touchscreen.tap(*point)
    number = decimals(after[1, 2, 3, 0].item())
    assert before[1, 3, 2, 0] == after[1, 2, 3, 0]
    assert readout.inner_text() == (
        f"return[1, 2, 3, 0] = {number} (batch 1, heads 2, queries 3, hiddens/heads 0); "
        "before: parts[1, 3, 2, 0]"
    )
    marks = [mark.get_attribute("d") for mark in figure.locator(".mark").all()]
    assert [d.split("h")[0] for d in marks] == ["M14.4 5.8", "M9.6 8.8"]


def test_arrow_keys_point_at_the_neighbours(show):
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


def test_the_current_line_is_visible_in_its_box_and_the_page_does_not_scroll(show):
    inside = """figure => {
        const box = figure.querySelector('.source').getBoundingClientRect();
        const line = figure.querySelector('.source-line[aria-current]').getBoundingClientRect();
        return line.top >= box.top && line.bottom <= box.bottom;
    }"""
    tab, figure, _, state = show(width=NARROW)
    tab.evaluate("scrollTo(0, 0)")
    for index in (SPLIT, len(state["steps"]) - 1, 0, 25):
        tab.evaluate(f"models[0].set('step', {index})")
        assert figure.evaluate(inside)
        assert tab.evaluate("scrollY") == 0


def test_an_exception_is_shown_at_its_line(show):
    _, figure, _, _ = show("failing", len(trace_case("failing").steps) - 1)
    notes = figure.locator(".line-note.error")
    assert notes.first.inner_text() == "RuntimeError in Half.split"
    text = " ".join(notes.all_inner_texts()[1:])
    assert "Provided sizes [5, -1] don't multiply up" in text
    row = notes.nth(1).locator("xpath=..")
    assert row.locator("code").inner_text().strip() == "parts = vectors.unflatten(-1, (5, -1))"
    box, note = figure.locator(".source").bounding_box(), notes.nth(1).bounding_box()
    assert box["y"] < note["y"] < box["y"] + box["height"]


def test_the_whole_source_and_all_steps_are_printed(show):
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


READ_PRODUCT = reading("""
    rows: all('.meeting tr').map(values),
    names: texts('.meeting th'),
    outline: figure.querySelector('.product .mark').getAttribute('d').split('z').slice(0, 2),
    readout: figure.querySelector('.readout').textContent,
    sum: figure.querySelector('.product .sum-text').textContent,
""")


def _factor(number: float, text: str) -> str:
    return f"({text})" if number < 0 else text


def test_pointing_at_a_score_shows_the_row_and_the_column_of_its_product(show):
    _, figure, _, state = show("heads", 15)
    cells = figure.locator(".tensor-cells")
    cells.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        cells.press(key)
    seen = figure.evaluate(READ_PRODUCT)
    row, column = "queries[0, 0, 1, :]", "keys.transpose(-2, -1)[0, 0, :, 2]"
    assert seen["names"] == [row, column, "products", "their sum / √4"]
    one, other, products, [total] = seen["rows"]
    assert products == pytest.approx([a * b for a, b in zip(one, other, strict=True)])
    number = state["numbers"][state["steps"][15]["numbers"]][7 + 2]
    assert total == pytest.approx(sum(products) / 2) == pytest.approx(number, abs=CLOSE)
    terms = [
        f"{_factor(a, decimals(a))} · {_factor(b, f'{b:.3g}')}"
        for a, b in zip(one, other, strict=True)
    ]
    whole = decimals(sum(products))
    assert re.split(" [=≈] ", seen["sum"], maxsplit=1) == [
        " + ".join(terms),
        f"{whole}, {whole} / √4 = {decimals(total)}",
    ]
    # Four numbers of row 1 at the left, four of column 2 above.
    assert seen["outline"] == ["M0 5.8h4v1h-4", "M6.8 0v4h1v-4"]
    assert seen["readout"] == (
        f"scores[0, 0, 1, 2] = {number:.3f} (batch 0, heads 0, queries 1, keys 2) "
        f"= {row} · {column} / √4"
    )


def test_each_product_shows_its_factors_and_other_steps_show_none(show):
    _, figure, _, state = show("heads", 23)
    figure.locator(".tensor-cells").focus()
    names = figure.evaluate(READ_PRODUCT)["names"]
    assert names[:2] == ["torch.softmax(scores, dim=-1)[0, 0, 0, :]", "values[0, 0, :, 0]"]
    slider(figure, "step").press("ArrowRight")
    assert figure.locator(".product").count() == 0
    slider(figure, "step").fill(str(len(state["steps"]) - 1))
    names = figure.evaluate(READ_PRODUCT)["names"]
    assert names[:2] == ["output[0, 0, :]", "W_o.weight[0, :]"]


def test_on_a_phone_every_step_fits_and_a_product_has_two_tabs(show):
    _, figure, _, state = show("heads", 15, NARROW)
    tensor, product = figure.locator(".tensors"), figure.locator(".product")
    most = BUDGETS["figure"]["height"] - 80  # a longer action, of three lines
    seen = []
    for name in ("row and column", "tensor"):
        seen.append((tensor.is_visible(), product.is_visible()))
        figure.get_by_role("button", name=name, exact=True).click()
    assert seen == [(True, False), (False, True)]
    for index in range(0, len(state["steps"]), 4):
        slider(figure, "step").fill(str(index))
        assert figure.bounding_box()["height"] < most, index
