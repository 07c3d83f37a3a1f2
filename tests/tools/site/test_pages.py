"""Each page of the built book, wide and narrow, light and dark."""

from __future__ import annotations

import re

import pytest

from tests.tools.site.site_checks import (
    JUDGED,
    LOOKS,
    NARROW,
    WIDE,
    dead_links,
    opened,
    packed_load,
    packed_size,
)

KILOBYTES, REQUESTS, ELEMENTS = 350, 40, 20_000

NUMBERED = re.compile(r'id="(equation-[\w-]+)">.*?class="eqno">\((\d+)\)', re.DOTALL)
REFERENCES = re.compile(r'href="([\w.-]*)#(equation-[\w-]+)">\((\d+)\)</a>')

PICTURE = re.compile(r"<img\b[^>]*>")
SIZED = re.compile(r'width="\d+" height="\d+"')

each_look = pytest.mark.parametrize(("width", "scheme"), LOOKS)


@each_look
def test_the_console_stays_silent(visit, name, width, scheme):
    assert visit(name, width, scheme).complaints == []


def test_the_console_stays_silent_without_a_server(browser, site, name):
    with opened(browser, (site / f"{name}.html").as_uri()) as (_, record):
        assert record.complaints + record.failures == []


@each_look
def test_nothing_comes_from_another_host_and_nothing_is_missing(visit, home, name, width, scheme):
    record = visit(name, width, scheme)
    assert record.foreign(home) + record.failures == []


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
def test_axe_finds_nothing_serious(visit, name, width, scheme):
    findings = visit(name, width, scheme).findings
    assert not findings, "\n".join(findings)


def test_a_phone_never_scrolls_sideways(visit, name):
    record = visit(name, NARROW, "light")
    assert record.scroll_width <= NARROW, record.overflow


def test_no_dot_is_a_line_without_length(visit, name):
    assert visit(name, WIDE, "light").flat_dots == []


@each_look
def test_each_page_has_a_title_one_heading_and_one_search(visit, name, width, scheme):
    record = visit(name, width, scheme)
    assert record.title.strip()
    assert len(record.headings) == 1, record.headings
    assert len(record.searches) == 1, record.searches


def test_the_first_load_is_light(visit, site, home, name):
    record = visit(name, WIDE, "light")
    loaded = {*record.requests, record.icon}
    assert len(loaded) <= REQUESTS
    size = packed_load(site, home, loaded)
    largest = sorted(((packed_load(site, home, [url]), url) for url in loaded), reverse=True)[:5]
    assert size <= KILOBYTES * 1000, (size, largest)


def test_a_page_has_no_more_elements_than_a_phone_can_bear(visit, name):
    assert 100 < visit(name, WIDE, "light").elements <= ELEMENTS


def test_every_picture_says_its_size_before_it_is_there(site, name):
    pictures = PICTURE.findall((site / f"{name}.html").read_text("utf-8"))
    assert pictures  # the logo, at least
    assert [one for one in pictures if not SIZED.search(one)] == []


def test_the_page_has_an_icon(visit, site, home, name):
    assert packed_size(site / visit(name, WIDE, "light").icon.removeprefix(home)) > 0


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
    with opened(browser, home) as (page, record):
        page.wait_for_url("**/welcome.html")
        assert record.complaints == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_search_button_opens_a_field_that_takes_the_focus(browser, home, width):
    with opened(browser, f"{home}chapters/welcome.html", width) as (page, record):
        page.locator(".search-button-field:visible, .search-button:visible").first.click()
        page.keyboard.type("softmax")
        assert page.locator("#pst-search-dialog input").input_value() == "softmax"
        assert record.complaints == []


def test_pictures_of_the_book_get_no_pale_box_in_the_dark(browser, home):
    with opened(browser, f"{home}chapters/welcome.html", scheme="dark") as (page, _):
        style = page.locator("main img").first.evaluate(
            "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).filter]"
        )
        assert style == ["rgba(0, 0, 0, 0)", "none"]


def test_formulas_are_set_with_small_superscripts(browser, home):
    # A style sheet of another KaTeX version would leave them as large as the line.
    with opened(browser, f"{home}chapters/scaled-dot-product-attention.html") as (page, _):
        sizes = page.evaluate(
            """() => ['.katex', '.katex .msupsub .mtight'].map(selector =>
                parseFloat(getComputedStyle(document.querySelector(selector)).fontSize))"""
        )
        assert sizes[1] < 0.8 * sizes[0]


def test_a_progress_bar_is_shown_when_it_is_full_and_no_earlier(site):
    page = (site / "chapters" / "bahdanau-attention.html").read_text("utf-8")
    assert page.count("█ trained") == 1
    assert "░" not in page


def test_each_reference_to_a_formula_says_the_number_beside_it(site):
    pages = {page.name: page.read_text("utf-8") for page in (site / "chapters").glob("*.html")}
    numbers = {(n, at): said for n, html in pages.items() for at, said in NUMBERED.findall(html)}
    told = [
        ((target or name, at), said)
        for name, html in pages.items()
        for target, at, said in REFERENCES.findall(html)
    ]
    assert told
    assert [(place, said) for place, said in told if numbers[place] != said] == []


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_cheat_sheet_is_one_sheet(browser, home, paper):
    with opened(browser, f"{home}chapters/summary.html") as (page, _):
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper))) == 1


def test_paper_is_light_and_shows_the_folded_answers(browser, home):
    state = "[document.documentElement.dataset.theme, document.querySelector('details').open]"
    with opened(browser, f"{home}chapters/welcome.html", scheme="dark") as (page, _):
        before = page.evaluate(state)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert (before, page.evaluate(state)) == (["dark", False], ["light", True])
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(state) == before
