"""The online softmax figure in a browser: after each step, what it shows is torch's."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch
from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ, traits
from tests.figures.online.cases import CASES, figure_of, truth
from tests.figures.shared.page import CLOSE, MOVING, colours_on_paper, handle_centre
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE

READ = """figure => ({
    step: Number(figure.querySelector('input[type=range]').value),
    corrected: !figure.querySelector('input[type=checkbox]').checked,
    bodies: [...figure.querySelectorAll('tbody')].map(body => [...body.rows]
        .filter(row => !row.hidden)
        .map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.dataset.value)))),
    sums: [...figure.querySelectorAll('.sum')].map(row => ({
        number: row.lastElementChild.textContent,
        label: row.querySelector('.name').textContent,
        widths: [...row.querySelectorAll('.parts :is(rect, polygon)')].map(
            part => part.getBBox().width),
    })),
    told: figure.querySelector('.told').innerText,
    story: figure.querySelector('.readout').textContent,
})"""
each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


@pytest.fixture(scope="module")
def show(alone):
    """A function that opens a page with one case and gives tab, figure and state."""

    @contextmanager
    def go(case: str = "the chapter's", **options):
        made = figure_of(case, caption="A caption.")
        with alone(made, **options) as (tab, figure):
            yield tab, figure, traits(made)

    return go


def disagreements(figure: Locator, state: dict) -> list[str]:
    """What a figure shows that is not torch's for where its controls stand."""
    seen = figure.evaluate(READ)
    scores, values = (torch.tensor(state[n], dtype=torch.float64) for n in ("scores", "values"))
    both = {way: truth(scores, values, state["block"], corrected=way) for way in (True, False)}
    walk, step = both[seen["corrected"]], seen["step"]
    keys, steps = seen["bodies"]
    size = values.shape[-1]
    wrong = []
    if len(steps) != step:
        wrong.append("rows")
    for row, now in zip(steps, walk, strict=False):
        told = [row[0], row[2], *row[3:]]
        true = [now["highest"], now["total"], *now["weighted"], *now["output"], *now["plain"]]
        if differ(told, torch.stack([torch.as_tensor(x) for x in true]), CLOSE):
            wrong.append("numbers of a step")
    if differ([row[: 1 + size] for row in keys], torch.cat([scores[:, None], values], 1), CLOSE):
        wrong.append("keys")
    parts = torch.tensor([row[1 + size] for row in keys], dtype=torch.float64)
    if step and differ(parts.sum().item(), walk[step - 1]["total"], CLOSE):
        wrong.append("parts")
    reach = max(now["total"].item() for walk in both.values() for now in walk)
    widths = torch.tensor(seen["sums"][2]["widths"][: len(scores)])
    if step and not torch.allclose(widths.double(), parts / reach, atol=1e-3):
        wrong.append("bars")
    if step:
        said = [seen["sums"][2]["number"], seen["sums"][5]["number"]]
        now = walk[step - 1]
        exact = [now["total"].item(), now["weighted"][0].item()]
        if said != [decimals(x).replace("-", "−", 1) for x in exact]:
            wrong.append("told")
    return wrong


def button(figure: Locator, name: str) -> Locator:
    return figure.get_by_role("button", name=name, exact=True)


# Equal to torch


@pytest.mark.parametrize(
    "case", ["the chapter's", "a small last block", "equal scores", "the most"]
)
def test_each_press_of_next_equals_torch_both_ways(show, case):
    with show(case) as (_, figure, state):
        steps = int(figure.get_by_role("slider", name="step").get_attribute("max"))
        for way in (True, False):
            figure.get_by_role("checkbox").set_checked(not way)
            for step in range(steps + 1):
                assert figure.evaluate(READ)["step"] == step
                assert disagreements(figure, state) == []
                if step < steps:
                    button(figure, "Next").click()
            figure.get_by_role("slider").press("Home")


@pytest.mark.parametrize("way", ["http", "file"])
def test_the_keyboard_alone_walks_there_and_back(show, way):
    with show(way=way) as (tab, figure, state):
        stops = ["button Back", "button Next", "checkbox", "range", "summary"]
        found = []
        for _ in stops:
            tab.keyboard.press("Tab")
            found.append(
                tab.evaluate(
                    "(({ tagName, type, textContent }) => tagName === 'BUTTON' ? 'button ' + "
                    "textContent : type || tagName.toLowerCase())(document.activeElement)"
                )
            )
        assert found == stops
        button(figure, "Next").focus()
        for step in (1, 2, 3, 3):  # there is nothing after the last
            tab.keyboard.press("Enter")
            assert figure.evaluate(READ)["step"] == step
            assert button(figure, "Next").evaluate("e => e === document.activeElement")
        tab.keyboard.press("Tab")
        tab.keyboard.press("Space")
        assert figure.evaluate(READ)["corrected"] is False
        assert disagreements(figure, state) == []
        tab.keyboard.press("Tab")
        for key, step in (("ArrowLeft", 2), ("Home", 0), ("End", 3)):
            tab.keyboard.press(key)
            assert figure.evaluate(READ)["step"] == step
            assert disagreements(figure, state) == []
        button(figure, "Back").focus()
        for step in (2, 1, 0, 0):
            tab.keyboard.press("Space")
            assert figure.evaluate(READ)["step"] == step


