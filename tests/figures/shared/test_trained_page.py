"""What every figure with a trained model is asked on a page: how the model comes, or does not."""

from __future__ import annotations

import gzip
import re

import pytest
from playwright.sync_api import expect

from tests.figures.heads import page as heads
from tests.figures.shared.page import (
    UNKEPT,
    findings_by_figure,
    notebook,
    read_in_a_book,
)
from tests.figures.shared.trained import Trained, asked_for, with_model
from tests.figures.translator import page as translator
from tests.tools.site.jupyterlab import START, run_all, told_by_last
from tests.tools.site.live_pages import book, page
from tests.tools.site.site_checks import WIDE, watched

ROOMS = {"heads": heads.ROOM, "translator": translator.ROOM}


@pytest.fixture(scope="module", params=ROOMS.values(), ids=ROOMS)
def room(request):
    return request.param


# Alone on a page


@pytest.fixture(scope="module")
def show(stage, room):
    return with_model(stage, room)


PLACES = """figure => [...figure.querySelectorAll(':not(svg, svg *, details *)')].filter(
    e => e.checkVisibility()).flatMap(e => {
        const { x, y, width, height } = e.getBoundingClientRect();
        return [x, y - figure.getBoundingClientRect().y, width, height];
    })"""


def test_when_the_model_comes_it_shows_the_same_and_nothing_moves(stage, room):
    given = stage({case: room.make(**arguments) for case, arguments in room.cases.items()})
    for case, arguments in room.cases.items():
        found = Trained(given(case), given(case).figure, room.make(**arguments))
        assert room.disagreements(found.figure, found.python, room.rough) == [], case
        before = found.figure.evaluate(PLACES)
        found.answer()
        assert room.disagreements(found.figure, found.python) == [], case
        assert found.figure.evaluate(PLACES) == pytest.approx(before, abs=0.1), case


def test_what_cannot_be_read_gets_a_sentence_and_the_last_good_picture_stays(show, room):
    shown, figure, python = show()
    field, said = room.field(figure), room.said(figure)
    for typed, why in room.refused.items():
        field.fill(typed)
        expect(said).to_have_text(f"{why} Still shown: {room.still}")
        expect(figure.locator(".stale")).to_have_count(1)
        expect(field).to_have_attribute("aria-invalid", "true")
        for key in ("Home", "End"):  # another control leaves both alone
            figure.get_by_role("slider").last.press(key)
        assert field.input_value() == typed
        expect(said).to_contain_text(why)
    field.fill(python.text)
    for part, count in ((figure.locator(".stale"), 0), (said.filter(has_text="Still"), 0)):
        expect(part).to_have_count(count)
    expect(field).to_have_attribute("aria-invalid", "false")
    shown.reset()
    assert room.disagreements(figure, python) == []


def test_keys_of_what_is_drawn_later_are_kept_from_jupyterlab_too(show, room):
    figure = show().figure
    room.field(figure).fill(room.typed)
    expect(figure.locator(room.characters)).to_have_count(len(room.typed))
    assert figure.locator(UNKEPT).count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_was_typed_before_is_grey_and_legible(alone, room, scheme):
    with alone(room.make(**room.changed), scheme=scheme) as (tab, figure):
        part, ink = figure.locator(room.ink).first, "part => getComputedStyle(part).color"
        full = part.evaluate(ink)
        room.field(figure).fill([*room.refused][1])
        expect(figure.locator(".stale")).to_be_visible()
        assert part.evaluate(ink) != full
        assert findings_by_figure(tab, 1) == [[]]  # contrast, too


# In a book


@pytest.fixture(scope="module")
def built(room, tmp_path_factory):
    """A small book: a page with two figures, one where they are far down, and one with none."""
    pages = {"two": notebook(room.make(), room.make(**room.changed)), "none": page()}
    whole = book(tmp_path_factory.mktemp("trained"), **pages)
    assert whole.build().warnings == ""
    far = whole.read("two").replace("<body>", '<body><div style="height: 5000px"></div>')
    (whole.html / "far.html").write_text(far, "utf-8")
    return whole


def test_the_model_answers_what_is_typed_and_comes_once_for_two_figures(browser, room, address):
    with read_in_a_book(browser, f"{address}two.html") as (tab, figures, visit):
        figure, python = figures.first, room.make(text=room.typed)
        room.field(figure).fill(room.typed)
        expect(figure.locator(room.characters)).to_have_count(len(room.typed))
        assert room.disagreements(figure, python) == []
        python.set_state(room.move(figure))
        assert room.disagreements(figure, python) == []
        other = figures.nth(1)
        room.field(other).focus()
        assert room.disagreements(other, room.make(**room.changed)) == []
        assert len(asked_for(visit, python.name)) == 1
        # What two scripts name, a browser asks for once.
        brought = f'script[src*="live/{python.name}.js"]:not([data-attnbook-late])'
        assert tab.locator(brought).count() == 1


