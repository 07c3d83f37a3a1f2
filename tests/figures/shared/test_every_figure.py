"""Tests of every figure: in Python, on a page with all others, and in a book."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial, partialmethod
from typing import Any, NamedTuple

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page

from attnbook import figures
from attnbook.figures.shared.base import Figure
from attnbook.models.transformer.stories import make_stories
from tests.figures.attention.cases import CASES, traits
from tests.figures.heads.page import STEPS
from tests.figures.online import cases as online
from tests.figures.pooling.cases import CASES as POOLING
from tests.figures.position.cases import CASES as POSITION
from tests.figures.prediction.cases import CASES as PREDICTION
from tests.figures.scaling.cases import by_hand
from tests.figures.shared.node import run_in_node
from tests.figures.shared.page import (
    MOVING,
    SET_ALL,
    SMALL_TEXT,
    UNSUPPRESSED,
    harness,
    notebook,
    open_figure,
    open_in_book,
)
from tests.figures.story.page import make as story
from tests.figures.writing.page import RIGHT, STORY
from tests.tools.site.live_pages import book
from tools.site.figures.live import check_mountable

KINDS = [getattr(figures, name) for name in figures.__all__]


class Example(NamedTuple):
    """A figure, and new values of all traits that its controls set."""

    make: Callable[[], Figure]
    changes: dict[str, Any]
    not_in_text: frozenset[str] = frozenset()  # traits that do not change its text


EXAMPLES = {
    "attention": Example(
        lambda: CASES["additive"]().figure(),
        {"valid_lens": [3, 0], "temperature": 0.5, "query": 2},
        frozenset({"query"}),
    ),
    "cache": Example(
        figures.CacheFigure,
        {"text": "abcdabcd", "bug": "padding_visible", "chunk": 3, "padding": 2, "window": 6}
        | {"sinks": 1, "drafts": 1, "step": 2, "focus": [0, 1]},
        frozenset({"step", "focus"}),
    ),
    "code": Example(lambda: figures.CodeTask("softmax-by-hand"), {}),
    "cost": Example(
        figures.CostFigure,
        {"length": 16, "batch": 4, "num_heads": 64, "num_kv_heads": 16, "head_size": 64}
        | {"num_layers": 3, "bytes_each": 4},
    ),
    "heads": Example(
        figures.HeadsFigure,
        {"text": "abcdabcd", "step": STEPS[0], "focus": [0, 1], "removed": [[1, 1]], "query": 4},
        frozenset({"focus"}),
    ),
    "inside": Example(lambda: figures.InsideFigure(make_stories(2, (2, 2))), {}),
    "mask": Example(
        figures.MaskFigure,
        {"valid_len": 5, "start": 1, "causal": "last", "window": 4, "ahead": 0}
        | {"documents": [0, 0, 0, 0, 1, 1], "num_queries": 2, "library": "flex"},
        frozenset({"library"}),
    ),
    "online": Example(
        lambda: online.figure_of("the chapter's"),
        {"step": 2, "corrected": False},
        frozenset({"step", "corrected"}),
    ),
    "pooling": Example(POOLING["few"], {"query": 2.0, "width": 0.8}),
    "position": Example(POSITION["sinusoidal"], {"start": 20, "distance": -7}),
    "position, rotary": Example(POSITION["rotary"], {"start": 20, "distance": -7}),
    "prediction": Example(
        PREDICTION["choice"],
        {"tried": ["(1, 7, 3)"], "done": "right"},
        frozenset({"tried", "done"}),
    ),
    "recognize": Example(figures.RecognizeFigure, {"task": "layer-norm"}),
    "scaling": Example(by_hand, {"d": 1}),
    "story": Example(
        story,
        {"moves": [["anna", "park"], ["ben", "school"]], "who": "ben", "word": 1},
    ),
    "translator": Example(
        figures.TranslatorFigure,
        {"text": "5/1/2000", "step": 3, "hidden": [2]},
        frozenset({"step"}),
    ),
    "writing": Example(
        lambda: figures.WritingFigure(STORY, right=RIGHT),
        {"text": f"dan goes to the park . {STORY}", "step": 3, "attention": "none"},
        frozenset({"step"}),
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_name = pytest.mark.parametrize("name", EXAMPLES)


@each_kind
def test_the_shipped_module_needs_no_other_file(kind):
    text = str(kind._esm)
    assert not re.search(r"^\s*(import\b|export .* from ['\"])", text, flags=re.MULTILINE)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"@import|url\(", str(kind._css))


NAMES = """
import { readFileSync } from "node:fs";
const { modules } = JSON.parse(readFileSync(0, "utf-8"));
const all = await Promise.all(modules.map((module) => import(module)));
process.stdout.write(JSON.stringify(all.map(Object.keys)));
"""


def test_a_module_can_be_imported_without_a_page_and_exports_only_a_default_render(tmp_path):
    files = []
    for kind in KINDS:
        files.append(tmp_path / f"{kind.__name__}.mjs")
        files[-1].write_text(str(kind._esm), "utf-8")
    for names in run_in_node(NAMES, tmp_path, modules=[file.as_uri() for file in files]):
        assert "default" in names
        assert "render" not in names


@each_name
def test_its_text_is_the_same_in_every_run_and_a_page_without_a_kernel_can_mount_it(name):
    figure, again = EXAMPLES[name].make(), EXAMPLES[name].make()
    assert repr(figure) == repr(again)
    assert "0x" not in repr(figure)
    bundle = figure._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/plain"] == repr(figure)
    assert "application/vnd.jupyter.widget-view+json" in data
    check_mountable({"model_name": "AnyModel", "state": figure.get_state()}, repr(figure))
    assert traits(figure)["kind"] == name.partition(",")[0]


@each_name
def test_traits_from_a_page_arrive_once_and_update_the_text(name):
    figure, (_, changes, not_in_text) = EXAMPLES[name].make(), EXAMPLES[name]
    first, in_text = repr(figure), set()
    before = {trait: getattr(figure, trait) for trait in changes}
    for trait, value in changes.items():
        events: list[Any] = []
        figure.observe(lambda change, events=events: events.append(change["new"]), trait)
        text = repr(figure)
        figure.set_state({trait: value})
        figure.set_state({trait: value})
        assert getattr(figure, trait) == value
        assert events == [value]
        if repr(figure) != text:
            in_text.add(trait)
    assert in_text == changes.keys() - not_in_text
    figure.set_state(before)
    assert repr(figure) == first


ACTION = "Drag it to 2: what happens?"


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("code", "prediction")])
def test_its_text_begins_with_its_action(name, monkeypatch):
    figure = EXAMPLES[name].make()
    kind, plain = getattr(figures, type(figure).__name__), repr(figure)
    makers = [kind.__init__] + ([kind.rotary] if hasattr(kind, "rotary") else [])
    assert all(inspect.signature(make).parameters["action"].default == "" for make in makers)
    monkeypatch.setattr(kind, "__init__", partialmethod(kind.__init__, action=ACTION))
    if name == "position, rotary":  # it passes its own argument
        monkeypatch.setattr(kind, "rotary", partial(kind.rotary, action=ACTION))
    figure = EXAMPLES[name].make()
    assert repr(figure) == f"{ACTION}\n{plain}"
    figure.set_state(EXAMPLES[name].changes)
    assert repr(figure).startswith(f"{ACTION}\n")


def make_captioned() -> list[Figure]:
    made = [example.make() for example in EXAMPLES.values()]
    assert {type(figure).__name__ for figure in made} == {*figures.__all__}
    for name, figure in zip(EXAMPLES, made, strict=True):
        figure.action = f"Try `{name}`: what happens?"
        figure.caption = f"A caption of {name}."
    return made


# The elements of each figure, or of the one at `index`, with sorted attributes; where lines between
# tokens are depends on the width of the page.
SNAPSHOTS = r"""index => [...document.querySelectorAll('figure[data-attnbook-figure]')]
    .filter((_, i) => (index ?? i) === i)
    .map(figure => [figure, ...figure.querySelectorAll('*')].map(e => [
        e.tagName,
        ...[...e.attributes].filter(a => a.name !== 'checked'
                && (a.value || !/class|style/.test(a.name))
                && !(e.closest('.token-lines') && 'dxy'.includes(a.name)))
            .map(a => `${a.name}=${a.value}`).sort(),
        [...e.childNodes].filter(node => node.nodeType === 3).map(node => node.data).join(''),
        e.value, e.checked,
    ].join(' ').replaceAll(/attnbook-[a-z0-9]{8,}/g, 'a random name')))"""


class Every(NamedTuple):
    """A page with all examples."""

    tab: Page
    figures: dict[str, Locator]
    traits: list[dict[str, Any]]  # as they were first
    snapshots: list[list[str]]  # as they were first

    def evaluate(self, script: str, media: str = "screen") -> dict[str, Any]:
        """Run a script on each figure, as printed or on the screen."""
        self.tab.emulate_media(media=media)
        results = {name: figure.evaluate(script) for name, figure in self.figures.items()}
        self.tab.emulate_media(media="screen")
        return results


@pytest.fixture(scope="module")
def open_page(browser, serve, tmp_path_factory):
    """A function that opens a page with these figures."""
    folder = tmp_path_factory.mktemp("every")
    address = serve(folder)
    with ExitStack() as pages:

        def go(made: list[Figure]) -> Every:
            (folder / "page.html").write_text(harness(made), "utf-8")
            opening = open_figure(browser, f"{address}page.html", reduced_motion="reduce")
            tab, record = pages.enter_context(opening)
            tab.evaluate("ready")
            figures = tab.locator("figure[data-attnbook-figure]").all()
            assert record.complaints == []
            named = dict(zip(EXAMPLES, figures, strict=True))
            return Every(tab, named, [*map(traits, made)], tab.evaluate(SNAPSHOTS))

        yield go


@pytest.fixture(scope="module")
def every(open_page):
    """A page with all examples. Only the tests after "New values from Python" change it."""
    return open_page(make_captioned())


# Cells whose text is not their value rounded.
MISROUNDED = """figure => [...figure.querySelectorAll('td[data-value]')].map(
    cell => [cell.textContent, cell.dataset.value]).filter(([text, value]) => {
        const digits = text.split('.')[1]?.length ?? 0;
        const close = text.includes('e') ? 0.06 * Math.abs(value) : 0.51 * 10 ** -digits;
        return Math.abs(text.replaceAll(',', '') - value) > close;
    })"""


@each_name
def test_it_begins_with_its_action_and_ends_with_its_caption_and_its_numbers_are_folded(
    every, name
):
    figure = every.figures[name]
    assert figure.get_attribute("data-attnbook-figure") == name.partition(",")[0]
    first = figure.locator("> :first-child")
    assert first.get_attribute("class") == "action"
    assert first.inner_text() == f"Try {name}: what happens?"
    assert first.locator("code").inner_text() == name
    assert figure.locator("> figcaption").inner_text() == f"A caption of {name}."
    answers = figure.locator("table.answers").count()
    assert figure.get_by_role("table").count() == answers
    count = figure.locator("details table").count()
    assert count == figure.locator("table").count() - answers
    assert (count == 0) == (name in ("code", "inside", "prediction", "recognize"))
    assert figure.evaluate(MISROUNDED) == []


def test_no_id_occurs_twice_and_jupyterlab_does_not_handle_keys_of_controls(every):
    assert every.tab.get_by_role("figure").count() == len(EXAMPLES)
    ids = every.tab.evaluate("[...document.querySelectorAll('main [id]')].map(e => e.id)")
    assert len({*ids}) == len(ids)
    assert every.tab.locator(f"figure {UNSUPPRESSED}").count() == 0


CONTROLS = """() => {
    const all = 'main :is(a[href], button, input, select, textarea, summary, [tabindex])';
    window.controls = [...document.querySelectorAll(all)].filter(e =>
        e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0
            && (e.type !== 'radio' || e.checked));
    return controls.length;
}"""


def test_the_tab_key_reaches_every_control_in_order(every):
    tab = every.tab
    count, reached = tab.evaluate(CONTROLS), []
    for _ in range(count):
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("controls.indexOf(document.activeElement)"))
    tab.reload()  # the focus has changed some figures
    tab.evaluate("ready")
    assert reached == [*range(count)]


def test_figures_are_printed_in_their_colours_with_large_enough_text(every):
    colours = every.evaluate("figure => getComputedStyle(figure).printColorAdjust", "print")
    assert colours == dict.fromkeys(EXAMPLES, "exact")
    assert not any(every.evaluate(SMALL_TEXT, "print").values())


def test_forced_colours_leave_the_tracks_of_sliders_and_the_swatches_of_legends(every):
    every.tab.emulate_media(forced_colors="active")
    drawn = every.tab.locator('figure input[type="range"]:visible, figure .mask-legend i').all()
    blank = []
    for part in drawn:
        picture = Image.open(io.BytesIO(part.screenshot())).convert("L")
        width, height = picture.size
        # A track is visible at both ends: the handle is at one of them at most.
        ends = [picture.crop((x, 0, x + width // 4, height)) for x in (0, width - width // 4)]
        if any(end.getextrema()[0] > 192 for end in ends):  # the ground is white
            blank.append(part.evaluate("part => part.outerHTML"))
    every.tab.emulate_media(forced_colors="none")
    assert blank == []
    assert len(drawn) > len(EXAMPLES)


def test_only_readers_who_accept_motion_see_transitions(every):
    assert every.evaluate(MOVING) == dict.fromkeys(EXAMPLES, 0)
    every.tab.emulate_media(reduced_motion="no-preference")
    moving = {name for name, count in every.evaluate(MOVING).items() if count}
    every.tab.emulate_media(reduced_motion="reduce")
    still = {"code", "cost", "inside", "mask", "position", "position, rotary"}
    still |= {"prediction", "recognize"}
    assert moving == {*EXAMPLES} - still  # bars and shares move, nothing else


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    whole = book(tmp_path_factory.mktemp("every-book"), every=notebook(*make_captioned()))
    assert whole.build().warnings == ""
    return whole


@pytest.mark.few(1)
def test_all_figures_work_on_one_page_of_a_book(every, browser, address):
    with open_in_book(browser, f"{address}every.html", reduced_motion="reduce") as (tab, _, _):
        for name, seen, expected in zip(
            EXAMPLES, tab.evaluate(SNAPSHOTS), every.snapshots, strict=True
        ):
            # There they run Python, and have a field for it.
            assert (seen == expected) == (name not in ("code", "inside", "recognize")), name


@pytest.fixture(scope="module")
def updates(open_page):
    """A page with all examples, made with the new values of their traits."""
    made = make_captioned()
    for figure, example in zip(made, EXAMPLES.values(), strict=True):
        figure.set_state(example.changes)
    return open_page(made)


def test_new_values_from_python_show_what_a_new_figure_would_until_it_is_cleaned_up(every, updates):
    tab = every.tab
    for index, (name, example) in enumerate(EXAMPLES.items()):
        tab.evaluate(SET_ALL, [index, updates.traits[index]])
        expected = updates.snapshots[index]
        [seen] = tab.evaluate(SNAPSHOTS, index)
        assert [pair for pair in zip(seen, expected, strict=True) if len({*pair}) > 1] == [], name
        assert (expected != every.snapshots[index]) == bool(example.changes), name
        tab.evaluate("index => cleanUps[index]?.()", index)
        tab.evaluate(SET_ALL, [index, every.traits[index]])
        assert tab.evaluate("index => models[index].listeners.length", index) == 0, name
    assert tab.evaluate(SNAPSHOTS) == updates.snapshots  # and no other figure has changed
