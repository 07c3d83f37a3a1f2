"""The built book in Firefox and WebKit: every figure works as in Chromium."""

from __future__ import annotations

import pytest

from tests.engines.conftest import LEFT_OUT
from tests.engines.engine import until
from tests.engines.figures import FOCUS, KINDS, click_control, differ, using
from tests.engines.page_report import open_page


def test_pages_that_are_left_out_have_no_figures(site):
    texts = [(site / f"{page}.html").read_text("utf-8") for page in LEFT_OUT]
    assert not any("data-attnbook-view" in text for text in texts)


def test_figures_start_and_respond_to_a_key_and_the_pointer(engine, view, visit_page, in_chromium):
    report = visit_page(engine, view)
    assert report.still + report.unresponsive == []
    assert report.kinds == in_chromium(view.page, *report.used).kinds


def test_numbers_and_texts_of_models_are_those_of_chromium(engine, view, visit_page, in_chromium):
    ours = visit_page(engine, view)
    theirs = in_chromium(view.page, *ours.used)
    wrong = [
        f"{figure}: {difference}"
        for figure, numbers in theirs.numbers.items()
        for difference in differ(ours.numbers[figure], numbers)
    ]
    assert wrong == []
    assert "never read" not in ours.typed.values()
    assert ours.typed == theirs.typed


def test_the_console_is_silent_the_page_fits_and_has_the_chosen_scheme(engine, view, visit_page):
    report = visit_page(engine, view)
    assert report.complaints == []
    assert report.sideways <= 0, report.overflow
    assert report.theme == view.scheme


VERDICT = using("""(index) => {
    const verdict = words(figures()[index].querySelector('.verdict'));
    return /[✓✗]/.test(verdict) && verdict;
}""")
# One line each: an editor indents by itself.
WRONG = "attention = lambda query, keys, values, valid_len: keys[0]"
RIGHT = (
    "attention = lambda query, keys, values, valid_len: "
    "pool(masked_softmax([score(query, key) for key in keys], valid_len), values)"
)
TASK = "chapters/attention-from-nothing"


@pytest.mark.few(2)
@pytest.mark.parametrize("at", ["server", "folder"])
def test_python_runs_on_a_page_and_is_checked(engine, watched_url, watched_site, at):
    site_url = watched_url if at == "server" else f"{watched_site.as_uri()}/"
    assert open_page(engine, f"{site_url}{TASK}.html").still == []
    index = engine.evaluate(KINDS).index("code")
    for message, code in (
        ("✗ attention-from-parts: not yet.", WRONG),
        ("✓ attention-from-parts: right.", RIGHT),
    ):
        assert until(engine, FOCUS, index)
        engine.press("Control+a")
        engine.write(code)
        assert click_control(engine, index)
        assert message in until(engine, VERDICT, index)
    assert engine.complaints() == []
