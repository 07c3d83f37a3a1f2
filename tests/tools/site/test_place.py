"""Back shows a page where the reader left it, and a link its section."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.tools.site.site_checks import open_page
from tests.tools.site.test_table_of_contents import MOUNTED

TOP = "document.querySelector('#a-leak-and-the-test-that-finds-it').getBoundingClientRect().top"


def test_back_restores_the_position_that_was_read(browser, home):
    with open_page(browser, f"{home}chapters/self-attention.html") as (tab, record):
        tab.evaluate(
            "document.querySelector('#a-leak-and-the-test-that-finds-it').scrollIntoView()"
        )
        before = tab.evaluate(TOP)
        tab.goto(f"{home}chapters/welcome.html")
        tab.go_back()
        tab.wait_for_function(MOUNTED)
        tab.wait_for_function(f"Math.abs({TOP} - {before}) < 3")
        # The position is restored until all figures have started; then the reader scrolls.
        tab.wait_for_function("history.scrollRestoration === 'auto'")
        tab.wait_for_function(f"Math.abs({TOP} - {before}) < 3")
        assert record.complaints == []


def test_from_the_first_key_on_the_reader_scrolls(browser, home):
    with open_page(browser, f"{home}chapters/self-attention.html") as (tab, _):
        tab.evaluate(
            "document.querySelector('#a-leak-and-the-test-that-finds-it').scrollIntoView()"
        )
        tab.route("**/live/host.js*", lambda route: route.abort())  # no figure comes
        tab.reload(wait_until="commit")
        tab.wait_for_function("history.scrollRestoration === 'manual'")
        tab.keyboard.press("Home")
        tab.wait_for_function("history.scrollRestoration === 'auto'")
        # A busy page may drop the first key's scroll, which is smooth.
        tab.keyboard.press("Home")
        tab.wait_for_function("scrollY === 0")


HEADING = "document.querySelector('#practice h2').getBoundingClientRect().top"


def test_a_link_leads_to_a_section_that_is_closed(browser, home):
    url = f"{home}chapters/self-attention.html"
    with open_page(browser, url, 1600, closed=True) as (tab, record):
        expect(tab.locator("#practice p").first).to_be_hidden()
        tab.locator("nav.page-toc a[href='#practice']").click()
        tab.wait_for_function("history.scrollRestoration === 'manual'")
        tab.wait_for_function("history.scrollRestoration === 'auto'")  # then nothing holds it still
        assert 0 <= tab.evaluate(HEADING) < 100
        expect(tab.locator("#practice p").first).to_be_visible()
        assert record.complaints == []