@pytest.mark.parametrize("how", ["scrolled to", "touched"])
def test_the_model_comes_when_its_figure_comes_near_the_view_or_is_touched(
    browser, room, address, how
):
    name = room.make().name
    with read_in_a_book(browser, f"{address}far.html") as (tab, figures, visit):
        tab.wait_for_load_state("networkidle")
        assert asked_for(visit, name) == []
        if how == "touched":
            room.field(figures.first).evaluate("field => field.focus({ preventScroll: true })")
        else:
            figures.first.scroll_into_view_if_needed()
        tab.wait_for_function("name => window.attnbookLate?.[name]", arg=name)
        assert len(asked_for(visit, name)) == 1
        assert (tab.evaluate("scrollY") == 0) == (how == "touched")


def check_it_stays(room, figure, why):
    """What was stored stays, and one line says why, whatever the reader types."""
    before = figure.evaluate(room.read)
    room.field(figure).fill(room.typed)
    expect(room.said(figure)).to_have_text(
        f"The model cannot be loaded, so what was computed before stays: {why}."
    )
    expect(figure.locator(".stale")).to_have_count(1)
    assert figure.evaluate(room.read) == before
    assert room.disagreements(figure, room.make(), room.rough) == []


DAMAGED = {
    "it brings nothing": (r"\(window\.attnbookLate", "(window.other"),
    "some weights are too many": (r'"data":\[?"', r"\g<0>AAAA"),
    "what it brings is something else": ('"data":', '"date":'),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_script_leaves_the_stored_picture_and_one_line(
    browser, serve, room, built, damage
):
    script = built.html / "_static" / "live" / f"{room.make().name}.js"
    whole = script.read_text("utf-8")
    damaged = re.sub(*damage, whole)
    assert damaged != whole
    script.write_text(damaged, "utf-8")
    try:
        with read_in_a_book(browser, f"{serve(built.html)}two.html") as (_, figures, _visit):
            check_it_stays(room, figures.first, "a part of this page is damaged")
    finally:
        script.write_text(whole, "utf-8")


def test_a_denied_script_leaves_the_stored_picture_and_can_come_later(browser, serve, room, built):
    context = browser.new_context(viewport={"width": WIDE, "height": 800})
    tab, _record = watched(context)
    script = f"**/live/{room.make().name}.js*"
    tab.route(script, lambda route: route.abort())
    tab.goto(f"{serve(built.html)}two.html")
    figure = tab.locator("figure[data-attnbook-figure]").first
    figure.wait_for()
    check_it_stays(room, figure, "a part of this page cannot be loaded")
    tab.unroute(script)
    text = room.typed[:-1]
    room.field(figure).fill(text)
    expect(figure.locator(room.characters)).to_have_count(len(text))
    expect(room.said(figure)).to_be_empty()
    assert room.disagreements(figure, room.make(text=text)) == []
    context.close()


def test_the_first_load_is_small_and_only_its_pages_name_the_weights(room, built):
    figure = room.make()
    field = f"{figure.kind}-field".encode()
    [module] = [file for file in built.modules if field in file.read_bytes()]
    assert len(gzip.compress(module.read_bytes(), 6)) < room.first_load
    assert "at-touch" not in built.read("none")
    assert f'data-attnbook-late="{figure.name}"' in built.read("two")


# In a notebook

LIVE = """
from attnbook.figures import HeadsFigure, TranslatorFigure

heads, translator = HeadsFigure(), TranslatorFigure()
heads
"""
TELL = """
for figure in (heads, translator):
    print(len(figure.weights['data']), figure.text, figure.reading.output
          if figure is translator else figure.reading.guesses)
"""


@pytest.mark.slow
@pytest.mark.parametrize("lab", [(LIVE, "translator", TELL)], indirect=True, ids=["trained"])
def test_in_jupyterlab_the_kernel_brings_the_weights(browser, lab):
    tab = browser.new_page(viewport={"width": 1280, "height": 3000})
    run_all(tab, lab)
    expected = []
    for kind, room in ROOMS.items():
        figure = tab.locator(f"[data-attnbook-figure={kind}]")
        expect(room.field(figure)).to_have_value(room.make().text, timeout=START * 1000)
        room.field(figure).fill(room.typed)
        expect(figure.locator(room.characters)).to_have_count(len(room.typed))
        python = room.make(text=room.typed)
        python.set_state(room.move(figure))
        assert room.disagreements(figure, python) == []
        written = python.reading.guesses if kind == "heads" else python.reading.output
        python.set_state({"wanted": True})
        expected.append(f"{len(python.weights['data'])} {python.text} {written}")
    told_by_last(tab, re.compile(r"\s+".join(map(re.escape, expected))))
    tab.close()
