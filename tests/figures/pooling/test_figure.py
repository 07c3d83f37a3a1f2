"""The pooling figure in Python: its errors, its numbers and its text."""

from __future__ import annotations

import re

import pytest
import torch
import traitlets

import attnbook
from attnbook.figures import PoolingFigure
from tests.figures.attention.cases import traits
from tests.figures.pooling.cases import CASES, column, few, noisy, true_curve, two

NAN, INFINITE = float("nan"), float("inf")


# Refusals


KEYS, VALUES = (f"{name} must have shape (1, num_keys, 1), got" for name in ("keys", "values"))
WRONG_TYPES = [
    ({"keys": [1.0]}, "keys must be a tensor, got list"),
    ({"keys": torch.zeros(1, 3, 1).long()}, "keys must hold floating-point numbers, "
     "got torch.int64"),
    ({"values": torch.zeros(1, 3, 1).double()}, "values must have the dtype of keys, "
     "torch.float32, got torch.float64"),
    ({"width": "1"}, "width must be a number or a tensor, got '1'"),
    ({"query": True}, "query must be one number, got True"),
]  # fmt: skip
REFUSED = [
    ({"keys": torch.zeros(3)}, f"{KEYS} (3,)"),
    ({"keys": torch.zeros(1, 3, 2)}, f"{KEYS} (1, 3, 2)"),
    ({"values": torch.zeros(1, 3, 2)}, f"{VALUES} (1, 3, 2)"),
    ({"keys": torch.zeros(1, 1, 3, 1), "values": torch.zeros(1, 1, 3, 1)}, f"{KEYS} (1, 1, 3, 1)"),
    ({"keys": torch.zeros(2, 3, 1), "values": torch.zeros(2, 3, 1)}, f"{KEYS} (2, 3, 1)"),
    ({"values": torch.zeros(1, 5, 1)}, "values must have one row per key, num_keys=3, got 5 in "
     "shape (1, 5, 1)"),
    ({"keys": column(1), "values": column(2)}, "a figure needs at least 2 of keys, got 1"),
    ({"keys": torch.zeros(1, 257, 1), "values": torch.zeros(1, 257, 1)}, "a figure shows at most "
     "256 of keys, got 257; show a part of it"),
    ({"keys": column(0, NAN, 1)}, "keys must be finite, got nan at index (0, 1, 0)"),
    ({"values": column(0, 1, -INFINITE)}, "values must be finite, got -inf at index (0, 2, 0)"),
    ({"keys": column(-1e308, 0, 1e308, dtype=torch.float64), "values": column(1, 2, 3).double()},
     "keys and query must lie a finite distance apart, got -1e+308 and 1e+308"),
    ({"width": 0}, "width must be positive and finite, got 0"),
    ({"width": torch.tensor(-2.0)}, "width must be positive and finite, got -2.0"),
    ({"width": torch.ones(2)}, "width must be one number, got shape (2,)"),
    ({"width": 1e-200}, "scores must be finite at every position of the sliders, got query 3 "
     "and width 1e-200"),
    ({"query": NAN}, "query must be finite, got nan"),
    ({"query": torch.tensor(INFINITE)}, "query must be finite, got inf at index (0,)"),
    ({"truth": lambda x: x.sqrt() - x.new_tensor(INFINITE)}, "truth must be finite, got -inf at "
     "index (0, 0, 1)"),
    ({"truth": lambda x: x.expand(1, -1, 2)}, "truth must return one number per key, 201, got "
     "(1, 201, 2)"),
    ({"truth": lambda _: 1.0}, "truth must return one number per key, 201, got float"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "changes", "message"),
    [(TypeError, *row) for row in WRONG_TYPES] + [(ValueError, *row) for row in REFUSED],
)
def test_wrong_arguments_raise_an_error_of_one_sentence(error, changes, message):
    arguments = {"keys": column(1, 2, 5), "values": column(3, 5, 4)} | changes
    with pytest.raises(error, match=rf"^{re.escape(message)}$"):
        PoolingFigure(**arguments)


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("query", NAN, "query must be finite, got nan"),
        (
            "query",
            1e200,
            "scores must be finite at every position of the sliders, got query 1e+200",
        ),
        ("query", "2", "The 'query' trait"),
        ("width", 0.0, "width must be positive and finite, got 0.0"),
        ("width", INFINITE, "width must be positive and finite, got inf"),
        ("width", 1e-300, "scores must be finite at every position of the sliders, got query 4"),
    ],
)
def test_setting_a_trait_without_finite_scores_raises_and_changes_nothing(trait, value, message):
    figure = few()
    before = traits(figure)
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        setattr(figure, trait, value)
    assert traits(figure) == before


