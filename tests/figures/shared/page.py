"""Opens figures in a browser, on their own or in a book, and checks their layout."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from attnbook.figures.shared.base import Figure
from tests.figures.attention.cases import traits
from tests.tools.site.live_pages import cell, page, view
from tests.tools.site.site_checks import WIDE, Visit, watch_page

CLOSE = 1e-12  # the contract requires 1e-6
PAPER = {"light": "#ffffff", "dark": "#14181e"}
TEXT = {"light": "#222832", "dark": "#ced6dd"}
COLUMN = 736  # px: the book's text column on a wide screen
PHONE = {"has_touch": True, "is_mobile": True}
DENY = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied') } })"
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

# The smallest host: a model, the module from a Blob, the style.
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
const states = {states}, modules = {modules}, indices = {indices};
const makeModel = (traits) => {{
  const listeners = [];
  return {{
    saves: 0,
    get: (name) => traits[name],
    set(name, value) {{
      traits[name] = value;
      listeners.filter(([event]) => event === "change:" + name).forEach(([, listen]) => listen());
    }},
    on: (...pair) => listeners.push(pair),
    off(...pair) {{
      const i = listeners.findIndex(([event, listen]) => event === pair[0] && listen === pair[1]);
      if (i >= 0) listeners.splice(i, 1);
    }},
    save_changes() {{ this.saves += 1; }},
    listeners,
  }};
}};
window.models = states.map(makeModel);
// Once for each figure, as in a notebook; the book's host loads it once for all.
const load = (index) =>
  import(URL.createObjectURL(new Blob([modules[index]], {{ type: "text/javascript" }})));
window.ready = Promise.all(indices.map(load)).then((modules) => {{
  window.cleanUps = modules.map(({{ default: figure }}, i) => {{
    const el = document.querySelector("main").appendChild(document.createElement("div"));
    return figure.render({{ model: models[i], el }});
  }});
}});
</script>
</html>"""


def harness(figures: Sequence[Figure], theme: str = "light") -> str:
    """The HTML of a page with only these figures, of one or several kinds."""

    def to_script(data: Any) -> str:
        return json.dumps(data).replace("<", r"\u003c")

    modules = list(dict.fromkeys(str(figure._esm) for figure in figures))
    return HARNESS.format(
        theme=theme,
        paper=PAPER[theme],
        text=TEXT[theme],
        column=COLUMN,
        css="".join(dict.fromkeys(str(figure._css) for figure in figures)),
        modules=to_script(modules),
        indices=[modules.index(str(figure._esm)) for figure in figures],
        states=to_script([traits(figure) for figure in figures]),
    )


@contextmanager
def open_figure(
    browser: Browser, url: str, width: int = WIDE, **options: Any
) -> Iterator[tuple[Page, Visit]]:
    """Open a page and wait for its figures; gives the tab and the record of its complaints."""
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    tab, visit = watch_page(context)
    try:
        tab.goto(url)
        tab.locator("figure[data-attnbook-figure]").first.wait_for()
        yield tab, visit
    finally:
        context.close()


def notebook(*figures: Figure) -> Any:
    """A notebook whose cells show these figures."""
    states = [traits(figure) | {"_esm": figure._esm, "_css": figure._css} for figure in figures]
    models = {f"no{i}": {"model_name": "AnyModel", "state": s} for i, s in enumerate(states)}
    cells = [cell(view(name, repr(f))) for name, f in zip(models, figures, strict=True)]
    return page(*cells, models=models)


ALL_STARTED = """() => [...document.querySelectorAll('[data-attnbook-view]')]
    .every((view) => view.querySelector('figure[data-attnbook-figure], [role=status]'))"""


@contextmanager
def open_in_book(
    browser: Browser, url: str, width: int = WIDE, script: str = "", **options: Any
) -> Iterator[tuple[Page, Locator, Visit]]:
    """Open a page of a book; it must not complain, miss a file or load one from another site."""
    origin = url.rsplit("/", 1)[0].removesuffix("/chapters")
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    tab, visit = watch_page(context)
    if script:
        tab.add_init_script(script)
    figures = tab.locator("figure[data-attnbook-figure]")
    try:
        tab.goto(url)
        figures.last.wait_for()
        tab.wait_for_function(ALL_STARTED, timeout=120_000)  # each in a task of its own
        yield tab, figures, visit
        # Sphinx's own script reads the storage, and fails if that is denied.
        expected = "exception: denied" if script == DENY else None
        assert [text for text in visit.complaints if text != expected] == []
        assert visit.failures == []
        assert visit.foreign(origin) == []
    finally:
        context.close()


