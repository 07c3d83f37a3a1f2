"""Measure how fast a figure responds: from the input until the frame is painted.

These are wall-clock times, so they are longer on a busy machine.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from playwright.sync_api import Locator, Page

import attnbook
from attnbook.figures import AttentionFigure
from attnbook.models.transformer.repeats import SYMBOLS
from attnbook.models.translator.dates import make_dates
from tools.bench.browser import chromium, open_new_page, serve
from tools.bench.pages import SITE, WORK, Row, require_book
from tools.site.assets.minify import minify, read_script
from tools.site.figures.live import (
    HOST,
    data_of,
    in_script,
    module_of,
    name_of,
    placeholder,
    registration,
)

MOVES = 60

# The chapters in which figures are used, by their first slider or their text field.
CHAPTERS_BY_FIGURE = {
    "attention": "masked-softmax",
    "cache": "writing-with-a-cache",
    "cost": "what-attention-costs",
    "heads": "heads-that-copy",
    "mask": "masks",
    "online": "what-attention-costs",
    "pooling": "attention-pooling",
    "position": "position",
    "scaling": "scoring-functions",
    "translator": "queries-keys-values",
    "writing": "where-attention-comes-in",
}

# One input in each frame: from its event until the frame is painted.
INPUTS = """async (control, values) => {
  const times = [];
  const channel = new MessageChannel();
  for (const value of values) {
    times.push(await new Promise((done) => requestAnimationFrame(() => {
      const start = performance.now();
      channel.port1.onmessage = () => done(performance.now() - start);
      control.value = value;
      control.dispatchEvent(new Event("input", { bubbles: true }));
      channel.port2.postMessage(null);  // arrives after this frame is painted
    })));
  }
  return times;
}"""

# The numbers and the words that a figure shows, as one text.
VISIBLE = """figure => [...figure.querySelectorAll("td[data-value]")].map(
    (cell) => cell.dataset.value).join() + figure.innerText"""

HAS_CHANGED = f"([figure, before]) => ({VISIBLE})(figure) !== before"


def texts_to_type() -> dict[str, list[str]]:
    """Texts for the figures with a text field: dates of all languages, and full lines."""
    draw = random.Random(0)  # noqa: S311 - lines to type, no secrets
    return {
        "translator": [date.text for date in make_dates(1, 1, MOVES, seed=0).test],
        "cache": ["".join(draw.choices(SYMBOLS, k=16)) for _ in range(MOVES)],
        "heads": ["".join(draw.choices(SYMBOLS, k=32)) for _ in range(MOVES)],
    }


def slider_positions(slider: Locator) -> list[str]:
    """Positions of a slider, far from each other."""
    low, high = (float(slider.get_attribute(end) or 0) for end in ("min", "max"))
    return [str(low + (high - low) * (i * 37 % 61) / 60) for i in range(MOVES)]


def response_times(page: Page, figure: Locator, texts: Sequence[str] | None) -> list[float]:
    """The response times in milliseconds.

    Raises:
        TimeoutError: Playwright's, if a figure does not respond.
    """
    field = figure.get_by_role("textbox").first
    control = field if texts else figure.locator("input[type=range]:visible").first
    control.scroll_into_view_if_needed()
    control.focus()
    values = list(texts or slider_positions(control))
    before = figure.evaluate(VISIBLE)
    control.evaluate(INPUTS, values[:3])
    # A model may still be loading.
    page.wait_for_function(HAS_CHANGED, arg=[figure.element_handle(), before])
    control.evaluate(INPUTS, values[:30])  # until the code is compiled
    times: list[float] = control.evaluate(INPUTS, values)
    return times


def response_row() -> Row:
    """The response times of the book's figures: median and 95th percentile."""
    require_book()
    row: Row = {}
    with chromium() as browser, serve(SITE) as url:
        for name, chapter in CHAPTERS_BY_FIGURE.items():
            with open_new_page(browser) as (page, _):
                page.goto(f"{url}chapters/{chapter}.html")
                figure = page.locator(f"figure[data-attnbook-figure={name}]").first
                times = response_times(page, figure, texts_to_type().get(name))
            row[f"{name} median ms"] = statistics.median(times)
            row[f"{name} p95 ms"] = percentile_95(times)
    return row


def largest_figure() -> AttentionFigure:
    """64 keys, 64 queries."""
    rng = torch.Generator().manual_seed(64)
    queries, keys, values = (torch.randn(1, 64, 8, generator=rng) for _ in range(3))
    return AttentionFigure(attnbook.DotProductAttention(), queries, keys, values)


def write_figure_page(figure: AttentionFigure, folder: Path) -> None:
    """Write a page with this figure, mounted by the host of the book."""
    model = {"model_name": "AnyModel", "state": figure.get_state()}
    module = module_of(model)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "host.js").write_text(minify([("js", read_script(HOST))])[0], "utf-8")
    (folder / "module.js").write_text(registration(name_of(module), module), "utf-8")
    (folder / "figure.html").write_text(
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
        f'<main style="max-width: 46rem">{placeholder("a", repr(figure))}</main>'
        '<script class="attnbook-state" type="application/json">'
        f"{in_script({'a': data_of(model)})}</script>"
        '<script src="module.js"></script><script src="host.js"></script></html>',
        "utf-8",
    )


def percentile_95(times: list[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(times, n=20)[-1]


def processor_time(page: Page) -> Callable[[], float]:
    """A clock of the processor time of the page's main thread, in seconds."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    return now


def repaint_row() -> Row:
    """The largest figure, with its table folded and unfolded; the processor's time is our part."""
    folder = WORK.parent / "bench"
    write_figure_page(largest_figure(), folder)
    moves = [str(i * 37 % 65) for i in range(200)]
    with chromium() as browser, serve(folder) as url, open_new_page(browser) as (page, _):
        page.goto(f"{url}figure.html")
        page.evaluate("window.slider")
        slider = page.locator("figure[data-attnbook-figure] input[type=range]").first
        slider.evaluate(INPUTS, moves[:30])  # until the code is compiled
        clock = processor_time(page)
        start = clock()
        folded = slider.evaluate(INPUTS, moves)
        processor = (clock() - start) / len(moves)
        page.locator(".data-tables > summary").first.click()
        unfolded = slider.evaluate(INPUTS, moves)
    return {
        "median ms": statistics.median(folded),
        "p95 ms": percentile_95(folded),
        "p95 unfolded ms": percentile_95(unfolded),
        "processor ms": processor * 1e3,
    }
