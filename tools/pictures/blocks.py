"""The picture of the additive score's memory: all hidden units, or block by block."""

from __future__ import annotations

from itertools import product

from attnbook.colors import mix
from tools.pictures.svg_shapes import (
    KEY_COLORS,
    PALE,
    SLATE,
    WIDTH,
    arrow,
    chip,
    path,
    svg,
    words,
)

QUERIES, KEYS, HIDDENS = 4, 5, 6
CURRENT = 1  # the query whose block is being computed

# The sides of a hidden unit, and of a score: along the keys, the queries and the hiddens.
KEY, QUERY, HIDDEN = (20, 0), (0, 16), (5, -5)
FILL = 0.88  # of each side, so that the page is visible between the cells
OUTLINE = 0.8  # of each side; with its line an empty cell is as large as a full one

BLUE = KEY_COLORS[0]  # this picture's one block
LIT = 0.75  # the strength of a colour on the upper face

# The panel of the formula is the wider one: its words are longer.
LEFT, LEFT_PANEL, LEFT_CELLS = 2, 210, 42
RIGHT, RIGHT_PANEL, RIGHT_CELLS = 222, 176, 243
STAGE = 162  # leaves room for the line back to the block
PATH, PATH_BACK = 230, 394  # from the block to its scores, and back for the next
SLAB, SECOND, SCORES = 122, 318, 450  # where the front of each slab, and the scores, begin

Side = tuple[float, float]  # a side as (dx, dy); also used for a corner's (x, y)


def along(x: float, y: float, side: Side, count: float) -> Side:
    """Return the point that lies `count` sides away from (x, y)."""
    return x + count * side[0], y + count * side[1]


def tile(x: float, y: float, across: Side, down: Side, fill: float) -> str:
    """Return the steps around one cell of a face, whose corner is (x, y)."""
    x, y = along(*along(x, y, across, (1 - fill) / 2), down, (1 - fill) / 2)
    a, b, c, d = (fill * step for step in (*across, *down))
    return f"M{x:g} {y:g}l{a:g} {b:g}l{c:g} {d:g}l{0 - a:g} {0 - b:g}z"


def face(corner: Side, across: Side, down: Side, size: tuple[int, int], fill: float = FILL) -> str:
    """Return the steps around the cells of a face, whose size is (rows, columns)."""
    steps = ""
    for row, column in product(range(size[0]), range(size[1])):
        position = along(*along(*corner, down, row), across, column)
        steps += tile(*position, across, down, fill)
    return steps


def draw_cells(steps: str, color: str) -> str:
    """Draw cells without a line around them."""
    return f'<path d="{steps}" fill="{color}"/>\n'


def slab(x: float, y: float, queries: int, color: str) -> str:
    """Draw the hidden units of some queries and every key; (x, y) is the front's corner."""
    back, right = along(x, y, HIDDEN, HIDDENS), along(x, y, KEY, KEYS)
    nearer = (-HIDDEN[0], -HIDDEN[1])
    return (
        draw_cells(face((x, y), KEY, QUERY, (queries, KEYS)), color)
        + draw_cells(face(back, KEY, nearer, (HIDDENS, KEYS)), mix(color, LIT))
        + draw_cells(face(right, HIDDEN, QUERY, (queries, HIDDENS)), color)
    )


def score_row(x: float, row: int, color: str) -> str:
    """Draw the scores of one query."""
    return draw_cells(face((x, SCORES + row * QUERY[1]), KEY, QUERY, (1, KEYS)), color)


def empty_row(x: float, row: int) -> str:
    """Draw empty cells for the scores of a later query."""
    steps = face((x, SCORES + row * QUERY[1]), KEY, QUERY, (1, KEYS), OUTLINE)
    return f'<path d="{steps}" fill="none" stroke="{SLATE}" stroke-width="1.5"/>\n'


def label(x: float, y: float, width: float, lines: tuple[str, str], fill: str = PALE) -> str:
    """Draw a box with two lines of text."""
    box = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="48" rx="4" fill="{fill}"/>\n'
    middle = x + width / 2
    texts = words(middle, y, lines[0], fill) + words(middle, y + 20, lines[1], fill)
    return f"<g>\n{box}{texts}</g>\n"


