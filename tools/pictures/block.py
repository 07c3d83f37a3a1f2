"""The picture of a Transformer block: a stream of vectors, and two parts that add to it."""

from __future__ import annotations

from tools.pictures.arithmetic import join
from tools.pictures.blocks import label, pointer
from tools.pictures.svg_shapes import (
    KEY_COLORS,
    PALE,
    SLATE,
    WIDTH,
    arrow,
    chip,
    path,
    starts,
    svg,
)

TOKENS = ("the", "cat", "sat")
COLORS = KEY_COLORS[: len(TOKENS)]

LANES = starts(2, [48] * len(TOKENS))  # where the stream's boxes begin, on the left
LANE = 44  # how wide they are
STREAM = LANES[-1] + LANE  # where the stream ends and its parts begin
PARTS = starts(188, [71] * len(TOKENS))  # where each position's box of a part begins
PART = 68
LEFT, RIGHT = PARTS[0], PARTS[-1] + PART
BRANCH, ADD, HALF = 44, 150, 218  # from a half's top to its branch, to its sum, and to the next
TOP = 30  # where the first half begins


def lanes(y1: float, y2: float) -> str:
    """Draw the stream downwards, one lane for each position."""
    pairs = zip(LANES, COLORS, strict=True)
    return "".join(arrow(x + LANE / 2, y1, y2, color) for x, color in pairs)


def tokens(y: float, mark: str = "") -> str:
    """Draw the positions' input vectors, or with a mark their output vectors."""
    named = zip(LANES, TOKENS, COLORS, strict=True)
    return "".join(chip(x, y, LANE, token + mark, color) for x, token, color in named)


def draw_addition(y: float, add: float) -> str:
    """Draw that the output of a part is added at the same position only."""
    ways = "".join(
        path(f"M{x + PART / 2:g} {y:g}V{back:g}H{STREAM + 9:g}", color)
        + pointer(STREAM + 1, back, -8, color)
        for x, back, color in zip(PARTS, starts(add + 5, [9] * len(PARTS)), COLORS, strict=True)
    )
    return ways + "".join(chip(x, add, LANE, "+", SLATE, bold=True) for x in LANES)


def ways(y1: float, y2: float) -> str:
    """Draw an arrow for each position from one box of a part to the next."""
    pairs = zip(PARTS, COLORS, strict=True)
    return "".join(arrow(x + PART / 2, y1, y2, color) for x, color in pairs)


def half(y: float, part: str) -> str:
    """Draw one half: the stream, a norm at each position, a part, and the sum."""
    branch, add = y + BRANCH, y + ADD
    norms = "".join(
        chip(x, branch - 14, PART, "norm", color) for x, color in zip(PARTS, COLORS, strict=True)
    )
    return (
        lanes(y, add)
        + path(f"M{LANES[0] + LANE / 2:g} {branch:g}H{LEFT - 12:g}")
        + pointer(LEFT - 2, branch, 10, SLATE)
        + norms
        + ways(branch + 14, branch + 36)
        + part
        + draw_addition(branch + 84, add)
    )


def attention(y: float) -> str:
    """Draw attention, the only part that combines positions."""
    return label(LEFT, y, RIGHT - LEFT, ("attention", "attends to all positions"), PALE)


def feed_forward(y: float) -> str:
    """Draw the feed-forward, which is applied to each position separately."""
    pairs = zip(PARTS, COLORS, strict=True)
    return "".join(label(x, y, PART, ("feed-", "forward"), color) for x, color in pairs)


def block() -> str:
    """Draw a block: two parts read the normalized stream and add to it."""
    second = TOP + HALF - 40
    end = second + ADD
    body = (
        tokens(2)
        + half(TOP, attention(TOP + BRANCH + 36))
        + half(second, feed_forward(second + BRANCH + 36))
        + lanes(end + 28, end + 48)
        + tokens(end + 50, "′")
    )
    about = (
        f"The vectors of {join(TOKENS)} enter at the top, and run straight down on the left. "
        "Next to them, each is normalized by itself, attention lets each attend to all, and its "
        "output is added to the vectors. Below that, each is normalized again and goes through a "
        "feed-forward by itself, whose output is added, too."
    )
    title = "A Transformer block: attention and feed-forward each add to a stream of vectors"
    return svg("transformer-block", (WIDTH, int(end + 80)), title, about, body)
