"""Terms say what they mean, on the pages of the built book."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.tools.site.site_checks import JUDGED, NARROW, WIDE, axe_findings, opened
from tests.tools.site.term_links import MEANINGS, links, untold

TERM, BUBBLE = "a[data-meaning]", ".term-meaning"
CHAPTER, ENDING = "bahdanau-attention", "notation.html#term-"
GONE = 400  # ms after which nothing that was left still stands

# As one text: thousands of numbers come slowly out of a page.
PLACES = """() => [...document.querySelectorAll('body *:not(.term-meaning, .term-meaning *)')]
    .map(e => e.getBoundingClientRect()).map(box => [box.x, box.y, box.width, box.height]).join()"""
# What is wrong with a shown meaning, if anything is.
OUTSIDE = """() => {
    const box = document.querySelector('.term-meaning').getBoundingClientRect();
    const { clientWidth: width, scrollWidth } = document.documentElement;
    const fits = box.width > 50 && box.left >= 0 && box.right <= width && box.top >= 0
        && box.bottom <= innerHeight && scrollWidth <= width;
    return fits ? '' : JSON.stringify([box, width, scrollWidth]);
}"""
# Figures fit a new width one frame later.
FITTED = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
# Each term of a page in turn, as the keyboard comes to it; and whether the term is left uncovered.
EACH_OUTSIDE = f"""() => {{
    const wrong = [];
    for (const term of document.querySelectorAll('{TERM}')) {{
        if (!term.checkVisibility({{visibilityProperty: true}})) continue;
        term.focus();
        const box = document.querySelector('{BUBBLE}')?.getBoundingClientRect();
        const covers = line => box.top < line.bottom && box.bottom > line.top
            && box.left < line.right && box.right > line.left;
        const fault = !box ? 'says nothing' : ({OUTSIDE})()
            || ([...term.getClientRects()].slice(0, 1).some(covers) ? 'covers its term' : '');
        if (fault) wrong.push(`${{term.textContent}}: ${{fault}}`);
    }}
    return wrong;
}}"""

each_way = pytest.mark.parametrize("way", ["http", "file"])
each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


@pytest.fixture
def read(browser, home, site):
    """A function that opens a chapter and gives its tab; nothing may go wrong there."""

    @contextmanager
    def go(way: str = "http", width: int = WIDE, chapter: str = CHAPTER, **options):
        root = home if way == "http" else site.as_uri() + "/"
        with opened(browser, f"{root}chapters/{chapter}.html", width, **options) as (tab, record):
            tab.wait_for_function("'bootstrap' in window")
            yield tab
            assert record.complaints + record.failures == []
            assert record.foreign(root) == []

    return go


@pytest.fixture
def touch(read):
    """The same with a finger."""

    @contextmanager
    def go(way: str = "http", width: int = NARROW, **options):
        with read(way, width, has_touch=True, is_mobile=width == NARROW, **options) as tab:
            yield tab

    return go


@pytest.fixture(scope="module")
def meanings(browser, site):
    """What the glossary says of each term."""
    with opened(browser, (site / "chapters" / "notation.html").as_uri()) as (tab, _):
        return tab.evaluate(MEANINGS)


def first(tab, word: str = "additive"):
    """The first term with this text, in the middle of the window."""
    term = tab.locator(TERM, has_text=word).first
    term.evaluate("e => e.scrollIntoView({block: 'center'})")
    return term


def move_to(tab, place):
    """Move the pointer into the middle of an element, by steps."""
    box = place.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=20)


def expect_told(tab, term):
    """The term's meaning, and no other, stands beside it and is its description."""
    meaning = term.get_attribute("data-meaning")
    expect(tab.locator(f"{BUBBLE} [role=tooltip]")).to_have_text(meaning)
    expect(tab.locator(BUBBLE)).to_be_visible()
    expect(term).to_have_accessible_description(meaning)
    assert tab.evaluate(OUTSIDE) == ""


def expect_silence(tab):
    expect(tab.locator(BUBBLE)).to_have_count(0)
    expect(tab.locator("[aria-describedby=term-meaning]")).to_have_count(0)


# What is said


def test_each_term_says_what_the_glossary_says(site, name, meanings):
    assert untold((site / f"{name}.html").read_text("utf-8"), meanings) == []


