"""The search of the built book, from a server and from a folder."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from urllib.parse import quote

import pytest
from playwright.sync_api import Route, expect

from tests.tools.site.site_checks import NARROW, READY, open_page, packed_load
from tools import BUDGETS

HITS = """() => [...document.querySelectorAll('#search-results li')].map(hit => ({
    link: hit.querySelector('a').getAttribute('href').replace(/^[.][/]|[?][^#]*/g, ''),
    excerpt: hit.querySelector('p.context')?.textContent ?? '',
}))"""
CUT = """() => [...document.querySelectorAll('article .highlighted')].filter(mark =>
    /\\w$/.test(mark.previousSibling?.textContent ?? '') ||
    /^\\w/.test(mark.nextSibling?.textContent ?? '')).map(mark => mark.textContent)"""
LATE = """[...document.querySelectorAll('script[type="text/late"]')].map(late => late.src)"""
# Queries, what each quoted hit holds, and where the book is read.
FOUND = [
    ("http", "mask", "mask"),
    ("file", "key", "key"),  # its stem is "kei"
    ("http", "<b> & 'x' [softmax](", "softmax"),
    ("http", "√d", "√d"),
]
ADVICE = {
    "the": "such words are on every page",
    "atention wieghts": "Found 50 places for “attention weights”.",
    "zzyzx": "Check its spelling",
    "\\frac": "Formulas are found as they are shown",
    "   ": "Nothing was typed",
    "__proto__": "“__proto__” did not match",
    "<>": "“<>” did not match",
}
FIELD = "input[name=q]:focus"


@pytest.fixture(scope="module")
def root_of(home, site):
    return {"http": home, "file": site.as_uri() + "/"}


def finish(tab):
    tab.locator("#search-results h2", has_text="Search Results").wait_for(state="attached")


@pytest.fixture(scope="module")
def search(browser, root_of):
    """A function that searches, in one tab per way, and gives the tab; nothing may go wrong."""
    tabs = {}
    with ExitStack() as stack:

        @contextmanager
        def go(way: str, query: str):
            if way not in tabs:
                tabs[way] = stack.enter_context(open_page(browser, "about:blank"))
            tab, record = tabs[way]
            tab.goto(f"{root_of[way]}search.html?q={quote(query)}")
            finish(tab)
            yield tab
            assert record.complaints + record.failures == []

        yield go


@pytest.mark.parametrize(("way", "query", "holds"), FOUND)
def test_each_hit_is_quoted(search, way, query, holds):
    with search(way, query) as tab:
        for hit in tab.locator("#search-results li").all():
            hit.scroll_into_view_if_needed()  # quotes of the last ones come when they are near
            expect(hit.locator("p.context")).not_to_be_empty()
        hits = tab.evaluate(HITS)
        quotes = [hit["excerpt"].lower() for hit in hits if hit["excerpt"]]
        assert quotes
        assert [quote for quote in quotes if holds not in quote] == []
        assert not any("contents" in quote for quote in quotes)
        if query == "mask":  # a hit within a page is quoted from there on
            excerpts = {hit["link"]: hit["excerpt"] for hit in hits}
            assert excerpts["chapters/notation.html#term-mask"].startswith("mask ")
            of_page = [text for link, text in excerpts.items() if text and "notation.html#" in link]
            assert len({*of_page}) == len(of_page) > 1


def test_a_search_without_hits_or_with_another_spelling_is_explained(search):
    for query, advice in ADVICE.items():
        with search("http", query) as tab:
            assert advice in tab.locator(".search-summary").inner_text(), query
            assert bool(tab.evaluate(HITS)) == advice.startswith("Found"), query


def test_who_types_nothing_gets_a_hint_and_no_hits(browser, home, site):
    with open_page(browser, f"{home}search.html?q=%20%20") as (tab, record):
        hint = tab.locator("#attnbook-search-hint")
        expect(hint).to_be_visible()
        links = [link.get_attribute("href") for link in hint.locator("a").all()]
        assert len(links) == 3
        assert [link for link in links if not (site / link).exists()] == []
        assert tab.evaluate(HITS) == []
        tab.locator(".bd-search-container input").fill("softmax")
        tab.keyboard.press("Enter")
        finish(tab)
        expect(hint).to_be_hidden()
        assert record.complaints + record.failures == []


def test_whole_words_are_marked_in_the_place_that_a_hit_opens(browser, home):
    name = "attnbook.costs.generation.ModelSizes"
    with open_page(browser, f"{home}search.html?q=size") as (tab, record):
        finish(tab)
        tab.locator(f"#search-results a[href$='#{name}']").first.click()
        tab.wait_for_url(f"**#{name}")
        tab.locator("article .highlighted").first.wait_for()
        within = tab.locator(f"dl:has(> dt[id='{name}']) .highlighted")
        marked = [text.lower() for text in within.all_text_contents()]
        assert {*marked} <= {"size", "sizes", "sized"}
        assert tab.locator(".highlighted").count() == len(marked)
        assert tab.evaluate(CUT) == []
        assert record.complaints + record.failures == []


def test_a_hit_opens_at_its_place_all_is_light_and_a_slash_leads_back(browser, home, site):
    with open_page(browser, f"{home}search.html?q=GQA") as (tab, record):
        finish(tab)
        # Late scripts start at a sign of a reader; a browser may report one when hits are drawn.
        first = {*record.requests} - {*tab.evaluate(LATE)}
        assert packed_load(site, home, first) <= BUDGETS["kilobytes"]["search"] * 1000
        tab.locator("#search-results a", has_text="grouped heads").first.click()
        tab.wait_for_url("**/notation.html*#term-grouped-heads")
        expect(tab.locator("#term-grouped-heads")).to_be_in_viewport()
        tab.evaluate(READY)
        tab.keyboard.press("/")
        tab.locator(FIELD).wait_for()
        assert tab.locator(FIELD).input_value() == ""
        assert record.complaints + record.failures == []


@pytest.mark.parametrize("way", ["http", "file"])
def test_places_are_found_while_a_query_is_typed(browser, root_of, way):
    with open_page(browser, f"{root_of[way]}chapters/masks.html", NARROW) as (tab, record):
        tab.keyboard.press("Control+k")  # the first thing on this page
        tab.locator(FIELD).press_sequentially("paddi")
        tab.locator(FIELD).fill("zzyzx")
        expect(tab.locator("dialog[open] .search-summary")).to_contain_text("Check its spelling")
        tab.locator(FIELD).fill("paddi")
        requests = [url for url in record.requests if "/search/" in url]
        assert len({*requests}) == len(requests)
        tab.locator("dialog[open] li a", has_text="Notation and glossary > padding").click()
        tab.wait_for_url("**/notation.html#term-padding")
        expect(tab.locator(".highlighted").first).to_be_attached()
        # What is marked is marked on the page that a hit led to, and there alone.
        tab.goto(f"{root_of[way]}search.html?q=key")
        finish(tab)
        tab.goto(f"{root_of[way]}chapters/masked-softmax.html")
        tab.evaluate(READY)
        assert tab.locator(".highlighted").count() == 0
        tab.goto(f"{root_of[way]}search.html?q=key")
        tab.locator(".bd-search-container input").fill("softm")
        expect(tab.locator(".search-summary")).to_contain_text("Found")
        expect(tab.locator("#search-results li a").first).to_contain_text("softmax")
        assert tab.url.endswith("?q=softm")
        assert tab.evaluate("document.documentElement.scrollWidth") == NARROW
        assert record.complaints + record.failures == []


def test_a_query_in_another_language_leads_to_welcome(search):
    with search("http", "注意力") as tab:
        assert "This book is in English." in tab.locator("#search-results").inner_text()
        assert tab.evaluate(HITS)[0]["link"] == "chapters/welcome.html"


def test_parts_that_do_not_arrive_are_asked_for_again(browser, home):
    with open_page(browser, "about:blank") as (tab, record):
        tab.route("**/search/texts-*", lambda route: route.abort())
        tab.goto(f"{home}search.html?q=softmax")
        expect(tab.locator(".search-summary")).to_contain_text("did not arrive")
        tab.unroute("**/search/texts-*")
        record.complaints.clear()
        tab.locator(".bd-search-container input").fill("padding")
        expect(tab.locator("#search-results li p").first).to_contain_text("padding")
        assert record.complaints == []


def test_a_word_typed_on_a_chapter_of_a_folder_leads_to_where_it_is(browser, root_of):
    with open_page(browser, f"{root_of['file']}chapters/mask-table.html", NARROW) as (tab, record):
        tab.locator(".search-button:visible").first.click()
        expect(tab.locator(FIELD)).to_be_focused()  # what is typed before goes nowhere
        tab.keyboard.type("softmax")
        tab.keyboard.press("Enter")
        finish(tab)
        assert "/search.html?q=softmax" in tab.url
        tab.locator("#search-results li a:not([href*='#'])").first.click()
        tab.locator("article .highlighted").first.wait_for()
        assert record.complaints + record.failures == []


def test_a_click_before_the_scripts_arrive_is_not_lost(browser, home):
    with open_page(browser, "about:blank") as (tab, record):
        delayed: list[Route] = []

        def delay(route: Route) -> None:
            delayed.append(route)

        tab.route("**/pydata-sphinx-theme.js*", delay)
        with tab.expect_request("**/pydata-sphinx-theme.js*"):
            tab.goto(f"{home}chapters/welcome.html", wait_until="domcontentloaded")
            tab.locator(".search-button-field").click()
        assert tab.locator(FIELD).count() == 0
        delayed[0].continue_()  # the route is reported after its request: by now it has been
        tab.locator(FIELD).wait_for()
        # Only what came too early is done once more.
        tab.keyboard.press("Escape")
        tab.locator(".search-button-field").click()
        tab.locator(FIELD).wait_for()
        assert record.complaints + record.failures == []
