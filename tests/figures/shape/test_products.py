"""Matrix products: they are found by their numbers, and shown by rows and columns."""

from __future__ import annotations

import math

import pytest
import torch

from attnbook.figures import ShapeFigure
from attnbook.tracing import trace
from tests.figures.shape.cases import Heads, make_layer, random, state_of, trace_case
from tests.figures.shared.node import ask_module

CLOSE = 1e-6
FORMULAS = {
    "heads": {
        4: "queries @ W_q.weight.mT",
        9: "keys @ W_k.weight.mT",
        11: "values @ W_v.weight.mT",
        14: "queries @ keys.transpose(-2, -1)",
        15: "queries @ keys.transpose(-2, -1) / √4",
        23: "torch.softmax(scores, dim=-1) @ values",
        28: "output @ W_o.weight.mT",
    },
    "dot": {13: "queries @ keys.mT / √5"},
    "pairs": {},
    "kinds": {},
    "largest": {},
}
# The row and the column of each number of each product.
PROGRAM = """
const count = (shape) => shape.reduce((a, b) => a * b);
return steps.map((step) => Array.from(
    { length: count(step.shape) }, (_, i) => figure.meetingOf(step, i)));
"""


@pytest.mark.parametrize("case", FORMULAS)
def test_products_of_steps_and_weights_are_found_and_nothing_else(case):
    steps = state_of(case)["steps"]
    found = {index: step["product"] for index, step in enumerate(steps) if step["product"]}
    assert {index: it["formula"] for index, it in found.items()} == FORMULAS[case]
    notes = [steps[index]["note"] for index in found]
    assert notes == [f"A matrix product: {it['formula']}." for it in found.values()]


def test_the_text_has_the_formula_of_a_product_unless_it_is_its_name():
    text = repr(ShapeFigure(trace_case("heads")))
    assert "scores (batch 2, heads 3, queries 5, keys 7) = queries @ keys.tran" in text
    assert "keys.transpose(-2, -1) (batch 2, heads 3, queries 5, keys 7): " in text


def near(x, y):
    return x @ y + 1e-4


def with_bias(x, y):
    return x @ y + torch.arange(5.0)


def equal(x, y):
    return (x * 0) @ y


def temperature(x, y):
    return x @ y / 3


@pytest.mark.parametrize("layer", [near, with_bias, equal, temperature])
def test_similar_tensors_are_no_products(layer):
    steps = ShapeFigure(trace(layer, *random((2, 3), (3, 5)))).steps
    assert steps[-1]["product"] is None


def multiply(x, y):
    return x @ y


def multiply_double(x, y):
    return (x * 2) @ y


@pytest.mark.parametrize(
    ("layer", "shape", "formula"),
    [
        (multiply, (1, 5, 7), "x @ y"),  # one matrix for all examples
        (multiply_double, (2, 5, 7), "(x * 2) @ y"),
    ],
)
def test_a_product_is_named_by_its_factors(layer, shape, formula):
    steps = ShapeFigure(trace(layer, *random((2, 3, 5), shape))).steps
    assert steps[-1]["product"]["formula"] == formula


def test_of_equal_tensors_the_one_named_in_the_line_is_the_factor():
    layer = make_layer(lambda: Heads(11, 12, 3))
    queries, memory = random((2, 5, 11), (2, 7, 11))
    steps = ShapeFigure(trace(layer, queries, memory, memory)).steps
    found = {it["name"]: it["product"]["formula"] for it in steps if it["product"]}
    assert found["self.W_k(keys)"] == "keys @ W_k.weight.mT"
    assert found["self.W_v(values)"] == "values @ W_v.weight.mT"


def meetings(figure: ShapeFigure) -> list[tuple[float, float, float]]:
    """Each number, what its row and column give, and the sum of the products' sizes."""
    steps, lists = [step for step in figure.steps if step["product"]], figure.numbers
    found = ask_module(ShapeFigure, PROGRAM, steps=steps)
    answers = []
    for step, each in zip(steps, found, strict=True):
        product = step["product"]
        rows, columns = (lists[product[name]["numbers"]] for name in ("first", "second"))
        for number, it in zip(lists[step["numbers"]], each, strict=True):
            pairs = zip(it["rowIndices"], it["columnIndices"], strict=True)
            products = [rows[i] * columns[j] for i, j in pairs]
            root = math.sqrt(product["divisor"])
            answers.append((number, math.fsum(products) / root, math.fsum(map(abs, products))))
    return answers


def broadcast():
    return trace(multiply, *random((2, 3, 5), (1, 5, 7)))


TRACES = [lambda: trace_case("heads"), lambda: trace_case("dot"), broadcast]


@pytest.mark.parametrize("make_trace", TRACES)
def test_the_row_and_the_column_shown_give_each_number(make_trace):
    answers = meetings(ShapeFigure(make_trace()))
    assert len(answers) >= 42
    assert all(
        abs(number - make_layer) <= CLOSE * max(1, size) for number, make_layer, size in answers
    )
