"""Each page of the built book: wide and light, narrow and dark, and without a server."""

from __future__ import annotations

import re
from functools import cache
from os.path import normpath
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.browsing import PAGES
from tests.tools.site.left_out import MATCHING, prepare
from tests.tools.site.site_checks import (
    HARD_ON_A_PHONE,
    JUDGED,
    NARROW,
    OF_LOOK,
    OVERFLOW,
    UNFOLD,
    VISIBLE,
    WIDE,
    Visit,
    axe_findings,
    change_view,
    dead_links,
    measure,
    opened,
    packed_load,
    packed_size,
)
from tests.tools.site.term_links import EACH_OUTSIDE, MEANINGS, links, links_with_wrong_meaning

KILOBYTES, REQUESTS, ELEMENTS = 350, 40, 20_000
PRINTED = 32  # sheets of a chapter with many figures
# What a page names and loads at once; style sheets name the fonts.
LOADED = re.compile(
    r'<(?:script|img)\b(?![^>]*data-attnbook-late)[^>]*\ssrc="([^"]*)"'
    r'|<link\b[^>]*rel="(?:stylesheet|preload|icon)"[^>]*\shref="([^"]*)"'
)
NUMBERED = re.compile(r'id="(equation-[\w-]+)">.*?class="eqno">\((\d+)\)', re.DOTALL)
REFERENCES = re.compile(r'href="([\w.-]*)#(equation-[\w-]+)">\((\d+)\)</a>')
PICTURE = re.compile(r"<img\b[^>]*>")
SIZED = re.compile(r'width="\d+" height="\d+"')
THEME = "document.documentElement.dataset.theme"


class Opened(NamedTuple):
    """A page that was opened once: its record, what each view of it shows, and axe's findings."""

    record: Visit
    views: dict[int, Visit]  # by width
    findings: list[str]


@pytest.fixture(scope="module")
def visit(browser, home, save_picture, request):
    """A function that opens a page once.

    Each page is loaded in one view and then changed to the other, every second page in the opposite
    order. Axe tests the second view of a page only, because it takes longer than all else; with
    `--full` it tests both.
    """
    is_full = request.config.getoption("--full")

    @cache
    def open_page(name: str) -> Opened:
        order = JUDGED[::-1] if PAGES.index(name) % 2 else JUDGED
        views, findings = {}, []
        with opened(browser, f"{home}{name}.html", *order[0]) as (page, record):
            for width, scheme in order:
                is_last = (width, scheme) == order[-1]
                if is_last:
                    change_view(page, width, scheme)
                assert page.evaluate(THEME) == scheme
                save_picture(page, f"{name.rpartition('/')[2]}-{width}-{scheme}")
                views[width] = Visit()
                measure(page, views[width])
                if is_last or is_full:
                    only = OF_LOOK if is_last and is_full else None
                    findings += axe_findings(page, only, last=is_last)
        return Opened(record, views, findings)

    return open_page


@pytest.fixture
def page(visit, name):
    return visit(name)


@pytest.fixture(scope="module")
def texts(site):
    """The HTML of each page."""
    return {name: (site / f"{name}.html").read_text("utf-8") for name in PAGES}


# Pages that are opened


def test_the_page_is_quiet_and_complete_and_its_first_load_is_light(page, name, site, home):
    record, wide = page.record, page.views[WIDE]
    assert record.complaints + record.failures + record.foreign(home) == []
    loaded = {*record.requests, wide.icon}
    assert len(loaded) <= REQUESTS
    size = packed_load(site, home, loaded)
    largest = sorted(((packed_load(site, home, [url]), url) for url in loaded), reverse=True)[:5]
    assert size <= KILOBYTES * 1000, (size, largest)
    assert packed_size(site / wide.icon.removeprefix(home)) > 0
    assert 100 < wide.elements <= ELEMENTS
    # Only a page that needs them loads the scripts of terms and of excerpts.
    requests = " ".join(record.requests)
    html = (site / f"{name}.html").read_text("utf-8")
    assert requests.count("/terms.js") == bool(links(html))
    assert requests.count("/excerpts.js") == (name == "search")


def test_axe_finds_nothing_serious(page):
    assert not page.findings, "\n".join(page.findings)


def test_the_page_has_one_heading_one_search_and_fits_on_a_phone(page):
    for view in page.views.values():
        assert (len(view.headings), len(view.searches)) == (1, 1)
        assert view.flat_dots == []
    narrow = page.views[NARROW]
    assert narrow.scroll_width <= NARROW, narrow.overflow
    assert narrow.hard_on_a_phone == []


def test_without_a_server_the_page_is_quiet_lacks_no_rule_and_shows_each_meaning(
    browser, site, name
):
    with opened(browser, (site / f"{name}.html").as_uri()) as (tab, record):
        tab.evaluate(UNFOLD)
        prepare(tab, site)
        assert tab.evaluate(MATCHING) == []
        # No meaning leaves the window or covers its term.
        assert tab.evaluate(EACH_OUTSIDE) == []
        change_view(tab, NARROW, "light")
        assert tab.evaluate(EACH_OUTSIDE) == []
        assert record.complaints + record.failures == []


# All pages


