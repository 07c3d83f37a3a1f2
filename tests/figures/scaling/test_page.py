"""The scaling figure in a browser: at every d it shows PyTorch's numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from attnbook.figures import ScalingFigure
from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.scaling.cases import CASES, truth
from tests.figures.shared.page import CLOSE, LINE, reading, slider
from tests.tools.site.site_checks import NARROW, WIDE

MEASURES = ("variance", "largest", "entropy", "slopes")
READ = reading("""
    d: Number(figure.querySelector('.chart input').ariaValueText),
    query: Number(figure.querySelector('select')?.value ?? 0),
    setting: figure.querySelector('.chart .setting').textContent,
    bodies: bodies(),
    printed: all('.measure').map((row) => texts('b', row)),
    heights: all('[aria-label=Weighting] .bars').map((half) => all(':is(rect, polygon)', half).map(
        (bar) => bar.getBBox().height)),
    dots: attributes('.dot', ['y1']).flat(),
""")

DRAWN = ("heights", "dots")  # to a ten-thousandth of the picture


def expected(state: dict[str, Any], d: int, query: int) -> dict[str, Any]:
    """What `READ` must find, from the stored scores in float64."""
    dots = torch.tensor(state["scores"], dtype=torch.float64)
    largest = []
    for step, size in zip(dots, state["sizes"], strict=True):
        plain, scaled = truth(step), truth(step / math.sqrt(size))
        largest.append([plain["largest"], scaled["largest"]])
        if size == d:
            halves, scores = [plain, scaled], [step, step / math.sqrt(size)]
    rows = [pair for h, s in zip(halves, scores, strict=True) for pair in (s, h["weights"])]
    return {
        "keys": torch.stack([part[query] for part in rows], -1),
        "totals": torch.ones(2),
        "measures": torch.tensor([[h[name] for h in halves] for name in MEASURES]),
        "sweep": torch.tensor(largest),
        "heights": torch.stack([h["weights"][query] for h in halves]),
        "dots": torch.tensor([100 * (1 - h["largest"]) for h in halves]),
    }


def disagreements(seen: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """What a figure shows that differs from PyTorch's numbers for the state of its controls."""
    (*keys, totals), measures, sweep = seen["bodies"]
    found = {"keys": keys, "totals": totals, "measures": measures, "sweep": sweep}
    found |= {name: seen[name] for name in DRAWN}
    true = expected(state, seen["d"], seen["query"])
    wrong = [
        name for name in true if differ(found[name], true[name], 1e-4 if name in DRAWN else CLOSE)
    ]
    variance, largest, bits, evenly, slopes = seen["printed"]
    printed = [variance, largest, [text.removesuffix(" bits") for text in bits], slopes]
    if printed != [[*map(decimals, row)] for row in measures]:
        wrong.append("printed")
    if [text.split()[0] for text in evenly] != [f"{2**row:.3g}" for row in measures[2]]:
        wrong.append("as if evenly shared")
    return wrong


@pytest.fixture(scope="module")
def show(stage):
    """A function that shows a case at d = 1."""
    figures = {case: ScalingFigure(*make()) for case, make in CASES.items()}
    for figure in figures.values():
        figure.d = 1
    return stage(figures)


@pytest.mark.parametrize("case", ["a chapter's", "odd numbers", "the smallest", "the largest"])
def test_each_d_equals_torch(show, case):
    view = show(case)
    sizes = view.state["sizes"]
    for d, seen in zip(sizes, view.read_all(READ, [{"d": d} for d in sizes]), strict=True):
        assert (seen["d"], seen["setting"]) == (d, f"d = {d}")
        if d in (1, 4, sizes[-1]):
            assert disagreements(seen, view.state) == []


def test_keys_set_d(show):
    _, figure, state, _ = show("a chapter's")
    for step, key in ((10, "End"), (9, "ArrowLeft"), (0, "Home"), (1, "ArrowRight")):
        slider(figure, "d").press(key)
        seen = figure.evaluate(READ)
        assert seen["d"] == state["sizes"][step]
        assert disagreements(seen, state) == []


