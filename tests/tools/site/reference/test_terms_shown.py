"""What a term means is shown next to it: for the pointer, the keyboard and the finger.

`test_pages.py` tests the position of the meaning of every term; here is one page.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.tools.site.site_checks import (
    JUDGED,
    NARROW,
    READY,
    WIDE,
    axe_findings,
    change_view,
    open_page,
)
from tests.tools.site.term_links import BUBBLE, OUTSIDE, TERM

CHAPTER, ENDING = "queries-keys-values", "notation.html#term-"
# Longer than any delay of terms.js, so a timer that is set now comes after all of theirs.
OUTLAST = "() => new Promise(done => setTimeout(done, 400))"
# What has no term in it is judged in `test_pages.py`.
LEAVE_TERMS = """document.querySelectorAll('main section > *').forEach(
    e => e.querySelector('a[data-meaning]') ?? e.remove())"""

# Where a term's paragraph and its parts are, within it.
PLACES = """term => {
    const block = term.closest('p, li'), { x: left, y: top } = block.getBoundingClientRect();
    return [block, ...block.querySelectorAll(':not(.term-meaning, .term-meaning *)')]
        .map(e => e.getBoundingClientRect())
        .map(({ x, y, width, height }) => [x - left, y - top, width, height]).join();
}"""
# A pointer that leaves a term before its meaning is shown, however busy the machine is.
LEAVE_AT_ONCE = """term => {
    for (const kind of ['pointerover', 'pointerout'])
        term.dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerType: 'mouse'}));
}"""


@pytest.fixture
def read(browser, home, site):
    """A function that opens the chapter; nothing may go wrong on it."""

    @contextmanager
    def go(way: str = "http", width: int = WIDE, **options):
        root = home if way == "http" else site.as_uri() + "/"
        url = f"{root}chapters/{CHAPTER}.html"
        with open_page(browser, url, width, **options) as (tab, record):
            yield tab
            assert record.complaints + record.failures + record.foreign(root) == []

    return go


def first(tab, word: str = "softmax"):
    """The first term with this text, in the middle of the window."""
    term = tab.locator(TERM, has_text=word).first
    term.evaluate("e => e.scrollIntoView({block: 'center'})")
    return term


def expect_meaning(tab, term):
    """The meaning of this term, and of no other, is shown within the window and describes it."""
    meaning = term.get_attribute("data-meaning")
    expect(tab.locator(f"{BUBBLE} [role=tooltip]")).to_have_text(meaning)
    expect(tab.locator(BUBBLE)).to_be_visible()
    expect(term).to_have_accessible_description(meaning)
    assert tab.evaluate(OUTSIDE) == ""


def expect_none(tab):
    expect(tab.locator(BUBBLE)).to_have_count(0)
    expect(tab.locator("[aria-describedby=term-meaning]")).to_have_count(0)


def expect_glossary(tab):
    tab.wait_for_url(f"**/{ENDING}softmax", wait_until="commit")


def test_a_term_under_the_pointer_shows_what_it_means_until_it_is_left(read):
    with read() as tab:
        term = first(tab)
        before = term.evaluate(PLACES)
        term.evaluate(LEAVE_AT_ONCE)
        tab.evaluate(OUTLAST)
        expect_none(tab)
        term.hover()
        expect_meaning(tab, term)
        assert term.evaluate(PLACES) == before
        # At once: on its way a slow pointer would close it.
        box = tab.locator(BUBBLE).bounding_box()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tab.evaluate(OUTLAST)
        expect_meaning(tab, term)
        tab.mouse.move(1, 1)
        expect_none(tab)
        assert term.evaluate(PLACES) == before
        term.hover()
        tab.locator(BUBBLE).wait_for()
        tab.keyboard.press("Escape")
        expect_none(tab)
        tab.evaluate(OUTLAST)
        expect_none(tab)
        term.click()
        expect_glossary(tab)


def test_a_term_with_the_focus_shows_what_it_means_within_the_window(read):
    with read("file") as tab:
        term = first(tab)
        term.focus()
        expect_meaning(tab, term)
        tab.set_viewport_size({"width": NARROW, "height": 800})
        first(tab)
        tab.wait_for_function(f"!({OUTSIDE})()")
        tab.emulate_media(media="print")
        expect(tab.locator(BUBBLE)).to_be_hidden()
        tab.emulate_media(media="screen")
        first(tab)  # in another width the text is elsewhere
        tab.keyboard.press("Tab")
        expect_meaning(tab, tab.locator(f"{TERM}:focus"))
        tab.keyboard.press("Shift+Tab")
        expect_meaning(tab, term)
        tab.keyboard.press("Escape")
        expect_none(tab)
        expect(term).to_be_focused()
        # At the top of the window it is below the term.
        term.evaluate("e => scrollBy({top: e.getBoundingClientRect().top, behavior: 'instant'})")
        term.blur()
        term.evaluate("e => e.focus({preventScroll: true})")
        expect_meaning(tab, term)
        assert term.bounding_box()["y"] < tab.locator(BUBBLE).bounding_box()["y"]
        tab.keyboard.press("Enter")
        expect_glossary(tab)


def test_a_tap_shows_it_one_elsewhere_closes_it_and_a_second_one_follows_the_term(read):
    with read(width=NARROW, has_touch=True, is_mobile=True) as tab:
        term = first(tab)
        before = term.evaluate(PLACES)
        term.tap()
        expect_meaning(tab, term)
        assert tab.url.endswith(f"{CHAPTER}.html")
        assert term.evaluate(PLACES) == before
        other = tab.locator(TERM, has_text="value").first
        other.tap()
        expect_meaning(tab, other)
        tab.locator("article h1").tap()
        expect_none(tab)
        # It closes when the focus is in it, too.
        for close in ("tap", "Escape"):
            first(tab).tap()
            tab.keyboard.press("Tab")
            expect(tab.get_by_role("link", name="in the glossary")).to_be_focused()
            expect_meaning(tab, term)
            if close == "tap":
                tab.locator("article h1").tap()
            else:
                tab.keyboard.press(close)
            expect_none(tab)
        expect(term).to_be_focused()
        first(tab).tap()
        expect_meaning(tab, term)
        term.tap()
        expect_glossary(tab)


def test_axe_finds_nothing_serious_in_a_meaning_and_nothing_moves(read, save_picture):
    with read(has_touch=True, reduced_motion="no-preference") as tab:
        tab.evaluate(LEAVE_TERMS)
        for width, scheme in JUDGED:
            change_view(tab, width, scheme)
            first(tab).tap()
            tab.locator(BUBBLE).wait_for()
            # Only the meaning's own: the theme's colors may still be changing behind it.
            moving = tab.locator(BUBBLE).evaluate("e => e.getAnimations({subtree: true}).length")
            assert moving == 0
            save_picture(tab, f"term-{width}-{scheme}")
            assert axe_findings(tab) == []
            tab.keyboard.press("Escape")
            expect_none(tab)


def test_without_javascript_or_popovers_a_term_is_a_link(browser, home):
    address = f"{home}chapters/{CHAPTER}.html"
    with open_page(browser, address, has_touch=True, java_script_enabled=False) as (tab, _):
        tab.locator(TERM, has_text="softmax").first.tap()
        expect_glossary(tab)
    with open_page(browser, "about:blank", has_touch=True) as (tab, _):
        tab.add_init_script("delete HTMLElement.prototype.popover")
        tab.goto(address)
        tab.evaluate(READY)
        first(tab).tap()
        expect_glossary(tab)
