"""The scaling figure in a browser: at every d, what it shows is PyTorch's."""

from __future__ import annotations

import pytest

from attnbook.figures import ScalingFigure
from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import traits
from tests.figures.scaling.cases import CASES
from tests.figures.scaling.page import (
    HEIGHTS,
    READ,
    d_slider,
    disagreements,
    expected,
    middle,
    places,
)
from tests.figures.shared.page import handle_centre
from tests.tools.site.site_checks import JUDGED, NARROW, WIDE

each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


def captioned(case: str) -> ScalingFigure:
    return ScalingFigure(*CASES[case](), caption="A caption.")


@pytest.fixture(scope="module")
def show(resizable):
    given = resizable({case: captioned(case) for case in CASES})

    def go(case: str, width: int = WIDE):
        """The page knows d alone: Python is not asked for it."""
        tab, figure, state = given(case, width)
        d_slider(figure).press("Home")
        return tab, figure, state

    return go


# Equal to torch


@pytest.mark.parametrize("case", ["a chapter's", "odd numbers", "the smallest", "the largest"])
def test_each_key_press_doubles_d_and_both_ends_equal_torch(show, case):
    _, figure, state = show(case)
    for d in state["sizes"]:
        assert d_slider(figure).get_attribute("aria-valuetext") == str(d)
        assert figure.locator(".chart-setting .setting").inner_text() == f"d = {d}"
        if d in (1, 4, state["sizes"][-1]):
            assert disagreements(figure, state) == []
        d_slider(figure).press("ArrowRight")


@pytest.mark.parametrize(("how", "width"), [("drag", WIDE), ("drag", NARROW), ("tap", NARROW)])
def test_a_dragged_or_a_tapped_handle_equals_torch(show, how, width):
    tab, figure, state = show("a chapter's", width)
    slider, at = d_slider(figure), places(figure)
    for step in (10, 0, 5, 9):
        height = middle(slider)
        if how == "tap":
            tab.touchscreen.tap(at[step], height)
        else:
            tab.mouse.move(at[int(slider.input_value())], height)
            tab.mouse.down()
            tab.mouse.move(at[step], height + 3, steps=5)
            tab.mouse.up()
        assert figure.evaluate(READ)["d"] == state["sizes"][step]
        assert disagreements(figure, state) == []


def test_every_query_can_be_chosen_and_equals_torch(show):
    tab, figure, state = show("odd numbers")
    place = [*CASES].index("odd numbers")
    model = f"[models[{place}].saves, models[{place}].get('query')]"
    saves, _ = tab.evaluate(model)
    choice = figure.get_by_role("combobox", name="query")
    for query in (1, 2):
        choice.press("ArrowDown")
        assert figure.evaluate(READ)["query"] == query
        assert disagreements(figure, state) == []
    choice.select_option("query 0")
    assert disagreements(figure, state) == []
    assert tab.evaluate(model) == [saves + 3, 0]


# The axis


@each_width
@pytest.mark.parametrize("case", ["a chapter's", "the smallest"])
def test_the_handle_is_at_its_d_on_the_axis(show, case, width):
    tab, figure, state = show(case, width)
    tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
    slider, at = d_slider(figure), places(figure)
    for step, d in list(enumerate(state["sizes"]))[::3]:
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
    _, figure, _ = show("a chapter's", width)
    for half in figure.locator(".half").all():
        scores, *parts = [
            half.locator(part).bounding_box()
            for part in (".bars >> nth=0", ".bars >> nth=-1", ".total", ".keys")
            if part != ".keys" or width == WIDE  # a phone has a slider instead
        ]
        assert len({(part["x"], part["width"]) for part in parts}) == 1
        assert scores["width"] == parts[0]["width"] > 0.25 * figure.bounding_box()["width"]


def test_the_lines_pass_through_the_largest_weights(show):
    _, figure, state = show("odd numbers")
    sweep = expected(state, 8, 0)["sweep"].T.tolist()
    for half, line in zip(sweep, figure.locator(".sweep path").all(), strict=True):
        points = [tuple(map(float, p.split())) for p in line.get_attribute("d")[1:].split("L")]
        xs, ys = zip(*points, strict=True)
        assert xs == pytest.approx([0, 33.33, 66.67, 100], abs=0.01)
        assert ys == pytest.approx([100 * (1 - weight) for weight in half], abs=0.01)


def test_the_score_bars_of_both_halves_have_one_scale(show):
    _, figure, state = show("odd numbers")
    for d in state["sizes"]:
        scales = []
        for half in (0, 1):
            scores = expected(state, d, 0)["keys"][:, 2 * half].abs()
            bars = figure.locator(".half").nth(half).locator(".bars").first.evaluate(HEIGHTS)
            scales.append(float(scores.sum()) / sum(bars))
        assert scales[0] == pytest.approx(scales[1], rel=1e-3)
        d_slider(figure).press("ArrowRight")


# What it says


def test_a_pointed_key_says_its_numbers_in_both_halves(alone):
    made = captioned("odd numbers")
    with alone(made, has_touch=True) as (_, figure):
        readout, bars = figure.locator(".readout"), figure.locator(".half .bars")
        assert "Point at a key" in readout.inner_text()
        true = expected(traits(made), 8, 0)["keys"]

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


def test_on_a_phone_a_slider_points_at_keys_that_are_too_many_for_buttons(show):
    _, figure, state = show("a chapter's", NARROW)
    assert figure.locator(".keys:visible").count() == 0
    key = figure.get_by_role("slider", name="key", exact=True)
    for press, pointed in (("End", 15), ("ArrowLeft", 14)):
        key.press(press)
        a, b, *_ = map(decimals, expected(state, state["sizes"][0], 0)["keys"][pointed].tolist())
        said = f"key {pointed}: q · k score {a}, weight {b}; "
        assert figure.locator(".readout").inner_text().startswith(said)
        assert key.get_attribute("aria-valuetext") == str(pointed)
    for case, width in (("a chapter's", WIDE), ("odd numbers", NARROW)):
        _, figure, _ = show(case, width)
        counts = [figure.locator(f"{part}:visible").count() for part in (".keys", ".key-choice")]
        assert counts == [2, 0]


def test_each_half_says_what_its_scores_are_divided_by(show):
    _, figure, _ = show("odd numbers")
    notes = figure.locator(".half-title .note")
    for key, divisor in (("End", "√8 ≈ 2.83"), ("ArrowLeft", "√4 = 2")):
        d_slider(figure).press(key)
        assert notes.all_inner_texts() == ["as they are", f"divided by {divisor}"]
    assert figure.locator(".half-stage span").all_inner_texts()[1::2] == ["total 1.000"] * 2


def test_one_query_needs_no_choice_and_no_average(show):
    _, figure, _ = show("the smallest")
    assert figure.get_by_role("combobox").count() == 0
    assert "verage" not in figure.inner_text()


# Looks


LOOKED_AT = ["a chapter's", "the largest", "the smallest", "huge scores"]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page."""
    return on_one_page([*map(captioned, LOOKED_AT)])


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
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
