"""The picture of copying: one layer stores the previous token, the next attends to it."""

from __future__ import annotations

from attnbook.colors import mix
from tools.pictures.arithmetic import format_number, join, softmax
from tools.pictures.blocks import pointer
from tools.pictures.svg_shapes import (
    HEIGHT,
    KEY_COLORS,
    PALE,
    QUERY_COLORS,
    SLATE,
    WIDTH,
    arrow,
    chip,
    path,
    strip,
    svg,
)

TEXT = "dkafcdk"
MATCH = 3  # the score of a key that has stored the query's token; the others have 0

NAMES = 66  # the width of the rows' names
COLUMN, LEFT = 41, 72  # from one token to the next, and where the first one begins
CELL = COLUMN - 2  # the width of a token
MIDDLES = [LEFT + COLUMN * i + CELL / 2 for i in range(len(TEXT) + 1)]
PANEL = COLUMN * len(TEXT) - 2  # a layer is as wide as the text
NONE = "–"  # there is nothing before the first token

BEFORE = NONE + TEXT[:-1]
ASKS = TEXT[-1]
WEIGHTS = softmax([MATCH if token == ASKS else 0 for token in BEFORE])
FOUND = WEIGHTS.index(max(WEIGHTS))
NEXT = TEXT[FOUND]
# One colour for the token of the query, one for the output, and one for others.
COLORS = {ASKS: KEY_COLORS[0], NEXT: KEY_COLORS[1]}
OTHER = QUERY_COLORS[1]


def row(y: float, name: str, tokens: str) -> str:
    """Draw the name of a row and its tokens."""
    body = chip(2, y, NAMES, name)
    for i, token in enumerate(tokens):
        color = PALE if token == NONE else COLORS.get(token, OTHER)
        body += chip(LEFT + COLUMN * i, y, CELL, token, color)
    return body


def step(x: float, y1: float, y2: float) -> str:
    """Draw an arrow from one column down into the next one."""
    end = x + COLUMN
    tip = f'<path d="M{end - 6:g} {y2 - 9:g}h12l-6 9z" fill="{SLATE}"/>\n'
    return path(f"M{x:g} {y1:g}L{end:g} {y2 - 9:g}V{y2 - 8:g}") + tip


def noting() -> str:
    """Draw the first layer: each position stores the previous token and its own."""
    ways = "".join(arrow(x, 30, 46) for x in MIDDLES[: len(TEXT)])
    steps = "".join(step(x, 74, 104) for x in MIDDLES[: len(TEXT) - 1])
    return (
        row(2, "text", TEXT)
        + ways
        + strip(LEFT, 46, PANEL, "layer 0", "add previous token")
        + steps
        + row(104, "before", BEFORE)
        + row(134, "own", TEXT)
    )


def finding() -> str:
    """Draw the second layer: the last position is the query, and the weights are the result."""
    ways = "".join(arrow(x, 134 + HEIGHT, 178) for x in MIDDLES[: len(TEXT)])
    body = ways + strip(LEFT, 178, PANEL, "layer 1", f"who has {ASKS} before?")
    body += chip(2, 222, NAMES, "weights")
    body += "".join(arrow(x, 178 + HEIGHT, 222) for x in MIDDLES[: len(TEXT)])
    for i, weight in enumerate(WEIGHTS):
        color = KEY_COLORS[1] if i == FOUND else mix(KEY_COLORS[1], weight)
        body += chip(LEFT + COLUMN * i, 222, CELL, format_number(weight, 2), color)
    return body


def copying() -> str:
    """Draw how two layers predict the next token."""
    last = LEFT + COLUMN * len(TEXT)
    down = MIDDLES[FOUND]
    body = (
        noting()
        + finding()
        + path(f"M{down:g} 250V290")
        + pointer(last, 290, last - down, SLATE)
        + chip(2, 276, NAMES, "next")
        + chip(last, 276, CELL - 10, NEXT, KEY_COLORS[1], bold=True)
    )
    spelled = " ".join(TEXT)
    others = sorted({format_number(w, 2) for i, w in enumerate(WEIGHTS) if i != FOUND})
    about = (
        f"Two layers read {spelled}. In layer 0 every position stores the token before it, and "
        f"its own. In layer 1 the query of the last {ASKS} fits positions with {ASKS} before them. "
        f"The {NEXT} has it: its weight is {format_number(WEIGHTS[FOUND], 2)}, that of each other "
        f"position {join(others)}. So the next token is {NEXT}."
    )
    title = "Two layers find what comes next in a text that repeats"
    return svg("heads-that-copy", (WIDTH, 306), title, about, body)
