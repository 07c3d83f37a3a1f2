"""Each thing that is asked of the engines notices the fault that it is there for."""

from __future__ import annotations

from itertools import count

import pytest

from tests.engines import figures
from tests.engines.engine import HEIGHT, NARROW, WIDE
from tests.engines.figures import differ, numbers
from tests.engines.looking import looked, touched
from tests.engines.watching import PHONE, watched_page

pytestmark = pytest.mark.weekly  # of what the tests use, which rarely changes

VIEW = """<div data-attnbook-view="figure-0"><figure data-attnbook-figure="sum">
<input type="range" min="0" max="10" step="1" value="4" aria-label="size" aria-valuetext="4">
<table><tr><td data-value="2"></td></tr></table></figure></div>"""
MOVES = """<script>
const slider = document.querySelector('input'), cell = document.querySelector('td');
slider.addEventListener('input', () => {
    slider.setAttribute('aria-valuetext', slider.value);
    cell.dataset.value = Math.sqrt(slider.value) * (1 + FAR);
});
</script>"""
GOOD = VIEW + MOVES.replace("FAR", "0")
PAGE = '<!DOCTYPE html><html lang="en" data-theme="light"><title>x</title>{}'
ICON = '<link rel="icon" href="data:,"><main>'


@pytest.fixture
def page(serve, tmp_path):
    """A function that gives the address of a page with this body."""
    home, numbers_of_pages = serve(tmp_path), count()
    (tmp_path / "phone.html").write_text(PHONE, "utf-8")

    def go(body: str) -> str:
        name = f"page-{next(numbers_of_pages)}.html"  # an address of its own: none is remembered
        (tmp_path / name).write_text(watched_page(PAGE.format(ICON + body)), "utf-8")
        return f"{home}{name}"

    return go


def test_a_good_page_has_no_fault(engine, page):
    look = touched(engine, page(GOOD))
    assert look.kinds == ["sum"]
    assert look.still + look.deaf + look.complaints == []
    assert look.numbers[0]["0 size at 10"] == {"cells": [str(10**0.5)], "texts": ["10"]}
    assert look.sideways == 0


def test_a_figure_that_does_not_start_is_noticed(engine, page):
    why = "<p role='status'>This figure could not start, so it stands still: gone.</p>"
    empty = f"<div data-attnbook-view='figure-0'>{why}</div>"
    look = looked(engine, page(empty), patience=0.1)
    assert look.kinds == []
    assert "gone" in look.still[0]


def test_a_deaf_figure_is_noticed(engine, page, monkeypatch):
    monkeypatch.setattr(figures, "ANSWER", 0.5)
    look = touched(engine, page(VIEW))
    assert look.deaf == ["sum 0 does not answer a key", "sum 0 does not answer the pointer"]


def test_a_slider_that_something_covers_is_noticed(engine, page, monkeypatch):
    monkeypatch.setattr(figures, "ANSWER", 0.5)
    cover = "<i style='position: fixed; inset: 0'></i>"
    look = touched(engine, page(GOOD + cover))
    assert look.deaf == ["sum 0 has no control that can be reached"]


def test_a_number_that_is_hardly_off_is_noticed(engine, page):
    shown = {}
    for off in ("0", "1e-9", "1e-14"):
        engine.open(page(VIEW + MOVES.replace("FAR", off)))
        shown[off] = numbers(engine, 0, seed=3)
    assert differ(shown["0"], shown["1e-14"]) == []
    assert [said[:12] for said in differ(shown["0"], shown["1e-9"])][:2] == [
        "0 size at 10",
        "0 size at 5:",
    ]


@pytest.mark.parametrize(
    "script",
    [
        "console.warn('x')",
        "console.error('x')",
        "throw Error('x')",
        "Promise.reject(Error('x'))",
        "setTimeout(() => { throw Error('x') })",
    ],
)
def test_a_complaint_is_noticed(engine, page, script):
    looked(engine, page(f"{GOOD}<script>{script}</script>"))
    [complaint] = engine.complaints()
    assert "x" in complaint


HALF = "<math><munder><mi>x</mi></munder></math>"
WHOLE = "<math><munder><mi>x</mi><mi>y</mi></munder></math>"


@pytest.mark.parametrize(("formula", "is_ours"), [(WHOLE, False), (HALF, True)])
def test_firefox_may_log_markup_that_came_in_pieces_if_it_is_whole(engine, page, formula, is_ours):
    if engine.name != "Firefox":
        pytest.skip("no other engine logs what it parses in pieces")
    engine.open(page(formula))
    engine.messages.append("warn: Invalid markup: Incorrect number of children for <munder/> tag.")
    assert bool(engine.complaints()) == is_ours


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_page_that_scrolls_sideways_is_noticed(engine, page, width):
    wide = f"{GOOD}<p style='width: {width + 20}px; margin: 0'>wide</p>"
    look = looked(engine, page(f"<style>body {{ margin: 0 }}</style>{wide}"), width)
    assert look.sideways == 20
    assert "wide" in look.overflow


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_page_is_as_wide_as_it_is_said_to_be(engine, page, width):
    engine.open(page(GOOD), width)
    assert engine.evaluate("() => [innerWidth, innerHeight]") == [width, HEIGHT]


def test_numbers_are_compared_as_numbers_and_words_as_words():
    def read(*cells, texts=("1",)):
        return {"still": {"cells": [*cells], "texts": [*texts]}}

    assert differ(read("0.1", "NaN"), read("0.1000000000000001", "NaN")) == []
    assert differ(read("0.1"), read("0.100000001")) != []
    assert differ(read("0.1"), read("0.1", "0.2")) != []
    assert differ(read("0"), read("1e-300")) != []
    assert differ(read("1"), read("one")) != []
    assert differ(read("1"), read("1", texts=("2",))) != []
    assert differ(read("1"), {}) != []
