"""What a term means is shown next to it: for the pointer, the keyboard and the finger.

`test_pages.py` tests the position of the meaning of every term; here is one page.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

import pytest
from playwright.sync_api import expect

from tests.tools.site.site_checks import (
    JUDGED,
    NARROW,
    OF_LOOK,
    READY,
    WIDE,
    axe_findings,
    change_view,
    opened,
)
from tests.tools.site.term_links import BUBBLE, OUTSIDE, TERM

CHAPTER, ENDING = "welcome", "notation.html#term-"
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


def each_way_and_width(test):
    """Run a test in both ways and both widths; with `--full` in each of the four pairs."""
    each_way = pytest.mark.parametrize("way", ["http", "file"])
    return pytest.mark.few(2)(each_way(pytest.mark.parametrize("width", [WIDE, NARROW])(test)))


# A pointer that leaves a term before its meaning is shown, however busy the machine is.
LEAVE_AT_ONCE = """term => {
    for (const kind of ['pointerover', 'pointerout'])
        term.dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerType: 'mouse'}));
}"""


@pytest.fixture(scope="module")
def read(browser, home, site):
    """A function that shows the chapter, each time as it is at first, in one tab per kind."""
    tabs = {}
    with ExitStack() as stack:

        @contextmanager
        def go(way: str = "http", width: int = WIDE, *, touch: bool = False):
            root = home if way == "http" else site.as_uri() + "/"
            url = f"{root}chapters/{CHAPTER}.html"
            kind = (way, width, touch)
            if kind not in tabs:
                options = {"has_touch": touch, "is_mobile": touch and width == NARROW}
                tabs[kind] = stack.enter_context(opened(browser, url, width, **options))
            tab, record = tabs[kind]
            if tab.url != url:
                tab.goto(url)
            tab.evaluate(READY)
            yield tab
            assert record.complaints + record.failures + record.foreign(root) == []
            tab.mouse.move(1, 1)
            tab.keyboard.press("Escape")
            tab.evaluate("document.activeElement.blur()")

        yield go


@pytest.fixture
def touch(read):
    """The same for a finger."""
    return lambda way="http", width=NARROW: read(way, width, touch=True)


def first(tab, word: str = "temperature"):
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
    tab.wait_for_url(f"**/{ENDING}temperature", wait_until="commit")


# The pointer


@each_way_and_width
def test_a_term_under_the_pointer_shows_what_it_means_until_it_is_left(read, way, width):
    with read(way, width) as tab:
        term = first(tab)
        before = term.evaluate(PLACES)
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


def test_a_passing_pointer_opens_nothing_escape_closes_and_a_click_follows_the_term(read):
    with read() as tab:
        first(tab).evaluate(LEAVE_AT_ONCE)
        tab.evaluate(OUTLAST)
        expect_none(tab)
        first(tab).hover()
        tab.locator(BUBBLE).wait_for()
        tab.keyboard.press("Escape")
        expect_none(tab)
        tab.evaluate(OUTLAST)
        expect_none(tab)
        tab.mouse.move(1, 1)
        first(tab).hover()
        tab.locator(BUBBLE).wait_for()
        first(tab).click()
        expect_glossary(tab)


# The keyboard


@each_way_and_width
def test_a_term_with_the_focus_shows_what_it_means(read, way, width):
    with read(way, width) as tab:
        term = first(tab)
        term.focus()
        tab.keyboard.press("Tab")
        expect_meaning(tab, tab.locator(f"{TERM}:focus"))
        tab.keyboard.press("Shift+Tab")
        expect_meaning(tab, term)
        tab.keyboard.press("Escape")
        expect_none(tab)
        expect(term).to_be_focused()
        tab.keyboard.press("Enter")
        expect_glossary(tab)


# The finger


@each_way_and_width
def test_a_second_tap_follows_the_term(touch, way, width):
    with touch(way, width) as tab:
        term = first(tab)
        before = term.evaluate(PLACES)
        term.tap()
        expect_meaning(tab, term)
        assert tab.url.endswith(f"{CHAPTER}.html")
        assert term.evaluate(PLACES) == before
        term.tap()
        expect_glossary(tab)


def test_a_tap_elsewhere_or_on_another_term_closes_it(touch):
    with touch() as tab:
        first(tab).tap()
        tab.locator(BUBBLE).wait_for()
        other = tab.locator(TERM, has_text="softmax").first
        other.tap()
        expect_meaning(tab, other)
        tab.locator("article h1").tap()
        expect_none(tab)


def test_it_closes_when_the_focus_is_in_it_and_escape_leads_back_to_the_term(touch):
    with touch(width=WIDE) as tab:
        term = first(tab)
        for close in ("tap", "Escape"):
            term.tap()
            tab.keyboard.press("Tab")
            expect(tab.get_by_role("link", name="in the glossary")).to_be_focused()
            expect_meaning(tab, term)
            if close == "tap":
                tab.locator("article h1").tap()
            else:
                tab.keyboard.press(close)
            expect_none(tab)
        expect(term).to_be_focused()


# Its position


def test_a_term_at_the_top_of_the_window_shows_it_below(read):
    with read(width=NARROW) as tab:
        term = first(tab)
        term.evaluate("e => scrollBy({top: e.getBoundingClientRect().top, behavior: 'instant'})")
        term.evaluate("e => e.focus({preventScroll: true})")
        expect_meaning(tab, term)
        assert term.bounding_box()["y"] < tab.locator(BUBBLE).bounding_box()["y"]


def test_a_meaning_follows_the_width_of_the_window_and_is_not_printed(read):
    with read() as tab:
        first(tab).focus()
        tab.set_viewport_size({"width": NARROW, "height": 800})
        first(tab)
        tab.wait_for_function(f"!({OUTSIDE})()")
        tab.emulate_media(media="print")
        expect(tab.locator(BUBBLE)).to_be_hidden()
        tab.emulate_media(media="screen")
        tab.set_viewport_size({"width": WIDE, "height": 800})


def test_axe_finds_nothing_serious_in_a_meaning_and_nothing_moves(browser, home, save_picture):
    options = {"has_touch": True, "reduced_motion": "no-preference"}
    with opened(browser, f"{home}chapters/{CHAPTER}.html", **options) as (tab, _):
        tab.evaluate(LEAVE_TERMS)
        for width, scheme in JUDGED:
            change_view(tab, width, scheme)
            first(tab).tap()
            tab.locator(BUBBLE).wait_for()
            # Only the meaning's own: the theme's colors may still be changing behind it.
            moving = tab.locator(BUBBLE).evaluate("e => e.getAnimations({subtree: true}).length")
            assert moving == 0
            save_picture(tab, f"term-{width}-{scheme}")
            assert axe_findings(tab, None if width == WIDE else OF_LOOK) == []
            tab.keyboard.press("Escape")
            expect_none(tab)


def test_without_javascript_or_popovers_a_term_is_a_link(browser, home):
    address = f"{home}chapters/{CHAPTER}.html"
    with opened(browser, address, has_touch=True, java_script_enabled=False) as (tab, _):
        tab.locator(TERM, has_text="temperature").first.tap()
        expect_glossary(tab)
    with opened(browser, "about:blank", has_touch=True) as (tab, _):
        tab.add_init_script("delete HTMLElement.prototype.popover")
        tab.goto(address)
        tab.evaluate(READY)
        first(tab).tap()
        expect_glossary(tab)
