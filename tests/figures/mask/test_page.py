"""The mask figure in a browser: it shows the mask of its controls, and code to copy."""

from __future__ import annotations

from contextlib import contextmanager
from random import Random

import pytest
import torch
from playwright.sync_api import expect

from attnbook.figures import MaskFigure
from attnbook.figures.mask.figure import LIBRARIES
from attnbook.masking.interop import MaskRules
from tests.figures.mask.cases import execute_snippet, page_rules
from tests.figures.shared.page import DENY, LINE, notebook, open_in_book, reading, slider
from tests.masking.mask_rules import JOINS
from tests.tools.site.live_pages import book
from tests.tools.site.site_checks import NARROW, WIDE, packed_size
from tools import BUDGETS

NO_CLIPBOARD = """Object.defineProperty(
    navigator, 'clipboard', { value: undefined, configurable: true })"""
UNFOLD = "figure => figure.querySelectorAll('details').forEach(fold => { fold.open = true })"
PICTURE = MaskRules(6, 6, causal="last", window=3)
CASES = {"no rule": {}, "window": {"window": 3, "ahead": 0}, "few queries": {"num_queries": 4}}
READ = reading("""
    drawn: [...figure.querySelector('[data-shade="100"]')?.getAttribute('d')
        .matchAll(/M(\\d+) (\\d+)/g) ?? []].map(([, k, q]) => [Number(q), Number(k)]).sort(),
    visible: [...figure.querySelector('.visible-cells').getAttribute('d')
        .matchAll(/M(\\d+) (\\d+)h(\\d+)/g)].flatMap(([, k, q, count]) => Array.from(
            { length: Number(count) }, (_, i) => [Number(q), Number(k) + i])).sort(),
    mask: all('tbody tr').map((row) => [...row.cells].slice(1, -1).map(
        (cell) => ({ true: true, false: false })[cell.dataset.value])),
    counts: all('tbody tr').map((row) => Number([...row.cells].at(-1).dataset.value)),
    readout: figure.querySelector('.readout > span').textContent,
""")


@pytest.fixture(scope="module")
def show(stage):
    on_page = stage({case: MaskFigure(**arguments) for case, arguments in CASES.items()})

    def show_unfolded(case: str, width: int = WIDE):
        view = on_page(case, width)
        view.figure.evaluate(UNFOLD)
        return view

    return show_unfolded


def shows_mask(figure, rules: MaskRules) -> bool:
    """Whether picture, table and readout show this mask."""
    seen, mask = figure.evaluate(READ), rules.visible()
    count = int(mask.sum())
    cells = sorted(mask.nonzero().tolist(), key=lambda cell: ",".join(map(str, cell)))
    return (
        seen["mask"] == mask.tolist()
        and seen["counts"] == mask.sum(1).tolist()
        and seen["drawn"] == seen["visible"] == cells
        and seen["readout"].startswith(f"{count} of {mask.numel()} pairs are visible")
    )


def test_at_the_ends_of_every_control_it_shows_our_mask(show):
    ends = [
        ("valid_len", "Home", {"valid_len": 0}), ("valid_len", "End", {}),
        ("start", "End", {"start": 6}), ("start", "Home", {}),
        ("window", "Home", {"window": 1}), ("window", "End", {}),
        ("ahead", "Home", {"ahead": 0}), ("ahead", "End", {}),
        ("document 1", "Home", {"documents": (0, 1, 1, 1, 1, 1)}),
        ("document 2", "ArrowLeft", {"documents": (0, 1, 1, 1, 1, 2)}),
        ("document 1", "End", {}),
        ("num_queries", "Home", {"num_queries": 1}),
        ("num_keys", "Home", {"num_queries": 1, "num_keys": 1}),
        ("num_keys", "End", {"num_queries": 1, "num_keys": 32}),
        ("num_queries", "End", {"num_queries": 32, "num_keys": 32}),
    ]  # fmt: skip
    figure = show("no rule").figure
    for name, key, rules in ends:
        slider(figure, name).press(key)
        assert shows_mask(figure, MaskRules(**{"num_queries": 6, "num_keys": 6} | rules)), name


