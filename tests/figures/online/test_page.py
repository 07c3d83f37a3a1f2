"""The online softmax figure in a browser: after each step, what it shows is torch's."""

from __future__ import annotations

import pytest
import torch
from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.online.cases import CASES, figure_of, truth
from tests.figures.shared.page import CLOSE, handle_centre
from tests.tools.site.site_checks import JUDGED, NARROW, WIDE

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
    result: figure.querySelector('.result').innerText,
    story: figure.querySelector('.readout').textContent,
})"""


@pytest.fixture(scope="module")
def show(resizable):
    given = resizable({case: figure_of(case) for case in CASES})

    def go(case: str = "the chapter's", width: int = WIDE):
        """The page knows the step alone: Python is not asked for it."""
        tab, figure, state = given(case, width)
        slider(figure).press("Home")
        figure.get_by_role("checkbox").uncheck()
        return tab, figure, state

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
        found = [row[0], row[2], *row[3:]]
        true = [now["highest"], now["total"], *now["weighted"], *now["output"], *now["plain"]]
        if differ(found, torch.stack([torch.as_tensor(x) for x in true]), CLOSE):
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
            wrong.append("printed numbers")
    return wrong


def button(figure: Locator, name: str) -> Locator:
    return figure.get_by_role("button", name=name, exact=True)


def slider(figure: Locator) -> Locator:
    return figure.get_by_role("slider")


# Equal to torch


@pytest.mark.parametrize("case", CASES)
def test_the_first_step_and_the_last_equal_torch_both_ways(show, case):
    _, figure, state = show(case)
    for _ in range(2):
        for step, press in ((0, "Home"), (1, "ArrowRight"), (figure_of(case).num_steps, "End")):
            slider(figure).press(press)
            assert figure.evaluate(READ)["step"] == step
            assert disagreements(figure, state) == []
        figure.get_by_text("without the correction").tap()


def test_buttons_and_keys_walk_there_and_back(show):
    tab, figure, state = show()
    saved = tab.evaluate("models[0].saves")
    steps = iter((1, 2, 3, 3, 2, 1, 0, 0))  # there is nothing beyond the ends
    for name in ("Next", "Back"):
        button(figure, name).focus()
        for key in ("Enter", "Space", "Enter", "Space"):
            button(figure, name).press(key)
            assert figure.evaluate(READ)["step"] == next(steps)
            assert disagreements(figure, state) == []
            assert button(figure, name).evaluate("e => e === document.activeElement")
    figure.get_by_role("checkbox").press("Space")
    assert figure.evaluate(READ)["corrected"] is False
    assert disagreements(figure, state) == []
    assert tab.evaluate("models[0].saves") > saved


# What it shows


def test_the_old_sums_shrink_by_the_factor_that_is_told(show):
    _, figure, _ = show()
    for _ in range(2):
        button(figure, "Next").click()
    seen = figure.evaluate(READ)
    assert [row["label"] for row in seen["sums"]] == ["before", "× 0.333", "+ block 2"] * 2
    for before, kept in (seen["sums"][:2], seen["sums"][3:5]):
        assert kept["widths"][0] == pytest.approx(before["widths"][0] / 3, abs=1e-3)
    assert "× e^(0.693\u00a0−\u00a01.792) = × 0.333" in seen["story"]


def test_without_the_correction_the_error_is_told_next_to_the_right_output(show):
    _, figure, _ = show()
    slider(figure).press("End")
    for output, said in (("25.000", "the same: error 0"), ("20.000", "error −5.000")):
        lines = [line.strip() for line in figure.evaluate(READ)["result"].split("\n")]
        assert lines == [f"output so far {output}", "plain softmax of all keys 25.000", said]
        figure.get_by_role("checkbox").check()
    labels = [row["label"] for row in figure.evaluate(READ)["sums"]]
    assert labels == ["before", "× 1", "+ block 3"] * 2


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("case", ["the chapter's", "a small last block"])
def test_the_handle_is_the_edge_between_what_is_read_and_what_is_not(show, case, width):
    tab, figure, state = show(case, width)
    tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
    bars, steps = figure.locator(".bars").bounding_box(), figure_of(case).num_steps
    for step in range(steps + 1):
        slider(figure).fill(str(step))
        edge = bars["x"] + bars["width"] * step / steps
        assert handle_centre(tab, slider(figure)) == pytest.approx(edge, abs=1.5)
        unread = figure.locator(".bars .hidden-key").count()
        assert unread == (steps - step) * state["block"]


# Looks

LOOKED_AT = ["the chapter's", "a small last block", "the most"]


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all these cases on one page."""
    figures = [figure_of(case, caption="A caption.") for case in LOOKED_AT]
    for figure, step, corrected in zip(figures, (3, 2, 32), (False, True, True), strict=True):
        figure.step, figure.corrected = step, corrected
    return on_one_page(figures)


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
@pytest.mark.parametrize("case", LOOKED_AT)
def test_it_fits_its_column_is_legible_and_pleases_axe(
    looked_at, keep_picture, case, width, scheme
):
    page, place = looked_at(width, scheme), LOOKED_AT.index(case)
    figure = page.figure(place)
    keep_picture(figure, f"online-{case.replace(' ', '-')}-{width}-{scheme}")
    assert page.problems(place) == []


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_sums_shrink_before_the_eyes_of_those_who_do_not_mind(alone, motion):
    with alone(figure_of("the chapter's"), reduced_motion=motion) as (_, figure):
        for _ in range(2):
            button(figure, "Next").click()
        moving = figure.evaluate("figure => figure.getAnimations({ subtree: true }).length")
        assert (moving > 0) == (motion == "no-preference")
