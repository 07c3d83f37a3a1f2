"""No rule is missing: what the one style sheet leaves out matches nothing, whatever is open."""

from __future__ import annotations

from tests.tools.site.site_checks import NARROW, WIDE, opened, packed_size
from tools.site.styles import BUNDLE, one_style

KILOBYTES = 32

# Its selectors as the browser reads them, without what a pointer, the keyboard or a box adds.
LEFT_OUT = r"""async (whole) => {
    const split = (selectors) => selectors.split(/,(?![^(]*\))/).map((one) => one.trim());
    const look = (rules) => [...rules].flatMap((rule) =>
        [...split((rule.style?.length && rule.selectorText) || ''), ...look(rule.cssRules ?? [])]);
    const selectors = (text) => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(text);
        return look(sheet.cssRules).map((one) => one.replace(moments, '')).filter(Boolean);
    };
    const moments = new RegExp('::?(before|after|marker|placeholder|hover|active|visited|target|'
        + 'checked|focus(-visible|-within)?)(?![\\w-])', 'g');
    const { href } = document.querySelector('link[rel=stylesheet]');
    const used = new Set(selectors(await (await fetch(href)).text()));
    window.leftOut = [...new Set(selectors(whole))].filter((one) =>
        !used.has(one) && CSS.supports(`selector(${one})`));
    return window.leftOut.length;
}"""
MATCHING = "() => window.leftOut.filter((one) => document.querySelector(one))"


def prepare(tab, site):
    """Let a page know what its style sheet leaves out."""
    assert tab.evaluate(LEFT_OUT, one_style(site / "_static")) > 1000


def test_the_style_sheet_is_light(site):
    assert 10_000 < packed_size(site / "_static" / BUNDLE) < KILOBYTES * 1000


def test_nothing_on_a_page_lacks_a_rule(browser, site, home, name):
    with opened(browser, f"{home}{name}.html") as (tab, _):
        prepare(tab, site)
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        assert tab.evaluate(MATCHING) == []


def test_no_dialog_and_no_menu_lacks_a_rule(browser, site, home):
    with opened(browser, f"{home}chapters/masked-softmax.html", NARROW) as (tab, _):
        tab.wait_for_function("'bootstrap' in window")
        prepare(tab, site)
        missing = []
        for button in (
            ".primary-toggle",
            ".secondary-toggle",
            ".search-button",
            ".dropdown-toggle",
        ):
            for one in tab.locator(f"{button}:visible").all():
                one.click()
                tab.wait_for_timeout(300)
                missing += tab.evaluate(MATCHING)
                tab.keyboard.press("Escape")
        assert missing == []


def test_nothing_under_the_pointer_lacks_a_rule(browser, site, home):
    with opened(browser, f"{home}chapters/masked-softmax.html", WIDE, "dark") as (tab, _):
        tab.locator("button.copybtn").first.wait_for(state="attached")
        prepare(tab, site)
        tab.locator("div.highlight").first.hover()
        tab.locator("button.copybtn").first.click()
        missing = tab.evaluate(MATCHING)
        tab.locator(".theme-switch-button:visible").first.hover()
        tab.locator(".tooltip").wait_for()
        missing += tab.evaluate(MATCHING)
        tab.locator(".theme-switch-button:visible").first.click()
        tab.locator("a:has(> .std-term)").first.hover()
        tab.locator(".term-meaning").first.wait_for()
        assert missing + tab.evaluate(MATCHING) == []


def test_no_hit_of_a_search_lacks_a_rule(browser, site, home):
    with opened(browser, f"{home}search.html?q=softmax") as (tab, _):
        tab.locator("#search-results li p.context").first.wait_for()
        prepare(tab, site)
        assert tab.evaluate(MATCHING) == []
        tab.locator("#search-results li a").first.click()
        tab.locator("span.highlighted").first.wait_for(state="attached")
        prepare(tab, site)
        assert tab.evaluate(MATCHING) == []


def test_a_rule_that_is_missing_is_noticed(browser, site, home):
    with opened(browser, f"{home}chapters/welcome.html") as (tab, _):
        prepare(tab, site)
        tab.evaluate("document.body.classList.add('carousel-fade', 'toast-header')")
        assert ".toast-header" in tab.evaluate(MATCHING)
