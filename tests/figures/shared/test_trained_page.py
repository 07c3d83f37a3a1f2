"""Figures with a trained model on a page: the model is loaded late, or cannot be loaded."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.figures.cache import page as cache
from tests.figures.heads import page as heads
from tests.figures.shared.page import FRAMES, UNSUPPRESSED, notebook, open_in_book
from tests.figures.shared.trained import (
    Trained,
    open_more_controls,
    show_with_model,
    weight_requests,
)
from tests.figures.translator import page as translator
from tests.tools.site.live_pages import book, page
from tests.tools.site.site_checks import WIDE, axe_findings, packed_size, watch_page
from tools import BUDGETS

ROOMS = {"cache": cache.ROOM, "heads": heads.ROOM, "translator": translator.ROOM}


@pytest.fixture(scope="module", params=ROOMS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def room(kind):
    return ROOMS[kind]


@pytest.fixture(scope="module")
def show(stage, room):
    return show_with_model(stage, room)


POSITIONS = """figure => [...figure.querySelectorAll(':not(svg, svg *, details *)')].filter(
    e => e.checkVisibility()).flatMap(e => {
        const { x, y, width, height } = e.getBoundingClientRect();
        return [x, y - figure.getBoundingClientRect().y, width, height];
    })"""


def test_when_the_model_is_loaded_the_numbers_stay_and_nothing_moves(stage, room):
    figures = {case: room.make(**room.cases[case]) for case in [*room.cases][:3]}
    show_first = stage(figures)
    for case, python in figures.items():
        view = show_first(case)
        trained = Trained(view, view.figure, python)
        assert room.disagreements(view.figure, python, room.rough) == [], case
        before = view.figure.evaluate(POSITIONS)
        trained.send_weights()
        assert room.disagreements(view.figure, python) == [], case
        assert view.figure.evaluate(POSITIONS) == pytest.approx(before, abs=0.1), case


def test_a_text_that_cannot_be_read_gets_a_message_and_the_last_picture_stays(show, room):
    view, figure, python = show()
    field, message = room.field(figure), room.message(figure)
    open_more_controls(figure)
    for typed, why in room.refused.items():
        field.fill(typed)
        expect(message).to_have_text(f"{why} Still shown: {room.still}")
        expect(figure.locator(".stale")).to_have_count(1)
        expect(field).to_have_attribute("aria-invalid", "true")
        for key in ("Home", "End"):  # another control changes neither
            figure.get_by_role("slider").last.press(key)
        assert field.input_value() == typed
        expect(message).to_contain_text(why)
    field.fill(python.text)
    for part, count in ((figure.locator(".stale"), 0), (message.filter(has_text="Still"), 0)):
        expect(part).to_have_count(count)
    expect(field).to_have_attribute("aria-invalid", "false")
    view.reset()
    assert room.disagreements(figure, python) == []


def test_the_last_picture_is_grey_and_legible(open_figures, room):
    with open_figures(room.make(**room.changed), scheme="dark") as (tab, figure):
        part, ink = figure.locator(room.ink).first, "part => getComputedStyle(part).color"
        full = part.evaluate(ink)
        room.field(figure).fill([*room.refused][1])
        expect(figure.locator(".stale")).to_be_visible()
        assert part.evaluate(ink) != full
        assert axe_findings(tab, ["color-contrast"]) == []


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A small book: pages with two figures, pages with figures far down, and one with none."""
    pages = {kind: notebook(room.make(), room.make(**room.changed)) for kind, room in ROOMS.items()}
    whole = book(tmp_path_factory.mktemp("trained"), **pages, none=page())
    assert whole.build().warnings == ""
    for kind in ROOMS:
        far = whole.read(kind).replace("<body>", '<body><div style="height: 5000px"></div>')
        (whole.html / f"far-{kind}.html").write_text(far, "utf-8")
    return whole


