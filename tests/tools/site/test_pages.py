"""Each page of the built book: wide and light, narrow and dark, and without a server."""

from __future__ import annotations

import io
import re
from os.path import normpath
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.browsing import PAGES, USUAL
from tests.tools.site.left_out import MATCHING, prepare
from tests.tools.site.site_checks import (
    HARD_ON_A_PHONE,
    JUDGED,
    NARROW,
    OF_LOOK,
    OVERFLOW,
    TORN,
    UNFOLD,
    VISIBLE,
    WIDE,
    axe_findings,
    dead_links,
    layout_faults,
    open_page,
    packed_load,
    packed_size,
)
from tests.tools.site.term_links import EACH_OUTSIDE, MEANINGS, links, links_with_wrong_meaning
from tools import BUDGETS, ROOT

MOST = BUDGETS["page"]
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
SIZE = """() => [document.documentElement.scrollHeight,
    [...document.querySelectorAll('*')].filter(each => each.checkVisibility()).length]"""
FONTS = "() => document.body.scrollWidth && document.fonts.ready.then(() => true)"


@pytest.fixture(scope="module")
def texts(site):
    """The HTML of each page."""
    return {name: (site / f"{name}.html").read_text("utf-8") for name in PAGES}


def test_the_readme_promises_the_minutes_that_the_path_takes(texts):
    (minutes,) = re.findall(r"Together: (\d+) minutes", texts["chapters/welcome"])
    (promised,) = re.findall(r"about (\d+) minutes", (ROOT / "README.md").read_text("utf-8"))
    assert int(promised) == round(int(minutes), -1)


# Pages that are opened


@pytest.fixture
def check_view(save_picture):
    """A function that checks a page as it is shown in one view."""

    def check(page, name: str, width: int, scheme: str) -> None:
        assert page.evaluate(THEME) == scheme
        if width == NARROW and page.locator(".attnbook-divider").count():
            height, shown = page.evaluate(SIZE)
            assert height <= MOST["screens"] * BUDGETS["figure"]["height"]
            assert shown <= MOST["shown_elements"]
        save_picture(page, f"{name.rpartition('/')[2]}-{width}-{scheme}")
        assert layout_faults(page, width) == []
        # No meaning leaves the window or covers its term.
        assert page.evaluate(EACH_OUTSIDE) == []

    return check


def test_the_page_is_quiet_light_accessible_and_fits_with_and_without_a_server(
    browser, site, home, name, check_view, request
):
    """Every second page has a server in the wide view, and the others in the narrow one.

    Axe takes longer than all else, so it tests the page without a server only; with `--full` both.
    """
    first, second = JUDGED[::-1] if PAGES.index(name) % 2 else JUDGED
    with open_page(browser, f"{home}{name}.html", *first, closed=True) as (page, record):
        loaded = {*record.requests}
        assert 100 < page.locator("*").count() <= MOST["elements"]
        check_view(page, name, *first)
        if request.config.getoption("--full"):
            assert axe_findings(page, OF_LOOK) == []
        assert record.complaints + record.failures + record.foreign(home) == []
    assert len(loaded) <= MOST["requests"]
    size = packed_load(site, home, loaded)
    largest = sorted(((packed_load(site, home, [url]), url) for url in loaded), reverse=True)[:5]
    assert size <= MOST["kilobytes"] * 1000, (size, largest)
    # Only a page that needs them loads the scripts of terms and of the search.
    requests = " ".join(record.requests)
    html = (site / f"{name}.html").read_text("utf-8")
    assert requests.count("/terms.js") == bool(links(html))
    assert requests.count("/search/search.js") == (name == "search")

    address = (site / f"{name}.html").as_uri()
    with open_page(browser, address, *second, closed=True) as (page, record):
        assert axe_findings(page) == []
        check_view(page, name, *second)
        # No rule is missing in the one style sheet.
        prepare(page, site)
        assert page.evaluate(MATCHING) == []
        findings = axe_findings(page, last=True)
        assert not findings, "\n".join(findings)
        assert record.complaints + record.failures + record.foreign("file:") == []


# All pages


def test_every_page_fits_on_a_phone_and_has_one_heading_without_javascript(browser, site, request):
    # The usual pages are opened one by one above.
    pages = PAGES if request.config.getoption("--full") else [*{*PAGES} - USUAL, "search"]
    wrong = {}
    with open_page(browser, "about:blank", NARROW, java_script_enabled=False) as (tab, record):
        for name in pages:
            tab.goto((site / f"{name}.html").as_uri())
            tab.evaluate(UNFOLD)
            tab.evaluate(FONTS)  # a button of one icon is narrower before the icon's font arrives
            assert tab.title().strip(), name
            assert len(tab.evaluate(VISIBLE, "h1")) == 1, name
            found = tab.evaluate(HARD_ON_A_PHONE) + tab.evaluate(TORN)
            if tab.evaluate("document.documentElement.scrollWidth") > NARROW:
                found.append(tab.evaluate(OVERFLOW))
            tab.set_viewport_size({"width": WIDE, "height": 800})
            found += tab.evaluate(TORN)
            tab.set_viewport_size({"width": NARROW, "height": 800})
            wrong |= {name: found} if found else {}
        assert wrong == {}
        assert record.failures + record.foreign("file:") == []