def test_after_changes_from_python_it_shows_our_mask_and_saves_the_readers_changes(show):
    rng = Random(3)  # noqa: S311 - numbers to test with, no secrets
    joins = [rules for rules in JOINS if rules.table is None]
    view = show("no rule")
    for rules in rng.sample(joins, 6):
        view.set(**page_rules(rules))
        assert shows_mask(view.figure, rules), rules
    saves = view.saves()
    slider(view.figure, "valid_len").press("Home")
    assert [*view.get("valid_len"), view.saves()] == [0, saves + 1]
    assert not shows_mask(view.figure, rules)


def test_order_is_one_choice_so_that_a_prefix_and_causal_never_meet(show):
    figure = show("few queries").figure
    order, prefix = figure.get_by_role("combobox", name="order"), slider(figure, "prefix")
    for choice, rules in [
        ("last", {"causal": "last"}), ("prefix", {"prefix": 2}), ("first", {"causal": "first"}),
        ("prefix", {"prefix": 2}), ("none", {}),
    ]:  # fmt: skip
        order.select_option(choice)
        assert shows_mask(figure, MaskRules(4, 6, **rules))
        assert prefix.is_visible() == (choice == "prefix")


def test_the_code_of_each_library_is_shown_and_copied(show):
    tab, figure, _, _ = view = show("window")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    choice = figure.get_by_role("combobox", name="Code for")
    for library in LIBRARIES[:-1]:
        choice.select_option(library)
        figure.get_by_role("button", name="Copy").click()
        expect(figure.locator(".mask-line small")).to_have_text("Copied.")
        code = tab.evaluate("navigator.clipboard.readText()")
        assert torch.equal(execute_snippet(library, code, page_rules(PICTURE)), PICTURE.visible())
    choice.select_option("transformers")
    expect(figure.locator(".cannot")).to_contain_text("It cannot express a window")
    assert figure.get_by_role("button", name="Copy").is_hidden()
    assert view.get("library") == ["transformers"]


def test_where_copying_is_forbidden_the_code_is_selected(show):
    tab, figure, _, _ = show("no rule")
    tab.evaluate(NO_CLIPBOARD)
    figure.get_by_role("button", name="Copy").click()
    expect(figure.locator(".mask-line small")).to_contain_text("the code is selected")
    assert tab.evaluate("getSelection().toString()").startswith("# layer")
    tab.evaluate("delete navigator.clipboard")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The built page of a small book with a figure and a puzzle."""
    figures = [MaskFigure(causal="last"), MaskFigure(goal=PICTURE, groups=["predicate", "code"])]
    whole = book(tmp_path_factory.mktemp("mask-book"), two=notebook(*figures))
    assert whole.build().warnings == ""
    return whole


@contextmanager
def on_page(browser, home, width=WIDE, **options):
    """The page, its figure and its puzzle."""
    with open_in_book(browser, f"{home}two.html", width, **options) as (tab, figures, _):
        figures.first.evaluate(UNFOLD)
        yield tab, figures.first, figures.nth(1)


def write(figure, text):
    """Replace the reader's rule."""
    figure.get_by_role("textbox", name="your rule, in Python").fill(text)


def message(figure):
    return figure.locator(".mask-own .rule-message")


@pytest.mark.few(1)
def test_a_written_rule_is_drawn_named_and_put_into_the_code_or_has_an_error(browser, address):
    with on_page(browser, address, script=DENY) as (_, figure, _puzzle):
        write(figure, "q - k < 3")
        expect(figure.locator(LINE)).to_have_text("15 of 36 pairs are visible (42 %).")
        assert shows_mask(figure, PICTURE)
        expect(figure.locator("pre")).to_contain_text("mask = q - k < 3")
        write(figure, "q>=k & q-k<3")
        expect(message(figure)).to_contain_text("put brackets around each")
        write(figure, "q >= k and q - k < 3")
        expect(message(figure)).to_contain_text("It is a window of 3 keys.")
        expect(figure.locator("pre")).to_contain_text("table = torch.tensor([")
        slider(figure, "num_queries").press("ArrowLeft")
        expect(figure.locator("pre")).to_contain_text("[1, 1, 0, 0, 0, 0]")
        assert shows_mask(figure, MaskRules(5, 6, causal="last", window=3))
        write(figure, "")
        expect(message(figure)).to_be_empty()
        assert shows_mask(figure, MaskRules(5, 6, causal="last"))
        slider(figure, "num_queries").press("ArrowRight")
        for text, reason in [
            ("q >=", "SyntaxError: invalid syntax. Is a bracket not closed?"),
            ("q >= x", "NameError: name 'x' isn't defined"),
            ("q + k", "It gives 2 for q=0, k=2: a mask holds True or False."),
            ("sum(1 for _ in range(10**9)) > q", "It did not end within two seconds"),
        ]:
            write(figure, text)
            expect(message(figure)).to_contain_text(reason)
            assert shows_mask(figure, MaskRules(6, 6, causal="last"))
        write(figure, "k > 0")
        expect(figure.locator(".mask-empty")).to_contain_text("Query 0 sees nothing")
        write(figure, "documents[k] == 0")  # is evaluated again when a boundary moves
        expect(figure.locator(LINE)).to_have_text("21 of 36 pairs are visible (58 %).")
        slider(figure, "document 1").press("Home")
        expect(figure.locator(LINE)).to_have_text("1 of 36 pairs are visible (3 %).")


