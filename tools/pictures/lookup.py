"""The still picture of a look-up: one key's value, or every key's value by its share."""

from __future__ import annotations

from typing import NamedTuple

from tools.pictures.arithmetic import dot, listed, printed, rounded, softmax, vector
from tools.pictures.svg_shapes import (
    KEY_COLOURS,
    PALE,
    SLATE,
    WIDTH,
    arrow,
    chip,
    fade,
    path,
    starts,
    svg,
)

LEGS = {"dog": 4, "bird": 2, "fish": 0}
FEATURES = {"dog": (2, 0), "bird": (0, 2), "fish": (-2, -2), "bat": (2, 2)}  # furry, flying
HARD, SOFT = "dog", "bat"  # what each look-up asks for

# A panel, as wide as the text of three lanes needs, for each look-up.
LANE, PANEL, LEFT, RIGHT = 62, 192, 2, 206
LANES = (0, 65, 130)
COLOURS = KEY_COLOURS[: len(LEGS)]


class Key(NamedTuple):
    """What one key is to a query: its match, its attention weight, and its value's share."""

    colour: str
    match: str
    weight: float
    share: float


class LookUp(NamedTuple):
    """One panel: its words, how many decimals it prints, and its keys."""

    heading: str
    query: str
    comparing: str
    weighting: str
    decimals: int
    keys: list[Key]

    def printed(self, number: float) -> str:
        """Return the text of a weight, a share or the output."""
        return printed(number, self.decimals)

    def weights(self) -> str:
        """Return the weights in words."""
        return listed([self.printed(key.weight) for key in self.keys])

    def output(self) -> str:
        """Return the text of the sum of the shares."""
        return self.printed(sum(key.share for key in self.keys))


def keyed(matches: list[str], weights: list[float]) -> list[Key]:
    """Return the keys in their colours, each with its value times its weight."""
    parts = zip(COLOURS, matches, weights, LEGS.values(), strict=True)
    return [Key(colour, match, weight, weight * legs) for colour, match, weight, legs in parts]


def hard() -> LookUp:
    """Look up as a dictionary does: the value of the equal key, nothing of the others."""
    weights = [float(key == HARD) for key in LEGS]
    matches = ["yes" if weight else "no" for weight in weights]
    return LookUp("look-up", HARD, "equal?", "yes → 1, no → 0", 0, keyed(matches, weights))


def soft() -> LookUp:
    """Look up by attention: every key's value, by its share."""
    scores = [dot(FEATURES[SOFT], FEATURES[key]) for key in LEGS]
    keys = keyed([printed(score, 0) for score in scores], rounded(softmax(scores)))
    query = f"{SOFT} {vector(FEATURES[SOFT])}"
    return LookUp("soft look-up", query, "dot product", "softmax", 1, keys)


def compared(left: float, top: float) -> str:
    """Draw the ways of all keys, from `top` into the comparison with the query."""
    keys = zip(LANES, COLOURS, strict=True)
    return "".join(arrow(left + at + LANE / 2, top, 152, colour) for at, colour in keys)


def features(x: float, name: str, colour: str) -> str:
    """Draw the vector that a key is compared by, a cell per number."""
    cells = zip((x, x + 32), FEATURES[name], strict=True)
    return "".join(chip(at, 105, 30, printed(size, 0), fade(colour, 0.3)) for at, size in cells)


def lane(x: float, key: Key, weight: str, product: str) -> str:
    """Draw a key's way from its match to its product; without weight no line leaves it."""
    middle, fill = x + LANE / 2, fade(key.colour, key.weight) if key.weight else PALE
    return (
        path(f"M{middle:g} 180V194M{middle:g} 266V280", key.colour)
        + arrow(middle, 220, 238, key.colour)
        + (arrow(middle, 306, 324, key.colour) if key.weight else "")
        + chip(x, 192, LANE, key.match, key.colour)
        + chip(x, 278, LANE, weight, fill)
        + chip(x, 324, LANE, product, fill)
    )


def pieces(left: float, look: LookUp) -> str:
    """Draw the shares joined end to end into the output, below an arrow from each lane."""
    widths = [(PANEL + 2) * key.share / max(LEGS.values()) for key in look.keys]
    drawn = ""
    for at, x, width, key in zip(LANES, starts(left, widths), widths, look.keys, strict=True):
        if key.share:
            middle = x + width / 2 - 1
            drawn += path(f"M{left + at + LANE / 2:g} 352V360H{middle:g}", key.colour)
            drawn += arrow(middle, 358.75, 380, key.colour)
            drawn += chip(x, 380, width - 2, look.printed(key.share), key.colour)
    return drawn


def panel(left: float, look: LookUp) -> str:
    """Draw a query, its match with every key, and what it takes from each."""
    body = chip(left, 2, PANEL, look.heading, SLATE, bold=True)
    body += chip(left, 38, PANEL, f"query: {look.query}")
    for at, name, key in zip(LANES, LEGS, look.keys, strict=True):
        weight = look.printed(key.weight)
        body += chip(left + at, 74, LANE, f"{name}: {LEGS[name]}", key.colour)
        body += lane(left + at, key, weight, f"{weight} × {LEGS[name]}")
    body += chip(left, 152, PANEL, look.comparing, SLATE)
    body += chip(left, 238, PANEL, look.weighting, SLATE)
    body += pieces(left, look)
    return body + chip(left, 416, PANEL, f"output {look.output()}", SLATE, bold=True)


def lookup() -> str:
    """Draw a look-up in a dictionary beside a soft one in the same pairs."""
    left, right = hard(), soft()
    vectors = zip(LANES, LEGS, COLOURS, strict=True)
    body = (
        panel(LEFT, left)
        + compared(LEFT, 102)
        + path("M200 2V444")
        + panel(RIGHT, right)
        + compared(RIGHT, 133)
        + "".join(features(RIGHT + at, name, colour) for at, name, colour in vectors)
    )
    pairs = listed([f"{name} {legs}" for name, legs in LEGS.items()])
    points = listed([f"{name} {vector(FEATURES[name])}" for name in LEGS])
    about = (
        f"Two look-ups in the same pairs, an animal and its legs: {pairs}. On the left the query "
        f"{left.query} equals one key: the weights are {left.weights()}, and the output is "
        f"{left.output()}. On the right the query {right.query} equals none of the keys {points}; "
        f"softmax turns its dot products with them, {listed([key.match for key in right.keys])}, "
        f"into the weights {right.weights()}, and the values' shares "
        f"{listed([key.share for key in right.keys])} add up to the output {right.output()}."
    )
    title = "A look-up takes one value, a soft look-up mixes"
    return svg("lookup", (WIDTH, 446), title, about, body)
