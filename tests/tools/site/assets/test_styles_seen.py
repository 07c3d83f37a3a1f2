"""No rule is missing: what the one style sheet leaves out matches nothing, whatever is open.

`test_pages.py` tests each page as it is loaded; here a reader opens more on it.
"""

from __future__ import annotations

from playwright.sync_api import expect

from tests.tools.site.left_out import MATCHING, prepare
from tests.tools.site.site_checks import NARROW, UNFOLD, WIDE, open_page, packed_size
from tools import BUDGETS
from tools.site.assets.styles import BUNDLE

CHAPTER = "chapters/self-attention.html"
BUTTONS = ":is(.primary-toggle, .secondary-toggle, .search-button, .attnbook-menu summary):visible"
CLOSED = "details:not([open]) :is(pre, .cell_output > .output)"
# Those of sections that are far away are measured once these have a layout.
NOT_MEASURED = """[...document.querySelectorAll('details[open] :is(pre, .cell_output > .output)')]
    .filter(each => each.checkVisibility({contentVisibilityAuto: true}))
    .filter(each => !each.hasAttribute('tabindex'))"""
OPENED = "dialog[open], .attnbook-menu[open]"


def test_the_style_sheet_is_light_and_no_dialog_and_no_menu_lacks_a_rule(browser, site, home):
    assert (
        10_000 < packed_size(site / "_static" / BUNDLE) < BUDGETS["kilobytes"]["style_sheet"] * 1000
    )
    with open_page(browser, home + CHAPTER, NARROW) as (tab, _):
        prepare(tab, site)
        assert tab.evaluate(MATCHING) == []
        buttons = tab.locator(BUTTONS).all()
        assert len(buttons) > 2
        for button in buttons:
            button.click()
            expect(tab.locator(OPENED)).to_have_count(1)
            assert tab.evaluate(MATCHING) == []
            tab.keyboard.press("Escape")
            expect(tab.locator(OPENED)).to_have_count(0)
        # What is in a closed answer is measured when it is opened.
        assert tab.locator(CLOSED).count() > 5
        assert tab.locator(f"{CLOSED}[tabindex]").count() == 0
        tab.evaluate(UNFOLD)
        tab.wait_for_function(f"{NOT_MEASURED}.length === 0")


ADD = """() => {
    const code = document.createElement("pre");
    code.id = "added";
    code.style = "height: 8rem; scrollbar-width: none"; // as on a phone, its size stays
    code.textContent = "a long line ".repeat(99);
    document.querySelector("article section section p").before(code);
}"""


def test_the_keyboard_reaches_code_that_scrolls_also_if_a_figure_adds_or_changes_it(browser, home):
    with open_page(browser, home + CHAPTER, WIDE) as (tab, _):
        tab.evaluate(ADD)
        tab.locator("#added[tabindex='0']").wait_for()
        tab.evaluate("document.getElementById('added').textContent = 'a short line'")
        tab.locator("#added[tabindex='-1']").wait_for()


def test_nothing_under_the_pointer_lacks_a_rule(browser, site, home):
    with open_page(browser, home + CHAPTER, WIDE, "dark") as (tab, _):
        prepare(tab, site)
        tab.locator("div.highlight:visible").first.hover()
        tab.locator("button.copybtn:visible").first.click()
        missing = tab.evaluate(MATCHING)
        tab.locator(".theme-switch-button:visible").first.hover()
        tab.locator(".tooltip").wait_for()
        missing += tab.evaluate(MATCHING)
        tab.locator(".theme-switch-button:visible").first.click()
        tab.locator("a:has(> .std-term)").first.hover()
        tab.locator(".term-meaning").first.wait_for()
        assert missing + tab.evaluate(MATCHING) == []


def test_no_hit_of_a_search_lacks_a_rule_and_one_that_is_missing_is_noticed(browser, site, home):
    with open_page(browser, f"{home}search.html?q=softmax") as (tab, _):
        tab.locator("#search-results li p.context").first.wait_for()
        prepare(tab, site)
        assert tab.evaluate(MATCHING) == []
        tab.locator("#search-results li a").first.click()
        tab.locator("span.highlighted").first.wait_for(state="attached")
        prepare(tab, site)
        assert tab.evaluate(MATCHING) == []
        tab.evaluate("document.body.classList.add('carousel-fade', 'toast-header')")
        assert ".toast-header" in tab.evaluate(MATCHING)