@pytest.mark.few(1)
def test_a_puzzle_is_solved_by_keyboard_alone(browser, address):
    with on_page(browser, address) as (tab, _figure, puzzle):
        verdict = puzzle.locator(".mask-verdict")
        expect(verdict).to_have_text("Not yet: 21 pairs differ.")
        puzzle.get_by_role("textbox").focus()
        tab.keyboard.type("(q >= k) & (q - k <= 3)")
        expect(verdict).to_contain_text(
            "Not yet: 3 pairs differ. One key too many: window=3 counts"
        )
        tab.keyboard.press("Backspace")
        tab.keyboard.press("Backspace")
        tab.keyboard.type("2)")
        tab.keyboard.press("Enter")
        expect(verdict).to_have_text("✓ This is the picture.")
        tab.keyboard.press("Tab")
        expect(puzzle.get_by_role("button", name="query 0")).to_be_focused()
        tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")  # opens the code
        tab.keyboard.press("Tab")
        expect(puzzle.get_by_role("combobox", name="Code for")).to_be_focused()
        tab.keyboard.press("Tab")
        tab.keyboard.press("Tab")
        expect(puzzle.locator("pre")).to_be_focused()


LIT = reading("""
    keys: attributes('.heat-columns .lit', ['data-key']).flat(),
    cells: where('tbody td', (cell) => cell.matches('.lit')),
    rows: attributes('tbody tr.lit', ['data-query']).flat(),
    column: figure.querySelector('.heat-column').checkVisibility(),
    row: figure.querySelector('.heat-focus').checkVisibility(),
    readout: figure.querySelector('.readout > span').textContent,
""")
COUNTS = "14 of 24 pairs are visible (58 %)."


def nothing_is_lit(figure) -> bool:
    seen = figure.evaluate(LIT)
    nothing = {"keys": [], "cells": [], "rows": [], "column": False, "row": False}
    return seen == nothing | {"readout": COUNTS}


def test_a_pair_that_is_pointed_at_is_lit_everywhere_and_explained(show):
    view = show("few queries")
    figure = view.figure
    view.set(causal="last", start=1)
    assert nothing_is_lit(figure)
    picture = figure.locator(".heat-picture")
    box = picture.bounding_box()
    # Row 1 is query 3, and column 5 is hidden; the table has a cell more for each row.
    picture.hover(position={"x": box["width"] * 5.5 / 6, "y": box["height"] * 1.5 / 4})
    expected = {
        "keys": [5, 5],  # its name, and its position without the padding
        "cells": [5, 12, 19, 26],
        "rows": [3],
        "column": True,
        "row": True,
        "readout": "Query 3 sees keys 1 to 3. Key 5 is hidden by causal order.",
    }
    assert figure.evaluate(LIT) == expected
    picture.hover(position={"x": box["width"] * 0.5 / 6, "y": box["height"] * 1.5 / 4})
    assert figure.evaluate(LIT)["readout"].endswith("Key 0 is hidden by start.")
    figure.get_by_role("cell", name="False").last.hover()  # in the table
    assert figure.evaluate(LIT)["readout"] == "Query 5 sees keys 1 to 5. Key 0 is hidden by start."
    slider(figure, "start").hover()
    assert nothing_is_lit(figure)


