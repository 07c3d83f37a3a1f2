"""A page before and after its late scripts."""

from __future__ import annotations

import pytest

from tests.tools.site.site_checks import WIDE, opened, watched

LATE = """[...document.querySelectorAll('script[type="text/late"]')].map(late => late.src)"""


@pytest.fixture
def held_back(browser, home):
    """A function that opens a page none of whose late scripts ever arrives."""
    contexts, records = [], []

    def go(name: str, scheme: str, mode: str = ""):
        size = {"width": WIDE, "height": 800}
        context = browser.new_context(viewport=size, color_scheme=scheme)
        contexts.append(context)
        if mode:
            context.add_init_script(f"localStorage.setItem('mode', '{mode}')")
            context.add_init_script(f"localStorage.setItem('theme', '{mode}')")
        page, record = watched(context)
        records.append(record)
        page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
        page.goto(f"{home}chapters/{name}.html")
        return page

    yield go
    for context in contexts:
        context.close()
    complaints = [line for record in records for line in record.complaints]
    assert [line for line in complaints if "ERR_FAILED" not in line] == []


@pytest.mark.parametrize(
    ("scheme", "mode", "theme"),
    [
        ("dark", "", "dark"),
        ("light", "", "light"),
        ("dark", "light", "light"),
        ("light", "dark", "dark"),
    ],
)
def test_a_page_has_its_colours_before_the_scripts_of_the_theme(held_back, scheme, mode, theme):
    page = held_back("welcome", scheme, mode)
    assert page.evaluate("document.documentElement.dataset.theme") == theme


def test_late_scripts_all_come_in_their_order_after_the_figures(browser, home):
    with opened(browser, f"{home}chapters/welcome.html") as (page, record):
        page.wait_for_function("'bootstrap' in window")
        late = page.evaluate(LATE)
        assert len(late) > 8
        assert [url for url in record.requests if url in late] == late
        first = record.requests.index(late[0])
        assert all("/live/" not in url for url in record.requests[first:])
        page.locator("button.copybtn").first.wait_for(state="attached")
        assert record.complaints + record.failures == []


def test_a_figure_is_alive_without_the_scripts_of_the_theme(held_back):
    page = held_back("welcome", "light")
    slider = page.locator("figure input[type=range]").first
    value = slider.input_value()
    slider.press("ArrowLeft")
    assert slider.input_value() != value


def test_the_search_page_holds_nothing_back(browser, home):
    with opened(browser, f"{home}search.html") as (page, _):
        assert page.evaluate(LATE) == []
