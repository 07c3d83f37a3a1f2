"""The pages under the strict Content-Security-Policy that *For teachers and maintainers* gives."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from playwright.sync_api import expect

from attnbook import figures
from tests.tools.site.site_checks import UNFOLD, open_page
from tools import ROOT
from tools.book.server import QuietHandler

BLOCK = re.compile(r"```text\n(default-src .*?)```", re.DOTALL)
(TEXT,) = BLOCK.findall((ROOT / "chapters" / "teaching.md").read_text("utf-8"))
POLICY = " ".join(TEXT.split())
INLINE = re.compile(r"<script(?: data-(?:cfasync|moved)=\"[^\"]*\")?>(.*?)</script>", re.DOTALL)
HANDLER = re.compile(r'<[^<>]* on[a-z]+="([^"]*)"')
STATE = re.compile(r"<script class=\"attnbook-state\"[^>]*>(.*?)</script>", re.DOTALL)
# All kinds of figures are on these; the inline scripts of all pages are compared with the policy.
SHOWN = [
    "welcome",
    "where-attention-comes-in",
    "attention-pooling",
    "bahdanau-attention",
    "bug-clinic",
    "masks",
    "multi-head-attention",
    "position",
    "scoring-functions",
    "what-attention-costs",
    "writing-with-a-cache",
]
PYTHON, MODEL = "attention-from-nothing", "heads-that-copy"


class Strict(QuietHandler):
    """Sends the policy that the book gives."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()


@pytest.fixture(scope="module")
def strict(serve, site):
    """The address of the site under the policy."""
    return serve(site, Strict)


def use_figures(tab, chapter, site):
    """Move a slider of an open page, run Python and ask a model, where it has them."""
    views = (site / "chapters" / f"{chapter}.html").read_text("utf-8").count("data-attnbook-view")
    assert views
    tab.evaluate(UNFOLD)
    alive = tab.locator("[data-attnbook-view] figure[data-attnbook-figure]")
    expect(alive).to_have_count(views, timeout=30_000)
    for slider in tab.locator("figure input[type=range]:visible").all()[:1]:
        before = slider.input_value()
        slider.press("ArrowLeft" if before == slider.get_attribute("max") else "ArrowRight")
        assert slider.input_value() != before
    if chapter == PYTHON:
        task = tab.locator("figure.code").first
        task.locator("textarea, .cm-content").click()  # brings the editor
        task.locator(".cm-content").press("ControlOrMeta+a")
        tab.keyboard.insert_text("1 / 0")
        task.get_by_role("button", name="Run").click()
        expect(task).to_contain_text("ZeroDivisionError")
    if chapter == MODEL:
        tab.locator("figure input[type=text]:visible").first.fill("abcabc")
        expect(tab.locator("figure .token").first).to_be_visible()


@pytest.mark.parametrize(
    "chapter",
    [
        *(pytest.param(chapter, marks=pytest.mark.weekly) for chapter in SHOWN[1:]),
        *(SHOWN[0], PYTHON, MODEL),
    ],
)
def test_no_figure_breaks_the_policy_and_each_is_alive(browser, site, strict, chapter):
    with open_page(browser, f"{strict}chapters/{chapter}.html") as (tab, record):
        use_figures(tab, chapter, site)
        assert record.complaints + record.failures == []


def test_the_search_page_does_not_break_the_policy(browser, strict):
    with open_page(browser, f"{strict}search.html?q=softmax") as (tab, record):
        tab.locator("#search-results li p.context").first.wait_for()
        assert record.complaints + record.failures == []


def test_every_kind_of_figure_is_on_one_of_these_pages(site):
    paths = [site / "chapters" / f"{chapter}.html" for chapter in [*SHOWN, PYTHON, MODEL]]
    states = [json.loads(STATE.search(path.read_text("utf-8"))[1]) for path in paths]
    found = {figure["kind"] for page in states for figure in page.values()}
    assert len(found) == len(figures.__all__)


def test_the_policy_names_the_lines_of_script_that_are_in_the_pages(site):
    texts = [path.read_text("utf-8") for path in (site / "chapters").glob("*.html")]
    texts.append((site / "search.html").read_text("utf-8"))
    lines = {line for text in texts for line in INLINE.findall(text) + HANDLER.findall(text)}
    digests = (hashlib.sha256(line.encode()).digest() for line in lines)
    hashes = {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}
    assert {part.strip(";") for part in POLICY.split() if part.startswith("'sha256-")} == hashes