def test_arrow_keys_walk_along_queries_and_keys(show):
    tab, figure, _, _ = view = show("few queries")
    view.set(causal="last", start=1)
    figure.get_by_role("button", name="query 2").focus()
    assert figure.evaluate(LIT)["readout"] == "Query 2 sees keys 1 and 2."
    for key, readout in [
        ("ArrowDown", "Query 3 sees keys 1 to 3."),
        ("ArrowRight", "Query 3 sees keys 1 to 3. Key 4 is hidden by causal order."),
        ("ArrowUp", "Query 2 sees keys 1 and 2. Key 4 is hidden by causal order."),
        ("ArrowUp", "Query 2 sees keys 1 and 2. Key 4 is hidden by causal order."),
        ("ArrowLeft", "Query 2 sees keys 1 and 2. Key 3 is hidden by causal order."),
        ("ArrowLeft", "Query 2 sees keys 1 and 2."),
    ]:
        tab.keyboard.press(key)
        assert figure.evaluate(LIT)["readout"] == readout
    tab.keyboard.press("Tab")
    assert nothing_is_lit(figure)


# The chapters' figures, and the parts that each shows first.
CHAPTERS = {
    "code": (
        {"valid_len": 5, "causal": "last", "library": "multihead"},
        "Choose a library under “code”: what does `True` mean there?",
        "mask-code mask-maps readout more-controls data-tables".split(),
    ),
    "two rules": (
        {"valid_len": 4, "causal": "last", "groups": ["padding", "order"]},
        "Move `valid_len` from 4 to 0, step by step: at which length does a query see no key?",
        "valid_len start order mask-maps readout data-tables".split(),
    ),
    "all rules": (
        {"num_keys": 8, "start": 2, "causal": "last"},
        "Raise `start` to 4: which queries see no key now?",
        "valid_len start order mask-maps readout more-controls mask-code data-tables".split(),
    ),
    "sizes": (
        {"causal": "last", "window": 2, "groups": ["sizes", "order", "window"]},
        "Raise `num_keys` to 8: which keys do the queries see?",
        "order window ahead num_queries num_keys mask-maps readout data-tables".split(),
    ),
    "a goal": (
        {"goal": PICTURE, "groups": ["padding", "order"]},
        "",
        "valid_len start order mask-maps readout data-tables".split(),
    ),
}
PARTS = """figure => [...figure.querySelectorAll(
    '.mask-code, .mask-maps, .readout, details, input[type=range], select')]
    .filter((part) => part.checkVisibility() && !part.closest('.mask-code select'))
    .map((part) => part.getAttribute('aria-label') ?? part.className)"""


def test_what_the_action_and_the_rules_name_is_first(stage):
    show_chapter = stage(
        {
            name: MaskFigure(**arguments, action=action, caption="Queries go down, keys go across.")
            for name, (arguments, action, _) in CHAPTERS.items()
        }
    )
    for name, (*_, parts) in CHAPTERS.items():
        figure = show_chapter(name, NARROW).figure
        assert figure.evaluate(PARTS) == parts, name
        for picture in figure.locator(".heat-picture").all():
            marks = picture.locator(".mask-marks")
            assert marks.bounding_box() == pytest.approx(picture.bounding_box(), abs=0.5), name


@pytest.mark.few(1)
def test_python_is_loaded_when_a_rule_is_written_and_the_rest_works_without_it(browser, address):
    with on_page(browser, address, script="delete window.WebAssembly") as (tab, figure, _puzzle):
        requests = []
        tab.on("request", lambda request: requests.append(request.url))
        slider(figure, "start").press("End")
        assert [url for url in requests if "python" in url] == []
        write(figure, "q > k")
        expect(message(figure)).to_contain_text(
            "Nothing can run here: this browser has no WebAssembly"
        )
        assert len([url for url in requests if "live/python.js" in url]) == 1
        slider(figure, "start").press("Home")
        assert shows_mask(figure, MaskRules(6, 6, causal="last"))


def test_the_first_load_is_small(pages):
    [module] = [file for file in pages.modules if b"mask-verdict" in file.read_bytes()]
    assert packed_size(module) < BUDGETS["kilobytes"]["first_load"]["mask"] * 1000


def test_in_a_notebook_the_kernel_evaluates_the_rule(show):
    tab, figure, _, index = view = show("no rule")
    kernel = MaskFigure()
    write(figure, "q >= k")
    expect(figure.get_by_role("textbox")).to_have_value("q >= k")
    tab.wait_for_function("index => models[index].get('predicate') === 'q >= k'", arg=index)
    kernel.predicate = "q >= k"
    view.set(table=kernel.table)
    assert shows_mask(figure, MaskRules(6, 6, causal="last"))