def test_what_every_page_names_is_its_own_and_light(site, texts):
    sizes = {}
    for name, html in texts.items():
        page = site / f"{name}.html"
        named = {(src or href).partition("?")[0] for src, href in LOADED.findall(html)}
        assert [address for address in named if ":" in address] == []
        files = {Path(normpath(page.parent / address)) for address in named} | {page}
        assert 10 < len(files) <= MOST["requests"], name
        sizes[name] = sum(map(packed_size, files))
    assert {name: size for name, size in sizes.items() if size > MOST["kilobytes"] * 1000} == {}


def test_terms_have_the_meanings_of_the_glossary_and_pictures_have_their_sizes(
    browser, site, texts
):
    with open_page(browser, (site / "chapters" / "notation.html").as_uri()) as (tab, _):
        meanings = tab.evaluate(MEANINGS)
        # A style sheet of another KaTeX version would leave superscripts as large as the line.
        line, superscript = tab.evaluate(
            """() => ['.katex', '.katex .msupsub .mtight'].map(selector =>
                parseFloat(getComputedStyle(document.querySelector(selector)).fontSize))"""
        )
        assert superscript < 0.8 * line
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
    with open_page(browser, "about:blank") as (page, record):
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


@pytest.mark.weekly
def test_a_printed_chapter_is_short(browser, home):
    with open_page(browser, f"{home}chapters/masked-softmax.html") as (page, _):
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= MOST["sheets"]


def test_without_scripts_paper_shows_the_text_alone(browser, home):
    with open_page(browser, f"{home}chapters/masks.html", java_script_enabled=False) as (page, _):
        page.emulate_media(media="print")
        around = page.locator(
            ".bd-header, .bd-header-article, .bd-sidebar, .prev-next-area, footer"
        )
        classes = "all => all.filter(e => e.checkVisibility()).map(e => e.className)"
        assert around.evaluate_all(classes) == []
        # At the top: no list of contents, which the theme would print on a page of its own.
        assert len(page.evaluate(VISIBLE, "h1")) == 1
        assert page.locator("#text p").first.bounding_box()["y"] < 150


def test_paper_is_light_with_hidden_answers_open_and_no_other(browser, home):
    state = """[document.documentElement.dataset.theme,
        document.querySelector('.attnbook-hidden-answer').open,
        [...document.querySelectorAll('.attnbook-hidden-answer')].at(-1).open,
        document.querySelector('.attnbook-answer:not(.attnbook-hidden-answer)').open]"""
    shut = "document.querySelectorAll('.attnbook-answer:not([open])').length"
    with open_page(browser, f"{home}chapters/masked-softmax.html", scheme="dark") as (page, _):
        # In the dark a picture has no pale box; its colours are tested with the pictures.
        pictures = page.locator("main :is(img, .attnbook-picture:not(.attnbook-heatmap) > svg)")
        style = "all => all.map(getComputedStyle).map(e => [e.backgroundColor, e.filter])"
        dark = ["rgba(0, 0, 0, 0)", "invert(0.95) hue-rotate(180deg)"]
        assert pictures.evaluate_all(style) == [dark] * pictures.count() != []
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
        page.locator(".attnbook-menu > summary").click()
        page.get_by_role("button", name="Show all answers").click()
        page.emulate_media(media="print")
        assert page.evaluate(shut) == 0
        parts = page.locator(".attnbook-answer > :not(summary)")
        assert parts.evaluate_all("all => all.every(part => part.checkVisibility())")


SCROLLED = """(part, at) => {
    part.scrollIntoView({ block: 'center' });
    part.scrollLeft = at * part.scrollWidth;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_long_formula_has_a_shadow_at_each_side_where_it_continues(browser, home, scheme):
    url = f"{home}chapters/masked-softmax.html"
    with open_page(browser, url, NARROW, scheme) as (page, _):
        long = "e => e.scrollWidth > e.clientWidth + 9 && e.checkVisibility()"
        index = page.locator("main .katex-display").evaluate_all(f"all => all.findIndex({long})")
        formula = page.locator("main .katex-display").nth(index)
        shaded = []
        for at in (0, 1):
            formula.evaluate(SCROLLED, at)
            grey = np.asarray(Image.open(io.BytesIO(formula.screenshot())).convert("L"), int)
            ground = np.median(grey)
            # A line at the edge: the shadow is as high as the formula, unlike its letters.
            shaded.append(tuple(abs(np.median(grey[:, x]) - ground) > 20 for x in (1, -2)))
        assert shaded == [(False, True), (True, False)]


SHIFTS = """
    window.shift = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
"""
STARTED = """![...document.querySelectorAll('.attnbook-view > .attnbook-static')]
    .some(still => still.checkVisibility())"""


def test_what_follows_a_figure_hardly_moves_when_it_starts(browser, home):
    page = browser.new_page(viewport={"width": NARROW, "height": 800})
    page.add_init_script(SHIFTS)
    page.goto(f"{home}chapters/position.html")
    page.wait_for_function(STARTED)
    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    assert page.evaluate("shift") < 0.05  # 0.2 without the heights that site.css reserves
    page.close()
