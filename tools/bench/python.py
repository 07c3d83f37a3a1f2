"""Measure Python on the page: from the first touch until it has answered, and an answer after that.

A fresh browser profile each time, so that editor and Python are loaded and compiled anew: from a
server that packs its files, and from a folder.
"""

from __future__ import annotations

import statistics

from playwright.sync_api import Browser

from tools.bench.browser import chromium, served
from tools.bench.pages import SITE, Row, require_book

CHAPTER = "chapters/masked-softmax.html"
LOADS = 5

# Touches the first task, runs its starter at once, and runs it again.
TOUCH = """async () => {
  const figure = document.querySelector("figure.code");
  const until = (holds) => new Promise((done) => {
    const look = () => holds() ? done(performance.now()) : setTimeout(look, 1);
    look();
  });
  const told = () => figure.querySelector(".verdict").textContent.startsWith("✗");
  const field = figure.querySelector("textarea");
  const touched = performance.now();
  field.focus();
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true }));
  const edited = await until(() => figure.querySelector(".cm-content"));
  const ready = await until(told);
  const asked = performance.now();
  figure.querySelector(".run").click();
  const answered = await until(told);
  return [edited - touched, ready - touched, answered - asked];
}"""


def times(browser: Browser, address: str) -> list[float]:
    """Milliseconds until the editor is there, until the first verdict, and for one after it."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(address)
    page.locator("figure.code textarea").first.wait_for()
    found: list[float] = page.evaluate(TOUCH)
    context.close()
    return found


def python_row() -> Row:
    """The medians, over http and from a folder."""
    require_book()
    row: Row = {}
    with chromium() as browser, served(SITE) as home:
        for name, base in (("http", home), ("file", f"{SITE.as_uri()}/")):
            loads = [times(browser, base + CHAPTER) for _ in range(LOADS)]
            editor, ready, run = (statistics.median(each) for each in zip(*loads, strict=True))
            row |= {
                f"{name}: touch to editor ms": editor,
                f"{name}: touch to verdict ms": ready,
                f"{name}: run to verdict ms": run,
            }
    return row
