"""The position figure in a browser: wherever its sliders stand, what it shows is attnbook's."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import torch

from tests.figures.attention.cases import traits
from tests.figures.position.cases import CASES
from tests.figures.position.page import DRAWN, READ, disagreements, slider
from tests.figures.shared.page import colours_on_paper, handle_centre
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE

each_width = pytest.mark.parametrize("width", [WIDE, NARROW])
each_way = pytest.mark.parametrize("way", ["http", "file"])


@pytest.fixture(scope="module")
def show(alone):
    """A function that opens a page with one case and gives tab, figure and state."""

    @contextmanager
    def go(case: str, width: int = WIDE, **options):
        made = CASES[case]()
        with alone(made, width=width, **options) as (tab, figure):
            yield tab, figure, traits(made)

    return go


# Equal to attnbook


@each_way
@pytest.mark.parametrize("case", [case for case in CASES if case != "rotary, huge"])
def test_the_ends_and_some_places_between_equal_attnbook(show, case, way):
    rng = torch.Generator().manual_seed(0)
    with show(case, way=way) as (_, figure, state):
        last, reach = state["positions"] - 1, state["reach"]
        places = [(start, d) for start in (0, last) for d in (-reach, 0, reach)]
        places += [
            (
                int(torch.randint(last + 1, (), generator=rng)),
                int(torch.randint(-reach, reach + 1, (), generator=rng)),
            )
            for _ in range(5)
        ]
        for start, distance in places:
            slider(figure, "start").fill(str(start))
            slider(figure, "distance").fill(str(distance))
            seen = figure.evaluate(READ)
            assert (seen["start"], seen["distance"]) == (start, distance)
            assert disagreements(figure, state) == []


@pytest.mark.parametrize("case", ["sinusoidal", "rotary"])
def test_the_keyboard_alone_reaches_everything(show, case):
    with show(case) as (tab, figure, state):
        tab.keyboard.press("Tab")
        for key in ("Home", "ArrowRight", "PageUp", "End", "ArrowLeft"):
            tab.keyboard.press(key)
            assert disagreements(figure, state) == []
        assert figure.evaluate(READ)["start"] == state["positions"] - 2
        tab.keyboard.press("Tab")
        for key in ("Home", "ArrowRight", "End"):
            tab.keyboard.press(key)
            assert disagreements(figure, state) == []
        assert figure.evaluate(READ)["distance"] == state["reach"]
        tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        assert figure.locator("table").first.is_visible()
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.className") == "scroll"


@pytest.mark.parametrize("name", ["start", "distance"])
def test_a_tap_on_a_phone_moves_a_slider(show, name):
    with show("rotary", NARROW, has_touch=True, is_mobile=True) as (tab, figure, state):
        for share in (0.1, 0.8, 0.5):
            control = slider(figure, name)
            control.scroll_into_view_if_needed()
            box = control.bounding_box()
            tab.touchscreen.tap(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
            low, high = (int(control.get_attribute(end)) for end in ("min", "max"))
            assert figure.evaluate(READ)[name] == pytest.approx(
                low + share * (high - low), abs=0.05 * (high - low)
            )
            assert disagreements(figure, state) == []


def test_a_wrong_number_is_noticed(show):
    with show("sinusoidal") as (_, figure, state):
        figure.locator("tbody td[data-value]").nth(1).evaluate(
            "cell => { cell.dataset.value = Number(cell.dataset.value) + 1e-9 }"
        )
        figure.locator(".pair-row span").nth(1).evaluate("n => { n.textContent = '0.5' }")
        figure.locator(".hand line").first.evaluate("hand => hand.setAttribute('x2', 9)")
        assert disagreements(figure, state) == ["numbers", "hands", "told"]


# What moves and what stays


@pytest.mark.parametrize("case", ["sinusoidal", "rotary"])
def test_moving_both_turns_the_hands_and_leaves_the_dot_product_where_it_is(show, case):
    with show(case) as (_, figure, _state):
        title, poses = figure.locator(".chart > b"), []
        for start in (0, 1, 50, 100):
            slider(figure, "start").fill(str(start))
            poses.append(figure.evaluate(READ) | {"title": title.inner_text()})
        first, *moved = poses
        for before, pose in zip(poses, moved, strict=False):
            assert pose["hands"] != before["hands"]
            assert pose["title"] == first["title"]
            assert pose["dot"] == pytest.approx(first["dot"], abs=DRAWN)
            assert np.array(pose["curve"]) == pytest.approx(np.array(first["curve"]), abs=2 * DRAWN)
        slider(figure, "distance").fill("6")
        assert title.inner_text() != first["title"]


@each_width
def test_the_handle_is_at_its_distance_on_the_axis(show, width):
    with show("sinusoidal", width) as (tab, figure, state):
        tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
        box = figure.locator(".graph").bounding_box()
        for distance in (-24, -7, 0, 5, 24):
            slider(figure, "distance").fill(str(distance))
            at = box["x"] + box["width"] * (distance + state["reach"]) / (2 * state["reach"])
            marker = figure.locator(".marker").evaluate("e => e.getBoundingClientRect().x")
            assert handle_centre(tab, slider(figure, "distance")) == pytest.approx(at, abs=1.5)
            assert marker == pytest.approx(at, abs=1.5)


@each_width
def test_nothing_moves_up_or_down_while_a_slider_is_dragged(show, width):
    with show("rotary", width) as (_, figure, _state):
        heights = set()
        for start, distance in ((0, 0), (3, 5), (100, -24), (57, 13), (20, -9)):
            slider(figure, "start").fill(str(start))
            slider(figure, "distance").fill(str(distance))
            heights.add(slider(figure, "distance").bounding_box()["y"])
        assert len(heights) == 1


# The model


def test_a_change_from_python_is_painted_until_it_is_cleaned_up(show):
    with show("rotary") as (tab, figure, state):
        slider(figure, "start").press("ArrowRight")
        assert tab.evaluate("[models[0].saves, models[0].get('start')]") == [1, 4]
        tab.evaluate("models[0].set('distance', -7)")
        tab.evaluate("models[0].set('start', 20)")
        before = figure.evaluate(READ)
        assert (before["start"], before["distance"]) == (20, -7)
        assert disagreements(figure, state) == []
        tab.evaluate("cleanUps[0]()")
        tab.evaluate("models[0].set('start', 4)")
        assert tab.evaluate("models[0].heard.length") == 0
        assert figure.evaluate(READ) == before


def test_it_lives_on_a_page_of_the_book(in_a_book):
    figures = [CASES["sinusoidal"](), CASES["rotary"]()]
    with in_a_book(*figures) as both:
        for shown, figure in zip(both.all(), figures, strict=True):
            for key in ("Home", "End"):
                slider(shown, "distance").press(key)
                assert disagreements(shown, traits(figure)) == []


# Looks


LOOKED_AT = ["sinusoidal", "rotary", "one hand", "the largest", "rotary, half precision"]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page."""
    return on_one_page([CASES[case]() for case in LOOKED_AT])


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("case", LOOKED_AT)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, width, scheme
):
    page, place = looked_at(width, scheme), LOOKED_AT.index(case)
    figure = page.figure(place)
    keep_picture(figure, f"position-{case.replace(' ', '-')}-{width}-{scheme}")
    assert page.problems(place) == []


def test_it_fits_on_a_phone_held_upright_and_prints_in_its_colours(show, keep_picture):
    with show("rotary", NARROW) as (_, figure, _):
        assert figure.bounding_box()["height"] < 780
        assert colours_on_paper(figure, keep_picture, "position") == "exact"
