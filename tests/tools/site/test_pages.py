"""Each page of the built book: opened wide and light, narrow and dark, and without a server."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import pytest

from tests.tools.site.left_out import MATCHING, prepare
from tests.tools.site.site_checks import (
    JUDGED,
    NARROW,
    UNFOLD,
    WIDE,
    dead_links,
    opened,
    packed_load,
    packed_size,
)
from tests.tools.site.term_links import EACH_OUTSIDE, FITTED, MEANINGS, links, untold

KILOBYTES, REQUESTS, ELEMENTS = 350, 40, 20_000
PRINTED = 32  # sheets of a chapter with many figures

NUMBERED = re.compile(r'id="(equation-[\w-]+)">.*?class="eqno">\((\d+)\)', re.DOTALL)
REFERENCES = re.compile(r'href="([\w.-]*)#(equation-[\w-]+)">\((\d+)\)</a>')

PICTURE = re.compile(r"<img\b[^>]*>")
SIZED = re.compile(r'width="\d+" height="\d+"')


@pytest.fixture
def looks(visit, name):
    """A page as it is judged: wide and light, and narrow and dark."""
    return [visit(name, width, scheme) for width, scheme in JUDGED]


@pytest.fixture
def wide(looks):
    return looks[0]


@pytest.fixture
def html(site, name):
    return (site / f"{name}.html").read_text("utf-8")


class FromFolder(NamedTuple):
    """What is wrong with a page that is opened as a file."""

    complaints: list[str]
    without_rule: list[str]
    meanings_outside: list[str]


@pytest.fixture(scope="module")
def open_file(browser, site):
    """A function that opens a page without a server, once."""

    @cache
    def go(name: str) -> FromFolder:
        with opened(browser, (site / f"{name}.html").as_uri()) as (tab, record):
            tab.evaluate(UNFOLD)
            prepare(tab, site)
            without_rule = tab.evaluate(MATCHING)
            outside = []
            for width in (WIDE, NARROW):
                tab.set_viewport_size({"width": width, "height": 800})
                tab.wait_for_function(FITTED)
                outside += tab.evaluate(EACH_OUTSIDE)
        return FromFolder(record.complaints + record.failures, without_rule, outside)

    return go


@pytest.fixture(scope="module")
def meanings(browser, site):
    """The meaning of each term in the glossary."""
    with opened(browser, (site / "chapters" / "notation.html").as_uri()) as (tab, _):
        found = tab.evaluate(MEANINGS)
    assert len(found) > 40
    assert all(found.values())
    return found


# What is asked of every page; of a page that is opened as a file, of a few

a_few_pages = pytest.mark.few(8)


def test_the_page_is_quiet_and_complete(looks, home):
    for record in looks:
        assert record.complaints + record.failures + record.foreign(home) == []


@a_few_pages
def test_the_page_is_quiet_without_a_server(open_file, name):
    assert open_file(name).complaints == []


@a_few_pages
def test_nothing_on_the_page_lacks_a_rule(open_file, name):
    assert open_file(name).without_rule == []


@a_few_pages
def test_no_meaning_leaves_the_window_or_covers_its_term(open_file, name):
    assert open_file(name).meanings_outside == []


def test_axe_finds_nothing_serious(looks):
    for record in looks:
        assert not record.findings, "\n".join(record.findings)


def test_a_phone_never_scrolls_sideways(looks):
    assert looks[1].scroll_width <= NARROW, looks[1].overflow


def test_a_finger_hits_each_control_and_charts_and_tables_fit_a_phone(looks):
    assert looks[1].hard_on_a_phone == []


def test_the_page_has_a_title_one_heading_and_one_search(looks):
    for record in looks:
        assert record.title.strip()
        assert len(record.headings) == 1, record.headings
        assert len(record.searches) == 1, record.searches


def test_no_dot_is_a_line_without_length(wide):
    assert wide.flat_dots == []


def test_the_first_load_is_light(wide, site, home):
    loaded = {*wide.requests, wide.icon}
    assert len(loaded) <= REQUESTS
    size = packed_load(site, home, loaded)
    largest = sorted(((packed_load(site, home, [url]), url) for url in loaded), reverse=True)[:5]
    assert size <= KILOBYTES * 1000, (size, largest)


def test_a_page_has_no_more_elements_than_a_phone_can_bear(wide):
    assert 100 < wide.elements <= ELEMENTS


def test_the_page_has_an_icon(wide, site, home):
    assert packed_size(site / wide.icon.removeprefix(home)) > 0


def test_only_a_page_that_needs_them_loads_the_scripts_of_terms_and_of_excerpts(wide, name, html):
    requests = " ".join(wide.requests)
    assert requests.count("/terms.js") == bool(links(html))
    assert requests.count("/excerpts.js") == (name == "search")


def test_each_term_has_the_meaning_of_the_glossary(html, meanings):
    assert untold(html, meanings) == []


def test_every_picture_has_its_size_in_its_tag(html):
    pictures = PICTURE.findall(html)
    assert pictures  # the logo, at least
    assert [one for one in pictures if not SIZED.search(one)] == []


@pytest.mark.parametrize("look", [(WIDE, "dark"), (NARROW, "light")])
def test_the_page_with_most_figures_is_quiet_in_the_other_looks(visit, home, look):
    record = visit("chapters/bahdanau-attention", *look)
    assert record.complaints + record.failures + record.foreign(home) == []
    assert (len(record.headings), len(record.searches)) == (1, 1)
    assert record.scroll_width <= look[0], record.overflow


# What is asked of the site


def test_most_pages_link_to_terms(site):
    pages = [links(page.read_text("utf-8")) for page in (site / "chapters").glob("*.html")]
    assert sum(map(bool, pages)) > 10


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


def test_each_reference_to_a_formula_has_the_number_of_that_formula(site):
    pages = {page.name: page.read_text("utf-8") for page in (site / "chapters").glob("*.html")}
    numbers = {
        (name, place): number
        for name, html in pages.items()
        for place, number in NUMBERED.findall(html)
    }
    references = [
        ((target or name, place), number)
        for name, html in pages.items()
        for target, place, number in REFERENCES.findall(html)
    ]
    assert references
    assert [each for each in references if numbers[each[0]] != each[1]] == []


def test_the_cheat_sheet_is_one_sheet(browser, home):
    with opened(browser, f"{home}chapters/summary.html") as (page, _):
        for paper in ("A4", "Letter"):
            assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper))) == 1


def test_a_printed_chapter_is_short_unless_its_answers_are_shown(browser, home):
    def count() -> int:
        return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))

    with opened(browser, f"{home}chapters/masked-softmax.html") as (page, _):
        closed = count()
        page.get_by_role("button", name="Show all answers").click()
        shown = count()
    assert closed <= PRINTED
    assert shown > closed + 5


def test_pictures_get_no_pale_box_in_the_dark_and_paper_is_light_with_hidden_answers_open(
    browser, home
):
    style = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).filter]"
    state = """[document.documentElement.dataset.theme,
        document.querySelector('.attnbook-hidden-answer').open,
        [...document.querySelectorAll('.attnbook-hidden-answer')].at(-1).open,
        document.querySelector('.attnbook-answer:not(.attnbook-hidden-answer)').open]"""
    with opened(browser, f"{home}chapters/masked-softmax.html", scheme="dark") as (page, _):
        picture = page.locator("main img").first
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
