"""What is asked of every figure: in Python, on a page with all others, and in a book."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial, partialmethod
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Locator, Page

from attnbook import figures
from attnbook.figures.shared.base import Figure
from tests.figures.alignment import cases as alignment
from tests.figures.attention.cases import CASES, traits
from tests.figures.heads.page import STEPS
from tests.figures.online import cases as online
from tests.figures.pooling.cases import CASES as POOLING
from tests.figures.position.cases import CASES as POSITION
from tests.figures.prediction.cases import CASES as PREDICTION
from tests.figures.scaling.cases import by_hand
from tests.figures.shape.cases import heads
from tests.figures.shared.node import in_node
from tests.figures.shared.page import (
    MOVING,
    SET_ALL,
    SMALL_TEXT,
    UNKEPT,
    harness,
    notebook,
    opened_figure,
    read_in_a_book,
)
from tests.tools.site.live_pages import book
from tools.site.live import check_mountable

KINDS = [getattr(figures, name) for name in figures.__all__]


class Example(NamedTuple):
    """A figure, and for each of its traits that a control sets another value."""

    make: Callable[[], Figure]
    changes: dict[str, Any]
    unsaid: frozenset[str] = frozenset()  # traits that its text does not mention


EXAMPLES = {
    "alignment": Example(
        lambda: alignment.figure_of("failing"), {"date": 1, "step": 3}, frozenset({"step"})
    ),
    "attention": Example(
        lambda: CASES["additive"]().figure(),
        {"valid_lens": [3, 0], "temperature": 0.5, "query": 2},
        frozenset({"query"}),
    ),
    "code": Example(lambda: figures.CodeTask("softmax-by-hand"), {}),
    "cost": Example(
        figures.CostFigure,
        {"batch": 1, "num_queries": 16, "num_keys": 32, "size": 128}
        | {"layer": "dot", "mode": "training"},
    ),
    "heads": Example(
        figures.HeadsFigure,
        {"text": "abcdabcd", "step": STEPS[0], "focus": [0, 1], "removed": [[1, 1]], "query": 4},
        frozenset({"focus"}),
    ),
    "mask": Example(
        figures.MaskFigure,
        {"valid_len": 5, "start": 1, "causal": "last", "back": 3, "ahead": 0}
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
    "scaling": Example(by_hand, {"d": 1}),
    "shape": Example(lambda: figures.ShapeFigure(heads()), {"step": 7}),
    "translator": Example(
        figures.TranslatorFigure,
        {"text": "5/1/2000", "step": 3, "hidden": [2]},
        frozenset({"step"}),
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_name = pytest.mark.parametrize("name", EXAMPLES)


# In Python


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


def test_a_module_can_be_imported_without_a_page_and_hides_its_drawing_from_anywidget(tmp_path):
    files = []
    for kind in KINDS:
        files.append(tmp_path / f"{kind.__name__}.mjs")
        files[-1].write_text(str(kind._esm), "utf-8")
    for names in in_node(NAMES, tmp_path, modules=[file.as_uri() for file in files]):
        assert "default" in names
        assert "render" not in names


@each_name
def test_a_page_without_a_kernel_can_mount_it(name):
    figure = EXAMPLES[name].make()
    check_mountable({"model_name": "AnyModel", "state": figure.get_state()}, repr(figure))
    assert traits(figure)["kind"] == name.partition(",")[0]


def test_each_kind_has_an_example():
    made = {type(example.make()).__name__ for example in EXAMPLES.values()}
    assert made == {*figures.__all__}


@each_name
def test_the_text_is_the_same_in_every_run_and_is_stored_whole(name):
    figure, again = EXAMPLES[name].make(), EXAMPLES[name].make()
    assert repr(figure) == repr(again)
    assert "0x" not in repr(figure)
    bundle = figure._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/plain"] == repr(figure)
    assert "application/vnd.jupyter.widget-view+json" in data


@each_name
def test_what_a_front_end_sends_arrives_once_and_the_text_follows(name):
    figure, (_, changes, unsaid) = EXAMPLES[name].make(), EXAMPLES[name]
    first, mentioned = repr(figure), set()
    before = {trait: getattr(figure, trait) for trait in changes}
    for trait, value in changes.items():
        seen: list[Any] = []
        figure.observe(lambda change, seen=seen: seen.append(change["new"]), trait)
        text = repr(figure)
        figure.set_state({trait: value})
        figure.set_state({trait: value})
        assert getattr(figure, trait) == value
        assert seen == [value]
        if repr(figure) != text:
            mentioned.add(trait)
    assert mentioned == changes.keys() - unsaid
    figure.set_state(before)
    assert repr(figure) == first


DO = "Drag it to 2: what happens?"


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in ("code", "prediction")])
def test_its_text_begins_with_the_action_that_it_asks_for(name, monkeypatch):
    made = EXAMPLES[name].make()
    kind, plain = getattr(figures, type(made).__name__), repr(made)
    makers = [kind.__init__] + ([kind.rotary] if hasattr(kind, "rotary") else [])
    assert all(inspect.signature(make).parameters["action"].default == "" for make in makers)
    monkeypatch.setattr(kind, "__init__", partialmethod(kind.__init__, action=DO))
    if name == "position, rotary":  # it passes its own on
        monkeypatch.setattr(kind, "rotary", partial(kind.rotary, action=DO))
    figure = EXAMPLES[name].make()
    assert repr(figure) == f"{DO}\n{plain}"
    figure.set_state(EXAMPLES[name].changes)
    assert repr(figure).startswith(f"{DO}\n")


def test_without_anywidget_the_layers_load_and_figures_say_what_to_install():
    code = (
        "import attnbook, sys; print('anywidget' in sys.modules)\n"
        "sys.modules['anywidget'] = None\n"
        "try: import attnbook.figures\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    install = "attnbook.figures needs anywidget: pip install 'attnbook[figures]'"
    assert done.stdout.splitlines() == ["False", install]


# On a page


def captioned() -> list[Figure]:
    made = [example.make() for example in EXAMPLES.values()]
    for name, figure in zip(EXAMPLES, made, strict=True):
        figure.action = f"Try `{name}`: what happens?"
        figure.caption = f"A caption of {name}."
    return made


# What each figure holds, or the one at this place: elements, with what is set on them in any order.
SNAPSHOTS = r"""place => [...document.querySelectorAll('figure[data-attnbook-figure]')]
    .filter((_, i) => (place ?? i) === i)
    .map(figure => [figure, ...figure.querySelectorAll('*')].map(e => [
        e.tagName,
        ...[...e.attributes].filter(a => a.name !== 'checked' && (a.value || a.name !== 'class'))
            .map(a => `${a.name}=${a.value}`).sort(),
        [...e.childNodes].filter(node => node.nodeType === 3).map(node => node.data).join(''),
        e.value, e.checked,
    ].join(' ').replaceAll(/attnbook-[a-z0-9]{8,}/g, 'a name that the page has drawn')))"""


class Every(NamedTuple):
    """A page with all examples."""

    tab: Page
    shown: dict[str, Locator]
    snapshots: list[list[str]]  # as they were first


@pytest.fixture(scope="module")
def opened(browser, serve, tmp_path_factory):
    """A function that opens a page with these figures."""
    folder = tmp_path_factory.mktemp("every")
    home = serve(folder)
    with ExitStack() as pages:

        def go(made: list[Figure]) -> Every:
            (folder / "page.html").write_text(harness(made), "utf-8")
            opening = opened_figure(browser, f"{home}page.html", reduced_motion="reduce")
            tab, record = pages.enter_context(opening)
            tab.evaluate("ready")
            shown = tab.locator("figure[data-attnbook-figure]")
            assert record.complaints == []
            named = dict(zip(EXAMPLES, shown.all(), strict=True))
            return Every(tab, named, tab.evaluate(SNAPSHOTS))

        yield go


@pytest.fixture(scope="module")
def every(opened):
    """A page with all examples, to read: tests leave it as it was."""
    return opened(captioned())


@each_name
def test_it_is_one_figure_that_begins_with_its_action_and_ends_with_its_caption(every, name):
    tab, shown, _ = every
    assert shown[name].get_attribute("data-attnbook-figure") == name.partition(",")[0]
    first = shown[name].locator("> :first-child")
    assert first.get_attribute("class") == "action"
    assert first.inner_text() == f"Try {name}: what happens?"
    assert first.locator("code").inner_text() == name
    assert shown[name].locator("> figcaption").inner_text() == f"A caption of {name}."
    assert tab.get_by_role("figure").count() == len(EXAMPLES)


def test_no_two_elements_of_a_page_have_one_id(every):
    ids = every.tab.evaluate("[...document.querySelectorAll('main [id]')].map(e => e.id)")
    assert len({*ids}) == len(ids)


# Cells whose text is a number, but not their value rounded.
MISROUNDED = """figure => [...figure.querySelectorAll('td[data-value]')].map(
    cell => [cell.textContent, cell.dataset.value]).filter(([text, value]) => {
        const digits = text.split('.')[1]?.length ?? 0;
        const close = text.includes('e') ? 0.06 * Math.abs(value) : 0.51 * 10 ** -digits;
        return Math.abs(text.replaceAll(',', '') - value) > close;
    })"""


@each_name
def test_numbers_are_tables_behind_a_switch_and_a_cell_shows_its_value_rounded(every, name):
    figure = every.shown[name]
    assert figure.get_by_role("table").count() == 0
    count = figure.locator("details table").count()
    assert count == figure.locator("table").count()
    assert (count == 0) == (name in ("code", "prediction"))
    assert figure.evaluate(MISROUNDED) == []


@each_name
def test_keys_of_its_controls_are_kept_from_jupyterlab(every, name):
    assert every.shown[name].locator(UNKEPT).count() == 0


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
    tab.evaluate("document.activeElement.blur()")
    assert reached == [*range(count)]


@each_name
def test_it_prints_in_its_colours(every, name):
    tab, shown, _ = every
    tab.emulate_media(media="print")
    colours = shown[name].evaluate("figure => getComputedStyle(figure).printColorAdjust")
    small = shown[name].evaluate(SMALL_TEXT)
    tab.emulate_media(media="screen")
    assert (colours, small) == ("exact", [])


@each_name
def test_nothing_moves_by_itself_for_a_reader_who_asks_for_that(every, name):
    tab, shown, _ = every
    assert shown[name].evaluate(MOVING) == 0
    tab.emulate_media(reduced_motion="no-preference")
    moving = shown[name].evaluate(MOVING)
    tab.emulate_media(reduced_motion="reduce")
    assert (moving > 0) == (name in ("alignment", "attention", "online", "scaling", "translator"))


@pytest.fixture(scope="module")
def pair(opened):
    """Traits of all examples, before and after their changes, and a page of each."""
    made = captioned()
    before, page = [traits(figure) for figure in made], opened(made)
    for figure, example in zip(made, EXAMPLES.values(), strict=True):
        figure.set_state(example.changes)
    return before, page, [traits(figure) for figure in made], opened(made)


@each_name
def test_new_values_from_python_show_what_a_new_figure_would_until_it_is_cleaned_up(pair, name):
    before, (tab, _, _), after, fresh = pair
    place = [*EXAMPLES].index(name)
    first = tab.evaluate(SNAPSHOTS)
    tab.evaluate(SET_ALL, [place, after[place]])
    now = tab.evaluate(SNAPSHOTS)
    assert now[place] == fresh.snapshots[place]
    assert (now[place] != first[place]) == bool(EXAMPLES[name].changes)
    assert now[:place] + now[place + 1 :] == first[:place] + first[place + 1 :]
    tab.evaluate("place => cleanUps[place]?.()", place)
    tab.evaluate(SET_ALL, [place, before[place]])
    assert tab.evaluate("place => models[place].heard.length", place) == 0
    assert tab.evaluate(SNAPSHOTS, place) == [now[place]]


# In a book


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    whole = book(tmp_path_factory.mktemp("every-book"), every=notebook(*captioned()))
    assert whole.build().warnings == ""
    return whole


def test_all_live_on_one_page_of_the_book(every, browser, address):
    with read_in_a_book(browser, f"{address}every.html", reduced_motion="reduce") as (tab, _, _):
        for name, seen, expected in zip(
            EXAMPLES, tab.evaluate(SNAPSHOTS), every.snapshots, strict=True
        ):
            assert (seen == expected) == (name != "code"), name  # that has its Python there
