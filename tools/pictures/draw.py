"""Draw the book's pictures into img/, with the same bytes every time.

Results are computed, not typed: the weights from the scores, the valid lengths from the sentences.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import ROOT
from tools.pictures.additive import additive_score, broadcast
from tools.pictures.arithmetic import join, round_numbers, softmax
from tools.pictures.block import block
from tools.pictures.blocks import blocks
from tools.pictures.copying import copying
from tools.pictures.heads import heads
from tools.pictures.lookup import lookup
from tools.pictures.marks import marks
from tools.pictures.rooms import rooms
from tools.pictures.svg_shapes import (
    HATCH,
    HATCHING,
    KEY_COLORS,
    SLATE,
    WIDTH,
    arrow,
    chip,
    path,
    starts,
    svg,
)
from tools.pictures.translator import translator
from tools.pictures.visibility import seeing

SCORES = (1.6, 1.1, 0.7)
SENTENCES = (["Hello", "world", "."], ["I", "am", "at", "home", "."])

WEIGHTS = round_numbers(softmax(SCORES))
COLORS = KEY_COLORS[: len(SCORES)]


def cells(y: float, tokens: Sequence[str], length: int = 0) -> str:
    """Draw a sentence, one box for each token; padding up to `length` is hatched."""
    real = "".join(chip(2 + 60 * i, y, 57, t, KEY_COLORS[0]) for i, t in enumerate(tokens))
    return real + "".join(
        chip(2 + 60 * i, y, 57, "<pad>", HATCH) for i in range(len(tokens), length)
    )


def token_count(y: float, count: int) -> str:
    """Draw a bracket under `count` tokens, and the valid length."""
    end = 60 * count - 1
    bracket = path(f"M3 {y + 34}v13H{end - 1}v-13")
    label = chip(end / 2 - 58, y + 33, 118, f"{count} real tokens")
    return bracket + label + chip(309, y, 89, f"{count}", SLATE, bold=True)


def padding() -> str:
    """Draw two sentences before and after they are padded into one batch."""
    lengths = [len(tokens) for tokens in SENTENCES]
    body = HATCHING + chip(2, 2, 297, "two sentences") + arrow(150, 106, 130)
    body += chip(2, 132, 297, "one batch, padded") + chip(309, 132, 89, "valid_lens")
    for row, tokens in enumerate(SENTENCES):
        body += cells(38 + 34 * row, tokens) + cells(168 + 72 * row, tokens, max(lengths))
        body += token_count(168 + 72 * row, len(tokens))
    sentences = [f"“{' '.join(tokens)}”" for tokens in SENTENCES]
    about = (
        f"The sentences {join(sentences)} become the rows of one batch: hatched <pad> tokens, "
        f"{max(lengths) - min(lengths)} of them, fill the shorter row. Beside each row valid_lens "
        f"counts its real tokens: {' and '.join(map(str, lengths))}."
    )
    title = "Padding makes sentences equally long; valid_lens counts the real tokens"
    return svg("padding", (WIDTH, 304), title, about, body)


def wedge(start: float, width: float, inner: float, color: str) -> str:
    """Draw a piece of a ring around the query; angles in degrees from straight up."""
    a, b, outer = math.radians(start), math.radians(start + width), 50
    p, q, r, s = (
        f"{12 + radius * math.sin(angle):.2f} {52 - radius * math.cos(angle):.2f}"
        for radius, angle in ((inner, a), (outer, a), (outer, b), (inner, b))
    )
    edge = f"M{p}L{q}A{outer} {outer} 0 0 1 {r}L{s}A{inner:g} {inner:g} 0 0 0 {p}z"
    return f'<path d="{edge}" fill="{color}"/>\n'


def mark(name: str, gap: float, inner: float, dot: float) -> str:
    """Draw one query that spreads its attention over three keys, by weight."""
    widths = [(90 - 2 * gap) * weight for weight in WEIGHTS]
    begins = starts(0, [width + gap for width in widths])
    keys = zip(begins, widths, COLORS, strict=True)
    wedges = "".join(wedge(start, width, inner, color) for start, width, color in keys)
    query = f'<circle cx="12" cy="52" r="{dot:g}" fill="{SLATE}"/>\n'
    about = (
        "A dot, the query, spreads its attention over three keys: a fan of a wide blue wedge, "
        "a narrower orange one and a slim green one."
    )
    return svg(name, (64, 64), "The attention book", about, query + wedges)


def draw_all() -> dict[str, str]:
    """Return every picture under its file name."""
    return {
        "padding.svg": padding(),
        "lookup.svg": lookup(),
        "additive-score.svg": additive_score(),
        "broadcast.svg": broadcast(),
        "blocks.svg": blocks(),
        "marks.svg": marks(),
        "heads.svg": heads(),
        "heads-that-copy.svg": copying(),
        "seeing.svg": seeing(),
        "transformer-block.svg": block(),
        "translator.svg": translator(),
        "rooms.svg": rooms(),
        "logo.svg": mark("logo", gap=5, inner=17, dot=10),
        "favicon.svg": mark("favicon", gap=7, inner=20, dot=12),
    }


def main(folder: Path) -> None:
    """Write every picture into `folder`."""
    folder.mkdir(exist_ok=True)
    for name, drawing in draw_all().items():
        (folder / name).write_text(drawing, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "img")
