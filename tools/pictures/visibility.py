"""The picture of masks: which keys each query may attend to."""

from __future__ import annotations

from tools.pictures.arithmetic import join
from tools.pictures.blocks import label
from tools.pictures.svg_shapes import (
    HATCH,
    HATCHING,
    HEIGHT,
    KEY_COLORS,
    SLATE,
    WIDTH,
    chip,
    starts,
    svg,
)

TOKENS = ("the", "cat", "sat", "down", ".")
LENGTH = 3

NAMES = 64  # the width of the queries' names
GRIDS = (70, 182, 294)  # where each grid begins
COLUMN, ROW, TOP = 21, 30, 86  # from one cell to the next, and where the first row begins
GAP = 2  # the page is visible between two cells
VISIBLE = KEY_COLORS[0]  # as real tokens in the picture of padding

Mask = list[list[bool]]


def visible(length: int = len(TOKENS), causal: bool = False) -> Mask:
    """For each query (rows), which keys it may attend to (columns)."""
    positions = range(len(TOKENS))
    return [
        [key < length and (key <= query or not causal) for key in positions] for query in positions
    ]


PANELS = (
    (("no mask:", "all keys"), visible()),
    ((f"length {LENGTH}:", "padding"), visible(length=LENGTH)),
    (("causal:", "no future"), visible(causal=True)),
)


def tiles(x: float, mask: Mask, seen: bool) -> str:
    """Return the steps around the visible or the hidden cells of a grid."""
    inset = 0 if seen else 0.75  # with its line a hidden cell is as large as a visible one
    width, height = COLUMN - GAP - 2 * inset, HEIGHT - 2 * inset
    steps = ""
    for query, row in enumerate(mask):
        for key, is_visible in enumerate(row):
            if is_visible == seen:
                corner = f"M{x + COLUMN * key + inset:g} {TOP + ROW * query + inset:g}"
                steps += f"{corner}h{width:g}v{height:g}h-{width:g}z"
    return steps


def grid(x: float, name: tuple[str, str], mask: Mask) -> str:
    """Draw a mask: a row for each query, a column for each key, hidden keys hatched."""
    count = len(TOKENS)
    numbers = zip(starts(x, [COLUMN] * count), range(count), strict=True)
    hidden = tiles(x, mask, seen=False)
    body = label(x, 2, COLUMN * count - GAP, name)
    body += "".join(chip(at, 54, COLUMN - GAP, str(key)) for at, key in numbers)
    body += f'<path d="{tiles(x, mask, seen=True)}" fill="{VISIBLE}"/>\n'
    line = f'stroke="{SLATE}" stroke-width="1.5"'
    return body + (f'<path d="{hidden}" fill="{HATCH}" {line}/>\n' if hidden else "")


def seeing() -> str:
    """Draw the masks without padding, with padding, and of causal attention."""
    rows = enumerate(starts(TOP, [ROW] * len(TOKENS)))
    bottom, width = TOP + ROW * len(TOKENS) + 8, COLUMN * len(TOKENS) - GAP
    body = (
        HATCHING
        + label(2, 34, NAMES, ("query ↓", "key →"))
        + "".join(chip(2, y, NAMES, f"{i} {TOKENS[i]}") for i, y in rows)
        + "".join(grid(x, *panel) for x, panel in zip(GRIDS, PANELS, strict=True))
        + chip(GRIDS[0], bottom, width, "visible", VISIBLE)
        + chip(GRIDS[1], bottom, width, "hidden", HATCH)
    )
    padding = [str(key) for key in range(LENGTH, len(TOKENS))]
    tokens = join([f"{i} {token}" for i, token in enumerate(TOKENS)])
    about = (
        f"Three grids of the queries {tokens} (rows) and the same tokens as keys (columns). In the "
        f"first every query attends to all keys. In the second the length is {LENGTH}: keys "
        f"{join(padding)} are padding, hidden from every query. In the third, causal attention, "
        "each query attends to the keys up to its own position; the later ones are hidden."
    )
    title = "Which keys a query may attend to: all, without padding, without the future"
    return svg("seeing", (WIDTH, bottom + HEIGHT + 2), title, about, body)