@pytest.mark.few(2)
def test_the_model_follows_the_typed_text_and_is_loaded_once_for_two_figures(
    browser, kind, room, address
):
    with open_in_book(browser, f"{address}{kind}.html") as (tab, figures, visit):
        figure, python = figures.first, room.make(text=room.typed)
        room.field(figure).fill(room.typed)
        expect(figure.locator(room.characters)).to_have_count(len(room.typed))
        assert room.disagreements(figure, python) == []
        # JupyterLab does not handle keys of controls that are added later.
        assert figure.locator(UNSUPPRESSED).count() == 0
        python.set_state(room.move(figure))
        assert room.disagreements(figure, python) == []
        other = figures.nth(1)
        room.field(other).focus()
        assert room.disagreements(other, room.make(**room.changed)) == []
        assert len(weight_requests(visit, python.name)) == 1
        # A browser requests a file once, even if two script elements name it.
        script = f'script[src*="live/{python.name}.js"]:not([data-attnbook-late])'
        assert tab.locator(script).count() == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("how", ["scrolled to", "touched"])
def test_the_model_is_loaded_when_its_figure_comes_near_the_view_or_is_touched(
    browser, kind, room, address, how
):
    name = room.make().name
    with open_in_book(browser, f"{address}far-{kind}.html") as (tab, figures, visit):
        tab.evaluate(FRAMES)  # until the page knows which figures are in view
        assert weight_requests(visit, name) == []
        if how == "touched":
            room.field(figures.first).evaluate("field => field.focus({ preventScroll: true })")
        else:
            figures.first.scroll_into_view_if_needed()
        tab.wait_for_function("name => window.attnbookLate?.[name]", arg=name)
        assert len(weight_requests(visit, name)) == 1
        assert (tab.evaluate("scrollY") == 0) == (how == "touched")


def check_stored_picture_stays(room, figure, why):
    """The stored picture stays, and one line gives the reason, after the reader types."""
    before = figure.evaluate(room.read)
    room.field(figure).fill(room.typed)
    expect(room.message(figure)).to_have_text(
        f"The model cannot be loaded, so what was computed before stays: {why}."
    )
    expect(figure.locator(".stale")).to_have_count(1)
    assert figure.evaluate(room.read) == before
    assert room.disagreements(figure, room.make(), room.rough) == []


DAMAGED = {
    "it exports nothing": (r"\(window\.attnbookLate", "(window.other"),
    "some weights are too many": (r'"data":\[?"', r"\g<0>AAAA"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_with_a_damaged_script_the_stored_picture_stays(browser, serve, kind, room, pages, damage):
    script = pages.html / "_static" / "live" / f"{room.make().name}.js"
    whole = script.read_text("utf-8")
    damaged = re.sub(*damage, whole)
    assert damaged != whole
    script.write_text(damaged, "utf-8")
    try:
        with open_in_book(browser, f"{serve(pages.html)}{kind}.html") as (_, figures, _visit):
            check_stored_picture_stays(room, figures.first, "a part of this page is damaged")
    finally:
        script.write_text(whole, "utf-8")


def test_without_the_script_the_stored_picture_stays_until_it_can_be_loaded(
    browser, serve, kind, room, pages
):
    context = browser.new_context(viewport={"width": WIDE, "height": 800})
    tab, _record = watch_page(context)
    script = f"**/live/{room.make().name}.js*"
    tab.route(script, lambda route: route.abort())
    tab.goto(f"{serve(pages.html)}{kind}.html")
    figure = tab.locator("figure[data-attnbook-figure]").first
    figure.wait_for()
    check_stored_picture_stays(room, figure, "a part of this page cannot be loaded")
    tab.unroute(script)
    text = room.typed[:-1]
    room.field(figure).fill(text)
    expect(figure.locator(room.characters)).to_have_count(len(text))
    expect(room.message(figure)).to_be_empty()
    assert room.disagreements(figure, room.make(text=text)) == []
    context.close()


def test_the_first_load_is_small_and_only_pages_with_the_figure_name_its_weights(kind, room, pages):
    figure = room.make()
    title = f"{room.make.__name__}: ".encode()  # in its table of messages
    [module] = [file for file in pages.modules if title in file.read_bytes()]
    assert packed_size(module) < BUDGETS["kilobytes"]["first_load"][kind] * 1000
    assert "at-touch" not in pages.read("none")
    assert f'data-attnbook-late="{figure.name}"' in pages.read(kind)
