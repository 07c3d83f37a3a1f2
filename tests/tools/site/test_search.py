"""The search of the built book, from a server and from a folder."""

from __future__ import annotations

from contextlib import contextmanager
from urllib.parse import quote

import pytest
from playwright.sync_api import Route

from tests.tools.site.site_checks import NARROW, WIDE, opened

HITS = """() => [...document.querySelectorAll('#search-results li')].map(hit => ({
    link: hit.querySelector('a').getAttribute('href'),
    described: hit.querySelector('a + span') !== null,
    excerpt: hit.querySelector('p.context')?.textContent ?? '',
}))"""
FOUND = {
    "mask": "mask",
    "softmax": "softmax",
    "key": "key",  # its stem is "kei"
    "neighbourhood": "neighbourhood",  # on the reference's page only
    "additive attention": "attention",
    "<b> & 'x' [softmax](": "softmax",
}
NOWHERE = ["zzyzx", "constructor", "__proto__", "<>"]

each_way = pytest.mark.parametrize("way", ["http", "file"])


@pytest.fixture
def root(way, home, site):
    return home if way == "http" else site.as_uri() + "/"


def finish(tab):
    tab.locator("#search-results h2", has_text="Search Results").wait_for(state="attached")


@pytest.fixture
def search(browser, root):
    """A function that opens the search page and gives the tab; nothing may go wrong there."""

    @contextmanager
    def go(query: str):
        with opened(browser, f"{root}search.html?q={quote(query)}") as (tab, record):
            finish(tab)
            yield tab
            assert record.complaints + record.failures == []

    return go


@each_way
@pytest.mark.parametrize("query", FOUND)
def test_each_hit_without_a_description_is_quoted(search, query):
    with search(query) as tab:
        hits = tab.evaluate(HITS)
        assert hits
        assert [hit for hit in hits if not (hit["described"] or len(hit["excerpt"]) > 40)] == []
        quotes = [hit["excerpt"].lower() for hit in hits if hit["excerpt"]]
        assert quotes
        assert [quote for quote in quotes if FOUND[query] not in quote] == []
        assert not any("contents" in quote for quote in quotes)


@each_way
@pytest.mark.parametrize("query", NOWHERE)
def test_a_word_that_stands_nowhere_gets_a_sentence(search, query):
    with search(query) as tab:
        assert "did not match" in tab.locator(".search-summary").inner_text()
        assert tab.evaluate(HITS) == []


@each_way
def test_a_hit_within_a_page_is_quoted_from_there_on(search):
    with search("mask") as tab:
        hits = {hit["link"]: hit["excerpt"] for hit in tab.evaluate(HITS)}
        assert hits["chapters/notation.html#term-mask"].startswith("mask ")


@each_way
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_word_typed_on_a_chapter_leads_to_its_places(browser, root, width):
    with opened(browser, f"{root}chapters/welcome.html", width) as (tab, record):
        tab.locator(".search-button-field:visible, .search-button:visible").first.click()
        tab.locator("input[name=q]:focus").wait_for()
        tab.keyboard.type("softmax")
        tab.keyboard.press("Enter")
        finish(tab)
        assert "/search.html?q=softmax" in tab.url
        tab.locator("#search-results li a[href$='.html']").first.click()
        tab.locator("article .highlighted").first.wait_for()
        assert record.complaints + record.failures == []


def test_a_click_before_the_scripts_are_there_is_not_lost(browser, home):
    with opened(browser, "about:blank") as (tab, record):
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        tab.route("**/pydata-sphinx-theme.js*", hold)
        tab.goto(f"{home}chapters/welcome.html", wait_until="domcontentloaded")
        tab.locator(".search-button-field").click()
        tab.wait_for_timeout(600)
        assert held
        assert tab.locator("input[name=q]:focus").count() == 0
        held[0].continue_()
        tab.locator("input[name=q]:focus").wait_for()
        # Only what came too early is done once more.
        tab.keyboard.press("Escape")
        tab.locator(".search-button-field").click()
        tab.locator("input[name=q]:focus").wait_for()
        assert record.complaints + record.failures == []


def test_only_the_search_page_loads_what_it_quotes(visit, name):
    loaded = [url for url in visit(name, WIDE, "light").requests if "excerpts.js" in url]
    assert len(loaded) == (name == "search")
