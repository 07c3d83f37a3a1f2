"""A page before and after its late scripts."""

from __future__ import annotations

import pytest

from tests.tools.site.site_checks import opened

LATE = """[...document.querySelectorAll('script[type="text/late"]')].map(late => late.src)"""


@pytest.mark.parametrize(
    ("scheme", "mode", "theme"), [("dark", "", "dark"), ("dark", "light", "light")]
)
def test_colors_and_figures_do_not_wait_for_the_scripts_of_the_theme(
    browser, home, scheme, mode, theme
):
    with opened(browser, "about:blank", scheme=scheme) as (page, record):
        if mode:
            stored = ("mode", "theme")
            script = "".join(f"localStorage.setItem('{key}', '{mode}');" for key in stored)
            page.add_init_script(f"if (location.protocol === 'http:') {{ {script} }}")
        page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
        page.goto(f"{home}chapters/welcome.html")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        slider = page.locator("figure input[type=range]").first
        value = slider.input_value()
        slider.press("ArrowLeft")
        assert slider.input_value() != value
        assert [line for line in record.complaints if "ERR_FAILED" not in line] == []


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
        page.goto(f"{home}search.html")
        assert page.evaluate(LATE) == []
