"""The cells of a heatmap: legible on a phone, and easy to tell apart on a dark page, too."""

from __future__ import annotations

import re
from typing import Any

from matplotlib.patches import Rectangle

BLUE = "#0072b2"
"""A blue that can be told from the page, light or dark."""
LOW, HIGH = "#010204", "#010205"  # stand for the colours of numbers on weak and strong cells
STRONG = 0.64
"""In the dark, numbers from here on are black: white ones would fade."""
MOST_NUMBERED = 10  # columns whose cells hold their numbers
FAINT = 0.55
"""How strong a cell is at most on a light page, where its number has the page's colour."""
LEAST_TEXT, TEXT = 11, 12  # px on a phone, and in the drawing
PHONE = 328  # px of a phone's text column
# Strong and light is what weighs on a dark page: there a cell's blue may hide the page.
STYLE = """
html[data-theme="dark"] .attnbook-heatmap, html[theme="dark"] .attnbook-heatmap,
body[data-jp-theme-light="false"] .attnbook-heatmap, body.vscode-dark .attnbook-heatmap {
  --cell: #56b4e9; --strength: 1; --low: #fff; --high: #000;
}
@media print { .attnbook-heatmap.attnbook-heatmap.attnbook-heatmap {
  --cell: initial; --strength: initial; --low: initial; --high: initial;
} }
"""


def draw_cells(axes: Any, numbers: list[list[str]]) -> None:  # noqa: ANN401 - matplotlib's
    """Draw a cell for each number, as strong as it, and the number where it has room."""
    numbered = len(numbers[0]) <= MOST_NUMBERED
    middle: Any = {"ha": "center", "va": "center", "parse_math": False}
    for i, line in enumerate(numbers):
        for j, number in enumerate(line):
            # As strong as the number that is written: its further digits may turn.
            look: Any = {"alpha": float(number), "lw": 0, "clip_on": False}
            axes.add_patch(Rectangle((j, i), 1, 1, color=BLUE, **look))
            if numbered:
                ink = HIGH if float(number) >= STRONG else LOW
                axes.text(j + 0.5, i + 0.5, number, color=ink, **middle)
    axes.set(xlim=(0, len(numbers[0])), ylim=(len(numbers), 0))


def column_width(columns: list[str]) -> float:
    """Say how wide a column must be for its number and its name, in inches."""
    if len(columns) > MOST_NUMBERED:
        return 0.3
    return max(0.5, 0.09 * max(map(len, columns)) + 0.05)


def size(rows: list[str], columns: list[str]) -> tuple[float, float]:
    """Choose the width and the height of a heatmap, in inches."""
    height = 0.45 if len(columns) <= MOST_NUMBERED else 0.3
    return 1.2 + column_width(columns) * len(columns), 0.9 + height * len(rows)


def themed(svg: str, numbered: bool) -> str:
    """Leave colours and strength to the theme; light is what holds without any."""
    strength = f"var(--strength, {FAINT})" if numbered else "1"
    svg = re.sub(
        rf"fill: {BLUE}(?:; opacity: ([\d.]+))?",
        lambda it: f"fill: var(--cell, {BLUE}); opacity: calc({it[1] or 1} * {strength})",
        svg,
    )
    svg = svg.replace(LOW, "var(--low, currentColor)")
    return svg.replace(HIGH, "var(--high, currentColor)")


def least_width(svg: str) -> int:
    """Say how many px a picture must have for legible text, if a phone has less; else 0."""
    found = re.search(r'viewBox="0 0 ([\d.]+)', svg)
    width = round(float(found[1]) * LEAST_TEXT / TEXT) if found else 0
    return width if width > PHONE else 0
