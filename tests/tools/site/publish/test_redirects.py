"""Old addresses of the built book redirect, with and without a server and JavaScript."""

from __future__ import annotations

import json
import re
import tomllib
from html import unescape

import pytest
from playwright.sync_api import expect

from tests.tools.site.site_checks import open_page
from tools import ROOT
from tools.site.publish.redirects import FILE, NAMES, address, script
from tools.site.reference.api import rooms

TABLE = tomllib.loads((ROOT / FILE).read_text("utf-8"))
MOVED = {
    f"{page}.html{anchor and '#'}{anchor}": address(target)
    for page, moved in TABLE.items()
    for anchor, target in moved.items()
    if anchor != NAMES
}
GONE, SECTION = "self-attention-and-position.html", "masks.html#one-mask-many-words"


@pytest.fixture
def chapters(site):
    """The address of the folder of pages, without a server."""
    return f"{site.as_uri()}/chapters/"


def test_each_old_page_has_the_script_and_that_of_the_api_leads_to_each_name(site):
    for page, moved in TABLE.items():
        html = (site / "chapters" / f"{page}.html").read_text("utf-8")
        assert NAMES in moved or script(moved) in html
    html = (site / "chapters" / "api.html").read_text("utf-8")
    moved = json.loads(unescape(re.search(r'data-moved="(.*?)"', html)[1]))
    typed = {anchor: address(target) for anchor, target in TABLE["api"].items() if anchor != NAMES}
    assert typed.items() <= moved.items()
    for room in rooms():
        for name in room.names:
            assert moved[name] == f"{room.page.removeprefix('chapters/')}.html#{name}"
    assert moved["attnbook.MultiHeadAttention.from_torch"].startswith("api-layers.html#")
    assert moved["module-attnbook.masking.rules"].startswith("api-masks.html#")


def test_an_old_address_leads_to_the_new_page_and_section(browser, chapters, request):
    assert {GONE, SECTION} <= MOVED.keys()
    # The script is the same on all pages, so that of each page the first address is enough.
    first_of_pages = {old.partition("#")[0]: old for old in reversed(MOVED)}
    every = MOVED if request.config.getoption("--full") else first_of_pages.values()
    with open_page(browser, "about:blank") as (tab, record):
        for old in every:
            tab.goto("about:blank")
            tab.goto(chapters + old, wait_until="commit")
            tab.wait_for_url(chapters + MOVED[old], wait_until="commit")
            if "#" in MOVED[old]:
                tab.locator(":target").wait_for()
        assert record.complaints + record.failures == []


def test_a_page_redirects_only_when_its_moved_section_is_requested(browser, chapters):
    with open_page(browser, f"{chapters}masks.html#a-prefix") as (tab, _):
        assert tab.url == f"{chapters}masks.html#a-prefix"
        expect(tab.get_by_role("heading", level=1)).to_be_visible()
        tab.evaluate("location.hash = 'one-mask-many-words'")
        tab.wait_for_url(f"{chapters}mask-table.html#the-same-mask-in-each-library")


# Counts what an old page has drawn when it is left.
COUNT_PAINTS = """addEventListener('pagehide', () => sessionStorage.setItem(
    `drawn ${location.pathname}`, performance.getEntriesByType('paint').length))"""


@pytest.mark.parametrize("old", [GONE, SECTION])
def test_nothing_is_drawn_before_the_new_page_and_back_skips_the_old_one(browser, home, old):
    with open_page(browser, f"{home}chapters/notation.html") as (tab, _):
        tab.add_init_script(COUNT_PAINTS)
        tab.goto(f"{home}chapters/{old}", wait_until="commit")
        tab.wait_for_url(f"{home}chapters/{MOVED[old]}")
        drawn = f"drawn /chapters/{old.partition('#')[0]}"
        assert tab.evaluate("name => sessionStorage.getItem(name)", drawn) == "0"
        tab.go_back()
        tab.wait_for_url(f"{home}chapters/notation.html")


def test_without_javascript_a_gone_page_leads_on_and_a_moved_section_is_a_link(browser, chapters):
    without = {"java_script_enabled": False}
    with open_page(browser, "about:blank", **without) as (tab, _):
        tab.goto(chapters + GONE, wait_until="commit")
        tab.wait_for_url(f"{chapters}self-attention.html")
    with open_page(browser, chapters + SECTION, **without) as (tab, _):
        link = tab.locator(":target").get_by_role("link", name="Mask table")
        expect(link).to_be_in_viewport()
        expect(tab.locator(".attnbook-moved:visible")).to_have_count(1)
        link.click()
        tab.wait_for_url(f"{chapters}mask-table.html#the-same-mask-in-each-library")
