"""The pages under the strict Content-Security-Policy that *For teachers and maintainers* gives."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from playwright.sync_api import expect

from tests.tools.site.site_checks import opened
from tools import ROOT
from tools.book.server import QuietHandler

BLOCK = re.compile(r"```text\n(default-src .*?)```", re.DOTALL)
(TOLD,) = BLOCK.findall((ROOT / "chapters" / "teaching.md").read_text("utf-8"))
POLICY = " ".join(TOLD.split())
INLINE = re.compile(r"<script(?: data-cfasync=\"false\")?>(.*?)</script>", re.DOTALL)
HANDLER = re.compile(r'<[^<>]* on[a-z]+="([^"]*)"')


@pytest.fixture(scope="module")
def guarded(serve, site):
    """A function that serves the site with a policy and returns its address."""

    def go(policy: str) -> str:
        class Handler(QuietHandler):
            def end_headers(self) -> None:
                self.send_header("Content-Security-Policy", policy)
                super().end_headers()

        return serve(site, Handler)

    return go


@pytest.fixture(scope="module")
def strict(guarded):
    """The address of the site under the policy that the book gives."""
    return guarded(POLICY)


def test_no_page_breaks_the_policy_and_each_figure_is_alive(browser, site, strict, name):
    places = (site / f"{name}.html").read_text("utf-8").count("data-attnbook-view")
    query = "?q=softmax" if name == "search" else ""
    with opened(browser, f"{strict}{name}.html{query}") as (tab, record):
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        expect(tab.locator("[data-attnbook-view] figure[data-attnbook-figure]")).to_have_count(
            places
        )
        for slider in tab.locator("figure input[type=range]:visible").all()[:1]:
            before = slider.input_value()
            slider.press("ArrowLeft" if before == slider.get_attribute("max") else "ArrowRight")
            assert slider.input_value() != before
        if name == "search":
            tab.locator("#search-results li p.context").first.wait_for()
        assert record.complaints + record.failures == []


def test_python_runs_in_the_page_under_the_policy(browser, strict):
    with opened(browser, f"{strict}chapters/attention-from-nothing.html") as (tab, record):
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        task = tab.locator("figure.code").first
        task.locator("textarea, .cm-content").click()
        task.locator(".cm-content").press("ControlOrMeta+a")
        tab.keyboard.insert_text("1 / 0")
        task.get_by_role("button", name="Run").click()
        expect(task).to_contain_text("ZeroDivisionError")
        assert record.complaints == []


def test_a_model_answers_in_the_page_under_the_policy(browser, strict):
    with opened(browser, f"{strict}chapters/heads-that-copy.html") as (tab, record):
        field = tab.locator("figure input[type=text]:visible").first
        field.fill("abcabc")
        expect(tab.locator("figure .heads-line button").first).to_be_visible()
        assert record.complaints + record.failures == []


def test_the_policy_names_the_lines_that_stand_in_the_pages(site):
    texts = [path.read_text("utf-8") for path in (site / "chapters").glob("*.html")]
    texts.append((site / "search.html").read_text("utf-8"))
    lines = {line for text in texts for line in INLINE.findall(text) + HANDLER.findall(text)}
    digests = (hashlib.sha256(line.encode()).digest() for line in lines)
    hashes = {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}
    assert {part.strip(";") for part in POLICY.split() if part.startswith("'sha256-")} == hashes


@pytest.mark.parametrize(
    "needed", ["blob:", "'wasm-unsafe-eval'", "'unsafe-inline'", "'unsafe-hashes'", "'sha256-"]
)
def test_without_any_of_it_the_browser_complains(browser, guarded, needed):
    policy = re.sub(rf" {re.escape(needed)}[^ ;]*", "", POLICY)
    address = guarded(policy)
    with opened(browser, f"{address}chapters/attention-from-nothing.html") as (tab, record):
        if "wasm" in needed:
            tab.locator("figure.code").first.locator("textarea, .cm-content").click()
            tab.wait_for_timeout(2000)
        assert any("Content Security Policy" in line for line in record.complaints)