def test_most_pages_link_to_terms(site, meanings):
    pages = [links(page.read_text("utf-8")) for page in (site / "chapters").glob("*.html")]
    assert sum(map(bool, pages)) > 10
    assert len(meanings) > 40
    assert all(meanings.values())


def test_a_page_without_terms_loads_no_script_for_them(visit, home, site, name):
    asked = visit(name, WIDE, "light").requests
    loaded = [url for url in asked if url.startswith(f"{home}_static/terms.js")]
    assert len(loaded) == bool(links((site / f"{name}.html").read_text("utf-8")))


# The pointer


@each_way
@each_width
def test_a_term_under_the_pointer_says_what_it_means_until_it_is_left(read, way, width):
    with read(way, width) as tab:
        term = first(tab)
        before = tab.evaluate(PLACES)
        term.hover()
        expect_told(tab, term)
        assert tab.evaluate(PLACES) == before
        move_to(tab, tab.locator(BUBBLE))
        tab.wait_for_timeout(GONE)
        expect_told(tab, term)
        tab.mouse.move(1, 1)
        expect_silence(tab)
        assert tab.evaluate(PLACES) == before


def test_a_pointer_that_passes_opens_nothing(read):
    with read() as tab:
        tab.evaluate(
            """() => new MutationObserver(() => { window.changed = true })
                .observe(document.querySelector('article'), {subtree: true, childList: true})"""
        )
        first(tab).hover()
        tab.mouse.move(1, 1)
        tab.wait_for_timeout(GONE)
        assert not tab.evaluate("window.changed")


def test_escape_closes_what_the_pointer_opened(read):
    with read() as tab:
        first(tab).hover()
        tab.locator(BUBBLE).wait_for()
        tab.keyboard.press("Escape")
        expect_silence(tab)
        tab.wait_for_timeout(GONE)
        expect_silence(tab)


def test_a_click_follows_the_term(read):
    with read() as tab:
        first(tab).hover()
        tab.locator(BUBBLE).wait_for()
        first(tab).click()
        tab.wait_for_url(f"**/{ENDING}additive-attention")


# The keyboard


@each_way
@each_width
def test_a_term_with_the_focus_says_what_it_means(read, way, width):
    with read(way, width) as tab:
        term = first(tab)
        term.focus()
        tab.keyboard.press("Tab")
        expect_told(tab, tab.locator(f"{TERM}:focus"))
        tab.keyboard.press("Shift+Tab")
        expect_told(tab, term)
        tab.keyboard.press("Escape")
        expect_silence(tab)
        expect(term).to_be_focused()
        tab.keyboard.press("Enter")
        tab.wait_for_url(f"**/{ENDING}additive-attention")


def test_what_leaves_the_focus_falls_silent(read):
    with read() as tab:
        first(tab).focus()
        tab.locator(BUBBLE).wait_for()
        tab.evaluate("document.activeElement.blur()")
        expect_silence(tab)


def test_the_focus_keeps_its_meaning_when_a_pointer_comes_and_goes(read):
    with read() as tab:
        focused, other = first(tab), first(tab, "values")
        focused.focus()
        other.hover()
        expect_told(tab, other)
        tab.mouse.move(1, 1)
        expect_told(tab, focused)


# The finger


@each_way
@each_width
def test_a_second_tap_follows_the_term(touch, way, width):
    with touch(way, width) as tab:
        term = first(tab)
        before = tab.evaluate(PLACES)
        term.tap()
        expect_told(tab, term)
        assert tab.url.endswith(f"{CHAPTER}.html")
        assert tab.evaluate(PLACES) == before
        term.tap()
        tab.wait_for_url(f"**/{ENDING}additive-attention")


@each_way
def test_a_tap_offers_the_way_to_the_glossary(touch, way):
    with touch(way) as tab:
        first(tab).tap()
        link = tab.get_by_role("link", name="in the glossary")
        assert link.bounding_box()["height"] >= 24
        link.tap()
        tab.wait_for_url(f"**/{ENDING}additive-attention")


def test_a_tap_elsewhere_or_on_another_term_closes_it(touch):
    with touch() as tab:
        first(tab).tap()
        tab.locator(BUBBLE).wait_for()
        other = tab.locator(TERM, has_text="context").first
        other.tap()
        expect_told(tab, other)
        tab.locator("article h1").tap()
        expect_silence(tab)