def pointer(x: float, y: float, length: float, color: str) -> str:
    """Draw the horizontal end of an arrow whose tip touches (x, y), from the left or the right."""
    back = -9 if length > 0 else 9
    head = f'<path d="M{x + back:g} {y - 6:g}v12l{-back} -6z" fill="{color}"/>\n'
    return path(f"M{x - length:g} {y:g}H{x + back:g}", color) + head


def formula() -> str:
    """Draw all hidden units, their tanh, and the scores."""
    middle = LEFT_CELLS + KEYS * KEY[0] / 2
    ends = [front + QUERIES * QUERY[1] for front in (SLAB, SECOND)]
    return (
        chip(LEFT, 2, LEFT_PANEL, "as the formula stands", SLATE, bold=True)
        + label(LEFT, 36, LEFT_PANEL, ("hidden units:", "queries × keys × hiddens"))
        + slab(LEFT_CELLS, SLAB, QUERIES, SLATE)
        + arrow(middle, ends[0] + 2, 206)
        + chip(LEFT, 206, LEFT_PANEL, "tanh", SLATE)
        + arrow(middle, 234, 252)
        + chip(LEFT, 252, LEFT_PANEL, "a second one like it")
        + slab(LEFT_CELLS, SECOND, QUERIES, SLATE)
        + arrow(middle, ends[1] + 2, 402)
        + chip(LEFT, 402, LEFT_PANEL, "weighted sum", SLATE)
        + arrow(middle, 430, 448)
        + "".join(score_row(LEFT_CELLS, row, SLATE) for row in range(QUERIES))
        + chip(LEFT + 156, 486, 53, "scores")
    )


def turns() -> str:
    """Draw the line to the current scores, and the line back for the next block."""
    y = SCORES + (CURRENT + 0.5) * QUERY[1]
    end, top = along(*along(RIGHT_CELLS, SLAB, KEY, KEYS), HIDDEN, HIDDENS)
    block = top + (CURRENT + 0.5) * QUERY[1]
    return (
        path(f"M{PATH} 430V{y:g}", BLUE)
        + pointer(RIGHT_CELLS - 1, y, RIGHT_CELLS - 1 - PATH, BLUE)
        + path(f"M{RIGHT_CELLS + KEYS * KEY[0] + 1:g} {y:g}H{PATH_BACK}V{block:g}", BLUE)
        + pointer(end + 1, block, end + 1 - PATH_BACK, BLUE)
    )


def block_by_block() -> str:
    """Draw one query's hidden units, their scores, and the line to the next block."""
    top = SLAB + CURRENT * QUERY[1]
    shades = [SLATE] * CURRENT + [BLUE]
    return (
        chip(RIGHT, 2, RIGHT_PANEL, "block by block", SLATE, bold=True)
        + label(RIGHT, 36, RIGHT_PANEL, ("one block:", "in the cache"), BLUE)
        + slab(RIGHT_CELLS, top, 1, BLUE)
        + arrow(RIGHT_CELLS + KEYS * KEY[0] / 2, top + QUERY[1] + 2, 206, BLUE)
        + chip(RIGHT, 206, STAGE, "tanh", SLATE)
        + arrow(PATH, 234, 402, BLUE)
        + label(RIGHT + 20, 294, STAGE - 20, ("made, summed,", "overwritten"))
        + chip(RIGHT, 402, STAGE, "weighted sum", SLATE)
        + "".join(score_row(RIGHT_CELLS, row, shade) for row, shade in enumerate(shades))
        + "".join(empty_row(RIGHT_CELLS, row) for row in range(CURRENT + 1, QUERIES))
        + turns()
        + chip(RIGHT + 123, 486, 53, "scores")
    )


def blocks() -> str:
    """Draw all hidden units of the formula, and next to them one block."""
    about = (
        f"On the left a slab of {QUERIES} queries × {KEYS} keys × {HIDDENS} hidden units is in "
        "memory; tanh makes a second one of the same size; a weighted sum leaves a grid "
        f"of {QUERIES} × {KEYS} scores. On the right only one block does, the hidden units of one "
        "query: tanh and the weighted sum make it one row of the scores, and the next block takes "
        "its place. Of the scores, the first row is done, the second is being made, and the others "
        "are still empty."
    )
    title = "All hidden units at once, or one block after another"
    return svg(
        "blocks", (WIDTH, 518), title, about, formula() + path("M217 2V516") + block_by_block()
    )
