"""The still pictures of the additive score: their numbers, sizes and colours."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET

import pytest

from tests.tools.pictures.test_draw import (
    SVG,
    dot,
    edges,
    labels,
    parsed,
    parsed_row,
    picture,
    rows,
    texts,
    written,
)


def bars(root: ET.Element) -> dict[tuple[float, float], str]:
    """The colour of each wordless cell, by its left and top."""
    cells = [shape for shape in root.iter(f"{SVG}path") if "v18h" in shape.attrib["d"]]
    return {
        (float(x), float(y)): cell.attrib["fill"]
        for cell in cells
        for x, y in [re.findall(r"[\d.]+", cell.attrib["d"])[:2]]
    }


def test_a_query_and_a_key_of_different_sizes_become_equally_long():
    _, inputs, matrices, projected, *_ = map(texts, rows("additive-score"))
    assert len(inputs) == 2 + 4
    assert matrices == ["W_q: 2 → 3 numbers", "W_k: 4 → 3 numbers"]
    assert len(projected) == 3 + 3


def test_the_printed_additive_score_follows_from_the_printed_numbers():
    _, _, _, projected, _, sums, _, squeezed, stage, score = rows("additive-score")
    query, key = parsed_row(projected)[:3], parsed_row(projected)[3:]
    added = [q + k for q, k in zip(query, key, strict=True)]
    assert parsed_row(sums) == pytest.approx(added)
    assert parsed_row(squeezed) == [round(math.tanh(number), 1) for number in added]
    weights = [parsed(number) for number in re.findall(r"−?\d", texts(stage)[1])]
    printed = parsed(texts(score)[0].removeprefix("score "))
    assert printed == pytest.approx(dot(weights, parsed_row(squeezed)))
    exact = dot(weights, [math.tanh(number) for number in added])
    assert printed == round(exact, 1)


def test_the_stages_of_the_additive_score_stand_in_their_order():
    order = ["q", "k", "W_q", "W_k", "+", "tanh", "w_v", "score"]
    seen = " ".join(itertools.chain.from_iterable(map(texts, rows("additive-score"))))
    found = [re.search(rf"(?<!\S){re.escape(name)}(?![\w])", seen) for name in order]
    places = [match.start() for match in found if match]
    assert len(places) == len(order)
    assert places == sorted(places)


def test_each_cell_of_the_grid_is_half_its_query_and_half_its_key():
    root = picture("broadcast")
    named = {text.text: rect for text, rect in labels(root)}
    queries = [rect for text, rect in named.items() if (text or "").startswith("query ")]
    keys = [rect for text, rect in named.items() if (text or "").startswith("key ")]
    assert (len(queries), len(keys)) == (2, 4)
    cells = bars(root)
    assert len(cells) == 3 * (2 + 4 + 2 * 2 * 4)
    for query, key in itertools.product(queries, keys):
        left, _, right, _ = edges(key)
        top, bottom = edges(query)[1] - 16, edges(query)[3] + 16
        inside = sorted(
            (x, colour)
            for (x, y), colour in cells.items()
            if left <= x < right and top < y < bottom
        )
        ingredients = [query.attrib["fill"]] * 3 + [key.attrib["fill"]] * 3
        assert [colour for _, colour in inside] == ingredients


def test_the_keys_of_the_broadcast_begin_with_the_colours_of_the_other_pictures():
    def key_colours(name: str, start: str) -> list[str]:
        pairs = labels(picture(name))
        return [rect.attrib["fill"] for text, rect in pairs if (text.text or "").startswith(start)]

    keys = key_colours("broadcast", "key ")
    assert len(set(keys)) == 4
    assert keys[:3] == key_colours("attention-layer", "key")[-3:]


def test_no_cell_of_the_broadcast_covers_a_text():
    root = picture("broadcast")
    for (x, y), (_, rect) in itertools.product(bars(root), labels(root)):
        left, top, right, bottom = edges(rect)
        assert x + 33 <= left or x >= right or y + 18 <= top or y >= bottom, (x, y)


def test_the_shapes_of_the_broadcast_are_those_of_the_formula():
    shapes = [text for text in written("broadcast") if text.startswith("(batch")]
    queries, keys, pairs = (shape.strip("()").split(", ") for shape in shapes)
    assert queries == ["batch", "queries", "1", "hiddens"]
    assert keys == ["batch", "1", "keys", "hiddens"]
    broadcast = [k if q == "1" else q for q, k in zip(queries, keys, strict=True)]
    assert pairs == broadcast
