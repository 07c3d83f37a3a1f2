"""Measure how soon a figure answers a hand: from the input until the frame is painted.

The times are those that a reader sees, so a busy machine lengthens them.
"""

from __future__ import annotations

import random
import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from playwright.sync_api import Locator, Page

import attnbook
from attnbook.figures import AttentionFigure
from attnbook.models.transformer.repeats import SYMBOLS
from attnbook.models.translator.dates import make_dates
from tools.bench.browser import chromium, fresh, served
from tools.bench.pages import SITE, WORK, Row, require_book
from tools.site.live import HOST, data_of, in_script, module_of, name_of, placeholder, registration

MOVES = 60

# The pages on which figures are moved; their first slider, or what is typed into their field.
PLACES = {
    "alignment": "bahdanau-attention",
    "attention": "masked-softmax",
    "cost": "what-attention-costs",
    "heads": "heads-that-copy",
    "mask": "masks",
    "online": "what-attention-costs",
    "pooling": "attention-pooling",
    "position": "position",
    "scaling": "scoring-functions",
    "shape": "multi-head-attention",
    "translator": "queries-keys-values",
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

# What a figure shows, as one text: numbers, and the words beside them.
SHOWN = """figure => [...figure.querySelectorAll("td[data-value]")].map(
    (cell) => cell.dataset.value).join() + figure.innerText"""

MOVED = f"([figure, before]) => ({SHOWN})(figure) !== before"


def typed() -> dict[str, list[str]]:
    """What is typed into figures with a field: dates of all languages, and full lines."""
    draw = random.Random(0)  # noqa: S311 - lines to type, no secrets
    return {
        "translator": [date.text for date in make_dates(1, 1, MOVES, seed=0).test],
        "heads": ["".join(draw.choices(SYMBOLS, k=32)) for _ in range(MOVES)],
    }


def places(slider: Locator) -> list[str]:
    """Places of a slider, far from each other."""
    low, high = (float(slider.get_attribute(end) or 0) for end in ("min", "max"))
    return [str(low + (high - low) * (i * 37 % 61) / 60) for i in range(MOVES)]


def answers(page: Page, figure: Locator, texts: Sequence[str] | None) -> list[float]:
    """Milliseconds of each move.

    Raises:
        TimeoutError: Playwright's, of a figure that does not move; no time is worth taking.
    """
    field = figure.get_by_role("textbox").first
    control = field if texts else figure.locator("input[type=range]:visible").first
    control.scroll_into_view_if_needed()
    control.focus()
    values = list(texts or places(control))
    before = figure.evaluate(SHOWN)
    control.evaluate(INPUTS, values[:3])
    page.wait_for_function(MOVED, arg=[figure.element_handle(), before])  # a model may be late
    control.evaluate(INPUTS, values[:30])  # until the code is compiled
    times: list[float] = control.evaluate(INPUTS, values)
    return times


def hands_row() -> Row:
    """The book's figures, moved or typed into: the median, and what one of 20 exceeds."""
    require_book()
    row: Row = {}
    with chromium() as browser, served(SITE) as home:
        for name, chapter in PLACES.items():
            with fresh(browser) as (page, _):
                page.goto(f"{home}chapters/{chapter}.html")
                figure = page.locator(f"figure[data-attnbook-figure={name}]").first
                times = answers(page, figure, typed().get(name))
            row[f"{name} median ms"] = statistics.median(times)
            row[f"{name} p95 ms"] = percentile_95(times)
    return row


def largest_figure() -> AttentionFigure:
    """64 keys, 64 queries."""
    rng = torch.Generator().manual_seed(64)
    queries, keys, values = (torch.randn(1, 64, 8, generator=rng) for _ in range(3))
    return AttentionFigure(attnbook.DotProductAttention(), queries, keys, values)


def write_stand_alone(figure: AttentionFigure, folder: Path) -> None:
    """Write a page with this figure, mounted by the host of the book."""
    model = {"model_name": "AnyModel", "state": figure.get_state()}
    module = module_of(model)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HOST, folder / "host.js")
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
    """The time that one of twenty exceeds."""
    return statistics.quantiles(times, n=20)[-1]


def processor_time(page: Page) -> Callable[[], float]:
    """A clock of the page's main thread: seconds in which it really ran."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    return now


def repaint_row() -> Row:
    """The largest figure, with its table folded and unfolded; the processor's time is our part."""
    folder = WORK.parent / "bench"
    write_stand_alone(largest_figure(), folder)
    moves = [str(i * 37 % 65) for i in range(200)]
    with chromium() as browser, served(folder) as home, fresh(browser) as (page, _):
        page.goto(f"{home}figure.html")
        page.evaluate("window.slider")
        slider = page.locator("figure[data-attnbook-figure] input[type=range]").first
        slider.evaluate(INPUTS, moves[:30])  # until the code is compiled
        clock = processor_time(page)
        start = clock()
        folded = slider.evaluate(INPUTS, moves)
        processor = (clock() - start) / len(moves)
        page.locator("summary").first.click()
        unfolded = slider.evaluate(INPUTS, moves)
    return {
        "median ms": statistics.median(folded),
        "p95 ms": percentile_95(folded),
        "p95 unfolded ms": percentile_95(unfolded),
        "processor ms": processor * 1e3,
    }
