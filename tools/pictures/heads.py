"""The picture of multi-head attention: vectors are split, heads attend, and their parts merge."""

from __future__ import annotations

import math

from tools.pictures.arithmetic import dot, format_number, join, softmax
from tools.pictures.svg_shapes import (
    KEY_COLORS,
    PALE,
    QUERY_COLORS,
    SLATE,
    WIDTH,
    arrow,
    bar,
    chip,
    path,
    starts,
    svg,
)

# The projections by W_q and W_k; each head gets two numbers of the query and of every key.
QUERY = (2, 1, 1, 2, 1, -1)
KEYS = ((0, 0, 2, 1, 1, 1), (1, 2, 2, -1, 2, 2), (1, -2, -2, 1, -1, -1), (-1, 2, 0, 2, 0, 0))
HEADS, SHARE = 3, 2  # how many heads, and how many numbers each gets

PANEL, LEFT, NEXT = 128, 2, 134  # a head's frame, where the first is, and from one to the next
CELL, THIN, PART = 32, 8, 44  # the widths of a query's number, a key's and an output's
LANE, TALL = 30, 70  # from one key's bar to the next, and the height of the weight 1
ENTRY, STEP = (99, 299), 50  # where query and keys enter, and from one key to the next


def heads_of(vector: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Split a vector into the shares of the heads."""
    return [vector[SHARE * head : SHARE * (head + 1)] for head in range(HEADS)]


def head_weights() -> list[list[float]]:
    """Return each head's attention weights, from scaled dot products of its shares."""
    shares = [heads_of(key) for key in KEYS]
    return [
        softmax([dot(query, key[head]) / math.sqrt(SHARE) for key in shares])
        for head, query in enumerate(heads_of(QUERY))
    ]


WEIGHTS = head_weights()


def cells(x: float, y: float, count: int, width: float, color: str) -> str:
    """Draw a vector of `count` numbers, a cell of `width` for each; (x, y) is its corner."""
    return "".join(bar(at, y, width - 1, color) for at in starts(x, [width] * count))


def keys(centre: float, y: float, step: float, count: int) -> str:
    """Draw `count` numbers of every key, a key every `step` units around `centre`."""
    begin = centre - step * len(KEYS) / 2 + (step - THIN * count) / 2
    lefts = zip(starts(begin, [step] * len(KEYS)), KEY_COLORS, strict=True)
    return "".join(cells(x, y, count, THIN, color) for x, color in lefts)


def whole_vectors(y: float) -> str:
    """Draw the query and the keys before they are split."""
    size = HEADS * SHARE
    return cells(ENTRY[0] - CELL * size / 2, y, size, CELL, SLATE) + keys(ENTRY[1], y, STEP, size)


def ways(y: float) -> str:
    """Draw arrows for the query and every key, from one row to the next."""
    middles = starts(ENTRY[1] - STEP * (len(KEYS) - 1) / 2, [STEP] * len(KEYS))
    keys = zip(middles, KEY_COLORS, strict=True)
    return arrow(ENTRY[0], y, y + 16) + "".join(arrow(x, y, y + 16, c) for x, c in keys)


def entry() -> str:
    """Draw the inputs of the layer, its projections, and the split."""
    names = zip(starts(200, [STEP] * len(KEYS)), range(len(KEYS)), KEY_COLORS, strict=True)
    return (
        chip(2, 2, 194, "query")
        + "".join(chip(x, 2, 48, f"key {i}", color) for x, i, color in names)
        + whole_vectors(33)
        + ways(53)
        + chip(2, 69, 396, "W_q, W_k, W_v", SLATE, bold=True)
        + ways(97)
        + whole_vectors(115)
        + ways(135)
        + chip(2, 151, 396, "split", SLATE, bold=True)
    )


def draw_weights(x: float, y: float, weights: list[float]) -> str:
    """Draw a head's weights as bars over the keys' numbers, from the left edge x."""
    lanes = zip(starts(x, [LANE] * len(KEYS)), weights, KEY_COLORS, strict=True)
    body = ""
    for i, (at, weight, color) in enumerate(lanes):
        top = f"M{at + 3:g} {y:g}v-{TALL * weight:.2f}h{LANE - 8}V{y:g}z"
        body += f'<path d="{top}" fill="{color}"/>\n'
        body += chip(at, y + 4, LANE - 2, str(i), color)
    return body + path(f"M{x:g} {y + 1:g}h{LANE * len(KEYS) - 2}")


def draw_output(x: float, y: float, weights: list[float]) -> str:
    """Draw a head's part of the output: each of its numbers is mixed by the head's weights."""
    body = ""
    for at in starts(x, [PART] * SHARE):
        widths = [(PART - 2) * weight for weight in weights]
        pieces = zip(starts(at, widths), widths, KEY_COLORS, strict=True)
        body += "".join(bar(left, y, width, color) for left, width, color in pieces)
    return body


def head(index: int) -> str:
    """Draw one head in its frame."""
    x, middle = LEFT + NEXT * index, LEFT + NEXT * index + PANEL / 2
    return (
        arrow(middle, 179, 196)
        + path(f"M{x + 2:g} 210H{x + PANEL - 2:g}V453H{x + 2:g}z", QUERY_COLORS[1])
        + chip(middle - 32, 196, 64, f"head {index}", SLATE, bold=True)
        + cells(middle - CELL, 231, SHARE, CELL, SLATE)
        + keys(middle, 253, LANE, SHARE)
        + arrow(middle, 273, 288)
        + chip(x + 8, 288, PANEL - 16, "attend", SLATE)
        + draw_weights(x + 5, 382, WEIGHTS[index])
        + arrow(middle, 414, 428)
        + draw_output(middle - PART, 430, WEIGHTS[index])
        + arrow(middle, 453, 470)
    )


def leaving() -> str:
    """Draw the merged parts, W_o, and the output."""
    size = PART * SHARE
    begin = (WIDTH - size * HEADS) / 2
    parts = zip(starts(begin, [size] * HEADS), WEIGHTS, strict=True)
    return (
        chip(2, 470, 396, "merge", SLATE, bold=True)
        + arrow(200, 498, 514)
        + "".join(draw_output(x, 516, weights) for x, weights in parts)
        + arrow(200, 536, 552)
        + chip(2, 552, 396, "W_o", SLATE, bold=True)
        + arrow(200, 580, 601)
        + cells(begin, 603, HEADS * SHARE, PART, SLATE)
        + chip(2, 598, 64, "output", PALE)
    )


def heads() -> str:
    """Draw a query in three heads that attend to the same keys with different weights."""
    texts = [join([format_number(weight, 2) for weight in weights]) for weights in WEIGHTS]
    each = "; ".join(f"head {i} gives them {weights}" for i, weights in enumerate(texts))
    about = (
        f"A query of {HEADS * SHARE} numbers and the keys and values {join(list('0123'))} are "
        f"projected by W_q, W_k and W_v and split into {HEADS} heads of {SHARE} numbers. Each head "
        f"attends with its own share to the same keys: {each}. By these weights each head pools "
        f"its {SHARE} numbers of the output. Merged end to end and mixed by W_o, all "
        f"{HEADS * SHARE} leave as the output."
    )
    title = "Several heads attend to the same keys, each with its own weights"
    body = entry() + "".join(head(index) for index in range(HEADS)) + leaving()
    return svg("heads", (WIDTH, 628), title, about, body)
