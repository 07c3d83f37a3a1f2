"""The marks of figures, in the order that they have in every figure, each with its file."""

from __future__ import annotations

from collections.abc import Sequence

from attnbook.colors import mix
from tools.pictures.arithmetic import join, round_numbers, softmax
from tools.pictures.svg_shapes import (
    HEIGHT,
    KEY_COLORS,
    PALE,
    SLATE,
    WIDTH,
    chip,
    path,
    starts,
    svg,
)

SCORES = ((1.6, 1.1, 0.7), (0.2, 1.9, 0.9))  # of two queries
VALUES = (8, 5, 6)
COLORS = KEY_COLORS[: len(VALUES)]
WEIGHTS = [round_numbers(softmax(scores)) for scores in SCORES]

LEFT, PICTURE, END, FILE = 2, 98, 250, 256  # names, what is drawn, and files
STEP = 51  # from one key to the next
BARS, SEGMENT = 44, 18  # heights
GAP = 8  # between two marks


def file_name(y: float, name: str) -> str:
    """Write which file draws the mark."""
    return chip(FILE, y, WIDTH - FILE - 2, f"{name}.js", PALE)


def slider(x: float, y: float, share: float) -> str:
    """Draw a slider from x to the end of the picture, with its handle at a share of it."""
    middle, handle = y + HEIGHT / 2, x + 8 + share * (END - x - 16)
    circle = f'<circle cx="{handle:g}" cy="{middle:g}" r="8" fill="{SLATE}"/>\n'
    return path(f"M{x:g} {middle:g}H{END}") + circle


def bars(y: float, numbers: Sequence[float], most: float) -> str:
    """Draw a bar over each key, the highest for `most`."""
    drawn = path(f"M{PICTURE} {y + BARS:g}H{END}")
    lefts = starts(PICTURE + 8, [STEP] * len(numbers))
    for x, number, color in zip(lefts, numbers, COLORS, strict=True):
        height = (BARS - 2) * number / most
        drawn += f'<path d="M{x:g} {y + BARS:g}v-{height:.1f}h34V{y + BARS:g}z" fill="{color}"/>\n'
    return drawn


def segments(y: float, shares: Sequence[float]) -> str:
    """Draw parts end to end, in the keys' colours."""
    widths = [(END - PICTURE) * share / sum(shares) for share in shares]
    parts = zip(starts(PICTURE, widths), widths, COLORS, strict=True)
    return "".join(
        f'<path d="M{x:.1f} {y:g}h{width - 2:.1f}v{SEGMENT}h-{width - 2:.1f}z" fill="{color}"/>\n'
        for x, width, color in parts
    )


def heatmap(y: float) -> str:
    """Draw a row of weights for each query; the row in focus has a frame."""
    drawn = chip(LEFT, y, 92, "query ↓", PALE)
    for row, weights in enumerate(WEIGHTS):
        for key, weight in enumerate(weights):
            top = y + 30 * row
            fill = mix(KEY_COLORS[0], weight)
            drawn += chip(PICTURE + 3 + 50 * key, top, 47, f"{weight:.1f}", fill)
    drawn += chip(LEFT, y + 30, 92, "key →", PALE)
    return drawn + path(f"M{PICTURE} {y - 2.5:g}H{END + 2}v33H{PICTURE}z")


def keys(y: float) -> str:
    """Draw the buttons of the keys."""
    return "".join(
        chip(PICTURE + STEP * key, y, STEP - 2, f"key {key}", color)
        for key, color in enumerate(COLORS)
    )


def sum_text() -> str:
    """Write the output as the sum that it is."""
    pairs = zip(WEIGHTS[0], VALUES, strict=True)
    terms = " + ".join(f"{weight:.1f}·{value}" for weight, value in pairs)
    output = sum(weight * value for weight, value in zip(WEIGHTS[0], VALUES, strict=True))
    return f"{terms} = {output:.1f}"


