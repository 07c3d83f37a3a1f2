"""What every figure with a trained model is asked on a page: how the model comes, or does not."""

from __future__ import annotations

import gzip
import re

import pytest
from playwright.sync_api import expect

from tests.figures.heads import page as heads
from tests.figures.shared.page import findings_by_figure, notebook, read_in_a_book
from tests.figures.shared.trained import asked_for
from tests.figures.translator import page as translator
from tests.tools.site.live_pages import book, page
from tests.tools.site.site_checks import LOOKS, WIDE, watched

ROOMS = {"heads": heads.ROOM, "translator": translator.ROOM}


@pytest.fixture(scope="module", params=ROOMS.values(), ids=ROOMS)
def room(request):
    return request.param


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


def brought(tab, room):
    """The model's name, when it is there."""
    name = room.make().name
    tab.wait_for_function("name => window.attnbookLate?.[name]", arg=name)
    return name


def test_the_model_comes_when_its_figure_comes_near_the_view(browser, room, address):
    with read_in_a_book(browser, f"{address}far.html") as (tab, figures, visit):
        tab.wait_for_timeout(300)
        assert asked_for(visit, room.make().name) == []
        figures.first.scroll_into_view_if_needed()
        assert len(asked_for(visit, brought(tab, room))) == 1


def test_the_model_comes_at_the_first_touch(browser, room, address):
    with read_in_a_book(browser, f"{address}far.html") as (tab, figures, visit):
        tab.wait_for_timeout(300)
        assert asked_for(visit, room.make().name) == []
        room.field(figures.first).evaluate("field => field.focus({ preventScroll: true })")
        assert len(asked_for(visit, brought(tab, room))) == 1
        assert tab.evaluate("scrollY") == 0


def check_it_stands_still(room, figure, told):
    """What was stored stays, and one line says why, whatever the reader types."""
    before = figure.evaluate(room.read)
    room.field(figure).fill(room.typed)
    expect(room.said(figure)).to_have_text(
        f"The model cannot be loaded, so what was computed before stays: {told}."
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
            check_it_stands_still(room, figures.first, "a part of this page is damaged")
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
    check_it_stands_still(room, figure, "a part of this page cannot be loaded")
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


@pytest.fixture(scope="module")
def looked_at(on_one_page, room):
    """A function that opens a figure without its model."""
    return on_one_page([room.make(**room.changed)])


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_what_was_typed_before_is_grey_and_legible(room, looked_at, keep_picture, width, scheme):
    seen = looked_at(width, scheme)
    figure = seen.figure(0)
    part, ink = figure.locator(room.ink).first, "part => getComputedStyle(part).color"
    full = part.evaluate(ink)
    room.field(figure).fill(room.unreadable)
    expect(figure.locator(".stale")).to_be_visible()
    assert part.evaluate(ink) != full
    assert findings_by_figure(seen.tab, 1) == [[]]  # contrast, too
    keep_picture(figure, f"{room.make().kind}-stale-{width}-{scheme}")
