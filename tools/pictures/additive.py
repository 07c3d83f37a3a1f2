"""The pictures of the additive score: its small network, and its broadcast."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attnbook.colors import mix
from tools.pictures.arithmetic import dot, format_number, join, round_numbers, vector
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
    strip,
    svg,
)

QUERY, W_Q = (1, 2), ((0.5, 0), (0, -0.5), (0.5, 0.5))
KEY, W_K = (2, 0, 1, -1), ((0.5, 0, 0, 0), (0, 1, 0.5, -1), (-1, 0, 0, 0.5))
W_V = (2, 1, 1)

BLUE = KEY_COLORS[0]  # this picture's one key
MIXED = mix(BLUE, 0.3)  # a number from both the query and the key
CELL, STEP = 44, 46  # the width of a number's cell, and from one cell to the next

NUM_QUERIES, NUM_KEYS, NUM_HIDDENS = 2, 4, 3
COLUMN, HALF = 67, 33.5  # the widths of a pair in the grid and of each ingredient
BARS, ROW = 180, 70  # where the first query's row begins, and from one row to the next


def project(matrix: Sequence[Sequence[float]], numbers: Sequence[float]) -> list[float]:
    """Return the matrix times the vector `numbers`."""
    return [dot(row, numbers) for row in matrix]


def middles(centre: float, count: int) -> list[float]:
    """Return the middles of `count` neighbouring cells around `centre`."""
    return [centre + STEP * (i - (count - 1) / 2) for i in range(count)]


def cells(centre: float, y: float, texts: Sequence[str], color: str) -> str:
    """Draw a vector, one cell for each number."""
    columns_and_texts = zip(middles(centre, len(texts)), texts, strict=True)
    return "".join(chip(x - CELL / 2, y, CELL, text, color) for x, text in columns_and_texts)


def hiddens(centre: float, y: float, numbers: Sequence[float], color: str, line: str) -> str:
    """Draw num_hiddens numbers, each with an arrow into the next stage."""
    ways = "".join(arrow(x, y + 28, y + 46, line) for x in middles(centre, len(numbers)))
    return ways + cells(centre, y, [format_number(number) for number in numbers], color)


def entry(
    centre: float, name: str, matrix: str, numbers: Sequence[int], color: str, line: str
) -> str:
    """Draw a query or a key and its matrix."""
    sizes = f"{matrix}: {len(numbers)} → {len(W_V)} numbers"
    return (
        path(f"M{centre:g} 106V122", line)
        + arrow(centre, 61, 80, line)
        + chip(centre - 94, 2, 188, name, color, bold=True)
        + cells(centre, 33, [format_number(number, 0) for number in numbers], color)
        + chip(centre - 94, 80, 188, sizes, SLATE)
    )


def stage(y: float, name: str, text: str, outlets: int) -> str:
    """Draw an operation on the numbers, and lines to the next stage."""
    ways = "".join(path(f"M{x:g} {y + 26}v16") for x in middles(WIDTH / 2, outlets))
    return ways + strip(12, y, 376, name, text)


def additive_score() -> str:
    """Draw the small network that scores one query against one key."""
    query, key = project(W_Q, QUERY), project(W_K, KEY)
    sums = [q + k for q, k in zip(query, key, strict=True)]
    squeezed = round_numbers([math.tanh(number) for number in sums])
    score = format_number(dot(W_V, squeezed))
    body = (
        entry(96, "query q", "W_q", QUERY, PALE, SLATE)
        + entry(304, "key k", "W_k", KEY, BLUE, BLUE)
        + hiddens(96, 120, query, PALE, SLATE)
        + hiddens(304, 120, key, BLUE, BLUE)
        + stage(166, "+", "number by number", len(sums))
        + hiddens(200, 206, sums, MIXED, SLATE)
        + stage(252, "tanh", "each into −1 to 1", len(sums))
        + hiddens(200, 292, squeezed, MIXED, SLATE)
        + stage(338, "w_v", f"weighted sum by {vector(W_V)}", 1)
        + chip(143, 378, 114, f"score {score}", BLUE, bold=True)
    )
    about = (
        f"The query {vector(QUERY)} goes through W_q and the longer key {vector(KEY)} through W_k; "
        f"both come out as {len(W_V)} numbers: {join(query)}, and {join(key)}. Added number by "
        f"number they are {join(sums)}; tanh makes these {join(squeezed)}; and w_v, "
        f"{vector(W_V)}, weighs and adds them into one score, {score}."
    )
    title = "The additive score is a small network"
    return svg("additive-score", (WIDTH, 408), title, about, body)


def stack(x: float, y: float, color: str) -> str:
    """Draw a projected vector: num_hiddens cells, one above the other."""
    return "".join(bar(x, y + 20 * i, HALF, color) for i in range(NUM_HIDDENS))


def columns() -> list[tuple[float, str]]:
    """Return where each key's column begins, and the key's colour."""
    return [(118 + (COLUMN + 4) * i, KEY_COLORS[i]) for i in range(NUM_KEYS)]


def queries_row(index: int) -> str:
    """Draw a projected query, and its copy next to each key."""
    y, color = BARS + ROW * index, QUERY_COLORS[index]
    pairs = (stack(x, y, color) + stack(x + HALF, y, key) for x, key in columns())
    label = chip(2, y + 15, 62, f"query {index + 1}", color)
    return label + stack(68, y, color) + "".join(pairs)


def broadcast() -> str:
    """Draw how a column of queries and a row of keys become a grid of every pair."""
    keys = (
        chip(x, 74, COLUMN, f"key {i + 1}", color) + stack(x + HALF, 106, color)
        for i, (x, color) in enumerate(columns())
    )
    end = BARS + ROW * NUM_QUERIES
    body = (
        strip(2, 2, 396, "queries", "(batch, queries, 1, hiddens)", PALE)
        + strip(2, 33, 396, "+ keys", "(batch, 1, keys, hiddens)", PALE)
        + "".join(keys)
        + "".join(queries_row(index) for index in range(NUM_QUERIES))
        + strip(2, end, 396, "= sums", "(batch, queries, keys, hiddens)")
    )
    about = (
        f"{NUM_QUERIES} projected queries form a column and {NUM_KEYS} projected keys as a "
        f"row, each a bar of {NUM_HIDDENS} cells. Broadcasting fills the {NUM_QUERIES} × "
        f"{NUM_KEYS} grid between them: each pair's cells are half in its query's colour and half "
        "in its key's. (batch, queries, 1, hiddens) + (batch, 1, keys, hiddens) gives "
        "(batch, queries, keys, hiddens)."
    )
    title = "Broadcasting pairs every query with every key"
    return svg("broadcast", (WIDTH, end + 30), title, about, body)
