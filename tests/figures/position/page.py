"""Read what the position figure shows in a browser, and compare it with attnbook's functions."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator

from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.position.cases import CLOSE, along, truth

READ = """figure => ({
    start: Number(figure.querySelector('.both input').value),
    distance: Number(figure.querySelector('.curve-axis input').value),
    label: figure.querySelector('.both input').getAttribute('aria-valuetext'),
    bodies: [...figure.querySelectorAll('tbody')].map(body => [...body.rows].map(
        row => [...row.querySelectorAll('td[data-value]')].map(
            cell => Number(cell.dataset.value)))),
    printed: [...figure.querySelectorAll('.pair')].map(pair => [...pair.querySelectorAll(
        '.pair-row span:not(:first-child)')].map(number => number.textContent)),
    hands: [...figure.querySelectorAll('.pair')].map(pair => [...pair.querySelectorAll(
        '.hand line')].map(hand => ['x2', 'y2'].map(end => Number(hand.getAttribute(end))))),
    dot: ['x1', 'y1'].map(end => Number(figure.querySelector('.graph .dot').getAttribute(end))),
    curve: figure.querySelector('.graph .line').getAttribute('d').slice(1).split('L')
        .map(point => point.split(' ').map(Number)),
    title: figure.querySelector('.chart > b').textContent,
})"""
FACE = 44  # the length of the longest hand
DRAWN = 0.01  # of 100


def disagreements(seen: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """What a figure shows that differs from attnbook's numbers at the positions of its sliders."""
    all_true = truth(state, [(seen["start"], seen["distance"])])
    true = {name: numbers[0] for name, numbers in all_true.items()}
    vectors, products = true["vectors"], true["products"]
    (*numbers, (dot,)), sweep = seen["bodies"]
    longest = vectors.unflatten(1, (-1, 2)).norm(dim=-1).max() or 1
    hands = (FACE * vectors / longest).unflatten(1, (-1, 2)).transpose(0, 1).clone()
    hands[..., 1] *= -1  # pictures point down
    on_curve = seen["curve"][seen["distance"] + len(seen["curve"]) // 2]
    wrong = {
        "numbers": differ([row[:2] for row in numbers], vectors.T, CLOSE),
        "parts": differ([row[2] for row in numbers], vectors.prod(dim=0), CLOSE),
        "dot": differ(dot, true["dot"], CLOSE),
        "sweep": differ([row[0] for row in sweep], along(state, seen["start"]), CLOSE),
        "hands": differ(seen["hands"], hands, DRAWN),
        "label": seen["label"] != "p = {}, q = {}".format(*true["positions"].tolist()),
        "printed": seen["printed"]
        != [
            [decimals(x) for x in (*vectors[:, 2 * i : 2 * i + 2].flatten().tolist(), part)]
            for i, part in enumerate(products.tolist())
        ],
        "marker": max(abs(a - b) for a, b in zip(seen["dot"], on_curve, strict=True)) > DRAWN,
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]


def slider(figure: Locator, name: str) -> Locator:
    """One of the two sliders."""
    names = {"start": "move both positions", "distance": "distance"}
    return figure.get_by_role("slider", name=names[name], exact=True)
