"""A page before and after its late scripts."""

from __future__ import annotations

import pytest

from tests.tools.site.site_checks import open_page

# Those that others need come first.
LATE = """['[data-needed]', ':not([data-needed])'].flatMap(kind =>
    [...document.querySelectorAll(`script[type="text/late"]${kind}`)].map(late => late.src))"""
# When a script failed, and when one that needs it had been loaded.
TIMES = """['error', 'load'].forEach(kind => document.addEventListener(kind, ({target}) => {
    if (/doctools|sphinx_highlight/.test(target.src)) (window.times ??= []).push(performance.now());
}, true))"""


@pytest.mark.parametrize(
    ("scheme", "mode", "theme"), [("dark", "", "dark"), ("dark", "light", "light")]
)
def test_colors_and_figures_do_not_wait_for_the_scripts_of_the_theme(
    browser, home, scheme, mode, theme
):
    with open_page(browser, "about:blank", scheme=scheme) as (page, record):
        if mode:
            stored = ("mode", "theme")
            script = "".join(f"localStorage.setItem('{key}', '{mode}');" for key in stored)
            page.add_init_script(f"if (location.protocol === 'http:') {{ {script} }}")
        page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
        page.goto(f"{home}chapters/masked-softmax.html")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        slider = page.locator("figure input[type=range]").first
        value = slider.input_value()
        slider.press("ArrowLeft")
        assert slider.input_value() != value
        assert [line for line in record.complaints if "ERR_FAILED" not in line] == []


def test_late_scripts_come_in_their_order_at_the_first_sign_of_a_reader(browser, home):
    with open_page(browser, "about:blank") as (page, record):
        page.goto(f"{home}chapters/welcome.html")
        late = page.evaluate(LATE)
        assert len(late) > 6
        page.wait_for_function("performance.now() > 1500")
        assert {*late} & {*record.requests} == set()
        page.mouse.move(300, 300)
        page.wait_for_function("'bootstrap' in window")
        assert [url for url in record.requests if url in late] == late
        page.locator("button.copybtn").first.wait_for(state="attached")
        assert record.complaints + record.failures == []


def test_scripts_wait_if_one_that_they_need_does_not_arrive(browser, home):
    with open_page(browser, "about:blank") as (page, record):
        page.add_init_script(TIMES)
        page.route("**/doctools.js*", lambda route: route.abort())
        page.goto(f"{home}chapters/welcome.html")
        page.mouse.move(300, 300)
        page.wait_for_function("'bootstrap' in window")
        failed, loaded = page.evaluate("times")
        assert loaded - failed > 1000
        errors = [it for it in record.complaints if "ERR_FAILED" not in it]
        assert [it for it in errors if "is not defined" not in it] == []


def test_a_click_that_is_the_first_sign_is_not_lost(browser, home):
    with open_page(browser, "about:blank") as (page, _):
        page.goto(f"{home}chapters/welcome.html")
        page.evaluate("document.querySelector('.theme-switch-button').click()")
        page.wait_for_function("document.documentElement.dataset.mode !== 'auto'")


def test_the_sidebar_shows_the_page_before_the_theme_starts(browser, home):
    with open_page(browser, "about:blank") as (page, _):
        page.goto(f"{home}chapters/your-progress.html")
        scroll = "document.querySelector('div.bd-sidebar').scrollTop"
        assert page.evaluate(scroll) > 0
        page.evaluate("document.querySelector('div.bd-sidebar').scrollBy(0, -64)")  # as fonts do
        first = page.evaluate(scroll)
        page.mouse.move(300, 300)
        page.wait_for_function("'bootstrap' in window")
        assert page.evaluate(scroll) == first
