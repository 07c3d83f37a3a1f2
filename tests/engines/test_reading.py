"""What a reader does between the figures, in every engine: reload, press keys, forbid storage."""

from __future__ import annotations

import pytest

from tests.engines.conftest import OTHERS
from tests.engines.engine import until

ENGINES = [*OTHERS, "chromium"]
PAGE = "chapters/masked-softmax.html"
READY = """() => 'bootstrap' in window && document.querySelector('.copybtn') !== null
    && [...document.querySelectorAll('[data-attnbook-view]')]
        .every(view => view.querySelector('figure'))"""
# Of those that are shown: some are in cells whose code is collapsed.
FOCUS_FIRST = """selector => [...document.querySelectorAll(selector)]
    .find(it => it.getClientRects().length && !it.closest('details:not([open])')).focus()"""
FOCUSED = "selector => document.activeElement.matches(selector)"
TOP = "selector => document.querySelector(selector).getBoundingClientRect().top"
DENY = """<script>for (const name of ["localStorage", "sessionStorage"])
Object.defineProperty(window, name, { configurable: true, get() { throw Error("denied"); } });
</script>"""


@pytest.fixture
def shown(engine, watched_home):
    engine.open(watched_home + PAGE)
    assert until(engine, READY)
    yield engine
    assert engine.complaints() == []


def test_a_reload_shows_the_place_that_was_read(shown):
    far = "#gradients-through-a-mask"
    shown.evaluate("() => document.querySelector('article details').open = true")
    shown.evaluate("place => document.querySelector(place).scrollIntoView()", far)
    shown.evaluate("() => scrollBy({ top: 150, behavior: 'instant' })")
    before = shown.evaluate(TOP, far)
    assert before < 0
    shown.reload()
    assert until(shown, READY)
    assert until(shown, f"(place, top) => Math.abs(({TOP})(place) - top) < 3", far, before)
    assert shown.evaluate("() => document.querySelector('article details').open")


def test_a_link_shows_its_section_though_figures_come_alive_above_it(engine, watched_home):
    section = "#gradients-through-a-mask"
    engine.open(f"{watched_home}chapters/welcome.html")
    engine.open(f"{watched_home}{PAGE}{section}")
    assert until(engine, READY)
    # Below the bar, at the top of the window; it is kept there until all figures have started.
    assert until(engine, "() => history.scrollRestoration === 'auto'")
    assert 0 < engine.evaluate(TOP, section) < 100
    assert engine.complaints() == []


def test_a_pressed_button_keeps_the_focus_and_shows_it(shown):
    for button in (".theme-switch-button", ".primary-toggle", ".copybtn"):
        shown.evaluate(FOCUS_FIRST, button)
        outline = "() => getComputedStyle(document.activeElement).outlineStyle"
        shown.press("Enter")
        assert shown.evaluate(FOCUSED, button), button
        assert shown.evaluate(outline) == "solid", button


def test_the_focus_on_a_button_of_the_toolbar_leaves_the_page_where_it_is(shown):
    shown.evaluate("() => scrollTo({ top: 3000, behavior: 'instant' })")
    shown.evaluate("() => document.querySelector('.theme-switch-button').focus()")
    assert shown.evaluate("() => scrollY") == 3000


def test_the_copy_buttons_of_a_section_are_one_stop_and_arrow_keys_move_between_them(shown):
    stops = """() => [...document.querySelectorAll('article :is(section, details)')].map(group =>
        [...group.querySelectorAll('.copybtn')]
            .filter(it => it.closest('section, details') === group))
        .filter(buttons => buttons.length)
        .map(buttons => buttons.filter(it => it.tabIndex === 0).length)"""
    assert {*shown.evaluate(stops)} == {1}
    place = """() => [...document.querySelectorAll('#gradients-through-a-mask .copybtn')]
        .filter(it => it.checkVisibility()).indexOf(document.activeElement)"""
    shown.evaluate("() => document.querySelector('#gradients-through-a-mask .copybtn').focus()")
    places = [shown.evaluate(place)]
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        shown.press(key)
        places.append(shown.evaluate(place))
    assert places == [0, 1, 2, 1]
    assert {*shown.evaluate(stops)} == {1}


def test_after_the_skip_link_the_next_stop_is_in_the_text(shown):
    shown.evaluate("() => document.querySelector('.skip-link a').focus()")
    shown.press("Enter")
    assert until(shown, "() => location.hash === '#text'")
    shown.press("Tab")
    assert shown.evaluate(FOCUSED, "#text *")


@pytest.fixture
def denied_home(watched, serve):
    page = watched / PAGE
    denied = page.with_name("denied.html")
    denied.write_text(page.read_text("utf-8").replace("<head>", f"<head>{DENY}", 1), "utf-8")
    yield serve(watched)
    denied.unlink()


def test_a_page_whose_browser_stores_nothing_has_no_errors_and_a_color_button(engine, denied_home):
    engine.open(f"{denied_home}chapters/denied.html")
    assert until(engine, READY)
    theme = "() => document.documentElement.dataset.theme"
    seen = []
    for _ in range(3):
        engine.evaluate("() => document.querySelector('.theme-switch-button').click()")
        seen.append(engine.evaluate(theme))
    assert {*seen} == {"light", "dark"}
    assert engine.complaints() == []
