"""A figure in a browser: a page of its own to stand on, and what it shows against torch."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from attnbook.figures.shared.base import Figure
from tests.figures.attention.cases import AttentionFigure, differ, traits, truth
from tests.tools.site.live_pages import book, cell, page, view
from tests.tools.site.site_checks import (
    UNFOLD,
    WIDE,
    Visit,
    axe_findings_with_places,
    watched,
)

CLOSE = 1e-12  # the contract asks for 1e-6
PAPER = {"light": "#ffffff", "dark": "#14181e"}
TEXT = {"light": "#222832", "dark": "#ced6dd"}
COLUMN = 736  # px: the book's text column on a wide screen

# The least that a host is: a model, the module from a Blob, the style.
HARNESS = """<!DOCTYPE html>
<html lang="en" data-theme="{theme}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Figures</title><link rel="icon" href="data:,">
<style>
  body {{ background: {paper}; color: {text}; font: 16px/1.65 sans-serif; margin: 1rem; }}
  main {{ margin: auto; max-width: {column}px; }}
</style>
<style>{css}</style>
<main><h1>Figures</h1></main>
<script>
const states = {states}, esm = {esm};
const makeModel = (traits) => {{
  const heard = [];
  return {{
    saves: 0,
    get: (name) => traits[name],
    set(name, value) {{
      traits[name] = value;
      heard.filter(([event]) => event === "change:" + name).forEach(([, hear]) => hear());
    }},
    on: (...pair) => heard.push(pair),
    off: (event, hear) => heard.splice(heard.findIndex((h) => h[0] === event && h[1] === hear), 1),
    save_changes() {{ this.saves += 1; }},
    heard,
  }};
}};
window.models = states.map(makeModel);
// Once for each figure, as in a notebook; the book's host loads it once for all.
const load = () => import(URL.createObjectURL(new Blob([esm], {{ type: "text/javascript" }})));
window.ready = Promise.all(models.map(load)).then((modules) => {{
  window.cleanUps = modules.map(({{ default: figure }}, i) => {{
    const el = document.querySelector("main").appendChild(document.createElement("div"));
    return figure.render({{ model: models[i], el }});
  }});
}});
</script>
</html>"""


def harness(figures: list[AttentionFigure], theme: str = "light") -> str:
    """A page that shows these figures and nothing else."""

    def inside(data: Any) -> str:
        return json.dumps(data).replace("<", r"\u003c")

    return HARNESS.format(
        theme=theme,
        paper=PAPER[theme],
        text=TEXT[theme],
        column=COLUMN,
        css=figures[0]._css,
        esm=inside(str(figures[0]._esm)),
        states=inside([traits(figure) for figure in figures]),
    )


@contextmanager
def opened_figure(
    browser: Browser, url: str, width: int = WIDE, **options: Any
) -> Iterator[tuple[Page, Visit]]:
    """A page whose figures are alive, and the record of what it complained of."""
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    tab, visit = watched(context)
    try:
        tab.goto(url)
        tab.locator("figure[data-attnbook-figure]").first.wait_for()
        yield tab, visit
    finally:
        context.close()


@contextmanager
def on_a_page_of_the_book(
    browser: Browser, serve: Callable[[Path], str], folder: Path, *figures: Figure
) -> Iterator[tuple[Page, Visit]]:
    """A page of a small book whose cells show these figures, brought to life by its host."""
    states = [traits(figure) | {"_esm": figure._esm, "_css": figure._css} for figure in figures]
    models = {f"no{i}": {"model_name": "AnyModel", "state": s} for i, s in enumerate(states)}
    cells = [cell(view(name, repr(f))) for name, f in zip(models, figures, strict=True)]
    built = book(folder, two=page(*cells, models=models)).build()
    assert built.warnings == ""
    url = f"{serve(built.html)}two.html"
    with opened_figure(browser, url, reduced_motion="reduce") as opened:
        yield opened


SMALL_TEXT = """figure => {
    const small = [], walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect(), size = getComputedStyle(node.parentElement);
        if (node.data.trim() && box.width * box.height && parseFloat(size.fontSize) < 12)
            small.push(`${node.data} (${size.fontSize})`);
    }
    return small;
}"""
# What may scroll may be wide, and what a picture holds is cut off at its edge.
TOO_WIDE = """figure => {
    const column = figure.parentElement.parentElement.getBoundingClientRect();
    return [...figure.querySelectorAll('*')]
        .filter(e => !e.closest('.scroll > *, .arrows, .graph > *') && e.checkVisibility())
        .filter(e => e.getBoundingClientRect().right > column.right + 0.5
            || e.getBoundingClientRect().left < column.left - 0.5)
        .map(e => e.outerHTML.slice(0, 80));
}"""
MOVING = """figure => [...figure.querySelectorAll('*')].filter(
    e => getComputedStyle(e).transitionDuration.split(',').some(t => parseFloat(t) > 0)).length"""


def ill_shown(figure: Locator) -> list[str]:
    """What of a figure makes its page scroll sideways, leaves its column, or is too small."""
    wide = "document.documentElement.scrollWidth - innerWidth"
    beyond = figure.page.evaluate(wide)
    sideways = [f"the page scrolls {beyond} px sideways"] if beyond > 0 else []
    return [*sideways, *figure.evaluate(TOO_WIDE), *figure.evaluate(SMALL_TEXT)]


@dataclass(frozen=True)
class Together:
    """Figures one below the other on one page, and what axe finds in each."""

    tab: Page
    findings: list[list[str]]

    def figure(self, place: int) -> Locator:
        """One of them."""
        return self.tab.locator("figure[data-attnbook-figure]").nth(place)

    def problems(self, place: int) -> list[str]:
        """What is wrong with how one of them looks; axe is heard, too."""
        return [*ill_shown(self.figure(place)), *self.findings[place]]


# The figure that an element belongs to; what belongs to none is found in each.
OWNERS = """place => {
    const figures = [...document.querySelectorAll('figure[data-attnbook-figure]')];
    const owners = figures.map(figure => figure.contains(document.querySelector(place)));
    return owners.includes(true) ? owners : owners.map(() => true);
}"""


def findings_by_figure(tab: Page, count: int) -> list[list[str]]:
    """What axe finds on a page, for each of its figures."""
    found = [(said, tab.evaluate(OWNERS, place)) for said, place in axe_findings_with_places(tab)]
    return [[said for said, owners in found if owners[i]] for i in range(count)]


@contextmanager
def together(
    browser: Browser, serve: Callable[[Path], str], folder: Path, figures: list[Figure]
) -> Iterator[Callable[[int, str], Together]]:
    """A function that opens these figures on one page, unfolded; once for each look."""
    home = serve(folder)
    with ExitStack() as pages:

        @cache
        def look(width: int, scheme: str) -> Together:
            name = f"together-{width}-{scheme}.html"
            (folder / name).write_text(harness(figures, scheme), "utf-8")
            options = {"color_scheme": scheme, "reduced_motion": "reduce"}
            opened = opened_figure(browser, home + name, width, **options)
            tab, record = pages.enter_context(opened)
            tab.evaluate("ready")
            tab.evaluate(UNFOLD)
            assert record.complaints == []
            return Together(tab, findings_by_figure(tab, len(figures)))

        yield look


READ = """figure => {
    const numbers = row => [...row.querySelectorAll('td[data-value]')].map(
        cell => Number(cell.dataset.value));
    const slider = figure.querySelector('.temperature input');
    return {
        temperature: Number(slider.getAttribute('aria-valuetext')),
        examples: [...figure.querySelectorAll('section')].map(section => ({
            query: Number(section.querySelector('input[type=radio]:checked')?.value ?? 0),
            lens: [...section.querySelectorAll('.axis input')].map(i => Number(i.value)),
            rows: [...section.querySelectorAll('tbody tr')].map(numbers),
            total: section.querySelector('.total-text').textContent,
        })),
    };
}"""


def read(figure: Locator) -> dict[str, Any]:
    """Where the controls of a figure stand, and the numbers of its table twins."""
    return dict(figure.evaluate(READ))


def disagreements(figure: Locator, state: dict[str, Any], tolerance: float = CLOSE) -> list[str]:
    """Where the numbers that a figure shows are not PyTorch's for where its controls stand."""
    shown = read(figure)
    per_query = isinstance(state["valid_lens"][0], list)
    lens = [e["lens"] if per_query else e["lens"][0] for e in shown["examples"]]
    weights, output = truth(state, lens, shown["temperature"])
    wrong = []
    for i, example in enumerate(shown["examples"]):
        q = example["query"]
        *keys, last = example["rows"]
        expected = {
            "scores": (state["scores"][i][q], [row[0] for row in keys]),
            "weights": (weights[i, q].tolist(), [row[1] for row in keys]),
            "values": (state["values"][i], [row[2:] for row in keys]),
            "total": ([weights[i, q].sum().item()], last[:1]),
            "output": (output[i, q].tolist(), last[1:]),
        }
        wrong += [
            f"{name} of example {i}, query {q}, lengths {lens}, T {shown['temperature']}"
            for name, (truly, seen) in expected.items()
            if differ(seen, torch.tensor(truly, dtype=torch.float64), tolerance)
        ]
    return wrong


def length_slider(figure: Locator, example: int = 0) -> Locator:
    """The `valid_lens` slider that is shown for an example."""
    return figure.locator("section").nth(example).locator(".axis input:visible")


def boundaries(figure: Locator, example: int = 0) -> list[float]:
    """Where the keys' columns begin and end, in px: one more than there are keys."""
    return list(
        figure.locator("section")
        .nth(example)
        .locator(".keys")
        .evaluate(
            """keys => [...keys.children].map(key => key.getBoundingClientRect().left)
                .concat(keys.lastElementChild.getBoundingClientRect().right)"""
        )
    )


def handle_centre(page: Page, slider: Locator) -> float:
    """The middle of a slider's handle in px, measured on a picture of it."""
    box = slider.bounding_box()
    assert box is not None
    picture = page.screenshot(clip={**box}, animations="disabled")
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("L"), dtype=float)
    # Above the track there is nothing but the handle.
    rows = pixels[int(box["height"] / 2) - 8 : int(box["height"] / 2) - 4]
    dark = np.abs(rows - np.median(pixels[0])).max(axis=0) > 64
    columns = np.flatnonzero(dark)
    assert columns.size > 8, "no handle to be seen"
    return float(box["x"] + (columns[0] + columns[-1] + 1) / 2)