def test_every_query_can_be_chosen_and_equals_torch(show):
    _, figure, state, _ = view = show("odd numbers")
    saves = view.saves()
    figure.get_by_text("More controls").click()
    choice = figure.get_by_role("combobox", name="query")
    for query in (1, 2, 0):
        if query:
            choice.press("ArrowDown")
        else:
            choice.select_option("query 0")
        seen = figure.evaluate(READ)
        assert seen["query"] == query
        assert disagreements(seen, state) == []
    assert [view.saves(), *view.get("query")] == [saves + 3, 0]


def test_the_lines_pass_through_the_largest_weights(show):
    _, figure, state, _ = show("odd numbers")
    sweep = expected(state, 8, 0)["sweep"].T.tolist()
    for half, line in zip(sweep, figure.locator(".sweep path").all(), strict=True):
        points = [tuple(map(float, p.split())) for p in line.get_attribute("d")[1:].split("L")]
        xs, ys = zip(*points, strict=True)
        assert xs == pytest.approx([0, 33.33, 66.67, 100], abs=0.01)
        assert ys == pytest.approx([100 * (1 - weight) for weight in half], abs=0.01)


LIT = (
    """figure => [...figure.querySelectorAll('.lit')].map(e => [e.tagName, e.dataset.key].join())"""
)


def test_pointing_at_a_key_lights_it_in_both_halves_and_shows_its_numbers(show):
    _, figure, state, _ = show("odd numbers")
    slider(figure, "d").press("End")
    readout, bars = figure.locator(LINE), figure.locator(".pair .bars")
    true = expected(state, 8, 0)["keys"]

    def sentence(key: int) -> str:
        a, b, c, d = (decimals(number) for number in true[key].tolist())
        return f"key {key}: q · k score {a}, weight {b}; q · k / √d score {c}, weight {d}"

    largest = int(true[:, 1].argmax())
    assert readout.inner_text() == sentence(largest)
    for half, key in ((0, 1), (3, 4), (1, 0), (2, 3)):
        box = bars.nth(half).bounding_box()
        position = {"x": box["width"] * (key + 0.5) / 5, "y": 9}
        (bars.nth(half).tap if half == 2 else bars.nth(half).hover)(position=position)
        assert readout.inner_text() == sentence(key)
        # In each half two bars, a share of the total and a button; and a row of the table.
        lit = [*[f"rect,{key}"] * 6, *[f"BUTTON,{key}"] * 2, f"TR,{key}"]
        assert sorted(figure.evaluate(LIT)) == sorted(lit)
    first = figure.locator(".keys").last.locator("button").first
    first.focus()
    first.press("ArrowRight")
    assert readout.inner_text() == sentence(1)
    slider(figure, "d").press("Home")
    assert readout.inner_text() != sentence(1)


def test_on_a_phone_a_slider_replaces_too_many_key_buttons_and_the_figure_fits(show):
    _, figure, state, _ = show("a chapter's", NARROW)
    assert figure.bounding_box()["height"] < 600  # its action and caption need 120 more
    assert figure.locator(".keys:visible").count() == 0
    figure.get_by_text("More controls").click()
    key = slider(figure, "key")
    for press, pointed in (("End", 15), ("ArrowLeft", 14)):
        key.press(press)
        a, b, *_ = map(decimals, expected(state, state["sizes"][0], 0)["keys"][pointed].tolist())
        start = f"key {pointed}: q · k score {a}, weight {b}; "
        assert figure.locator(LINE).inner_text().startswith(start)
        assert key.get_attribute("aria-valuetext") == str(pointed)
    for case, width in (("a chapter's", WIDE), ("odd numbers", NARROW)):
        assert show(case, width).figure.locator(".keys:visible").count() == 2
