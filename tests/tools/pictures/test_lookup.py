"""The picture of a look-up: its numbers follow from its words."""

from __future__ import annotations

import math
import re

import pytest

from tests.tools.pictures.test_draw import Box, dot, parsed, parsed_row, picture, rows, texts

PANELS = ("look-up", "soft look-up")


def panel(name: str) -> list[list[Box]]:
    """The rows of the half of the picture that `name` heads."""
    middle = float(picture("lookup").attrib["viewBox"].split()[2]) / 2
    halves = rows("lookup", right=middle), rows("lookup", left=middle)
    return next(half for half in halves if texts(half[0]) == [name])


def test_a_look_up_gives_one_key_everything_and_the_others_nothing():
    _, query, pairs, _, answers, _, weights, *_ = map(texts, panel("look-up"))
    equal = [f"query: {pair.split(':')[0]}" == query[0] for pair in pairs]
    assert equal == [True, False, False]
    assert answers == ["yes" if same else "no" for same in equal]
    assert weights == ["1" if same else "0" for same in equal]


def test_a_soft_look_up_weighs_by_the_softmax_of_the_printed_dot_products():
    _, query, _, cells, _, scores, _, weights, *_ = panel("soft look-up")
    vectors = [parsed_row(cells[i : i + 2]) for i in (0, 2, 4)]
    query_vector = [parsed(number) for number in re.findall(r"−?\d", query[0][0])]
    assert parsed_row(scores) == [dot(query_vector, vector) for vector in vectors]
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
    assert parsed(texts(output)[0].removeprefix("Pooling: output ")) == pytest.approx(sum(expected))