# Functions for scripts that read a figure's numbers. A cell without text has no number.
TO_READ = """
    const all = (selector, root = figure) => [...root.querySelectorAll(selector)];
    const texts = (selector, root) => all(selector, root).map((e) => e.textContent);
    const where = (selector, test) => all(selector).flatMap((e, i) => (test(e) ? [i] : []));
    const attributes = (selector, names, root) => all(selector, root).map(
        (e) => names.map((name) => Number(e.getAttribute(name))));
    const points = (path) => figure.querySelector(path).getAttribute('d').slice(1).split('L')
        .map((point) => point.split(' ').map(Number));
    const values = (row) => all('td[data-value]', row).filter((cell) => cell.textContent)
        .map((cell) => Number(cell.dataset.value));
    const bodies = () => all('tbody').map(
        (body) => [...body.rows].filter((row) => !row.hidden).map(values));
    const shaded = (map = '') => all(`${map} .shade-path`).reduce((sum, path) => sum
        + Number(path.dataset.shade) * (path.getAttribute('d').split('z').length - 1), 0);
"""


def reading(parts: str) -> str:
    """A script that reads these parts of a figure."""
    return f"figure => {{ {TO_READ} return {{ {parts} }}; }}"


def slider(figure: Locator, name: str) -> Locator:
    """A figure's slider with this name."""
    return figure.get_by_role("slider", name=name, exact=True)


# The line that answers, without what only a screen reader reads.
LINE = ".readout > :first-child"
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
# Elements that scroll may be wide, and the parts of a picture are cut off at its edge.
TOO_WIDE = """figure => {
    const column = figure.parentElement.parentElement.getBoundingClientRect();
    return [...figure.querySelectorAll('*')]
        .filter(e => !e.closest('.scroll > *, .drawing, .graph > *') && e.checkVisibility())
        .filter(e => e.getBoundingClientRect().right > column.right + 0.5
            || e.getBoundingClientRect().left < column.left - 0.5)
        .map(e => e.outerHTML.slice(0, 80));
}"""
# Controls whose keys JupyterLab would handle itself.
UNSUPPRESSED = (
    ":is(button, input, select, summary, [tabindex]):not([data-lm-suppress-shortcuts=true])"
)
MOVING = """figure => [...figure.querySelectorAll('*')].filter(
    e => getComputedStyle(e).transitionDuration.split(',').some(t => parseFloat(t) > 0)).length"""


def layout_problems(figure: Locator) -> list[str]:
    """Parts of a figure that make its page scroll sideways, leave its column, or are too small."""
    beyond = figure.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    sideways = [f"the page scrolls {beyond} px sideways"] if beyond > 0 else []
    return [*sideways, *figure.evaluate(TOO_WIDE), *figure.evaluate(SMALL_TEXT)]


SET_ALL = """([index, traits]) => {
    for (const [name, value] of Object.entries(traits))
        if (JSON.stringify(models[index].get(name)) !== JSON.stringify(value))
            models[index].set(name, value);
}"""
SENT = {"wanted", "weights"}  # a page requests them once, and stores them


class View(NamedTuple):
    """One of the figures of a page, and its first traits."""

    tab: Page
    figure: Locator
    state: dict[str, Any]
    index: int

    def set(self, **traits: Any) -> None:
        """Send the traits that differ, as Python does."""
        self.tab.evaluate(SET_ALL, [self.index, traits])

    def reset(self) -> View:
        """Send the first traits again."""
        self.set(**{name: value for name, value in self.state.items() if name not in SENT})
        return self

    def get(self, *names: str) -> list[Any]:
        """Return traits of its model."""
        script = "([index, names]) => names.map(name => models[index].get(name))"
        return list(self.tab.evaluate(script, [self.index, names]))

    def read_all(self, read: str, changes: list[dict[str, Any]]) -> list[Any]:
        """Run a script that reads the figure after each of these changes from Python."""
        script = f"""async ([index, changes]) => {{
            const [set, read, results] = [{SET_ALL}, {read}, []];
            for (const change of changes) {{
                set([index, change]);
                await null;
                results.push(read(document.querySelectorAll('main figure')[index]));
            }}
            return results;
        }}"""
        return list(self.tab.evaluate(script, [self.index, changes]))

    def saves(self) -> int:
        """Return how often it saved its traits for Python."""
        return int(self.tab.evaluate("index => models[index].saves", self.index))


def handle_centre(page: Page, slider: Locator) -> float:
    """The middle of a slider's handle in px, measured on a screenshot."""
    box = slider.bounding_box()
    assert box is not None
    picture = page.screenshot(clip={**box}, animations="disabled")
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("L"), dtype=float)
    # Above the track there is only the handle.
    rows = pixels[int(box["height"] / 2) - 8 : int(box["height"] / 2) - 4]
    dark = np.abs(rows - np.median(pixels[0])).max(axis=0) > 64
    columns = np.flatnonzero(dark)
    assert columns.size > 8, "no handle is visible"
    return float(box["x"] + (columns[0] + columns[-1] + 1) / 2)
