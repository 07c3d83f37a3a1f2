"""The scaling figure in a browser: at every d, what it shows is PyTorch's."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from attnbook.figures import ScalingFigure
from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import traits
from tests.figures.scaling.cases import CASES, random
from tests.figures.scaling.page import (
    HEIGHTS,
    READ,
    d_slider,
    disagreements,
    expected,
    middle,
    places,
)
from tests.figures.shared.page import MOVING, colours_on_paper, handle_centre
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE

each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


@pytest.fixture(scope="module")
def show(alone):
    """A function that opens a page with one case and gives tab, figure and state."""

    @contextmanager
    def go(case: str = "a chapter's", **options):
        made = ScalingFigure(*CASES[case](), caption="A caption.")
        with alone(made, **options) as (tab, figure):
            yield tab, figure, traits(made)

    return go


# Equal to torch


@pytest.mark.parametrize("case", ["a chapter's", "odd numbers", "the smallest", "the largest"])
def test_each_key_press_doubles_d_and_equals_torch(show, case):
    with show(case) as (_, figure, state):
        slider = d_slider(figure)
        assert slider.get_attribute("aria-valuetext") == str(state["d"])
        slider.press("Home")
        for d in state["sizes"]:
            assert slider.get_attribute("aria-valuetext") == str(d)
            assert figure.locator(".chart-setting .setting").inner_text() == f"d = {d}"
            assert disagreements(figure, state) == []
            slider.press("ArrowRight")


@each_width
def test_a_dragged_handle_equals_torch(show, width):
    with show(width=width) as (tab, figure, state):
        slider, at = d_slider(figure), places(figure)
        for step in (10, 0, 5, 9, 2):
            height = middle(slider)
            tab.mouse.move(at[int(slider.input_value())], height)
            tab.mouse.down()
            tab.mouse.move(at[step], height + 3, steps=5)
            tab.mouse.up()
            assert figure.evaluate(READ)["d"] == state["sizes"][step]
            assert disagreements(figure, state) == []


def test_a_tap_moves_the_handle_and_equals_torch(show):
    with show(width=NARROW, has_touch=True, is_mobile=True) as (tab, figure, state):
        for step in (10, 0, 4, 7):
            height = middle(d_slider(figure))
            tab.touchscreen.tap(places(figure)[step], height)
            assert figure.evaluate(READ)["d"] == state["sizes"][step]
            assert disagreements(figure, state) == []


def test_every_query_can_be_chosen_and_equals_torch(show):
    with show("odd numbers") as (tab, figure, state):
        choice = figure.get_by_role("combobox", name="query")
        for query in (1, 2):
            choice.press("ArrowDown")
            assert figure.evaluate(READ)["query"] == query
            assert disagreements(figure, state) == []
        choice.select_option("query 0")
        assert disagreements(figure, state) == []
        assert tab.evaluate("[models[0].saves, models[0].get('query')]") == [3, 0]


def test_a_wrong_number_is_noticed(show):
    with show("odd numbers") as (_, figure, state):
        figure.locator("tbody td[data-value]").nth(1).evaluate(
            "cell => { cell.dataset.value = Number(cell.dataset.value) + 1e-9 }"
        )
        figure.locator("dd").nth(3).evaluate("number => { number.textContent = '0.5' }")
        assert disagreements(figure, state) == ["keys", "told"]


# The axis


@each_width
@pytest.mark.parametrize("case", ["a chapter's", "the smallest"])
def test_the_handle_is_at_its_d_on_the_axis(show, case, width):
    with show(case, width=width) as (tab, figure, state):
        tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
        slider, at = d_slider(figure), places(figure)
        for step, d in enumerate(state["sizes"]):
            slider.fill(str(step))
            marker = figure.locator(".marker").evaluate("e => e.getBoundingClientRect().x")
            label = figure.locator(".sweep-axis .ruler span").nth(step)
            box = label.bounding_box()  # none for every second d on a phone
            assert label.text_content() == str(d)
            assert box is None or box["x"] + box["width"] / 2 == pytest.approx(at[step], abs=5)
            assert handle_centre(tab, slider) == pytest.approx(at[step], abs=1.5)
            assert marker == pytest.approx(at[step], abs=1.5)


@each_width
def test_bars_total_and_keys_of_a_half_share_one_axis(show, width):
    with show(width=width) as (_, figure, _state):
        for half in figure.locator(".half").all():
            parts = [
                half.locator(part).last.bounding_box() for part in (".bars", ".total", ".keys")
            ]
            assert {(part["x"], part["width"]) for part in parts} == {
                (parts[0]["x"], parts[0]["width"])
            }
            assert parts[0]["width"] > 0.25 * figure.bounding_box()["width"]
            scores = half.locator(".bars").first.bounding_box()
            assert scores["width"] == parts[0]["width"]


def test_the_lines_pass_through_the_largest_weights(show):
    with show("odd numbers") as (_, figure, state):
        sweep = expected(state, 8, 0)["sweep"].T.tolist()
        for half, line in zip(sweep, figure.locator(".sweep path").all(), strict=True):
            points = [tuple(map(float, p.split())) for p in line.get_attribute("d")[1:].split("L")]
            xs, ys = zip(*points, strict=True)
            assert xs == pytest.approx([0, 33.33, 66.67, 100], abs=0.01)
            assert ys == pytest.approx([100 * (1 - weight) for weight in half], abs=0.01)


def test_the_score_bars_of_both_halves_have_one_scale(show):
    with show("odd numbers") as (_, figure, state):
        for step, d in enumerate(state["sizes"]):
            d_slider(figure).fill(str(step))
            scales = []
            for half in (0, 1):
                scores = expected(state, d, 0)["keys"][:, 2 * half].abs()
                bars = figure.locator(".half").nth(half).locator(".bars").first.evaluate(HEIGHTS)
                scales.append(float(scores.sum()) / sum(bars))
            assert scales[0] == pytest.approx(scales[1], rel=1e-3)


# What it says


def test_a_pointed_key_says_its_numbers_in_both_halves(show):
    with show("odd numbers", has_touch=True) as (_, figure, state):
        readout, bars = figure.locator(".readout"), figure.locator(".half .bars")
        assert "Point at a key" in readout.inner_text()
        true = expected(state, 8, 0)["keys"]

        def said(key: int) -> str:
            a, b, c, d = (decimals(number) for number in true[key].tolist())
            return f"key {key}: q · k score {a}, weight {b}; q · k / √d score {c}, weight {d}"

        for half, key in ((0, 1), (3, 4), (1, 0), (2, 3)):
            box = bars.nth(half).bounding_box()
            place = {"x": box["width"] * (key + 0.5) / 5, "y": 9}
            (bars.nth(half).tap if half == 2 else bars.nth(half).hover)(position=place)
            assert readout.inner_text() == said(key)
        figure.locator(".half.scaled .keys button").first.focus()
        figure.locator(".half.scaled .keys button").first.press("ArrowRight")
        assert readout.inner_text() == said(1)
        d_slider(figure).press("Home")
        assert readout.inner_text() != said(1)


def test_each_half_says_what_its_scores_are_divided_by(show):
    with show("odd numbers") as (_, figure, _state):
        notes = figure.locator(".half-title .note")
        assert notes.all_inner_texts() == ["as they are", "divided by √8 ≈ 2.83"]
        d_slider(figure).press("ArrowLeft")
        assert notes.all_inner_texts() == ["as they are", "divided by √4 = 2"]
        assert figure.locator(".half-stage span").all_inner_texts()[1::2] == ["total 1.000"] * 2


def test_one_query_needs_no_choice_and_no_average(show):
    with show("the smallest") as (_, figure, _state):
        assert figure.get_by_role("combobox").count() == 0
        assert "verage" not in figure.inner_text()


# The model


def test_a_change_from_python_is_painted_until_it_is_cleaned_up(show):
    with show("odd numbers") as (tab, figure, state):
        tab.evaluate("models[0].set('d', 2)")
        tab.evaluate("models[0].set('query', 2)")
        assert [figure.evaluate(READ)[name] for name in ("d", "query")] == [2, 2]
        assert disagreements(figure, state) == []
        before = figure.evaluate(READ)
        tab.evaluate("cleanUps[0]()")
        tab.evaluate("models[0].set('d', 4)")
        assert tab.evaluate("models[0].heard.length") == 0
        assert figure.evaluate(READ) == before


def test_it_lives_on_a_page_of_the_book(in_a_book):
    figure = ScalingFigure(*random(2, 3, 4))
    with in_a_book(figure) as shown:
        for key in ("Home", "End"):
            d_slider(shown).press(key)
            assert disagreements(shown, traits(figure)) == []


# Looks


LOOKED_AT = ["a chapter's", "the largest", "the smallest", "huge scores"]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page."""
    figures = [ScalingFigure(*CASES[case](), caption="A caption.") for case in LOOKED_AT]
    return on_one_page(figures)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("case", LOOKED_AT)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, width, scheme
):
    page, place = looked_at(width, scheme), LOOKED_AT.index(case)
    figure = page.figure(place)
    keep_picture(figure, f"scaling-{case.replace(' ', '-')}-{width}-{scheme}")
    first, second = (name.bounding_box() for name in figure.locator(".line-name").all())
    assert abs(first["y"] - second["y"]) >= first["height"]
    assert page.problems(place) == []


def test_it_prints_in_its_colours_and_rests_for_those_who_ask(show, keep_picture):
    with show() as (_, figure, _):
        assert figure.evaluate(MOVING) == 0
        assert colours_on_paper(figure, keep_picture, "scaling") == "exact"
    with show(reduced_motion="no-preference") as (_, figure, _):
        assert figure.evaluate(MOVING) > 0
