"""Lines between tokens as a page draws them, and what they may not touch."""

from __future__ import annotations

import re

import numpy as np

from tests.figures.shared.page import reading

NUMBER = re.compile(r"-?[\d.]+")
Box = dict[str, float]
QUERIES, KEYS = ".queries", ".token-row:not(.queries)"  # where they are in two rows
# What every figure of tokens shows of them; `keys` is the row that can be attended to.
TO_READ = """
    chosen: where('.queries > .token', (e) => e.ariaPressed === 'true'),
    pointed: where(`${keys} > .token`, (e) => e.classList.contains('lit')),
    lines: all('.token-line').map((e) => Number(e.getAttribute('stroke-width'))),
    leftOut: figure.querySelector('.token-rows + .note').textContent.match(/\\S+ %/)?.[0] ?? '',
    sentence: figure.querySelector('.readout > span').textContent,
"""


def token_reading(parts: str, keys: str = KEYS) -> str:
    """A script that reads the tokens and lines of a figure, and these parts of it."""
    script = reading(parts + TO_READ)
    return script.replace("figure => {", f"figure => {{ const keys = '{keys}';", 1)


def misdrawn(lines: list[float], left_out: str, weights: list[float]) -> bool:
    """Whether lines are not as thick as the weights, from 1 to 14 px or to the narrowest space."""
    order, share = sorted(range(len(weights)), key=weights.__getitem__), 0.0
    thick = [1 + 13 * weight if weight > 0 else 0.0 for weight in weights]
    for key in order:
        if weights[key] >= 0.01 or share + weights[key] > 0.05:
            break
        thick[key], share = 0.0, share + weights[key]
    full = max(lines, default=0)
    expected = [min(each, full) for each in [*thick, *[0.0] * (len(lines) - len(thick))]]
    drawn = np.allclose(lines, expected, atol=0.006)
    return not (drawn and left_out == (f"{percent(share)} %" if share else ""))


def percent(share: float) -> str:
    """A share in percent with two digits, as the page writes it."""
    return f"{float(f'{100 * share + 1e-12:.2g}'):.10g}"


def attended_to(weights: list[float], source: list[str]) -> str:
    """The keys with most weight, as a sentence names them."""
    order = sorted(range(len(weights)), key=lambda key: -weights[key])[:3]
    named = [key for i, key in enumerate(order) if not i or weights[key] >= 0.1]
    parts = [f"“{source[key]}” at {key} ({percent(weights[key])} %)" for key in named]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def trace(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Points along a path, and the directions across it, of length 1."""
    points: list[tuple[float, float]] = []
    t = np.linspace(0, 1, 60)[:, None]
    for letter, rest in re.findall(r"([MVC])([^MVC]*)", path):
        numbers = [float(each) for each in NUMBER.findall(rest)]
        if letter == "M":
            points.append((numbers[0], numbers[1]))
            continue
        start = np.array(points[-1])
        if letter == "V":
            points += map(tuple, start + t[1:] * (np.array([start[0], numbers[0]]) - start))
        else:
            a, b, c = np.array(numbers).reshape(3, 2)
            u = 1 - t
            curve = u**3 * start + 3 * u**2 * t * a + 3 * u * t**2 * b + t**3 * c
            points += map(tuple, curve[1:])
    steps = np.diff(np.array(points), axis=0)
    long = np.hypot(*steps.T)
    middles = (np.array(points)[1:] + np.array(points)[:-1]) / 2
    across = np.stack([-steps[:, 1], steps[:, 0]], 1) / np.maximum(long, 1e-9)[:, None]
    return middles[long > 1e-6], across[long > 1e-6]


def touched(path: str, thick: float, boxes: list[Box]) -> list[int]:
    """The boxes that a line of this thickness covers a part of."""
    middles, across = trace(path)
    points = np.concatenate([middles + side * thick / 2 * across for side in (-1, 0, 1)])
    close = 0.15  # paths are written in tenths of a pixel
    return [
        i
        for i, box in enumerate(boxes)
        if (
            (points[:, 0] > box["left"] + close)
            & (points[:, 0] < box["right"] - close)
            & (points[:, 1] > box["top"] + close)
            & (points[:, 1] < box["bottom"] - close)
        ).any()
    ]


def ends_at_borders(path: str, start: Box, end: Box) -> bool:
    """Whether a line begins and ends at the upper or lower border of its tokens."""
    numbers = [float(each) for each in NUMBER.findall(path)]
    last_x = float(NUMBER.findall(re.findall(r"[MC][^MVC]*", path)[-1])[-2])
    return all(
        box["left"] <= x <= box["right"] and min(abs(y - box["top"]), abs(y - box["bottom"])) < 0.06
        for x, y, box in ((*numbers[:2], start), (last_x, numbers[-1], end))
    )
