"""Show things in a chapter: a layer's source, a picture, weights as a heatmap."""

from __future__ import annotations

import ast
import inspect
import io
import os
import re
import textwrap
import tokenize
import zlib
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import torch

from attnbook.checks import check_axes, check_numbers, labels
from attnbook.colors import DARK, KEYS, LIGHT, on_dark_pages

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure
    from torch import Tensor

BLUE = LIGHT["weight"]
"""A blue that is clearly visible on a light and on a dark page."""
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
    "axes.prop_cycle": f"cycler(color={KEYS})",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
}

# A tag; the text between two tags is for readers, and stays.
TAG = re.compile(r"<[^>]*>")
# The name of a part, or a reference to it.
NAME = re.compile(r'( id="|url\(#|href="#)([^")]+)(["\)])')
# Matplotlib's rule for each line of a file. On a page it would hold for each element of the page.
RULE = re.compile(r"<defs>\s*<style[^>]*>\*\{stroke-linejoin: round;[^<]*</style>\s*</defs>\s*")
# Placeholders of the colours of the map, and of the numbers on weak, strong and strongest cells.
GROUND = "#010207"
LOW, HIGH, TOP = "#010204", "#010205", "#010206"
STRONG, STRONGEST = 0.61, 0.93
"""From here on, numbers are black on dark pages; from there on, white on light ones."""
MOST_NUMBERED = 10  # columns whose cells hold their numbers
MOST_PRECISE = 5  # columns whose cells have room for three decimals
ON_LIGHT = {
    "ground": LIGHT["ground"],
    "weight": BLUE,
    "low": LIGHT["ink"],
    "high": "#000000",
    "top": "#ffffff",
}
ON_DARK = {
    "ground": DARK["ground"],
    "weight": DARK["weight"],
    "low": "#ffffff",
    "high": "#000000",
    "top": "#000000",
}
LEAST_TEXT, TEXT = 11, 12  # px on a phone, and in the drawing
PHONE = 328  # px of a phone's text column
# The map has its own ground, so that it is legible on a page of any colour.
CELL_STYLE = f"""
{on_dark_pages(".attnbook-heatmap")} {{ {" ".join(f"--{k}: {v};" for k, v in ON_DARK.items())} }}
@media print {{ .attnbook-heatmap.attnbook-heatmap.attnbook-heatmap {{
  {" ".join(f"--{name}: initial;" for name in ON_DARK)}
}} }}
"""


