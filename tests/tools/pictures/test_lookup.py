"""The still picture of a look-up: its numbers follow from its words."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest

from tests.tools.pictures.test_draw import (
    SVG,
    Box,
    dot,
    edges,
    parsed,
    parsed_row,
    picture,
    rows,
    texts,
)

PANELS = ("look-up", "soft look-up")


def panel(name: str) -> list[list[Box]]:
    """The rows of the half of the picture that `name` heads."""
    middle = float(picture("lookup").attrib["viewBox"].split()[2]) / 2
    halves = rows("lookup", right=middle), rows("lookup", left=middle)
    return next(half for half in halves if texts(half[0]) == [name])


def widths(row: list[Box]) -> list[float]:
    return [float(rect.attrib["width"]) for _, rect in row]


def tips(root: ET.Element) -> list[tuple[str, float, float]]:
    """Each arrow's colour, and where its tip is."""
    heads = [shape for shape in root.iter(f"{SVG}path") if shape.attrib["d"].endswith("l-6 9z")]
    places = [re.findall(r"[\d.]+", head.attrib["d"])[:2] for head in heads]
    return [
        (head.attrib["fill"], float(x) + 6, float(y) + 9)
        for head, (x, y) in zip(heads, places, strict=True)
    ]


def test_a_look_up_gives_one_key_everything_and_the_others_nothing():
    _, query, pairs, _, answers, _, weights, *_ = map(texts, panel("look-up"))
    equal = [f"query: {pair.split(':')[0]}" == query[0] for pair in pairs]
    assert equal == [True, False, False]
    assert answers == ["yes" if same else "no" for same in equal]
    assert weights == ["1" if same else "0" for same in equal]


def test_a_soft_look_up_weighs_by_the_softmax_of_the_printed_dot_products():
    _, query, _, cells, _, scores, _, weights, *_ = panel("soft look-up")
    vectors = [parsed_row(cells[i : i + 2]) for i in (0, 2, 4)]
    asked = [parsed(number) for number in re.findall(r"−?\d", query[0][0])]
    assert parsed_row(scores) == [dot(asked, vector) for vector in vectors]
    total = sum(math.exp(score) for score in parsed_row(scores))
    expected = [math.exp(score) / total for score in parsed_row(scores)]
    assert parsed_row(weights) == pytest.approx(expected, abs=0.05)
    assert sum(parsed_row(weights)) == pytest.approx(1)


@pytest.mark.parametrize("name", PANELS)
def test_each_share_is_a_weight_times_a_value_and_the_shares_make_the_output(name):
    pairs, *_, weights, products, shares, output = panel(name)[2:]
    values = [pair.split(": ")[1] for pair in texts(pairs)]
    factors = zip(texts(weights), values, strict=True)
    assert texts(products) == [f"{weight} × {value}" for weight, value in factors]
    expected = [parsed(w) * parsed(v) for w, v in zip(texts(weights), values, strict=True)]
    assert parsed_row(shares) == pytest.approx([share for share in expected if share])
    assert parsed(texts(output)[0].removeprefix("output ")) == pytest.approx(sum(expected))


def test_a_leg_is_as_wide_in_either_look_up():
    shares = [panel(name)[-2] for name in PANELS]
    scale = [
        (width + 2) / share
        for row in shares
        for width, share in zip(widths(row), parsed_row(row), strict=True)
    ]
    assert scale == pytest.approx([scale[0]] * 3)


@pytest.mark.parametrize("name", PANELS)
def test_only_a_key_with_weight_has_an_arrow_to_its_share(name):
    root = picture("lookup")
    pairs, *_, weights, products, shares, _ = panel(name)[2:]
    colours = [rect.attrib["fill"] for _, rect in pairs]
    taken = [c for c, weight in zip(colours, parsed_row(weights), strict=True) if weight]
    assert [rect.attrib["fill"] for _, rect in shares] == taken
    for row in (products, shares):
        left, top, right = edges(row[0][1])[0], edges(row[0][1])[1], edges(pairs[-1][1])[2]
        assert [c for c, x, y in tips(root) if y == top and left <= x <= right] == taken
