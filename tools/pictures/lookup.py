"""The picture of a look-up: the value of one key, or the weighted values of all keys."""

from __future__ import annotations

from typing import NamedTuple

from attnbook.colors import mix
from tools.pictures.arithmetic import dot, format_number, join, round_numbers, softmax, vector
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

LEGS = {"dog": 4, "bird": 2, "fish": 0}
FEATURES = {"dog": (2, 0), "bird": (0, 2), "fish": (-2, -2), "bat": (2, 2)}  # furry, flying
HARD, SOFT = "dog", "bat"  # the query of each look-up

# A panel, as wide as the text of three lanes needs, for each look-up.
LANE, PANEL, LEFT, RIGHT = 62, 192, 2, 206
LANES = (0, 65, 130)
COLORS = KEY_COLORS[: len(LEGS)]


class Key(NamedTuple):
    """A key: its match with the query, its weight, and its value's share of the output."""

    color: str
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

    def format_number(self, number: float) -> str:
        """Return the text of a weight, a share or the output."""
        return format_number(number, self.decimals)

    def weights(self) -> str:
        """Return the weights in words."""
        return join([self.format_number(key.weight) for key in self.keys])

    def output(self) -> str:
        """Return the text of the sum of the shares."""
        return self.format_number(sum(key.share for key in self.keys))


def make_keys(matches: list[str], weights: list[float]) -> list[Key]:
    """Return the keys in their colours, each with its value multiplied by its weight."""
    parts = zip(COLORS, matches, weights, LEGS.values(), strict=True)
    return [Key(color, match, weight, weight * legs) for color, match, weight, legs in parts]


def hard() -> LookUp:
    """Look up like a dictionary: only the value of the equal key."""
    weights = [float(key == HARD) for key in LEGS]
    matches = ["yes" if weight else "no" for weight in weights]
    return LookUp(
        "look-up", HARD, "Scoring: equal?", "Weighting: yes 1, no 0", 0, make_keys(matches, weights)
    )


def soft() -> LookUp:
    """Look up by attention: every key's value, by its share."""
    scores = [dot(FEATURES[SOFT], FEATURES[key]) for key in LEGS]
    keys = make_keys([format_number(score, 0) for score in scores], round_numbers(softmax(scores)))
    query = f"{SOFT} {vector(FEATURES[SOFT])}"
    return LookUp("soft look-up", query, "Scoring: dot product", "Weighting: softmax", 1, keys)


def comparison_arrows(left: float, top: float) -> str:
    """Draw an arrow for each key, from `top` into the comparison with the query."""
    keys = zip(LANES, COLORS, strict=True)
    return "".join(arrow(left + at + LANE / 2, top, 152, color) for at, color in keys)


def features(x: float, name: str, color: str) -> str:
    """Draw the vector of a key, one cell for each number."""
    cells = zip((x, x + 32), FEATURES[name], strict=True)
    return "".join(chip(at, 105, 30, format_number(size, 0), mix(color, 0.3)) for at, size in cells)


def lane(x: float, key: Key, weight: str, product: str) -> str:
    """Draw a key from its match to its product; with the weight 0 no line leaves it."""
    middle, fill = x + LANE / 2, mix(key.color, key.weight) if key.weight else PALE
    return (
        path(f"M{middle:g} 180V194M{middle:g} 266V280", key.color)
        + arrow(middle, 220, 238, key.color)
        + (arrow(middle, 306, 324, key.color) if key.weight else "")
        + chip(x, 192, LANE, key.match, key.color)
        + chip(x, 278, LANE, weight, fill)
        + chip(x, 324, LANE, product, fill)
    )


def pieces(left: float, panel_data: LookUp) -> str:
    """Draw the shares joined end to end into the output, below an arrow from each lane."""
    widths = [(PANEL + 2) * key.share / max(LEGS.values()) for key in panel_data.keys]
    drawn = ""
    for at, x, width, key in zip(LANES, starts(left, widths), widths, panel_data.keys, strict=True):
        if key.share:
            middle = x + width / 2 - 1
            drawn += path(f"M{left + at + LANE / 2:g} 352V360H{middle:g}", key.color)
            drawn += arrow(middle, 358.75, 380, key.color)
            drawn += chip(x, 380, width - 2, panel_data.format_number(key.share), key.color)
    return drawn


def panel(left: float, panel_data: LookUp) -> str:
    """Draw a query, its match with every key, and the share of each value."""
    body = chip(left, 2, PANEL, panel_data.heading, SLATE, bold=True)
    body += chip(left, 38, PANEL, f"query: {panel_data.query}")
    for at, name, key in zip(LANES, LEGS, panel_data.keys, strict=True):
        weight = panel_data.format_number(key.weight)
        body += chip(left + at, 74, LANE, f"{name}: {LEGS[name]}", key.color)
        body += lane(left + at, key, weight, f"{weight} × {LEGS[name]}")
    body += chip(left, 152, PANEL, panel_data.comparing, SLATE)
    body += chip(left, 238, PANEL, panel_data.weighting, SLATE)
    body += pieces(left, panel_data)
    return body + chip(left, 416, PANEL, f"Pooling: output {panel_data.output()}", SLATE, bold=True)


def lookup() -> str:
    """Draw a look-up in a dictionary, and next to it a soft one in the same pairs."""
    left, right = hard(), soft()
    vectors = zip(LANES, LEGS, COLORS, strict=True)
    body = (
        panel(LEFT, left)
        + comparison_arrows(LEFT, 102)
        + path("M200 2V444")
        + panel(RIGHT, right)
        + comparison_arrows(RIGHT, 133)
        + "".join(features(RIGHT + at, name, color) for at, name, color in vectors)
    )
    pairs = join([f"{name} {legs}" for name, legs in LEGS.items()])
    points = join([f"{name} {vector(FEATURES[name])}" for name in LEGS])
    about = (
        f"Two look-ups in the same pairs, an animal and its legs: {pairs}. On the left the query "
        f"{left.query} equals one key: the weights are {left.weights()}, and the output is "
        f"{left.output()}. On the right the query {right.query} equals none of the keys {points}; "
        f"softmax turns its dot products with them, {join([key.match for key in right.keys])}, "
        f"into the weights {right.weights()}, and the values' shares "
        f"{join([key.share for key in right.keys])} add up to the output {right.output()}."
    )
    title = "A look-up takes one value, a soft look-up mixes"
    return svg("lookup", (WIDTH, 446), title, about, body)