def choose_device() -> torch.device:
    """Choose where a chapter computes: $ATTNBOOK_DEVICE, else CUDA if there is one, else CPU.

    Raises:
        ValueError: the variable is neither `cpu` nor `cuda`.
        RuntimeError: it is `cuda`, and there is no CUDA device.

    Example:
        >>> from attnbook.display import choose_device
        >>> choose_device().type in ("cpu", "cuda")
        True
    """
    name = os.environ.get("ATTNBOOK_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise ValueError(f"ATTNBOOK_DEVICE must be cpu or cuda, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("ATTNBOOK_DEVICE is cuda, but torch finds no CUDA device here")
    return torch.device(name)


class Source:
    """Python source that a notebook shows highlighted and a terminal shows as it is.

    Example:
        >>> from attnbook.display import Source
        >>> Source("weights @ values")
        weights @ values
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}\n```"


def show_source(*objects: Any) -> Source:  # noqa: ANN401 - whatever inspect can read
    """Show the source of functions, methods or classes, docstrings cut to their first line.

    Raises:
        TypeError, OSError: an object has no Python source that can be read.

    Example:
        >>> from attnbook.display import show_source
        >>> show_source(split_heads)
        def split_heads(...
    """
    return Source("\n\n".join(_short_source(thing) for thing in objects))


def _short_source(thing: Any) -> str:  # noqa: ANN401 - whatever inspect can read
    """Give the source of a function, method or class, as short as a chapter shows it."""
    source = _without_asides(textwrap.dedent(inspect.getsource(thing)).rstrip())
    lines = source.split("\n")
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    # From the last line up, so that the numbers of the lines above stay true.
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        docstring, first = ast.get_docstring(node), node.body[0]
        if docstring and "\n" in docstring:
            line = docstring.split("\n")[0]
            quoted = repr(line) if '"' in line or "\\" in line else f'"""{line}"""'
            rows = slice(first.lineno - 1, first.end_lineno)
            # Keep other text on the docstring's lines; ast's column offsets count bytes.
            before, after = (row.encode() for row in (lines[rows][0], lines[rows][-1]))
            before, after = before[: first.col_offset], after[first.end_col_offset :]
            lines[rows] = [f"{before.decode()}{quoted}{after.decode()}"]
    return "\n".join(lines)


def _without_asides(source: str) -> str:
    """Leave out comments for linters and type checkers, which are not for readers."""
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start[0] - 1, token.start[1]
            comment = re.sub(r"(^|\s+)# (?:noqa|type: ignore).*", "", token.string)
            lines[row] = f"{lines[row][:column]}{comment}".rstrip()
    return "\n".join(lines)


class Picture:
    """A drawing that takes the page's text colour, with a description for those who can't see it.

    Args:
        svg: an `<svg>` element.
        alt: what the picture shows, in a sentence or two.
        text: the same in plain text, with its numbers; by default `alt`.

    Raises:
        ValueError: `alt` is empty.

    Example:
        >>> from attnbook.display import Picture
        >>> Picture('<svg viewBox="0 0 9 9"><circle r="9"/></svg>', alt="A circle.")
        A circle.
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
        least = _least_width(self.svg)
        svg = self._named(f' style="min-width: {least}px"' if least else "")
        box = ' tabindex="0" style="overflow-x: auto"' if least else ""
        return (
            f'<figure class="attnbook-picture attnbook-heatmap"{box}>'
            f"<style>{CELL_STYLE}</style>{svg}</figure>"
        )


def _load_matplotlib() -> Any:  # noqa: ANN401 - a module that may be missing
    """Import what draws; the rest of this module works without it."""
    try:
        import matplotlib.figure  # noqa: PLC0415
        import matplotlib.patches  # noqa: PLC0415
    except ImportError as missing:
        raise ImportError(
            "attnbook.display needs matplotlib to draw: pip install 'attnbook[display]'"
        ) from missing
    return matplotlib


def new_figure(
    width: float, height: float
) -> tuple[matplotlib.figure.Figure, matplotlib.axes.Axes]:
    """Make a matplotlib figure, in inches, with one pair of axes in the book's style.

    Example:
        >>> from attnbook.display import BLUE, new_figure
        >>> figure, axes = new_figure(4, 3)
        >>> lines = axes.plot([0, 1], [0, 1], color=BLUE)
        >>> figure.get_size_inches().tolist()
        [4.0, 3.0]
    """
    mpl = _load_matplotlib()
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(figsize=(width, height))
        return figure, figure.subplots()


def draw(figure: matplotlib.figure.Figure, alt: str, text: str | None = None) -> Picture:
    """Turn a matplotlib figure into a picture that is legible on a light and on a dark page.

    What is drawn in `INK` takes the page's text colour, as axes and labels made by
    `new_figure` do.

    Raises:
        ValueError: `alt` is empty.

    Example:
        >>> from attnbook.display import BLUE, draw, new_figure
        >>> figure, axes = new_figure(4, 3)
        >>> lines = axes.plot([0, 1], [0, 1], color=BLUE)
        >>> draw(figure, "A line that rises from 0 to 1.")
        A line that rises from 0 to 1.
    """
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    style = {"svg.fonttype": "none", "svg.hashsalt": alt}
    with _load_matplotlib().rc_context(style), catch_warnings():
        # The page's font may well have a glyph that matplotlib's lacks.
        filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", metadata=nothing
        )
    return Picture(_inline(buffer.getvalue(), INK), alt, text)


def _inline(svg: str, ink: str) -> str:
    """Make matplotlib's file part of a page: no header, no ids that clash, the page's font.

    What is drawn in the colour `ink` takes the page's text colour.
    """
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg ") :], flags=re.DOTALL)
    svg = _name_parts(TAG.sub(lambda tag: _restyle(tag[0], ink), svg.strip()))
    return RULE.sub("", svg.replace("<svg ", '<svg stroke-linejoin="round" ', 1))


def _restyle(tag: str, ink: str) -> str:
    """Leave fonts and ink to the page, and round positions, so that processors agree on them."""
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    # In a file black is the default, as in a legend's text; on a dark page it is invisible.
    tag = re.sub(r'^(<text style=")(?!.*fill:)', r"\1fill: currentColor; ", tag)
    # Decimals after the third, and the sign of 0, may differ between processors.
    tag = re.sub(r"(?<!opacity: )-?\d+\.\d{4,}", lambda found: f"{float(found[0]):.3f}", tag)
    tag = re.sub(r"(?<=[ \"(])-0(?:\.0*)?(?=[ \"\n])", "0", tag)
    return tag.replace(ink, "currentColor")


def _name_parts(svg: str) -> str:
    """Name what is referred to after the whole picture, and leave other names out."""
    found = [part for tag in TAG.findall(svg) for part in NAME.findall(tag)]
    used = list(dict.fromkeys(name for start, name, _ in found if "#" in start))

    def named(picture: str) -> str:
        def renamed(part: re.Match[str]) -> str:
            start, name, end = part.groups()
            return f"{start}{picture}-{used.index(name)}{end}" if name in used else ""

        return TAG.sub(lambda tag: NAME.sub(renamed, tag[0]), svg)

    return named(f"picture-{zlib.crc32(named('part').encode()):08x}")


def heatmap(
    weights: Tensor,
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    title: str = "Attention weights",
) -> Picture:
    """Draw weights as a heatmap, a row per query and a column per key, each with its number.

    An exact zero is written `0`, so that it cannot be mistaken for a small number. From 6 columns
    on, the picture has two of the three decimals, and of more than 10 none, as they would touch;
    the description and the table have them all.

    Args:
        weights: numbers in [0, 1], `(num_queries, num_keys)`, at most 32 of each.
        query_labels, key_labels: names; by default `query 0`, `key 0` and so on.

    Raises:
        TypeError, ValueError: `weights` is no tensor of two axes, is too large or out of range,
            or a label is missing.

    Example:
        >>> from attnbook.display import heatmap
        >>> heatmap(torch.tensor([[0.75, 0.25], [1.0, 0.0]]))
        Attention weights
                 key 0  key 1
        query 0  0.750  0.250
        query 1  1.000      0
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
    return Heatmap(_themed(drawn.svg), alt, drawn.text)


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
) -> matplotlib.figure.Figure:
    figure, axes = new_figure(*_size(rows, columns))
    _fill_cells(axes, numbers)
    axes.set_title(title, parse_math=False)
    axes.set_xticks([j + 0.5 for j in range(len(columns))], columns, parse_math=False)
    axes.set_yticks([i + 0.5 for i in range(len(rows))], rows, parse_math=False)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    corner: Any = {"xycoords": "axes fraction", "textcoords": "offset points"}
    for line, name in enumerate(("queries ↓", "keys →")):  # one text for each, to end at one edge
        axes.annotate(name, (0, 1), (-4, 4 + 15 * line), ha="right", fontsize=TEXT, **corner)
    axes.spines[:].set_visible(False)
    return figure


def _fill_cells(axes: Any, numbers: list[list[str]]) -> None:  # noqa: ANN401 - matplotlib's
    """Draw a cell for each number, as strong as it; where there is no room for numbers, a scale."""
    height, width = len(numbers), len(numbers[0])
    _draw_cell(axes, (0, 0, width, height), GROUND)
    middle: Any = {"ha": "center", "va": "center", "fontsize": TEXT, "parse_math": False}
    for i, line in enumerate(numbers):
        for j, number in enumerate(line):
            # From the written number, as further digits may differ between processors.
            weight = float(number)
            _draw_cell(axes, (j, i, 1, 1), BLUE, weight)
            if width <= MOST_NUMBERED:
                text = number if number == "0" or width <= MOST_PRECISE else f"{weight:.2f}"
                ink = TOP if weight >= STRONGEST else HIGH if weight >= STRONG else LOW
                axes.text(j + 0.5, i + 0.5, text, color=ink, **middle)
    if width > MOST_NUMBERED:
        _draw_scale(axes, height + 0.5)
    axes.set(xlim=(0, width), ylim=(height, 0))


def _draw_cell(
    axes: Any,  # noqa: ANN401 - matplotlib's
    box: tuple[float, float, float, float],
    color: str,
    strength: float = 1,
) -> None:
    rectangle = _load_matplotlib().patches.Rectangle
    style: Any = {"color": color, "alpha": strength, "lw": 0, "clip_on": False}
    axes.add_patch(rectangle(box[:2], *box[2:], **style))


def _draw_scale(axes: Any, y: float) -> None:  # noqa: ANN401 - matplotlib's
    """Draw the shades of weights from 0 to 1 below the map."""
    _draw_cell(axes, (3, y, 5, 0.6), GROUND)
    for tenth in range(1, 11):
        _draw_cell(axes, (3 + 0.5 * (tenth - 1), y, 0.5, 0.6), BLUE, tenth / 10)
    axes.text(2.7, y + 0.3, "weight 0", ha="right", va="center", fontsize=TEXT)
    axes.text(8.3, y + 0.3, "1", ha="left", va="center", fontsize=TEXT)


def _column_width(columns: list[str]) -> float:
    """Return the width that a column needs for its number and its name, in inches."""
    if len(columns) > MOST_NUMBERED:
        return 0.3
    return max(0.5, 0.09 * max(map(len, columns)) + 0.05)


def _size(rows: list[str], columns: list[str]) -> tuple[float, float]:
    """Choose the width and the height of a heatmap, in inches."""
    height = 0.45 if len(columns) <= MOST_NUMBERED else 0.3
    return 1.04 + _column_width(columns) * len(columns), 1.1 + height * len(rows)


def _themed(svg: str) -> str:
    """Leave the colours to the theme; without a theme they are those of a light page."""
    placeholders = {BLUE: "weight", GROUND: "ground", LOW: "low", HIGH: "high", TOP: "top"}
    for color, name in placeholders.items():
        svg = svg.replace(color, f"var(--{name}, {ON_LIGHT[name]})")
    return svg


def _least_width(svg: str) -> int:
    """Return the width in px that legible text needs if a phone has less, else 0."""
    found = re.search(r'viewBox="0 0 ([\d.]+)', svg)
    width = round(float(found[1]) * LEAST_TEXT / TEXT) if found else 0
    return width if width > PHONE else 0


def _table(title: str, rows: list[str], columns: list[str], numbers: list[list[str]]) -> str:
    lines = [["", *columns], *([row, *line] for row, line in zip(rows, numbers, strict=True))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([title, *text])
