"""Show things in a chapter: a layer's source, a picture, weights as a heatmap."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import torch

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as missing:
    raise ImportError(
        "attnbook.display needs matplotlib: pip install 'attnbook[display]'"
    ) from missing

from attnbook.checks import check_axes, check_numbers, labels
from attnbook.display import cells
from attnbook.display.cells import BLUE as BLUE
from attnbook.display.cells import MOST_NUMBERED
from attnbook.display.source import short_source
from attnbook.display.svg import inline

if TYPE_CHECKING:
    from torch import Tensor

INK = "#010203"
"""What is drawn in this colour takes the page's text colour, light or dark."""
MOST = 32
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 12,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 12,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
}


def choose_device() -> torch.device:
    """Choose where a chapter computes: $ATTNBOOK_DEVICE, else CUDA if there is one, else CPU.

    Raises:
        ValueError: the variable is neither `cpu` nor `cuda`.
        RuntimeError: it says `cuda`, and there is none.
    """
    name = os.environ.get("ATTNBOOK_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise ValueError(f"ATTNBOOK_DEVICE must be cpu or cuda, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("ATTNBOOK_DEVICE is cuda, but torch finds no CUDA device here")
    return torch.device(name)


class Source:
    """Python source that a notebook shows highlighted and a terminal shows as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}\n```"


def show_source(*objects: Any) -> Source:  # noqa: ANN401 - whatever inspect can read
    """Show the source of functions, methods or classes, docstrings cut to their first line."""
    return Source("\n\n".join(short_source(thing) for thing in objects))


class Picture:
    """A drawing that takes the page's text colour, with a description for those who can't see it.

    Args:
        svg: an `<svg>` element.
        alt: what the picture shows, in a sentence or two.
        text: the same in plain text, with its numbers; by default `alt`.
    """

    def __init__(self, svg: str, alt: str, text: str | None = None) -> None:
        if not alt.strip():
            raise ValueError("alt must say what the picture shows, got an empty text")
        self.svg, self.alt, self.text = svg, alt, text or alt

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<figure class="attnbook-picture">{self._named()}</figure>'

    def _named(self, more: str = "") -> str:
        named = f'<svg role="img" aria-label="{escape(self.alt)}"{more}'
        return re.sub(r"<svg\b", lambda _: named, self.svg, count=1)


class Heatmap(Picture):
    """Weights in colours of the theme; too wide for a phone, it scrolls in a box of its own."""

    def _repr_html_(self) -> str:
        least = cells.least_width(self.svg)
        svg = self._named(f' style="min-width: {least}px"' if least else "")
        box = ' tabindex="0" style="overflow-x: auto"' if least else ""
        return (
            f'<figure class="attnbook-picture attnbook-heatmap"{box}>'
            f"<style>{cells.STYLE}</style>{svg}</figure>"
        )


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Make a matplotlib figure, in inches, with one pair of axes in the book's style."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        return figure, figure.subplots()


def draw(figure: Figure, alt: str, text: str | None = None) -> Picture:
    """Turn a matplotlib figure into a picture that is legible on a light and on a dark page.

    What is drawn in `INK` takes the page's text colour, as axes and labels made by
    `new_figure` do.

    Raises:
        ValueError: `alt` is empty.
    """
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": alt}), catch_warnings():
        # The page's font may well have a glyph that matplotlib's lacks.
        filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", metadata=nothing
        )
    return Picture(inline(buffer.getvalue(), INK), alt, text)


def heatmap(
    weights: Tensor,
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    title: str = "Attention weights",
) -> Picture:
    """Draw weights as a heatmap, a row per query and a column per key, each with its number.

    An exact zero is written `0`, so that it cannot be mistaken for a small number. Of more
    than 10 columns the numbers are said in words and in the table only: in the picture they
    would be too small to read.

    Args:
        weights: numbers in [0, 1], `(num_queries, num_keys)`, at most 32 of each.
        query_labels, key_labels: names; by default `query 0`, `key 0` and so on.

    Raises:
        TypeError, ValueError: `weights` is no tensor of two axes, is too large or out of range,
            or a label is missing.
    """
    check_axes("weights", weights, "(num_queries, num_keys)")
    check_numbers("weights", weights, "cpu")
    rows = labels("query", query_labels, weights.shape[0])
    columns = labels("key", key_labels, weights.shape[1])
    _check_weights(weights)
    numbers = [["0" if w == 0 else f"{w:.3f}" for w in row] for row in weights.tolist()]
    figure = _draw_cells(numbers, rows, columns, title)
    words = "; ".join(f"{row}: {', '.join(line)}" for row, line in zip(rows, numbers, strict=True))
    alt = f"{title}, a row per query and a column per key. {words}."
    drawn = draw(figure, alt, _table(title, rows, columns, numbers))
    return Heatmap(cells.themed(drawn.svg, len(columns) <= MOST_NUMBERED), alt, drawn.text)


def _check_weights(weights: Tensor) -> None:
    if not 1 <= min(weights.shape) <= max(weights.shape) <= MOST:
        raise ValueError(f"weights must have 1 to {MOST} rows and columns, got {[*weights.shape]}")
    wrong = ~((weights >= 0) & (weights <= 1))  # NaN is neither
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(
            f"weights must lie in [0, 1], got {weights[index].item()} at index {index}"
        )


def _draw_cells(
    numbers: list[list[str]],
    rows: list[str],
    columns: list[str],
    title: str,
) -> Figure:
    figure, axes = new_figure(*cells.size(rows, columns))
    cells.draw_cells(axes, numbers)
    axes.set_title(title, parse_math=False)
    axes.set_xticks([j + 0.5 for j in range(len(columns))], columns, parse_math=False)
    axes.set_yticks([i + 0.5 for i in range(len(rows))], rows, parse_math=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def _table(title: str, rows: list[str], columns: list[str], numbers: list[list[str]]) -> str:
    lines = [["", *columns], *([row, *line] for row, line in zip(rows, numbers, strict=True))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([title, *text])
