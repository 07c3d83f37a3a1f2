"""Lines between tokens: they end at the borders of their two tokens, and touch no other one."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from attnbook.figures import TranslatorFigure
from tests.figures.shared.node import ask_module
from tests.figures.tokens.page import ends_at_borders, touched

PROGRAM = """
return {
    found: layouts.map(({ boxes, from, first, weights, width }) => figure.ribbons(
        boxes[from], boxes.slice(first), boxes.slice(0, first), weights, width)),
    drawn: rows.map(figure.drawnKeys),
};
"""
WIDTH, MARGIN = 340, 16


def make_layout(rng: Random) -> dict[str, Any]:
    """Rows of tokens of random sizes; the first ones are no keys, or all are."""
    boxes: list[list[float]] = []
    starts, top = [], float(rng.randint(14, 40))
    for _ in range(rng.randint(1, 6)):
        starts.append(len(boxes))
        high, left = rng.randint(18, 50), float(MARGIN)
        while True:
            wide = rng.randint(10, 70)
            if left + wide > WIDTH:
                break
            down = rng.randint(0, 6)
            boxes.append([left, top + down, left + wide, top + high - rng.randint(0, 6)])
            left += wide + rng.choice([0, 2, 6, 24])
        top += high + rng.randint(14, 44)
    first = rng.choice(starts)
    count = len(boxes) - first
    weights = np.array([rng.random() ** rng.choice([1, 9]) for _ in range(count)])
    return {
        "boxes": [dict(zip(("left", "top", "right", "bottom"), box, strict=True)) for box in boxes],
        "from": rng.randrange(first) if first else rng.randrange(count),
        "first": first,
        "weights": (weights / weights.sum()).tolist(),
        "width": WIDTH,
    }


LAYOUTS = [make_layout(Random(seed)) for seed in range(150)]  # noqa: S311 - no secrets
ROWS = [[1 / 256] * 256, [0.97, 0.005, 0, 0.025], [0.5, 0.5], [0, 0]]


@pytest.fixture(scope="module")
def answers():
    return ask_module(TranslatorFigure, PROGRAM, layouts=LAYOUTS, rows=ROWS)


def test_lines_end_at_the_borders_of_their_tokens_and_touch_no_token(answers):
    count = 0
    for layout, lines in zip(LAYOUTS, answers["found"], strict=True):
        boxes, first = layout["boxes"], layout["first"]
        for key, line in enumerate(lines):
            if not line["d"]:
                continue
            count += 1
            assert line["thick"] > 0.9
            ends = boxes[layout["from"]], boxes[first + key]
            assert ends_at_borders(line["d"], *ends), (line, ends)
            assert touched(line["d"], line["thick"], boxes) == [], (layout["from"], key, line)
    assert count > 1000


def test_a_larger_weight_has_a_thicker_line(answers):
    for layout, lines in zip(LAYOUTS, answers["found"], strict=True):
        pairs = sorted(zip(layout["weights"], (line["thick"] for line in lines), strict=True))
        thicks = [thick for _, thick in pairs]
        assert thicks == sorted(thicks)


def test_only_the_thinnest_lines_are_left_out_and_they_are_little_together(answers):
    uniform, one, two, none = answers["drawn"]
    assert uniform["count"] == 12  # of 256 weights: together at most 5 %
    assert uniform["share"] == pytest.approx(12 / 256)
    assert [one["isDrawn"], one["count"]] == [[True, False, False, True], 1]
    assert one["share"] == pytest.approx(0.005)
    assert two["isDrawn"] == [True, True]
    assert none == {"isDrawn": [False, False], "count": 0, "share": 0}
