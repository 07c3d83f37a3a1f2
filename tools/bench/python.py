"""Measure Python on the page: the time of the first verdict, and of a second one.

Each time in a new browser profile, so that editor and Python are loaded and compiled again: from a
server that compresses its files, and from a folder.
"""

from __future__ import annotations

import statistics

from playwright.sync_api import Browser

from tools.bench.browser import chromium, serve
from tools.bench.pages import SITE, Row, require_book

CHAPTER = "chapters/masked-softmax.html"
LOADS = 5

# Focuses the first task, runs its starter at once, and runs it again.
TOUCH = """async () => {
  const figure = document.querySelector("figure.code");
  const until = (holds) => new Promise((done) => {
    const poll = () => holds() ? done(performance.now()) : setTimeout(poll, 1);
    poll();
  });
  const hasVerdict = () => figure.querySelector(".verdict").textContent.startsWith("✗");
  const field = figure.querySelector("textarea");
  const touched = performance.now();
  field.focus();
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true }));
  const edited = await until(() => figure.querySelector(".cm-content"));
  const ready = await until(hasVerdict);
  const started = performance.now();
  figure.querySelector(".run").click();
  const answered = await until(hasVerdict);
  return [edited - touched, ready - touched, answered - started];
}"""


def times(browser: Browser, address: str) -> list[float]:
    """Milliseconds until the editor, until the first verdict, and of a second verdict."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(address)
    page.locator("figure.code textarea").first.wait_for()
    durations: list[float] = page.evaluate(TOUCH)
    context.close()
    return durations


def python_row() -> Row:
    """The medians, over http and from a folder."""
    require_book()
    row: Row = {}
    with chromium() as browser, serve(SITE) as url:
        for name, base in (("http", url), ("file", f"{SITE.as_uri()}/")):
            loads = [times(browser, base + CHAPTER) for _ in range(LOADS)]
            editor, ready, run = (statistics.median(each) for each in zip(*loads, strict=True))
            row |= {
                f"{name}: touch to editor ms": editor,
                f"{name}: touch to verdict ms": ready,
                f"{name}: run to verdict ms": run,
            }
    return row
