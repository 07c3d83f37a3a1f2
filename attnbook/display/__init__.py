"""Show things in a chapter: a layer's source, a picture, weights as a heatmap."""

from __future__ import annotations

import ast
import inspect
import io
import os
import re
import textwrap
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import torch

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
except ImportError as missing:
    raise ImportError(
        "attnbook.display needs matplotlib: pip install 'attnbook[display]'"
    ) from missing

from attnbook.checks import labels
from attnbook.display.svg import inline

if TYPE_CHECKING:
    from torch import Tensor

INK = "#010203"
"""What is drawn in this colour takes the page's text colour, light or dark."""
MOST = 32
MOST_NUMBERED = 10  # columns whose cells hold their numbers
BLUE = "#0072b2"
"""A blue that can be told from the page, light or dark."""
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
    return Source("\n\n".join(_short_source(thing) for thing in objects))


def _short_source(thing: Any) -> str:  # noqa: ANN401 - whatever inspect can read
    # What is said to linters and type checkers is not for readers.
    source = re.sub(r"  # (?:noqa|type: ignore).*", "", inspect.getsource(thing))
    source = textwrap.dedent(source).rstrip()
    lines = source.split("\n")
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    # From the last line up, so that the numbers of the lines above stay true.
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        docstring, first = ast.get_docstring(node), node.body[0]
        if docstring and "\n" in docstring:
            line = docstring.split("\n")[0]
            quoted = repr(line) if '"' in line or "\\" in line else f'"""{line}"""'
            lines[first.lineno - 1 : first.end_lineno] = [" " * first.col_offset + quoted]
    return "\n".join(lines)


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
        named = f'<svg role="img" aria-label="{escape(self.alt)}"'
        svg = re.sub(r"<svg\b", lambda _: named, self.svg, count=1)
        return f'<figure class="attnbook-picture">{svg}</figure>'


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
        ValueError: `weights` does not have two axes, is too large or out of range,
            or a label is missing.
    """
    if weights.dim() != 2:
        raise ValueError(
            f"weights must have shape (num_queries, num_keys), got {tuple(weights.shape)}"
        )
    rows = labels("query", query_labels, weights.shape[0])
    columns = labels("key", key_labels, weights.shape[1])
    _check_weights(weights)
    numbers = [["0" if w == 0 else f"{w:.3f}" for w in row] for row in weights.tolist()]
    figure = _draw_cells(numbers, rows, columns, title)
    words = "; ".join(f"{row}: {', '.join(line)}" for row, line in zip(rows, numbers, strict=True))
    alt = f"{title}, a row per query and a column per key. {words}."
    return draw(figure, alt, _table(title, rows, columns, numbers))


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
    # Each cell is as strong as the number that is written: its further digits may turn.
    numbered = len(columns) <= MOST_NUMBERED
    figure, axes = new_figure(
        1.2 + (0.7 if numbered else 0.3) * len(columns),
        0.9 + (0.45 if numbered else 0.3) * len(rows),
    )
    middle: Any = {"ha": "center", "va": "center", "color": INK, "parse_math": False}
    for i, line in enumerate(numbers):
        for j, number in enumerate(line):
            # At most 55 % opaque, where text in the page's colour must stay legible on top.
            alpha = float(number) * (0.55 if numbered else 1)
            axes.add_patch(Rectangle((j, i), 1, 1, color=BLUE, alpha=alpha, lw=0, clip_on=False))
            if numbered:
                axes.text(j + 0.5, i + 0.5, number, **middle)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
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