# Numbers and text


@pytest.mark.parametrize("name", CASES)
def test_weights_and_output_are_those_of_the_kernel(name):
    figure = CASES[name]()
    keys, values = torch.tensor([figure.points], dtype=torch.float64).split(1, dim=-1)
    query = torch.tensor([[[figure.query]]], dtype=torch.float64)
    expected = attnbook.kernel_pool(query, keys, values, figure.width)
    assert torch.equal(figure.output, expected)
    weights = torch.softmax(-((query - keys) ** 2).mT / (2 * figure.width**2), dim=-1)
    torch.testing.assert_close(figure.attention_weights, weights, rtol=1e-9, atol=1e-12)


def test_two_keys_by_hand():
    # The scores are -(1/2)²/2 and -(3/2)²/2 at query 0.25: one apart, so e to 1.
    figure = PoolingFigure(column(0, 1), column(3, 5), 0.5, query=0.25)
    e = 2.718281828459045
    assert figure.attention_weights.flatten().tolist() == pytest.approx([e / (e + 1), 1 / (e + 1)])
    assert figure.output.item() == pytest.approx((3 * e + 5) / (e + 1))


def test_the_text_has_query_width_output_and_the_heaviest_keys():
    figure = few(query=2.5)
    assert repr(figure) == (
        "PoolingFigure: Gaussian scores, width 1, query 2.5\n"
        "output 3.696, as if 3.0 keys shared the weight evenly\n"
        "heaviest keys:\n"
        "  age 2: weight 0.414, height 3\n"
        "  age 3: weight 0.414, height 5\n"
        "  age 1: weight 0.152, height 2\n"
        "  age 5: weight 0.021, height 4"
    )
    figure.width = 0.1
    figure.query = 7
    assert repr(figure).splitlines()[:2] == [
        "PoolingFigure: Gaussian scores, width 0.1, query 7",
        "output -1.000, as if one key had all the weight",
    ]


def test_query_and_width_have_the_values_of_the_arguments():
    keys, values = column(0, 1, 2, 3), column(0, 1, 4, 9)
    assert PoolingFigure(keys, values).query == 1.5
    assert PoolingFigure(keys, values, query=1 / 3).query == 1 / 3
    learned = torch.tensor(0.3, requires_grad=True)
    figure = PoolingFigure(keys.requires_grad_(), values, learned, query=torch.tensor(0.1))
    assert (figure.width, figure.query) == (0.3, 0.1)  # not 0.300000012


def test_a_learned_width_is_written_with_few_digits():
    assert "width 0.199, query" in repr(few(width=0.1990396813))
    assert "width 12300, query" in repr(few(width=12345.6))


def test_the_widths_of_the_slider_are_round_and_begin_where_the_curve_is_a_staircase():
    keys = torch.arange(24.0, dtype=torch.float64).reshape(1, 24, 1)
    widths = PoolingFigure(keys, keys.square()).widths
    assert {0.1, 0.5, 1, 1.4, 1.5, 1.6, 2, 10} <= set(widths)
    assert widths == sorted(set(widths))
    assert widths[0] <= 1 / 20
    assert widths[-1] >= 23
    # Halfway between a key and the middle of its gap, the curve still has the key's value
    query = torch.tensor([[[7.25]]], dtype=torch.float64)
    step = attnbook.kernel_pool(query, keys, keys.square(), widths[0])
    assert step.item() == pytest.approx(49)


def test_the_truth_is_called_once_between_the_first_and_the_last_key():
    calls = []

    def curve(x):
        calls.append(x)
        return true_curve(x)

    figure = noisy(truth=curve)
    keys = [key for key, _ in figure.points]
    (grid,) = calls
    assert grid.shape == (1, len(figure.truth), 1)
    assert (figure.truth[0][0], figure.truth[-1][0]) == pytest.approx((min(keys), max(keys)))
    assert len(figure.truth) > 100
    for x, y in figure.truth:
        assert y == pytest.approx(true_curve(torch.tensor(x)).item(), rel=1e-6)
    assert two().truth == []
