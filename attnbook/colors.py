"""The colors of figures, plots and pictures; each is defined here and nowhere else.

Figures take all of them as CSS variables, for both themes. A plot or a picture is one file for both
pages: it takes the light ones, and what it draws on the page has contrast with either.
"""

from __future__ import annotations

BLUE, ORANGE = "#0072b2", "#c64f05"
LIGHT_BLUE, LIGHT_ORANGE = "#56b4e9", "#f0803c"  # on dark pages
LIGHT = {
    "ink": "#222832",
    "quiet": "#596170",
    "line": "#8a919c",
    "hatch": "#c3c8d0",
    "ground": "#f4f5f7",
    "ink-blue": BLUE,
    "error": "#a3261d",
    # Weights: from the ground at 0 to this at 1. It is as opaque as the weight is large.
    "weight": BLUE,
    # Signed numbers: from one to the other, with the ground at 0.
    "negative": ORANGE,
    "positive": BLUE,
    # One per key; with more than eight keys, a mix of the first and the last.
    "key-first": BLUE,
    "key-last": ORANGE,
    "key-0": BLUE,
    "key-1": ORANGE,
    "key-2": "#2f7246",
    "key-3": "#a64888",
    "key-4": "#7f682e",
    "key-5": "#0d91e0",
    "key-6": "#bc5155",
    "key-7": "#674fd6",
}
DARK = {
    "ink": "#e3e7ec",
    "quiet": "#a9b1bd",
    "line": "#7c8594",
    "hatch": "#4a5260",
    "ground": "#1f252e",
    "ink-blue": LIGHT_BLUE,
    "error": "#ff9a8f",
    "weight": LIGHT_BLUE,
    "negative": LIGHT_ORANGE,
    "positive": LIGHT_BLUE,
    "key-first": LIGHT_BLUE,
    "key-last": LIGHT_ORANGE,
    "key-0": LIGHT_BLUE,
    "key-1": LIGHT_ORANGE,
    "key-2": "#5de4b8",
    "key-3": "#da78bc",
    "key-4": "#e3c33e",
    "key-5": "#a5d7ff",
    "key-6": "#e35b53",
    "key-7": "#8b85e9",
}
KEYS = tuple(LIGHT[f"key-{i}"] for i in range(8))
# How the book's theme, Colab, JupyterLab and VS Code mark a dark page.
DARK_PAGES = (
    'html[data-theme="dark"]',
    'html[theme="dark"]',
    'body[data-jp-theme-light="false"]',
    "body.vscode-dark",
)


def css_variables(selector: str) -> str:
    """Write the colors as CSS variables of these elements, for both themes."""

    def rule(selectors: str, colors: dict[str, str]) -> str:
        lines = "".join(f"  --{name}: {color};\n" for name, color in colors.items())
        return f"{selectors} {{\n{lines}}}\n"

    return rule(selector, LIGHT) + rule(on_dark_pages(selector), DARK)


def on_dark_pages(selector: str) -> str:
    """Select these elements on dark pages only."""
    return ",\n".join(f"{page} {selector}" for page in DARK_PAGES)


def mix(color: str, share: float, ground: str = LIGHT["ground"]) -> str:
    """Mix a share of a color, from 0 to 1, with the ground."""
    pairs = zip(_channels(color), _channels(ground), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def _channels(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]
