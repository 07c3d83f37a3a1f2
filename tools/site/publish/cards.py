"""The picture of a page that others see where its address is shared."""

from __future__ import annotations

import textwrap
from pathlib import Path

import torch
from matplotlib import style
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text

from attnbook import masked_softmax
from attnbook.colors import LIGHT
from attnbook.display import BLUE
from tools.site.publish.publishing import HEIGHT, WIDTH

DOTS = 100  # per inch
TOKENS = 6
LINES, LETTERS = 4, 16  # of a title
WEIGHTS = LinearSegmentedColormap.from_list("weights", [LIGHT["ground"], LIGHT["weight"]])
INK, MUTED = LIGHT["ink"], LIGHT["quiet"]
# matplotlib's own settings and its own font, whatever this machine has or prefers.
STYLE: list[str | dict[str, str]] = ["default", {"font.family": "DejaVu Sans"}]


def wrap_title(title: str) -> str:
    """Break a title into short lines; dots mark a title that is too long."""
    return "\n".join(
        textwrap.wrap(title, LETTERS, max_lines=LINES, placeholder=" …", break_on_hyphens=False)
    )


def causal_weights() -> list[list[float]]:
    """Attention weights of the book's own layer, with each token attending to those before it."""
    scores = torch.randn(1, TOKENS, TOKENS, generator=torch.Generator().manual_seed(8))
    rows: list[list[float]] = masked_softmax(scores, torch.arange(1, TOKENS + 1)[None])[0].tolist()
    return rows


def shrink_text(text: Text, width: float) -> None:
    """Reduce the size of a text that is wider than so many pixels."""
    text_width = text.get_window_extent().width
    if text_width > width:
        text.set_fontsize(float(text.get_fontsize()) * width / text_width)


def draw_card(title: str, book: str, site: str) -> Figure:
    """Draw a page's title, the book's and its address next to a heatmap of attention weights."""
    figure = Figure(figsize=(WIDTH / DOTS, HEIGHT / DOTS), dpi=DOTS, facecolor="white")
    above, address = "" if book == title else book, site.removeprefix("https://").rstrip("/")
    for text in (
        figure.text(0.06, 0.86, above, size=22, color=BLUE),
        figure.text(0.06, 0.52, wrap_title(title), size=42, weight="bold", color=INK, va="center"),
        figure.text(0.06, 0.1, address, size=20, color=MUTED),
    ):
        shrink_text(text, 0.56 * WIDTH)
    axes = figure.add_axes((0.645, 0.19, 0.325, 0.62))
    axes.pcolormesh(causal_weights(), cmap=WEIGHTS, vmin=0, edgecolors="white", linewidth=5)
    axes.invert_yaxis()
    axes.set_axis_off()
    return figure


def write_card(path: Path, title: str, book: str, site: str) -> None:
    """Write a page's card as PNG, the same bytes each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with style.context(STYLE):
        draw_card(title, book, site).savefig(path)
