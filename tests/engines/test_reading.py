"""A page without its figures, in every engine: reload, links, focus, and denied storage."""

from __future__ import annotations

import pytest

from tests.engines.conftest import OTHERS
from tests.engines.engine import until
from tests.engines.watched_site import DENY

ENGINES = [*OTHERS, "chromium"]
PAGE = "chapters/masked-softmax.html"
# What the theme adds waits for a sign of a reader.
READY = """() => dispatchEvent(new Event('focusin')) && 'bootstrap' in window
    && document.querySelector('.copybtn') !== null
    && [...document.querySelectorAll('[data-attnbook-view]')]
        .every(view => view.querySelector('figure'))"""
# Only visible ones: some are in cells whose code is collapsed.
FOCUS_FIRST = """selector => [...document.querySelectorAll(selector)]
    .find(it => it.getClientRects().length && !it.closest('details:not([open])')).focus()"""
FOCUSED = "selector => document.activeElement.matches(selector)"
TOP = "selector => document.querySelector(selector).getBoundingClientRect().top"
# Neither the height of the page nor the position changes for ten frames.
AT_REST = f"""async selector => {{
    const measure = () => `${{document.body.scrollHeight}} ${{({TOP})(selector)}}`;
    const first = measure();
    for (let frame = 0; frame < 10; frame += 1) {{
        await new Promise(requestAnimationFrame);
        if (measure() !== first) return false;
    }}
    return true;
}}"""

# After a jump, place.js holds the page still for some frames. This timer runs after its own.
FREE = """async () => {
    await new Promise(done => setTimeout(done));
    return history.scrollRestoration === 'auto';
}"""


@pytest.fixture(scope="module")
def chapter(engine, watched_url):
    """One page, for all tests that leave it open, with its sections below the line open."""
    engine.open(watched_url + PAGE)
    assert until(engine, READY)
    engine.evaluate(
        "() => document.querySelectorAll('.attnbook-section').forEach(it => it.open = true)"
    )
    return engine


@pytest.fixture
def tab(chapter):
    yield chapter
    assert chapter.complaints() == []


def test_the_focus_on_a_button_of_the_toolbar_does_not_scroll_the_page(tab):
    tab.evaluate("() => scrollTo({ top: 3000, behavior: 'instant' })")
    tab.evaluate("() => document.querySelector('.theme-switch-button').focus()")
    assert tab.evaluate("() => scrollY") == 3000


def test_a_pressed_button_keeps_the_focus_and_shows_it(tab):
    for button in (".theme-switch-button", ".primary-toggle", ".copybtn"):
        tab.evaluate(FOCUS_FIRST, button)
        outline = "() => getComputedStyle(document.activeElement).outlineStyle"
        tab.press("Enter")
        assert tab.evaluate(FOCUSED, button), button
        assert tab.evaluate(outline) == "solid", button
        if button == ".primary-toggle":
            tab.press("Enter")  # the list of chapters is back, so a reload changes no width


def test_the_copy_buttons_of_a_section_are_one_stop_and_arrow_keys_move_between_them(tab):
    stops = """() => [...document.querySelectorAll('article :is(section, details)')].map(group =>
        [...group.querySelectorAll('.copybtn')]
            .filter(it => it.closest('section, details') === group))
        .filter(buttons => buttons.length)
        .map(buttons => buttons.filter(it => it.tabIndex === 0).length)"""
    assert {*tab.evaluate(stops)} == {1}
    position = """() => [...document.querySelectorAll('#gradients-through-a-mask .copybtn')]
        .filter(it => it.checkVisibility()).indexOf(document.activeElement)"""
    tab.evaluate("() => document.querySelector('#gradients-through-a-mask .copybtn').focus()")
    positions = [tab.evaluate(position)]
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        tab.press(key)
        positions.append(tab.evaluate(position))
    assert positions == [0, 1, 2, 1]
    assert {*tab.evaluate(stops)} == {1}


def test_after_the_skip_link_the_next_stop_is_in_the_text(tab):
    tab.evaluate("() => document.querySelector('.skip-link a').focus()")
    tab.press("Enter")
    assert until(tab, "() => location.hash === '#text'")
    tab.press("Tab")
    assert tab.evaluate(FOCUSED, "#text *")


def test_a_reload_restores_the_scroll_position(tab):
    far = "#gradients-through-a-mask"
    assert until(tab, FREE)
    tab.evaluate("() => document.querySelector('.attnbook-setup').open = true")
    scroll = "target => document.querySelector(target).scrollIntoView({ behavior: 'instant' })"
    tab.evaluate(scroll, far)
    tab.evaluate("() => scrollBy({ top: 150, behavior: 'instant' })")
    assert until(tab, AT_REST, far)
    before = tab.evaluate(TOP, far)
    assert before < 0
    tab.reload()
    assert until(tab, READY)
    assert until(tab, f"(target, top) => Math.abs(({TOP})(target) - top) < 3", far, before)
    assert tab.evaluate("() => document.querySelector('.attnbook-setup').open")


@pytest.mark.usefixtures("one_engine")
def test_a_link_shows_its_section_although_figures_start_above_it(engine, watched_url):
    section = "#gradients-through-a-mask"
    engine.open(f"{watched_url}chapters/welcome.html")
    engine.open(f"{watched_url}{PAGE}{section}")
    assert until(engine, READY)
    # Below the bar, at the top of the window, where it stays until all figures have started.
    assert until(engine, "() => history.scrollRestoration === 'auto'")
    assert 0 < engine.evaluate(TOP, section) < 100
    assert engine.complaints() == []


# Uses all of the quota, as other pages of the same address may do.
FILL = """<script>for (const storage of [localStorage, sessionStorage])
for (let size = 2 ** 22; size >= 1; size /= 2)
  try { for (let i = 0; ; i++) storage.setItem(`${size} ${i}`, "x".repeat(size)); } catch {}
</script>"""


@pytest.fixture(params=[DENY, FILL], ids=["denied", "full"])
def refusing_url(request, watched_site, serve):
    page = watched_site / PAGE
    refusing = page.with_name("refusing.html")
    refusing.write_text(
        page.read_text("utf-8").replace("<head>", f"<head>{request.param}", 1), "utf-8"
    )
    yield serve(watched_site)
    refusing.unlink()


@pytest.mark.usefixtures("one_engine")
def test_a_page_whose_browser_stores_nothing_has_no_errors_and_a_color_button(engine, refusing_url):
    engine.open(f"{refusing_url}chapters/refusing.html")
    assert until(engine, READY)
    theme = "() => document.documentElement.dataset.theme"
    themes = []
    for _ in range(3):
        engine.evaluate("() => document.querySelector('.theme-switch-button').click()")
        themes.append(engine.evaluate(theme))
    engine.evaluate("() => [localStorage, sessionStorage].forEach(each => each.clear?.())")
    assert {*themes} == {"light", "dark"}
    assert engine.complaints() == []
