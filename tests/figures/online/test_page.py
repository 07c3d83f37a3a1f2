"""The online softmax figure in a browser: after each step it shows torch's numbers."""

from __future__ import annotations

import pytest
import torch
from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.online.cases import CASES, figure_of, truth
from tests.figures.shared.page import CLOSE, reading
from tests.tools.site.site_checks import NARROW

CHAPTER = "the chapter's"
READ = reading("""
    step: Number(figure.querySelector('input[type=range]').value),
    corrected: !figure.querySelector('input[type=checkbox]').checked,
    bodies: bodies(),
    sums: all('.carried').map((row) => ({
        number: row.lastElementChild.textContent,
        label: row.querySelector('.name').textContent,
        widths: all(':is(rect, polygon)', row).map((part) => part.getBBox().width),
    })),
    output: texts('.output :is(.number, .plain, .error)'),
    sum: texts('.sum-text')[0],
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
        if printed != [*map(decimals, exact)]:
            wrong.append("printed numbers")
        outputs = torch.stack([now["output"], now["plain"]], -1).tolist()
        if [*zip(seen["output"][::3], seen["output"][1::3], strict=True)] != [
            (decimals(one), decimals(other)) for one, other in outputs
        ]:
            wrong.append("printed outputs")
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
    assert shown.saves() == saves + 11  # none at the ends


def test_without_the_correction_the_error_is_next_to_the_right_output(show):
    figure = show(CHAPTER).figure
    slider(figure).press("End")
    weights = ("0.100 · 10 + 0.300 · 20 + 0.600 · 30 =", "0.333 · 10 + 0.333 · 20 + 0.333 · 30 ≈")
    outputs = zip(("25.000", "20.000"), ("the same: error 0", "error -5.000"), weights, strict=True)
    for output, error, terms in outputs:
        seen = figure.evaluate(READ)
        assert seen["output"] == [output, "25.000", error]
        assert seen["sum"] == f"{terms} {output}"
        figure.get_by_role("checkbox").check()
    labels = [row["label"] for row in figure.evaluate(READ)["sums"]]
    assert labels == ["sum before", "rescaled × 1", "with block 3"] * 2


LIT = (
    """figure => [...figure.querySelectorAll('.lit')].map(e => [e.tagName, e.dataset.key].join())"""
)


def test_pointing_at_a_key_lights_it_in_all_bands_and_in_the_table(show):
    figure = show(CHAPTER).figure
    slider(figure).fill("2")
    first = figure.evaluate(READ)["readout"]
    assert first.startswith("Block 2 raises the highest score")
    figure.locator(".bars rect").nth(1).hover()
    lit = figure.evaluate(LIT)
    # One bar, a part of each of two sums of three rows and of two outputs; score, value, row.
    assert sorted(lit) == sorted(["rect,1"] * 9 + ["SPAN,1"] * 2 + ["TR,1"])
    text = "key 1: score 1.792, value 20, exponential 1.000, weight 0.750"
    assert figure.evaluate(READ)["readout"] == text
    figure.locator(".bars rect").nth(2).hover()
    assert figure.evaluate(READ)["readout"] == "key 2: score 2.485, value 30; not read yet"
    figure.get_by_role("button", name="Next").hover()
    figure.page.mouse.move(0, 0)
    assert [figure.evaluate(LIT), figure.evaluate(READ)["readout"]] == [[], first]


def test_on_a_phone_it_fits_the_screen_at_every_step(show):
    figure = show(CHAPTER, NARROW).figure
    for corrected in (True, False):
        figure.get_by_role("checkbox").set_checked(not corrected)
        for step in range(4):
            slider(figure).fill(str(step))
            assert figure.bounding_box()["height"] < 660  # its action and caption need 80 more
