"""The online softmax figure in a browser: after each step it shows torch's numbers."""

from __future__ import annotations

import pytest
import torch
from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.online.cases import CASES, figure_of, truth
from tests.figures.shared.page import CLOSE, reading

CHAPTER = "the chapter's"
READ = reading("""
    step: Number(figure.querySelector('input[type=range]').value),
    corrected: !figure.querySelector('input[type=checkbox]').checked,
    bodies: bodies(),
    sums: all('.sum').map((row) => ({
        number: row.lastElementChild.textContent,
        label: row.querySelector('.name').textContent,
        widths: all('.parts :is(rect, polygon)', row).map((part) => part.getBBox().width),
    })),
    result: figure.querySelector('.result').innerText,
    readout: figure.querySelector('.readout').textContent,
""")


@pytest.fixture(scope="module")
def show(stage):
    return stage({case: figure_of(case) for case in CASES})


def disagreements(seen: dict, state: dict) -> list[str]:
    """What a figure shows that differs from torch's numbers for the state of its controls."""
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
        printed = [seen["sums"][2]["number"], seen["sums"][5]["number"]]
        now = walk[step - 1]
        exact = [now["total"].item(), now["weighted"][0].item()]
        if printed != [decimals(x).replace("-", "−", 1) for x in exact]:
            wrong.append("printed numbers")
    return wrong


def button(figure: Locator, name: str) -> Locator:
    return figure.get_by_role("button", name=name, exact=True)


def slider(figure: Locator) -> Locator:
    return figure.get_by_role("slider")


@pytest.mark.parametrize("case", CASES)
def test_the_first_step_and_the_last_equal_torch_with_and_without_the_correction(show, case):
    shown, steps = show(case), (0, 1, figure_of(case).num_steps)
    changes = [{"step": n, "corrected": corrected} for corrected in (True, False) for n in steps]
    for change, seen in zip(changes, shown.read_all(READ, changes), strict=True):
        assert seen.items() >= change.items()
        assert disagreements(seen, shown.state) == []


def test_buttons_and_keys_go_there_and_back(show):
    _, figure, state, _ = shown = show(CHAPTER)
    saves = shown.saves()
    steps = iter((1, 2, 3, 3, 2, 1, 0, 0))  # there is nothing beyond the ends
    for name in ("Next", "Back"):
        button(figure, name).focus()
        for key in ("Enter", "Space", "Enter", "Space"):
            button(figure, name).press(key)
            seen = figure.evaluate(READ)
            assert seen["step"] == next(steps)
            assert disagreements(seen, state) == []
            assert button(figure, name).evaluate("e => e === document.activeElement")
    for key, step in (("ArrowRight", 1), ("End", 3), ("Home", 0)):
        slider(figure).press(key)
        assert figure.evaluate(READ)["step"] == step
    figure.get_by_role("checkbox").press("Space")
    assert figure.evaluate(READ)["corrected"] is False
    figure.get_by_text("without the correction").tap()
    assert figure.evaluate(READ)["corrected"] is True
    assert shown.saves() == saves + 13


def test_without_the_correction_the_error_is_next_to_the_right_output(show):
    figure = show(CHAPTER).figure
    slider(figure).press("End")
    for output, error in (("25.000", "the same: error 0"), ("20.000", "error −5.000")):
        lines = [line.strip() for line in figure.evaluate(READ)["result"].split("\n")]
        assert lines == [f"output so far {output}", "plain softmax of all keys 25.000", error]
        figure.get_by_role("checkbox").check()
    labels = [row["label"] for row in figure.evaluate(READ)["sums"]]
    assert labels == ["before", "× 1", "+ block 3"] * 2
