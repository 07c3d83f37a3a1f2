"""The position figure in Python: its errors, its traits and its text."""

from __future__ import annotations

import re

import pytest
import torch
import traitlets

import attnbook
from attnbook.figures import PositionFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.position.cases import CASES, CLOSE, positions, random

NAN = float("nan")


# Refusals


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(*shape, dtype=dtype)


HUGE = zeros(2, dtype=torch.float64) + 1e200
REFUSED = [
    ({"size": 7}, "size must be even, two numbers for each hand, got 7"),
    ({"size": 0}, "size must be at least 1, got 0"),
    ({"size": 18}, "a figure shows at most 16 of numbers in a vector, got 18; show a part of it"),
    ({"size": 8, "positions": 0}, "positions must be at least 1, got 0"),
    ({"size": 8, "positions": 1025}, "a figure shows at most 1024 of positions, "
     "got 1025; show a part of it"),
    ({"query": zeros(1, 4), "key": zeros(4)}, "query must have shape (size,), got (1, 4)"),
    ({"query": zeros(4), "key": zeros(6)}, "key must have the size of query, 4, got 6"),
    ({"query": zeros(3), "key": zeros(3)}, "size must be even, two numbers for each hand, got 3"),
    ({"query": torch.tensor([0, NAN]), "key": zeros(2)}, "query must be finite, "
     "got nan at index (1,)"),
    ({"query": HUGE, "key": HUGE}, "dot products must be finite, got up to inf"),
]  # fmt: skip
WRONG_TYPES = [
    ({"size": 8.0}, "size must be a whole number, got 8.0"),
    ({"query": [1.0, 2.0], "key": zeros(2)}, "query must be a tensor, got list"),
    ({"query": zeros(2), "key": zeros(2).long()}, "key must hold floating-point numbers, "
     "got torch.int64"),
    ({"query": zeros(4), "key": zeros(4).half()}, "key must have the dtype of query, "
     "torch.float32, got torch.float16"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [(ValueError, *row) for row in REFUSED] + [(TypeError, *row) for row in WRONG_TYPES],
)
def test_wrong_arguments_raise_an_error_of_one_sentence(error, arguments, message):
    make = PositionFigure if "size" in arguments else PositionFigure.rotary
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        make(**arguments)


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("start", 101, "start must lie in [0, 100], got 101"),
        ("start", 1.5, "expected an int"),
        ("distance", 25, "distance must lie in [-24, 24], got 25"),
        ("distance", -25, "distance must lie in [-24, 24], got -25"),
    ],
)
def test_setting_a_trait_out_of_range_raises_and_changes_nothing(trait, value, message):
    figure = PositionFigure(8)
    before = traits(figure)
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        setattr(figure, trait, value)
    assert traits(figure) == before


# Traits and text


def test_the_first_start_is_a_valid_position():
    starts = [PositionFigure(2, positions=count).start for count in (1, 3, 101)]
    assert starts == [0, 2, 3]


@pytest.mark.parametrize(
    ("distance", "expected"), [(5, [8, 3]), (0, [3, 3]), (-5, [3, 8]), (24, [27, 3])]
)
def test_the_earlier_of_the_two_stays_at_the_start(distance, expected):
    figure = PositionFigure(4)
    figure.distance = distance
    assert positions(figure.start, distance) == expected
    assert f"p = {expected[0]}, q = {expected[1]}\n" in repr(figure)
    rows = attnbook.sinusoidal_encoding(28, size=4, dtype=torch.float64)[expected]
    assert torch.equal(figure.vectors, rows)


def test_a_query_and_a_key_are_rotated_as_in_a_layer():
    query, key = random(8)
    figure = PositionFigure.rotary(query, key)
    for start, distance in ((0, 0), (3, 5), (100, -24)):
        figure.start, figure.distance = start, distance
        p, q = (torch.tensor([position]) for position in positions(start, distance))
        queries = attnbook.rotary_encoding(query.reshape(1, 1, 8), p)
        keys = attnbook.rotary_encoding(key.reshape(1, 1, 8), q)
        score = attnbook.dot_score(queries, keys)
        assert not differ(figure.dot_products.sum().item(), score.squeeze(), 1e-5)


@pytest.mark.parametrize("name", ["sinusoidal", "rotary"])
def test_the_dot_product_depends_only_on_the_distance(name):
    figure = CASES[name]()
    first = figure.dot_products
    for start in (0, 50, 100):
        figure.start = start
        assert not differ(figure.dot_products.tolist(), first, CLOSE)


def test_the_text_of_a_case_worked_by_hand():
    figure = PositionFigure(2)
    figure.start, figure.distance = 0, 0
    along = "1.000, 0.540, -0.416, -0.990, -0.654, 0.284, 0.960, 0.754, -0.146"  # cos 0 to cos 8
    assert repr(figure) == (
        "PositionFigure: sinusoidal, size 2, p = 0, q = 0\n"
        "p: [0, 1.000]\nq: [0, 1.000]\n"
        "dot product: 1.000, of its pairs [1.000]\n"
        f"at distances 0 to 8: [{along}]"
    )


def test_the_text_of_a_rotary_figure_has_both_directions():
    up, right = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])
    figure = PositionFigure.rotary(right, up)
    figure.start, figure.distance = 0, 1
    text = repr(figure)
    assert "\nquery: [0.540, 0.841]\nkey: [0, 1.000]\ndot product: 0.841," in text
    assert "\nat distances -8 to 8: [" in text
    figure.distance = -1
    assert "\ndot product: -0.841," in repr(figure)
