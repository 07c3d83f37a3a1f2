"""The picture of a translator: the query of one step, its attention weights, and its output."""

from __future__ import annotations

from functools import cache

from attnbook.models.translator.checkpoints import book_model
from tools.pictures.arithmetic import format_number, join
from tools.pictures.blocks import label, pointer
from tools.pictures.heads import cells
from tools.pictures.svg_shapes import (
    HEIGHT,
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

MODEL, TEXT, STEP = "convolutional", "9. März 1987", 6
MONTH = "März"  # this step attends to it; its letters are the keys with colours
FIRST = TEXT.index(MONTH)
MONTH_LETTERS = range(FIRST, FIRST + len(MONTH))

COLUMN, LEFT = 28, 62  # from one character to the next, and where the first one begins
CELL = COLUMN - 2  # the width of a character
MIDDLES = [LEFT + COLUMN * i + CELL / 2 for i in range(len(TEXT))]
RIGHT = LEFT + COLUMN * len(TEXT) - 2
OWN = 29  # the middle of the decoder's own lane, left of the characters
SIZE = 3  # how many of a state's many numbers are drawn
TALL = 150  # the height of the weight 1
OTHER = QUERY_COLORS[1]
COLORS = [KEY_COLORS[i - FIRST] if i in MONTH_LETTERS else OTHER for i in range(len(TEXT))]


@cache
def run_step() -> tuple[str, list[float]]:
    """Return the model's output, and its attention weights at the step of the picture."""
    translation = book_model(MODEL).double().translate([TEXT])[0]
    assert translation.weights is not None, f"{MODEL} must attend"  # noqa: S101 - for the type checker
    return translation.output, [round(weight, 4) for weight in translation.weights[STEP].tolist()]


def across(first: int, last: int) -> tuple[float, float]:
    """Return where the columns `first` to `last` begin, and how wide they are together."""
    return LEFT + COLUMN * first, COLUMN * (last - first) + CELL


def chip_across(first: int, last: int, y: float, text: str) -> str:
    """Draw a box with a text, as wide as some columns."""
    x, width = across(first, last)
    return chip(x, y, width, text)


def row(y: float, text: str, first: int, colors: list[str]) -> str:
    """Draw a character in each column from `first` on."""
    chips = zip(starts(LEFT + COLUMN * first, [COLUMN] * len(text)), text, colors, strict=True)
    return "".join(
        chip(x, y, CELL, "␣" if character == " " else character, color)
        for x, character, color in chips
    )


def stage(y: float, x: float, name: str) -> str:
    """Draw an operation on all inputs from above."""
    return chip(x, y, RIGHT - x, name, SLATE, bold=True)


def ways(y1: float, y2: float) -> str:
    """Draw the way of every character and its state."""
    return "".join(arrow(x, y1, y2, c) for x, c in zip(MIDDLES, COLORS, strict=True))


def reading() -> str:
    """Draw how the encoder makes a state of every character."""
    states = zip(MIDDLES, COLORS, strict=True)
    return (
        row(2, TEXT, 0, COLORS)
        + ways(2 + HEIGHT, 46)
        + stage(46, LEFT, "encoder")
        + ways(46 + HEIGHT, 90)
        + chip(LEFT, 90, RIGHT - LEFT, "states: keys and values")
        + "".join(cells(x - 12, 121, SIZE, 8, color) for x, color in states)
    )


def asking() -> str:
    """Draw the decoder's state: as the query of the attention, and as input of the decoder."""
    return (
        label(2, 70, 54, ("state:", "query"))
        + cells(OWN - 24, 121, SIZE, 16, SLATE)
        + arrow(OWN, 139, 396)
        + ways(139, 156)
        + pointer(LEFT, 170, LEFT - OWN, SLATE)
        + stage(156, LEFT, "attention")
    )


def on_month(weights: list[float]) -> str:
    """Return the weight of the month."""
    return format_number(sum(weights[i] for i in MONTH_LETTERS), 2)


def weighing(weights: list[float]) -> str:
    """Draw the weights as bars over their characters."""
    bars = ""
    for x, weight, color in zip(MIDDLES, weights, COLORS, strict=True):
        steps = f"M{x - 11:g} 260v-{TALL * weight:.2f}h22V260z"
        bars += f'<path d="{steps}" fill="{color}"/>\n'
    return (
        chip_across(0, 2, 194, "weights")
        + bars
        + chip_across(7, 11, 194, f"{on_month(weights)} on {MONTH}")
        + path(f"M{LEFT:g} 261H{RIGHT:g}")
        + row(264, TEXT, 0, COLORS)
    )


def draw_context(x: float, y: float, width: float, weights: list[float]) -> str:
    """Draw a number of the context: the keys' numbers, each as wide as its weight."""
    widths = [width * weight for weight in weights]
    pieces = zip(starts(x, widths), widths, COLORS, strict=True)
    return "".join(bar(at, y, piece, color) for at, piece, color in pieces if piece)


def pooling(weights: list[float]) -> str:
    """Draw the context between the values and the decoder."""
    (x, width), end = across(3, len(TEXT) - 2), MIDDLES[-1]
    numbers = starts(x, [width / SIZE] * SIZE)
    return (
        arrow((LEFT + RIGHT) / 2, 264 + HEIGHT, 310)
        + chip_across(0, 2, 310, "context")
        + "".join(draw_context(at, 315, width / SIZE - 2, weights) for at in numbers)
        + path(f"M{x + width - 2:g} 324H{end:g}")
        + arrow(end, 322.75, 396)
    )


def writing(output: str) -> str:
    """Draw the other inputs of the decoder, and its outputs."""
    first = len(TEXT) - 1 - STEP  # so that the next character is in the last column
    return (
        chip_across(0, first - 1, 350, "written so far")
        + row(350, output[:STEP], first, [PALE] * (STEP - 1) + [SLATE])
        + arrow(MIDDLES[-2], 350 + HEIGHT, 396)
        + stage(396, 2, "decoder")
        + arrow(OWN, 396 + HEIGHT, 442)
        + arrow(MIDDLES[-1], 396 + HEIGHT, 442)
        + cells(OWN - 24, 447, SIZE, 16, SLATE)
        + chip_across(0, 3, 442, "next state")
        + chip_across(5, 10, 442, "next character")
        + row(442, output[STEP], len(TEXT) - 1, [SLATE])
    )


def describe(output: str, weights: list[float]) -> str:
    """Return the description of the picture."""
    spelled = " ".join(TEXT.replace(" ", "␣"))
    each = join([f"{TEXT[i]} {format_number(weights[i], 2)}" for i in MONTH_LETTERS])
    return (
        f"An encoder reads “{TEXT}”, the characters {spelled}, and leaves a state for each: the "
        f"keys and values. The decoder has written {' '.join(output[:STEP])} and asks them with "
        "its own state, the query, for what comes next. The attention weights are bars over "
        f"the characters: {each}, together {on_month(weights)} on {MONTH}, and next to nothing on "
        "the others. By these weights the states are pooled into the context. From the context, "
        f"its state and the {output[STEP - 1]} written last, the decoder makes its next state and "
        f"the next character, {output[STEP]}."
    )


def translator() -> str:
    """Draw one step of a trained translator, from the text to the character it writes."""
    output, weights = run_step()
    body = reading() + asking() + weighing(weights) + pooling(weights) + writing(output)
    title = "One step of a translator with attention"
    return svg("translator", (WIDTH, 472), title, describe(output, weights), body)