def test_it_closes_without_an_error_when_the_focus_is_in_it(touch):
    with touch(width=WIDE) as tab:
        first(tab).tap()
        tab.keyboard.press("Tab")
        expect(tab.get_by_role("link", name="in the glossary")).to_be_focused()
        tab.locator("article h1").tap()
        expect_silence(tab)


def test_escape_leads_back_from_the_way_to_the_glossary_to_the_term(touch):
    with touch(width=WIDE) as tab:
        term = first(tab)
        term.tap()
        tab.keyboard.press("Tab")
        expect(tab.get_by_role("link", name="in the glossary")).to_be_focused()
        expect_told(tab, term)
        tab.keyboard.press("Escape")
        expect_silence(tab)
        expect(term).to_be_focused()


def test_the_way_to_the_glossary_closes_it_on_the_glossarys_own_page(touch):
    with touch(chapter="notation") as tab:
        first(tab, "memory").tap()
        tab.get_by_role("link", name="in the glossary").tap()
        expect_silence(tab)
        assert tab.url.endswith("#term-memory")


# Wherever it stands


def test_no_meaning_leaves_the_window_or_covers_its_term(browser, site, name):
    if not links((site / f"{name}.html").read_text("utf-8")):
        return
    with opened(browser, (site / f"{name}.html").as_uri()) as (tab, record):
        tab.evaluate("document.querySelectorAll('main details').forEach(e => { e.open = true })")
        for width in (WIDE, NARROW):
            tab.set_viewport_size({"width": width, "height": 800})
            tab.wait_for_function(FITTED)
            assert tab.evaluate(EACH_OUTSIDE) == []
        assert record.complaints == []


def test_a_term_at_the_top_of_the_window_says_it_below(read):
    with read(width=NARROW) as tab:
        term = first(tab)
        term.evaluate("e => scrollBy({top: e.getBoundingClientRect().top, behavior: 'instant'})")
        term.evaluate("e => e.focus({preventScroll: true})")
        expect_told(tab, term)
        assert term.bounding_box()["y"] < tab.locator(BUBBLE).bounding_box()["y"]


@pytest.mark.parametrize("change", ["left = '-50px'", "left = '9999px'", "top = '-500px'"])
def test_a_meaning_that_is_cut_off_is_noticed(read, change):
    with read() as tab:
        first(tab).focus()
        assert tab.evaluate(OUTSIDE) == ""
        tab.evaluate(f"document.querySelector('{BUBBLE}').style.{change}")
        assert tab.evaluate(OUTSIDE) != ""


def test_a_meaning_that_moves_the_page_is_noticed(read):
    with read() as tab:
        first(tab).focus()
        before = tab.evaluate(PLACES)
        tab.locator(BUBBLE).evaluate("e => { e.popover = null; e.style.position = 'static' }")
        assert tab.evaluate(PLACES) != before


def test_a_meaning_follows_the_width_of_the_window(read):
    with read() as tab:
        first(tab).focus()
        tab.set_viewport_size({"width": NARROW, "height": 800})
        first(tab)
        tab.wait_for_function(f"!({OUTSIDE})()")


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
def test_axe_finds_nothing_serious_beside_a_term(touch, keep_picture, width, scheme):
    with touch(width=width, scheme=scheme) as tab:
        first(tab).tap()
        tab.locator(BUBBLE).wait_for()
        keep_picture(tab, f"term-{width}-{scheme}")
        assert axe_findings(tab) == []


def test_paper_shows_no_meaning(read):
    with read() as tab:
        first(tab).focus()
        tab.locator(BUBBLE).wait_for()
        tab.emulate_media(media="print")
        expect(tab.locator(BUBBLE)).to_be_hidden()


def test_nothing_moves(read):
    with read(reduced_motion="no-preference") as tab:
        first(tab).focus()
        assert tab.evaluate("document.getAnimations().length") == 0


def test_without_javascript_or_popovers_a_term_is_a_link(browser, home):
    address = f"{home}chapters/{CHAPTER}.html"
    with opened(browser, address, has_touch=True, java_script_enabled=False) as (tab, _):
        tab.locator(TERM, has_text="additive").first.tap()
        tab.wait_for_url(f"**/{ENDING}additive-attention")
    with opened(browser, "about:blank", has_touch=True) as (tab, _):
        tab.add_init_script("delete HTMLElement.prototype.popover")
        tab.goto(address, wait_until="networkidle")
        first(tab).tap()
        tab.wait_for_url(f"**/{ENDING}additive-attention")
