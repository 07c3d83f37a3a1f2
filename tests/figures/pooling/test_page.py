"""The pooling figure in a browser: what moves under the finger is PyTorch's."""

from __future__ import annotations

import math
import random
from contextlib import contextmanager

import pytest

from tests.figures.attention.cases import traits
from tests.figures.pooling.cases import CASES
from tests.figures.pooling.page import DRAWN, PLACE, READ, disagreements, slider
from tests.figures.shared.page import SMALL_TEXT, colours_on_paper, handle_centre
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE


def captioned(name: str):
    """The figure of a case, with a caption."""
    made = CASES[name]()
    made.caption = "Drag the query along the axis."
    return made


@pytest.fixture(scope="module")
def show(alone):
    """A function that opens a page with one of the cases and gives tab, figure and state."""

    @contextmanager
    def go(name: str, **options):
        made = captioned(name)
        with alone(made, **options) as (tab, figure):
            yield tab, figure, traits(made)

    return go


@pytest.mark.parametrize("case", CASES)
def test_ends_middle_and_random_places_of_each_slider_equal_torch(show, case):
    dice = random.Random(5)  # noqa: S311 - any numbers will do
    with show(case) as (_, figure, state):
        shown = figure.evaluate(READ)
        assert (shown["query"], shown["width"]) == (state["query"], state["width"])
        told = [float(said) for said in shown["said"]]
        assert told == [pytest.approx(state["query"], rel=1e-9), float(f"{state['width']:.3g}")]
        assert disagreements(figure, state) == []
        for name in ("query", "width", "query"):
            control = slider(figure, name)
            low, high = (int(control.get_attribute(end)) for end in ("min", "max"))
            for at in (low, high, (low + high) // 2, *(dice.randint(low, high) for _ in range(3))):
                control.fill(str(at))
                assert control.input_value() == str(at)
                assert disagreements(figure, state) == []


def test_a_wrong_number_is_noticed(show):
    with show("few") as (_, figure, state):
        figure.locator("tbody tr").nth(1).locator("td").nth(3).evaluate(
            "cell => { cell.dataset.value = Number(cell.dataset.value) + 1e-9 }"
        )
        assert disagreements(figure, state) == ["weights"]


def test_keys_of_the_keyboard_move_query_and_width_by_a_step_and_to_their_ends(show):
    with show("few") as (tab, figure, state):
        low, high, step = state["axis"]
        query, width = slider(figure, "query"), slider(figure, "width")
        query.press("ArrowRight")
        assert figure.evaluate(READ)["query"] == pytest.approx(state["query"] + step, abs=1e-12)
        for key, value in (("Home", low), ("End", high)):
            query.press(key)
            assert figure.evaluate(READ)["query"] == value
        width.press("ArrowLeft")
        assert figure.evaluate(READ)["width"] == 0.9
        for key, value in (("Home", state["widths"][0]), ("End", state["widths"][-1])):
            width.press(key)
            assert figure.evaluate(READ)["width"] == value
        assert disagreements(figure, state) == []
        saved = "[models[0].saves, models[0].get('query'), models[0].get('width')]"
        assert tab.evaluate(saved) == [6, high, state["widths"][-1]]


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("case", ["few", "noisy"])
def test_the_handle_is_the_query(show, case, width):
    with show(case, width=width) as (tab, figure, _):
        tab.add_style_tag(content=".at-query, .key-ticks { visibility: hidden }")
        tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
        control = slider(figure, "query")
        last = int(control.get_attribute("max"))
        for at in (0, last // 3, last // 2, last):
            control.fill(str(at))
            centre = handle_centre(tab, control)
            for graph in (".scores", ".weights", ".values-plot"):
                assert centre == pytest.approx(figure.evaluate(PLACE, graph), abs=1.5)
            lines = figure.locator(".at-query").all()
            middles = [line.bounding_box()["x"] + 1 for line in lines]
            assert middles == pytest.approx([centre] * 4, abs=1.5)


@pytest.mark.parametrize("how", ["mouse", "touch"])
def test_a_dragged_and_a_tapped_query_equal_torch(show, how):
    options = {"width": NARROW, "has_touch": True, "is_mobile": True} if how == "touch" else {}
    with show("few", **options) as (tab, figure, state):
        control = slider(figure, "query")
        control.scroll_into_view_if_needed()
        box = control.bounding_box()
        middle, start = box["y"] + box["height"] / 2, figure.evaluate(PLACE, ".scores")
        for share in (0.2, 0.85):
            goal = box["x"] + share * box["width"]
            if how == "touch":
                tab.touchscreen.tap(goal, middle)
            else:
                tab.mouse.move(start, middle)
                tab.mouse.down()
                tab.mouse.move(goal, middle, steps=5)
                tab.mouse.up()
            start = figure.evaluate(PLACE, ".scores")
            assert start == pytest.approx(goal, abs=3)
            assert disagreements(figure, state) == []
        assert figure.locator(".readout").inner_text() == "Point at a key for its numbers."


def test_a_pointed_key_says_its_numbers(show):
    with show("few", has_touch=True) as (_, figure, state):
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


def test_the_picture_follows_the_numbers(show):
    with show("few") as (_, figure, _):
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


def test_numbers_are_a_real_table_behind_a_switch(show):
    with show("few") as (_, figure, _):
        table = figure.get_by_role("table")
        assert table.count() == 0
        figure.get_by_text("Show numbers").click()
        heads = table.get_by_role("columnheader").all_inner_texts()
        assert heads == ["point", "age", "height", "score", "weight"]
        names = table.get_by_role("rowheader").all_inner_texts()
        assert names == [*(f"point {i}" for i in range(5)), "output"]


def test_every_control_keeps_its_keys_from_the_notebook_around_it(show):
    with show("few") as (_, figure, _):
        controls = figure.locator("input, button, summary, [tabindex]")
        kept = figure.locator("[data-lm-suppress-shortcuts=true]")
        assert controls.count() == kept.count() == 2 + 1 + 2


def test_a_change_from_python_is_painted_until_the_figure_is_cleaned_up(show):
    with show("few") as (tab, figure, state):
        tab.evaluate("models[0].set('query', 2.0123), models[0].set('width', 0.777)")
        shown = figure.evaluate(READ)
        assert (shown["query"], shown["width"]) == (2.0123, 0.777)
        assert shown["said"] == ["2.0123", "0.777"]
        assert state["widths"][int(slider(figure, "width").input_value())] == 0.8  # the nearest
        assert disagreements(figure, state) == []
        tab.evaluate("cleanUps[0](), models[0].set('query', 1)")
        assert tab.evaluate("models[0].heard.length") == 0
        assert figure.evaluate(READ) == shown


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all cases on one page."""
    return on_one_page([*map(captioned, CASES)])


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("case", CASES)
def test_a_figure_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, width, scheme
):
    page, place = looked_at(width, scheme), [*CASES].index(case)
    figure = page.figure(place)
    keep_picture(figure, f"pooling-{case}-{width}-{scheme}")
    assert page.problems(place) == []


def test_stages_and_query_fit_on_a_phone_held_upright(show):
    with show("noisy", width=NARROW) as (_, figure, _):
        parts = [figure.locator(part).bounding_box() for part in (".bands", ".width-control")]
        assert sum(part["height"] for part in parts) < 640


def test_a_printed_figure_keeps_its_colours(show, keep_picture):
    with show("noisy") as (_, figure, _):
        assert colours_on_paper(figure, keep_picture, "pooling") == "exact"
        assert figure.evaluate(SMALL_TEXT) == []
