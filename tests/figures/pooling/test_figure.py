"""The pooling figure in Python: its errors, its numbers and its text."""

from __future__ import annotations

import pytest
import torch

import attnbook
from attnbook.figures import PoolingFigure
from tests.figures.pooling.cases import CASES, column, few, noisy, true_curve, two


@pytest.mark.parametrize("name", CASES)
def test_weights_and_output_are_those_of_the_kernel(name):
    figure = CASES[name]()
    keys, values = torch.tensor([figure.points], dtype=torch.float64).split(1, dim=-1)
    query = torch.tensor([[[figure.query]]], dtype=torch.float64)
    expected = attnbook.kernel_pool(query, keys, values, figure.width)
    assert torch.equal(figure.output, expected)
    weights = torch.softmax(-((query - keys) ** 2).mT / (2 * figure.width**2), dim=-1)
    torch.testing.assert_close(figure.attention_weights, weights, rtol=1e-9, atol=1e-12)


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


def test_the_text_names_each_key_by_a_position_at_which_there_is_one():
    text = repr(PoolingFigure(column(0, 1.234, 3), column(1, 2, 3), query=1))
    assert "\n  key 1.234: weight" in text