def line_chart(y: float) -> str:
    """Draw a line over its axis."""
    axis = path(f"M{PICTURE} {y:g}V{y + BARS:g}H{END}")
    low, high = y + BARS - 6, y + 4
    line = f"M{PICTURE + 4} {low:g}C{PICTURE + 60} {low:g} {PICTURE + 70} {high:g} {END} {high:g}"
    return axis + path(line, KEY_COLORS[0])


def band(y: float, name: str, drawn: str, file: str) -> str:
    """Draw a named band: its name to the left of what is drawn."""
    return chip(LEFT, y, 92, name, SLATE, bold=True) + drawn + file_name(y, file)


def row(y: float, text: str, file: str, fill: str = PALE) -> str:
    """Draw a mark that is a line of text."""
    return chip(LEFT, y, END - LEFT, text, fill) + file_name(y, file)


def marks() -> str:
    """Draw all marks, from the action to the caption."""
    weights = WEIGHTS[0]
    parts: list[tuple[float, str]] = []

    def add(height: float, drawn: str) -> None:
        parts.append((height, drawn))

    def top() -> float:
        return 2 + sum(height + GAP for height, _ in parts)

    y = top()
    add(HEIGHT, row(y, "Drag it: what changes?", "mount", PALE))
    y = top()
    add(
        HEIGHT, chip(LEFT, y, 92, "length", PALE) + slider(PICTURE, y, 1) + file_name(y, "controls")
    )
    y = top()
    buttons = zip(starts(LEFT, [50] * 3), ("Back", "Next", "Play"), strict=True)
    drawn = "".join(chip(x, y, 48, name, PALE) for x, name in buttons)
    add(HEIGHT, drawn + slider(156, y, 0.5) + file_name(y, "stepper"))
    y = top() + 3
    add(64, heatmap(y) + file_name(y, "heatmap"))
    y = top()
    add(BARS, band(y, "Scoring", bars(y, SCORES[0], 2), "stage"))
    y = top()
    add(HEIGHT, keys(y) + file_name(y, "key_axis"))
    y = top()
    drawn = bars(y, weights, 1) + segments(y + BARS + 4, weights)
    add(BARS + 4 + SEGMENT, band(y, "Weighting", drawn, "key_axis"))
    y = top()
    pooled = [weight * value for weight, value in zip(weights, VALUES, strict=True)]
    drawn = segments(y + 5, pooled) + chip(LEFT, y + 32, END - LEFT, sum_text(), PALE)
    add(60, band(y, "Pooling", drawn, "contributions"))
    y = top()
    add(BARS, band(y, "Line", line_chart(y), "axes"))
    text = f"key 0: score {SCORES[0][0]}, weight {weights[0]}"
    add(HEIGHT, row(top(), text, "pointing"))
    add(HEIGHT, row(top(), "▸ More controls", "arrangement"))
    add(HEIGHT, row(top(), "▸ Show numbers", "tables"))
    add(HEIGHT, row(top(), "A caption says what it is.", "mount"))
    about = (
        "The marks of a figure from the top down, each with its file: the action (mount.js), a "
        "slider (controls.js), Back, Next and Play (stepper.js), a heatmap of the weights "
        f"{join(WEIGHTS[0])}, and {join(WEIGHTS[1])} (heatmap.js), the bands Scoring, Weighting "
        "and Pooling with bars, shares and segments in the colours of keys 0, 1 and 2 (stage.js, "
        f"key_axis.js), the output as a sum, {sum_text()} (contributions.js), a line chart "
        f"(axes.js), the readout “{text}” (pointing.js), More controls (arrangement.js), Show "
        "numbers (tables.js) and the caption (mount.js)."
    )
    title = "The marks of figures, in their order, and the files that draw them"
    body = "".join(drawn for _, drawn in parts)
    return svg("marks", (WIDTH, round(top() - GAP + 2)), title, about, body)
