"""Read what the scaling figure shows in a browser, and compare it with PyTorch."""

from __future__ import annotations

import math
from typing import Any

import torch
from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.scaling.cases import truth
from tests.figures.shared.page import CLOSE

MEASURES = ("variance", "largest", "entropy", "slopes")
READ = """figure => ({
    d: Number(figure.querySelector('.sweep-axis input').getAttribute('aria-valuetext')),
    query: Number(figure.querySelector('select').value),
    setting: figure.querySelector('.chart-setting .setting').textContent,
    bodies: [...figure.querySelectorAll('tbody')].map(body => [...body.rows].map(
        row => [...row.querySelectorAll('td[data-value]')].map(
            cell => Number(cell.dataset.value)))),
    printed: [...figure.querySelectorAll('dl')].map(
        list => [...list.querySelectorAll('dd')].map(number => number.textContent)),
    heights: [...figure.querySelectorAll('.half')].map(half => [...half.querySelectorAll(
        '.half-plot:nth-of-type(3) .bars :is(rect, polygon)')].map(bar => bar.getBBox().height)),
    dots: [...figure.querySelectorAll('.dot')].map(dot => Number(dot.getAttribute('y1'))),
})"""

HEIGHTS = "bars => [...bars.querySelectorAll('rect')].map(bar => bar.getBBox().height)"
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
    shown = {"keys": keys, "totals": totals, "measures": measures, "sweep": sweep}
    shown |= {name: seen[name] for name in DRAWN}
    true = expected(state, seen["d"], seen["query"])
    wrong = [
        name for name in true if differ(shown[name], true[name], 1e-4 if name in DRAWN else CLOSE)
    ]
    printed = [
        [
            decimals(row[half]) + " bits" * (name == "entropy")
            for name, row in zip(MEASURES, measures, strict=True)
        ]
        for half in (0, 1)
    ]
    return wrong + ["printed"] * (printed != seen["printed"])


def d_slider(figure: Locator) -> Locator:
    """The slider below the chart."""
    return figure.get_by_role("slider", name="d", exact=True)


def d_positions(figure: Locator) -> list[float]:
    """The position of each d on the axis, in px: evenly between the ends of the grid."""
    box = figure.locator(".sweep").bounding_box()
    steps = int(d_slider(figure).get_attribute("max"))
    return [box["x"] + box["width"] * step / steps for step in range(steps + 1)]


def middle(slider: Locator) -> float:
    """Scroll to a slider; return the height of its track in the window, in px."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    return box["y"] + box["height"] / 2
