"""The pooling figure in a browser: what moves under the finger is PyTorch's."""

from __future__ import annotations

import math

import pytest

from tests.figures.pooling.cases import CASES
from tests.figures.pooling.page import DRAWN, PLACE, READ, disagreements, slider
from tests.figures.shared.page import handle_centre
from tests.tools.site.site_checks import JUDGED, NARROW, WIDE


def captioned(name: str):
    """The figure of a case, with a caption."""
    made = CASES[name]()
    made.caption = "Drag the query along the axis."
    return made


@pytest.fixture(scope="module")
def show(resizable):
    return resizable({case: captioned(case) for case in CASES})


@pytest.mark.parametrize("case", CASES)
def test_start_ends_and_middle_of_each_slider_equal_torch(show, case):
    _, figure, state = show(case)
    seen = figure.evaluate(READ)
    assert (seen["query"], seen["width"]) == (state["query"], state["width"])
    numbers = [float(said) for said in seen["said"]]
    assert numbers == [pytest.approx(state["query"], rel=1e-9), float(f"{state['width']:.3g}")]
    assert disagreements(figure, state) == []
    for name in ("query", "width", "query"):
        control = slider(figure, name)
        low, high = (int(control.get_attribute(end)) for end in ("min", "max"))
        for at in (low, high, (low + high) // 2):
            control.fill(str(at))
            assert control.input_value() == str(at)
            assert disagreements(figure, state) == []


def test_keys_move_query_and_width_by_a_step_and_to_their_ends(show):
    tab, figure, state = show("few")
    place = [*CASES].index("few")
    saves = tab.evaluate(f"models[{place}].saves")
    low, high, step = state["axis"]
    for name, key, value in (
        ("query", "ArrowRight", state["query"] + step),
        ("query", "Home", low),
        ("query", "End", high),
        ("width", "ArrowLeft", 0.9),
        ("width", "Home", state["widths"][0]),
        ("width", "End", state["widths"][-1]),
    ):
        slider(figure, name).press(key)
        assert figure.evaluate(READ)[name] == pytest.approx(value, abs=1e-12)
        assert disagreements(figure, state) == []
    saved = f"[models[{place}].saves, models[{place}].get('query'), models[{place}].get('width')]"
    assert tab.evaluate(saved) == [saves + 6, high, state["widths"][-1]]


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("case", ["few", "noisy"])
def test_the_handle_is_the_query(show, case, width):
    tab, figure, state = show(case, width)
    style = ".at-query, .key-ticks { visibility: hidden } :focus-visible { outline: 0 !important }"
    added = tab.add_style_tag(content=style)
    control = slider(figure, "query")
    last = int(control.get_attribute("max"))
    for at in (0, last // 3, last):
        control.fill(str(at))
        centre = handle_centre(tab, control)
        for graph in (".scores", ".weights", ".values-plot"):
            place = figure.evaluate(PLACE, [graph, state["axis"][:2]])
            assert centre == pytest.approx(place, abs=1.5)
        lines = figure.locator(".at-query").all()
        middles = [line.bounding_box()["x"] + 1 for line in lines]
        assert middles == pytest.approx([centre] * 4, abs=1.5)
    added.evaluate("style => style.remove()")


@pytest.mark.parametrize(("how", "width"), [("drag", WIDE), ("tap", NARROW)])
def test_a_dragged_and_a_tapped_query_equal_torch(show, how, width):
    tab, figure, state = show("few", width)
    control, at = slider(figure, "query"), [".scores", state["axis"][:2]]
    control.scroll_into_view_if_needed()
    box = control.bounding_box()
    middle, start = box["y"] + box["height"] / 2, figure.evaluate(PLACE, at)
    for share in (0.2, 0.85):
        goal = box["x"] + share * box["width"]
        if how == "tap":
            tab.touchscreen.tap(goal, middle)
        else:
            tab.mouse.move(start, middle)
            tab.mouse.down()
            tab.mouse.move(goal, middle, steps=5)
            tab.mouse.up()
        start = figure.evaluate(PLACE, at)
        assert start == pytest.approx(goal, abs=3)
        assert disagreements(figure, state) == []
    assert figure.locator(".readout").inner_text() == "Point at a key for its numbers."


def test_the_picture_follows_the_numbers(show):
    _, figure, _ = show("few")
    for at in ("-15", "3", "-2"):
        slider(figure, "width").fill(at)
        slider(figure, "query").press("ArrowLeft")
        drawn = figure.evaluate(DRAWN)
        *rows, _ = figure.evaluate(READ)["rows"]
        weights, largest = [row[3] for row in rows], max(row[3] for row in rows)
        shares = [stem / max(drawn["stems"]) for stem in drawn["stems"]]
        assert shares == pytest.approx([weight / largest for weight in weights], abs=1e-3)
        assert drawn["dots"] == pytest.approx(shares, abs=1e-3)
        nearest = max(range(5), key=lambda i: rows[i][2])
        assert drawn["scores"].index(min(drawn["scores"])) == nearest
        assert min(math.dist(place, drawn["output"]) for place in drawn["curve"]) < 0.02


def test_numbers_are_named_in_a_table(show):
    _, figure, _ = show("few")
    figure.get_by_text("Show numbers").click()
    table = figure.get_by_role("table")
    heads = table.get_by_role("columnheader").all_inner_texts()
    assert heads == ["point", "age", "height", "score", "weight"]
    names = table.get_by_role("rowheader").all_inner_texts()
    assert names == [*(f"point {i}" for i in range(5)), "output"]


def test_values_from_python_between_two_steps_are_shown_as_they_are(show):
    tab, figure, state = show("few")
    place = [*CASES].index("few")
    tab.evaluate(f"models[{place}].set('query', 2.0123), models[{place}].set('width', 0.777)")
    seen = figure.evaluate(READ)
    assert (seen["query"], seen["width"]) == (2.0123, 0.777)
    assert seen["said"] == ["2.0123", "0.777"]
    assert state["widths"][int(slider(figure, "width").input_value())] == 0.8  # the nearest
    assert disagreements(figure, state) == []


def test_stages_and_query_fit_on_a_phone_held_upright(show):
    _, figure, _ = show("noisy", NARROW)
    parts = [figure.locator(part).bounding_box() for part in (".bands", ".width-control")]
    assert sum(part["height"] for part in parts) < 640


def test_a_pointed_key_says_its_numbers(show):
    _, figure, state = show("few")
    readout, graph = figure.locator(".readout"), figure.locator(".scores")
    rows = figure.evaluate(READ)["rows"]
    box, (low, high, _) = graph.bounding_box(), state["axis"]

    def say(key):
        name, value, score, weight = rows[key]
        return f"age {name}: score {score:.3f}, weight {weight:.3f}, height {value}"

    def place(key):
        return {"x": box["width"] * (rows[key][0] - low) / (high - low) + 2, "y": 5}

    graph.hover(position=place(2))
    assert readout.inner_text() == say(2)
    walk = slider(figure, "key")
    walk.focus()
    assert readout.inner_text() == say(0)
    walk.press("ArrowRight")
    assert readout.inner_text() == say(1)
    assert walk.get_attribute("aria-valuetext") == f"age {rows[1][0]}"
    graph.tap(position=place(3))
    assert readout.inner_text() == say(3)
    marks = [mark.bounding_box() for mark in figure.locator(".at-key").all()]
    centres = [mark["x"] + mark["width"] / 2 for mark in marks]
    assert centres == pytest.approx([box["x"] + place(3)["x"] - 2] * 4, abs=1)


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all cases on one page."""
    return on_one_page([*map(captioned, CASES)])


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
@pytest.mark.parametrize("case", CASES)
def test_a_figure_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, width, scheme
):
    page, place = looked_at(width, scheme), [*CASES].index(case)
    figure = page.figure(place)
    keep_picture(figure, f"pooling-{case}-{width}-{scheme}")
    assert page.problems(place) == []
