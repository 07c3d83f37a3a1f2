"""Shapes of the pictures: boxes with text, lines and arrows, as lines of SVG.

Text is always in a filled box and lines are mid-tones, so the same file is readable
on a white page and on a dark one.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from attnbook.colors import KEYS

KEY_COLORS = KEYS[:4]  # one colour for each key, in every picture; white text is readable on them
SLATE, PALE, INK, WHITE = "#66717f", "#dde2e9", "#000000", "#ffffff"
QUERY_COLORS = (SLATE, "#8d95a0")  # where queries must be distinguished
DARK = {*KEY_COLORS, SLATE}  # fills with white text
HATCH = "url(#hatch)"  # the fill of padding, where HATCHING is in the picture
HATCHING = (
    '<defs>\n<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)">\n<rect width="7" height="7" fill="#c3c8d0"/>\n'
    '<rect width="2" height="7" fill="#a9b1bd"/>\n</pattern>\n</defs>\n'
)

WIDTH = 400  # in units; on a phone's 328 px column 15 units of text are 12 px
FONT_SIZE = 15
HEIGHT = 28  # of every box that holds text


def box(x: float, y: float, width: float, fill: str) -> str:
    """Draw a rounded box for one line of text."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{HEIGHT}" rx="4" fill="{fill}"/>\n'


def words(x: float, y: float, text: str, fill: str, style: str = "") -> str:
    """Write on a box whose top is at y, in a colour that is readable on its fill."""
    attributes = f'x="{x:g}" y="{y + HEIGHT / 2 + 5:g}" fill="{WHITE if fill in DARK else INK}"'
    return f"<text {attributes}{style}>{escape(text)}</text>\n"


def chip(x: float, y: float, width: float, text: str, fill: str = PALE, bold: bool = False) -> str:
    """Draw a box with its text in the middle."""
    style = ' font-weight="700"' if bold else ""
    label = words(x + width / 2, y, text, fill, style)
    return f"<g>\n{box(x, y, width, fill)}{label}</g>\n"


def strip(  # noqa: PLR0913, PLR0917 - the parts of one shape
    x: float, y: float, width: float, name: str, text: str, fill: str = SLATE, column: float = 112
) -> str:
    """Draw a box with a bold name and a description, which begins at a column."""
    bold = words(x + 12, y, name, fill, ' font-weight="700" text-anchor="start"')
    plain = words(x + column, y, text, fill, ' text-anchor="start"')
    return f"<g>\n{box(x, y, width, fill)}{bold}{plain}</g>\n"


def bar(x: float, y: float, width: float, color: str) -> str:
    """Draw a cell of a vector without text."""
    return f'<path d="M{x:g} {y:g}h{width:g}v18h-{width:g}z" fill="{color}"/>\n'


def path(steps: str, color: str = SLATE) -> str:
    """Draw lines, given in SVG's path language."""
    return f'<path d="{steps}" fill="none" stroke="{color}" stroke-width="2.5"/>\n'


def arrow(x: float, y1: float, y2: float, color: str = SLATE) -> str:
    """Draw an arrow down from y1 whose tip touches y2."""
    head = f'<path d="M{x - 6:g} {y2 - 9:g}h12l-6 9z" fill="{color}"/>\n'
    return path(f"M{x:g} {y1:g}V{y2 - 8:g}", color) + head


def starts(x: float, widths: Sequence[float]) -> list[float]:
    """Return where each of several boxes begins when the first begins at x."""
    return [x + sum(widths[:i]) for i in range(len(widths))]


def svg(name: str, size: tuple[int, int], title: str, description: str, body: str) -> str:
    """Make the file of a drawing, with a title and a description for screen readers."""
    width, height = size
    scale = 1.25 if width == WIDTH else 1  # the natural size in a wide column
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width * scale:g}" height="{height * scale:g}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" '
        f'font-family="system-ui, sans-serif" font-size="{FONT_SIZE}" text-anchor="middle">\n'
        f'<title id="{name}-title">{escape(title)}</title>\n'
        f'<desc id="{name}-desc">{escape(description)}</desc>\n{body}</svg>\n'
    )
