"""Keys in a plane can be distinguished, even if two are equal."""

from __future__ import annotations

import pytest

from attnbook.figures import AttentionFigure
from tests.figures.shared.node import ask_module

PROGRAM = """
const spots = cases.map((keys) => figure.spotsOf(keys, keys.map((_, key) => `k${key}`)));
return {
    ranks: spots.map((all) => all.map(({ rank }) => rank)),
    names: spots.map((all) => all.map(({ equal }) => figure.commonName(equal))),
    terms: formulas.map(figure.terms),
};
"""
KEYS = {
    "apart": [[2, 0], [0, 2], [-1, 0]],
    "two are equal": [[2, 1], [0, 2], [0, 2]],
    "all are equal": [[1, 1]] * 5,
}
FORMULAS = {
    "w_vᵀ tanh(W_q q + W_k k)": ["w_vᵀ", "tanh(W_q q + W_k k)"],
    "q · k / √d": ["q", "·", "k", "/", "√d"],
}


@pytest.fixture(scope="module")
def results():
    return ask_module(AttentionFigure, PROGRAM, cases=[*KEYS.values()], formulas=[*FORMULAS])


def test_of_equal_keys_lower_ones_are_wider_and_they_have_one_name(results):
    assert results["ranks"] == [[0, 0, 0], [0, 0, 1], [0, 1, 2, 3, 3]]
    apart, two, five = results["names"]
    assert apart == ["k0", "k1", "k2"]
    assert two == ["k0", "k1 = k2", "k1 = k2"]
    assert five == ["5 keys"] * 5


def test_a_formula_is_split_at_spaces_outside_of_brackets(results):
    assert dict(zip(FORMULAS, results["terms"], strict=True)) == FORMULAS