def test_a_tap_steps_and_equals_torch(show):
    with show(width=NARROW, has_touch=True, is_mobile=True) as (_, figure, state):
        for name, step in (("Next", 1), ("Next", 2), ("Back", 1), ("Next", 2), ("Next", 3)):
            button(figure, name).tap()
            assert figure.evaluate(READ)["step"] == step
            assert disagreements(figure, state) == []
        figure.get_by_text("without the correction").tap()
        assert figure.evaluate(READ)["corrected"] is False
        assert disagreements(figure, state) == []


def test_a_wrong_number_is_noticed(show):
    with show() as (_, figure, state):
        button(figure, "Next").click()
        figure.locator("tbody").nth(1).locator("td").nth(2).evaluate(
            "cell => { cell.dataset.value = Number(cell.dataset.value) + 1e-9 }"
        )
        figure.locator(".sum.powers > :last-child").first.evaluate("e => { e.textContent = '2' }")
        assert disagreements(figure, state) == ["numbers of a step", "told"]


# What it shows


def test_the_old_sums_shrink_by_the_factor_that_is_told(show):
    with show() as (_, figure, _):
        for _ in range(2):
            button(figure, "Next").click()
        seen = figure.evaluate(READ)
        assert [row["label"] for row in seen["sums"]] == ["before", "× 0.333", "+ block 2"] * 2
        for before, kept in (seen["sums"][:2], seen["sums"][3:5]):
            assert kept["widths"][0] == pytest.approx(before["widths"][0] / 3, abs=1e-3)
        assert "× e^(0.693\u00a0−\u00a01.792) = × 0.333" in seen["story"]


def test_without_the_correction_the_error_is_told_beside_the_right_output(show):
    with show() as (_, figure, _):
        figure.get_by_role("slider").press("End")
        told = figure.evaluate(READ)["told"].split("\n")
        assert [line.strip() for line in told] == [
            "output so far 25.000", "plain softmax of all keys 25.000", "the same: error 0"
        ]  # fmt: skip
        figure.get_by_role("checkbox").check()
        seen = figure.evaluate(READ)
        assert [line.strip() for line in seen["told"].split("\n")] == [
            "output so far 20.000", "plain softmax of all keys 25.000", "error −5.000"
        ]  # fmt: skip
        assert [row["label"] for row in seen["sums"]] == ["before", "× 1", "+ block 3"] * 2


@each_width
@pytest.mark.parametrize("case", ["the chapter's", "a small last block"])
def test_the_handle_is_the_edge_between_what_is_read_and_what_is_not(show, case, width):
    with show(case, width=width) as (tab, figure, state):
        tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
        slider, bars = figure.get_by_role("slider"), figure.locator(".bars").bounding_box()
        steps = int(slider.get_attribute("max"))
        for step in range(steps + 1):
            slider.fill(str(step))
            edge = bars["x"] + bars["width"] * step / steps
            assert handle_centre(tab, slider) == pytest.approx(edge, abs=1.5)
            unread = figure.locator(".bars .hidden-key").count()
            assert unread == (steps - step) * state["block"]


# The model


def test_a_change_from_python_is_painted_until_it_is_cleaned_up(show):
    with show() as (tab, figure, state):
        tab.evaluate("models[0].set('step', 2)")
        tab.evaluate("models[0].set('corrected', false)")
        assert disagreements(figure, state) == []
        before = figure.evaluate(READ)
        assert (before["step"], before["corrected"]) == (2, False)
        tab.evaluate("cleanUps[0]()")
        tab.evaluate("models[0].set('step', 3)")
        assert tab.evaluate("models[0].heard.length") == 0
        assert figure.evaluate(READ) == before


def test_it_lives_on_a_page_of_the_book(in_a_book):
    figure = figure_of("the chapter's")
    with in_a_book(figure) as shown:
        for key in ("Home", "End"):
            shown.get_by_role("slider").press(key)
            assert disagreements(shown, traits(figure)) == []


# Looks

LOOKED_AT = ["the chapter's", "a small last block", "the most"]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page."""
    figures = [figure_of(case, caption="A caption.") for case in LOOKED_AT]
    for figure, step, corrected in zip(figures, (3, 2, 32), (False, True, True), strict=True):
        figure.step, figure.corrected = step, corrected
    return on_one_page(figures)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("case", LOOKED_AT)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, width, scheme
):
    page, place = looked_at(width, scheme), LOOKED_AT.index(case)
    figure = page.figure(place)
    keep_picture(figure, f"online-{case.replace(' ', '-')}-{width}-{scheme}")
    assert page.problems(place) == []


def test_it_prints_in_its_colours_and_rests_for_those_who_ask(show, keep_picture):
    shrinking = "figure => figure.getAnimations({ subtree: true }).length"
    with show() as (_, figure, _):
        assert figure.evaluate(MOVING) == 0
        for _ in range(2):
            button(figure, "Next").click()
        assert figure.evaluate(shrinking) == 0
        assert colours_on_paper(figure, keep_picture, "online") == "exact"
    with show(reduced_motion="no-preference") as (_, figure, _):
        assert figure.evaluate(MOVING) > 0
        for _ in range(2):
            button(figure, "Next").click()
        assert figure.evaluate(shrinking) > 0


def test_every_case_can_be_drawn(show):
    for case in CASES:
        with show(case) as (_, figure, state):
            figure.get_by_role("slider").press("End")
            assert disagreements(figure, state) == []
