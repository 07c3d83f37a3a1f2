"""Arrows of queries and keys can be distinguished, even if two are equal."""

from __future__ import annotations

import pytest

from attnbook.figures import AttentionFigure
from tests.figures.shared.node import ask_module

PROGRAM = """
const arrows = cases.map(({ query, keys }) => figure.arrowsOf(query, keys));
return {
    ranks: arrows.map((all) => all.map(({ name, rank }) => [name, rank])),
    equal: arrows.map(figure.describeEqual),
    terms: formulas.map(figure.terms),
};
"""
VECTORS = {
    "apart": {"query": [2, 1], "keys": [[2, 0], [0, 2], [-1, 0]]},
    "one is the query": {"query": [2, 1], "keys": [[2, 1], [0, 2], [0, 2]]},
    "all equal": {"query": [0, 1], "keys": [[1, 1]] * 6},
}
FORMULAS = {
    "w_vᵀ tanh(W_q q + W_k k)": ["w_vᵀ", "tanh(W_q q + W_k k)"],
    "q · k / √d": ["q", "·", "k", "/", "√d"],
}


@pytest.fixture(scope="module")
def results():
    return ask_module(AttentionFigure, PROGRAM, cases=[*VECTORS.values()], formulas=[*FORMULAS])


def test_of_equal_vectors_lower_ones_are_wider_and_the_query_is_on_top(results):
    apart, query, equal = results["ranks"]
    assert apart == [["k2", 0], ["k1", 0], ["k0", 0], ["q", 0]]
    assert query == [["k2", 1], ["k1", 0], ["k0", 1], ["q", 0]]
    assert [rank for _, rank in equal] == [3, 3, 3, 2, 1, 0, 0]


def test_a_text_names_equal_vectors(results):
    assert results["equal"] == [[], ["q = k0", "k1 = k2"], ["6 keys are equal"]]


def test_a_formula_is_split_at_spaces_outside_of_brackets(results):
    assert dict(zip(FORMULAS, results["terms"], strict=True)) == FORMULAS
