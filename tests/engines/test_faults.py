"""The report of a page in each engine: no fault is missing and none is invented."""

from __future__ import annotations

from itertools import count

import pytest

from tests.engines import figures
from tests.engines.engine import HEIGHT, NARROW, WIDE
from tests.engines.figures import differ
from tests.engines.page_report import open_page, use_figures
from tests.engines.watched_site import PHONE, watched_page

pytestmark = pytest.mark.weekly  # of what the tests use, which rarely changes

VIEW = """<div data-attnbook-view="figure-0"><figure data-attnbook-figure="sum">
<input type="range" min="0" max="10" step="1" value="4" aria-label="size" aria-valuetext="4">
<table><tr><td data-value="2"></td></tr></table></figure></div>"""
MOVES = """<script>
const slider = document.querySelector('input'), cell = document.querySelector('td');
slider.addEventListener('input', () => {
    slider.setAttribute('aria-valuetext', slider.value);
    cell.dataset.value = Math.sqrt(slider.value) * (1 + ERROR);
});
</script>"""
GOOD = VIEW + MOVES.replace("ERROR", "0")
PAGE = '<!DOCTYPE html><html lang="en" data-theme="light"><title>x</title>{}'
ICON = '<link rel="icon" href="data:,"><main>'


@pytest.fixture
def page(serve, tmp_path):
    """A function that gives the address of a page with this body."""
    url, numbers_of_pages = serve(tmp_path), count()
    (tmp_path / "phone.html").write_text(PHONE, "utf-8")

    def write(body: str) -> str:
        name = f"page-{next(numbers_of_pages)}.html"  # a new address, which no browser has cached
        (tmp_path / name).write_text(watched_page(PAGE.format(ICON + body)), "utf-8")
        return f"{url}{name}"

    return write


def test_a_page_without_fault_has_no_problem(engine, page):
    report = use_figures(engine, page(GOOD))
    assert report.kinds == ["sum"]
    assert report.still + report.unresponsive + report.complaints == []
    assert report.numbers[0]["0 size at 10"] == {"cells": [str(10**0.5)], "texts": ["10"]}
    assert report.sideways == 0


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        (VIEW, ["does not respond to a key", "does not respond to the pointer"]),
        (
            f"{GOOD}<i style='position: fixed; inset: 0'></i>",
            ["has no control that can be reached"],
        ),
    ],
)
def test_an_unresponsive_figure_is_reported(engine, page, monkeypatch, body, problems):
    monkeypatch.setattr(figures, "ANSWER", 0.5)
    report = use_figures(engine, page(body))
    assert report.unresponsive == [f"sum 0 {problem}" for problem in problems]


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
def test_a_complaint_is_reported(engine, page, script):
    open_page(engine, page(f"{GOOD}<script>{script}</script>"))
    [complaint] = engine.complaints()
    assert "x" in complaint


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_page_has_its_width_and_one_that_scrolls_sideways_is_reported(engine, page, width):
    wide = f"{GOOD}<p style='width: {width + 20}px; margin: 0'>wide</p>"
    report = open_page(engine, page(f"<style>body {{ margin: 0 }}</style>{wide}"), width)
    assert engine.evaluate("() => [innerWidth, innerHeight]") == [width, HEIGHT]
    assert report.sideways == 20
    assert "wide" in report.overflow


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        (["0.1", "NaN"], ["0.1000000000000001", "NaN"], True),
        (["0.1"], ["0.100000001"], False),
        (["0.1"], ["0.1", "0.2"], False),
        (["0"], ["1e-300"], False),
        (["1"], ["one"], False),
    ],
)
def test_numbers_are_compared_as_numbers_and_words_as_words(one, other, is_equal):
    read = [{"still": {"cells": cells, "texts": ["1"]}} for cells in (one, other)]
    assert (differ(*read) == []) == is_equal
