"""A figure in a browser: on a page of its own, on a page of a book, and how it looks."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from attnbook.figures.shared.base import Figure
from tests.figures.attention.cases import traits
from tests.tools.site.live_pages import cell, page, view
from tests.tools.site.site_checks import (
    OF_LOOK,
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
PHONE = {"has_touch": True, "is_mobile": True}
DENY = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied') } })"
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
FROM_PYTHON = "([name, value]) => models[0].set(name, value)"

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
const states = {states}, modules = {modules}, places = {places};
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
const load = (place) =>
  import(URL.createObjectURL(new Blob([modules[place]], {{ type: "text/javascript" }})));
window.ready = Promise.all(places.map(load)).then((modules) => {{
  window.cleanUps = modules.map(({{ default: figure }}, i) => {{
    const el = document.querySelector("main").appendChild(document.createElement("div"));
    return figure.render({{ model: models[i], el }});
  }});
}});
</script>
</html>"""


def harness(figures: Sequence[Figure], theme: str = "light") -> str:
    """A page that shows these figures, of one or of several kinds, and nothing else."""

    def inside(data: Any) -> str:
        return json.dumps(data).replace("<", r"\u003c")

    modules = list(dict.fromkeys(str(figure._esm) for figure in figures))
    return HARNESS.format(
        theme=theme,
        paper=PAPER[theme],
        text=TEXT[theme],
        column=COLUMN,
        css="".join(dict.fromkeys(str(figure._css) for figure in figures)),
        modules=inside(modules),
        places=[modules.index(str(figure._esm)) for figure in figures],
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


def notebook(*figures: Figure) -> Any:
    """A notebook whose cells show these figures."""
    states = [traits(figure) | {"_esm": figure._esm, "_css": figure._css} for figure in figures]
    models = {f"no{i}": {"model_name": "AnyModel", "state": s} for i, s in enumerate(states)}
    cells = [cell(view(name, repr(f))) for name, f in zip(models, figures, strict=True)]
    return page(*cells, models=models)


@contextmanager
def read_in_a_book(
    browser: Browser, url: str, width: int = WIDE, script: str = "", **options: Any
) -> Iterator[tuple[Page, Locator, Visit]]:
    """A page's figures; nothing of it may complain, be missing or come from elsewhere."""
    home = url.rsplit("/", 1)[0].removesuffix("/chapters")
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    tab, visit = watched(context)
    if script:
        tab.add_init_script(script)
    figures = tab.locator("figure[data-attnbook-figure]")
    try:
        tab.goto(url)
        figures.last.wait_for()
        yield tab, figures, visit
        # Sphinx's own script asks for the storage, and takes no refusal.
        known = "exception: denied" if script == DENY else None
        assert [said for said in visit.complaints if said != known] == []
        assert visit.failures == []
        assert visit.foreign(home) == []
    finally:
        context.close()


# What a script may use that reads what a figure shows. A cell without text shows no number.
TO_READ = """
    const all = (selector) => [...figure.querySelectorAll(selector)];
    const texts = (selector) => all(selector).map((e) => e.textContent);
    const where = (selector, test) => all(selector).flatMap((e, i) => (test(e) ? [i] : []));
    const values = (row) => [...row.querySelectorAll('td[data-value]')].filter(
        (cell) => cell.textContent).map((cell) => Number(cell.dataset.value));
    const bodies = () => all('tbody').map((body) => [...body.rows].map(values));
    const shaded = () => all('.shade-path').reduce((sum, path) => sum
        + Number(path.dataset.shade) * (path.getAttribute('d').split('z').length - 1), 0);
"""


def reading(parts: str) -> str:
    """A script that reads these parts of a figure."""
    return f"figure => {{ {TO_READ} return {{ {parts} }}; }}"


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
# Controls whose keys JupyterLab would take for its own.
UNKEPT = ":is(button, input, select, summary, [tabindex]):not([data-lm-suppress-shortcuts=true])"
MOVING = """figure => [...figure.querySelectorAll('*')].filter(
    e => getComputedStyle(e).transitionDuration.split(',').some(t => parseFloat(t) > 0)).length"""


def colours_on_paper(figure: Locator, keep_picture: Callable[[Page, str], None], name: str) -> str:
    """What is printed of a figure's colours: "exact" is all of them."""
    figure.page.emulate_media(media="print")
    keep_picture(figure.page, f"{name}-print")
    return str(figure.evaluate("figure => getComputedStyle(figure).printColorAdjust"))


def ill_shown(figure: Locator) -> list[str]:
    """What of a figure makes its page scroll sideways, leaves its column, or is too small."""
    wide = "document.documentElement.scrollWidth - innerWidth"
    beyond = figure.page.evaluate(wide)
    sideways = [f"the page scrolls {beyond} px sideways"] if beyond > 0 else []
    return [*sideways, *figure.evaluate(TOO_WIDE), *figure.evaluate(SMALL_TEXT)]


SET_ALL = """([place, traits]) => {
    for (const [name, value] of Object.entries(traits))
        if (JSON.stringify(models[place].get(name)) !== JSON.stringify(value))
            models[place].set(name, value);
}"""
SENT = {"wanted", "weights"}  # what a page asks for once, and keeps


class Shown(NamedTuple):
    """One of the figures of a page, and the traits that it was made with."""

    tab: Page
    figure: Locator
    state: dict[str, Any]
    place: int

    def set(self, **traits: Any) -> None:
        """Send what differs, as Python does."""
        self.tab.evaluate(SET_ALL, [self.place, traits])

    def reset(self) -> Shown:
        """Send the first traits again."""
        self.set(**{name: value for name, value in self.state.items() if name not in SENT})
        return self

    def get(self, *names: str) -> list[Any]:
        """Traits of its model."""
        script = "([place, names]) => names.map(name => models[place].get(name))"
        return list(self.tab.evaluate(script, [self.place, names]))

    def read_all(self, read: str, changes: list[dict[str, Any]]) -> list[Any]:
        """What a script reads of the figure after each of these changes from Python."""
        script = f"""async ([place, changes]) => {{
            const [set, read, found] = [{SET_ALL}, {read}, []];
            for (const change of changes) {{
                set([place, change]);
                await null;
                found.push(read(document.querySelectorAll('main figure')[place]));
            }}
            return found;
        }}"""
        return list(self.tab.evaluate(script, [self.place, changes]))

    def saves(self) -> int:
        """How often it saved its traits for Python."""
        return int(self.tab.evaluate("place => models[place].saves", self.place))


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


def findings_by_figure(tab: Page, count: int, only: list[str] | None = None) -> list[list[str]]:
    """What axe finds on a page by all its rules or some, for each of its figures."""
    places = axe_findings_with_places(tab, only)
    found = [(said, tab.evaluate(OWNERS, place)) for said, place in places]
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
            only = None if scheme == "light" else OF_LOOK
            return Together(tab, findings_by_figure(tab, len(figures), only))

        yield look


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