def test_every_page_fits_on_a_phone_and_has_one_heading_without_javascript(browser, home):
    wrong = {}
    with opened(browser, "about:blank", NARROW, java_script_enabled=False) as (tab, record):
        for name in PAGES:
            tab.goto(f"{home}{name}.html")
            tab.evaluate(UNFOLD)
            assert tab.title().strip(), name
            assert len(tab.evaluate(VISIBLE, "h1")) == 1, name
            found = tab.evaluate(HARD_ON_A_PHONE)
            if tab.evaluate("document.documentElement.scrollWidth") > NARROW:
                found.append(tab.evaluate(OVERFLOW))
            wrong |= {name: found} if found else {}
        assert wrong == {}
        assert record.failures + record.foreign(home) == []


def test_what_every_page_names_is_its_own_and_light(site, texts):
    sizes = {}
    for name, html in texts.items():
        page = site / f"{name}.html"
        named = {(src or href).partition("?")[0] for src, href in LOADED.findall(html)}
        assert [address for address in named if ":" in address] == []
        files = {Path(normpath(page.parent / address)) for address in named} | {page}
        assert 10 < len(files) <= REQUESTS, name
        sizes[name] = sum(map(packed_size, files))
    assert {name: size for name, size in sizes.items() if size > KILOBYTES * 1000} == {}


def test_terms_have_the_meanings_of_the_glossary_and_pictures_have_their_sizes(
    browser, site, texts
):
    with opened(browser, (site / "chapters" / "notation.html").as_uri()) as (tab, _):
        meanings = tab.evaluate(MEANINGS)
    assert len(meanings) > 40
    assert all(meanings.values())
    for name, html in texts.items():
        assert links_with_wrong_meaning(html, meanings) == [], name
        pictures = PICTURE.findall(html)
        assert pictures  # the logo, at least
        assert [one for one in pictures if not SIZED.search(one)] == []
    assert sum(bool(links(html)) for html in texts.values()) > 10


def test_no_link_of_the_site_is_dead(site):
    dead = {
        str(page.relative_to(site)): links
        for page in site.rglob("*.html")
        if not page.is_relative_to(site / "_static")
        and page.name != "404.html"  # its addresses are the published site's
        and (links := dead_links(site, page))
    }
    assert dead == {}


def test_the_front_door_leads_to_the_first_page(browser, home):
    with opened(browser, "about:blank") as (page, record):
        page.goto(home, wait_until="commit")
        page.wait_for_url("**/welcome.html")
        assert record.complaints == []


def test_a_progress_bar_is_shown_only_when_it_is_full(texts):
    page = texts["chapters/bahdanau-attention"]
    assert page.count("█ trained") == 1
    assert "░" not in page


def test_each_reference_to_a_formula_has_the_number_of_that_formula(texts):
    pages = {f"{name.rpartition('/')[2]}.html": html for name, html in texts.items()}
    numbers = {
        (name, anchor): number
        for name, html in pages.items()
        for anchor, number in NUMBERED.findall(html)
    }
    references = [
        ((target or name, anchor), number)
        for name, html in pages.items()
        for target, anchor, number in REFERENCES.findall(html)
    ]
    assert references
    assert [each for each in references if numbers[each[0]] != each[1]] == []


def test_superscripts_of_formulas_are_small(browser, home):
    with opened(browser, f"{home}chapters/cheat-sheet.html") as (page, _):
        # A style sheet of another KaTeX version would leave them as large as the line.
        sizes = page.evaluate(
            """() => ['.katex', '.katex .msupsub .mtight'].map(selector =>
                parseFloat(getComputedStyle(document.querySelector(selector)).fontSize))"""
        )
        assert sizes[1] < 0.8 * sizes[0]


@pytest.mark.weekly
def test_a_printed_chapter_is_short(browser, home):
    with opened(browser, f"{home}chapters/masked-softmax.html") as (page, _):
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= PRINTED


def test_paper_is_light_with_hidden_answers_open_and_no_other(browser, home):
    state = """[document.documentElement.dataset.theme,
        document.querySelector('.attnbook-hidden-answer').open,
        [...document.querySelectorAll('.attnbook-hidden-answer')].at(-1).open,
        document.querySelector('.attnbook-answer:not(.attnbook-hidden-answer)').open]"""
    shut = "document.querySelectorAll('.attnbook-answer:not([open])').length"
    with opened(browser, f"{home}chapters/masked-softmax.html", scheme="dark") as (page, _):
        picture = page.locator("main img").first  # in the dark, too, it has no pale box
        style = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).filter]"
        assert picture.evaluate(style) == ["rgba(0, 0, 0, 0)", "none"]
        page.evaluate(
            "[...document.querySelectorAll('.attnbook-hidden-answer')].at(-1).open = true"
        )
        before = page.evaluate(state)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert before == ["dark", False, True, False]
        assert page.evaluate(state) == ["light", True, True, False]
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(state) == before
        assert page.evaluate(shut) > 5
        page.get_by_role("button", name="Show all answers").click()
        page.emulate_media(media="print")
        assert page.evaluate(shut) == 0
        parts = page.locator(".attnbook-answer > :not(summary)")
        assert parts.evaluate_all("all => all.every(part => part.checkVisibility())")


SHIFTS = """
    window.shift = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
"""
STARTED = "!document.querySelector('.attnbook-view > .attnbook-static')"


@pytest.mark.parametrize("chapter", ["welcome", "position"])
def test_what_follows_a_figure_hardly_moves_when_it_starts(browser, home, chapter):
    page = browser.new_page(viewport={"width": NARROW, "height": 800})
    page.add_init_script(SHIFTS)
    page.goto(f"{home}chapters/{chapter}.html")
    page.wait_for_function(STARTED)
    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    assert page.evaluate("shift") < 0.05  # 0.2 without the heights that site.css reserves
    page.close()
