"""The position figure in a browser: wherever its sliders are, what it shows is attnbook's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.figures.position.cases import CASES
from tests.figures.position.page import DRAWN, READ, disagreements, slider
from tests.figures.shared.page import handle_centre
from tests.tools.site.site_checks import JUDGED, NARROW, WIDE

each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


@pytest.fixture(scope="module")
def show(resizable):
    return resizable({name: make() for name, make in CASES.items()})


def set_sliders(figure, start: int, distance: int) -> None:
    slider(figure, "start").fill(str(start))
    slider(figure, "distance").fill(str(distance))


# Equal to attnbook


@pytest.mark.parametrize("case", [case for case in CASES if case != "rotary, huge"])
def test_the_start_and_the_ends_equal_attnbook(show, case):
    _, figure, state = show(case)
    last, reach = state["positions"] - 1, state["reach"]
    assert disagreements(figure, state) == []
    for start, distance in [(start, d) for start in (0, last) for d in (-reach, 0, reach)]:
        set_sliders(figure, start, distance)
        seen = figure.evaluate(READ)
        assert (seen["start"], seen["distance"]) == (start, distance)
        assert disagreements(figure, state) == []


@pytest.mark.parametrize("case", ["sinusoidal", "rotary"])
def test_keys_move_both_sliders(show, case):
    tab, figure, state = show(case)
    saves = tab.evaluate(f"models[{[*CASES].index(case)}].saves")
    for name, key in [
        *(("start", key) for key in ("Home", "ArrowRight", "PageUp", "End", "ArrowLeft")),
        *(("distance", key) for key in ("Home", "ArrowRight", "End")),
    ]:
        slider(figure, name).press(key)
        assert disagreements(figure, state) == []
    seen = figure.evaluate(READ)
    assert (seen["start"], seen["distance"]) == (state["positions"] - 2, state["reach"])
    model = f"models[{[*CASES].index(case)}]"
    saved = tab.evaluate(f"[{model}.saves, {model}.get('start'), {model}.get('distance')]")
    assert saved == [saves + 8, seen["start"], seen["distance"]]


@pytest.mark.parametrize("name", ["start", "distance"])
def test_a_tap_on_a_phone_moves_a_slider(show, name):
    tab, figure, state = show("rotary", NARROW)
    for share in (0.1, 0.8, 0.5):
        control = slider(figure, name)
        control.scroll_into_view_if_needed()
        box = control.bounding_box()
        tab.touchscreen.tap(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        low, high = (int(control.get_attribute(end)) for end in ("min", "max"))
        expected = low + share * (high - low)
        assert figure.evaluate(READ)[name] == pytest.approx(expected, abs=0.05 * (high - low))
        assert disagreements(figure, state) == []


# What moves and what stays


@pytest.mark.parametrize("case", ["sinusoidal", "rotary"])
def test_moving_both_turns_the_hands_and_leaves_the_dot_product_where_it_is(show, case):
    _, figure, _ = show(case)
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
    tab, figure, state = show("sinusoidal", width)
    tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
    for distance in (-24, -7, 0, 24):
        slider(figure, "distance").fill(str(distance))
        box = figure.locator(".graph").bounding_box()
        at = box["x"] + box["width"] * (distance + state["reach"]) / (2 * state["reach"])
        marker = figure.locator(".marker").evaluate("e => e.getBoundingClientRect().x")
        assert handle_centre(tab, slider(figure, "distance")) == pytest.approx(at, abs=1.5)
        assert marker == pytest.approx(at, abs=1.5)


@each_width
def test_nothing_moves_up_or_down_while_a_slider_is_dragged(show, width):
    _, figure, _ = show("rotary", width)
    heights = set()
    for start, distance in ((0, 0), (3, 5), (100, -24), (57, 13), (20, -9)):
        set_sliders(figure, start, distance)
        heights.add(figure.bounding_box()["height"])
    assert len(heights) == 1
    assert width == WIDE or heights.pop() < 780  # on a phone held upright


# Looks


LOOKED_AT = ["sinusoidal", "rotary", "one hand", "the largest", "rotary, half precision"]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page."""
    return on_one_page([CASES[case]() for case in LOOKED_AT])


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
@pytest.mark.parametrize("case", LOOKED_AT)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, width, scheme
):
    page, place = looked_at(width, scheme), LOOKED_AT.index(case)
    figure = page.figure(place)
    keep_picture(figure, f"position-{case.replace(' ', '-')}-{width}-{scheme}")
    assert page.problems(place) == []
