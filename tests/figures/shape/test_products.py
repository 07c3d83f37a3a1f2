"""Matrix products: found by their numbers, and each number the meeting of a row and a column."""

from __future__ import annotations

import math

import pytest
import torch

from attnbook.figures import ShapeFigure
from attnbook.tracing import trace
from tests.figures.shape.cases import CASES, Heads, made, random
from tests.figures.shape.page import CENTRE, step_slider
from tests.figures.shared.node import in_node, written
from tests.tools.site.site_checks import NARROW, WIDE

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
    "ragged": {},
}
# What meets in each number of each product; JSON in, JSON out.
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, steps } = JSON.parse(readFileSync(0, "utf-8"));
const page = await import(module);
const count = (shape) => shape.reduce((a, b) => a * b);
const found = steps.map((step) => Array.from({ length: count(step.shape) }, (_, place) => {
    const { rowPlaces, columnPlaces, rowName, columnName } = page.meetingOf(step, place);
    return { rowPlaces, columnPlaces, rowName, columnName };
}));
process.stdout.write(JSON.stringify(found));
"""


# Found by numbers


@pytest.mark.parametrize("case", FORMULAS)
def test_products_of_steps_and_weights_are_found_and_nothing_else(case):
    steps = ShapeFigure(CASES[case]()).steps
    found = {place: step["product"] for place, step in enumerate(steps) if step["product"]}
    assert {place: it["formula"] for place, it in found.items()} == FORMULAS[case]
    notes = [steps[place]["note"] for place in found]
    assert notes == [f"A matrix product: {it['formula']}." for it in found.values()]


def test_the_text_tells_a_product_unless_its_name_does():
    text = repr(ShapeFigure(CASES["heads"]()))
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
def test_what_is_nearly_a_product_is_none(layer):
    steps = ShapeFigure(trace(layer, *random((2, 3), (3, 5)))).steps
    assert steps[-1]["product"] is None


@pytest.mark.parametrize(
    ("layer", "shape", "formula"),
    [
        (lambda x, y: x @ y, (1, 5, 7), "x @ y"),  # one matrix for all examples
        (lambda x, y: (x * 2) @ y, (2, 5, 7), "(x * 2) @ y"),
    ],
)
def test_a_product_is_named_by_its_factors(layer, shape, formula):
    steps = ShapeFigure(trace(layer, *random((2, 3, 5), shape))).steps
    assert steps[-1]["product"]["formula"] == formula


def test_of_equal_tensors_the_one_that_a_line_speaks_of_is_the_factor():
    layer = made(lambda: Heads(11, 12, 3))
    queries, memory = random((2, 5, 11), (2, 7, 11))
    steps = ShapeFigure(trace(layer, queries, memory, memory)).steps
    found = {it["name"]: it["product"]["formula"] for it in steps if it["product"]}
    assert found["self.W_k(keys)"] == "keys @ W_k.weight.mT"
    assert found["self.W_v(values)"] == "values @ W_v.weight.mT"


def test_the_weights_are_copies_of_the_layer_s_matrices():
    layer = made(lambda: Heads(11, 12, 3))
    x_ray = trace(layer, *random((2, 5, 11), (2, 7, 11), (2, 7, 11)))
    before = layer.W_o.weight.detach().clone()
    with torch.no_grad():
        layer.W_o.weight.zero_()
    assert [it.name for it in x_ray.weights] == [f"W_{name}.weight" for name in "qkvo"]
    assert torch.equal(x_ray.weights[-1].numbers, before)


# What meets in a number


def meetings(folder, figure: ShapeFigure) -> list[tuple[float, float, float]]:
    """Each number, what its row and column give, and the sum of the products' sizes."""
    steps, lists = [step for step in figure.steps if step["product"]], figure.numbers
    found = in_node(PROGRAM, written(str(ShapeFigure._esm), folder), steps=steps)
    answers = []
    for step, each in zip(steps, found, strict=True):
        product = step["product"]
        rows, columns = (lists[product[name]["numbers"]] for name in ("first", "second"))
        for number, it in zip(lists[step["numbers"]], each, strict=True):
            pairs = zip(it["rowPlaces"], it["columnPlaces"], strict=True)
            products = [rows[i] * columns[j] for i, j in pairs]
            root = math.sqrt(product["divisor"])
            answers.append((number, math.fsum(products) / root, math.fsum(map(abs, products))))
    return answers


def broadcast():
    return trace(lambda x, y: x @ y, *random((2, 3, 5), (1, 5, 7)))


SHOWN = {"heads": CASES["heads"], "dot": CASES["dot"], "broadcast": broadcast}


@pytest.mark.parametrize("case", SHOWN)
def test_the_row_and_the_column_shown_give_each_number(case, tmp_path):
    answers = meetings(tmp_path, ShapeFigure(SHOWN[case]()))
    assert len(answers) >= 42
    assert all(abs(number - made) <= CLOSE * max(1, size) for number, made, size in answers)


# In a browser

SEEN = """figure => ({
    rows: [...figure.querySelectorAll('.meeting tr')].map(
        row => [...row.querySelectorAll('td')].map(cell => Number(cell.dataset.value))),
    names: [...figure.querySelectorAll('.meeting th')].map(e => e.textContent),
    outline: figure.querySelector('.product .mark').getAttribute('d').split('z').slice(0, 2),
    said: figure.querySelector('.readout').textContent,
})"""


def by_keyboard(_tab, cells):
    cells.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        cells.press(key)


def by_mouse(tab, cells):
    tab.mouse.move(*cells.evaluate(CENTRE, [2.5, 1.5]))


def by_touch(tab, cells):
    tab.touchscreen.tap(*cells.evaluate(CENTRE, [2.5, 1.5]))


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("point", [by_keyboard, by_mouse, by_touch])
def test_pointing_at_a_score_shows_the_row_and_the_column_that_meet(show, point, width):
    tab, figure, _, state = show("heads", 15, width)
    cells = figure.locator(".tensor-cells")
    cells.scroll_into_view_if_needed()
    point(tab, cells)
    seen = figure.evaluate(SEEN)
    row, column = "queries[0, 0, 1, :]", "keys.transpose(-2, -1)[0, 0, :, 2]"
    assert seen["names"] == [row, column, "products", "their sum / √4"]
    one, other, products, [total] = seen["rows"]
    assert products == pytest.approx([a * b for a, b in zip(one, other, strict=True)])
    number = state["numbers"][state["steps"][15]["numbers"]][7 + 2]
    assert total == pytest.approx(sum(products) / 2) == pytest.approx(number, abs=CLOSE)
    # Four numbers of row 1 at the left, four of column 2 above.
    assert seen["outline"] == ["M0 5.8h4v1h-4", "M6.8 0v4h1v-4"]
    assert seen["said"] == (
        f"scores[0, 0, 1, 2] = {number:.3f} (batch 0, heads 0, queries 1, keys 2) "
        f"= {row} · {column} / √4"
    )


def test_weights_and_values_meet_in_an_output_and_the_next_step_has_none(show):
    _, figure, _, state = show("heads", 23)
    figure.locator(".tensor-cells").focus()
    names = figure.evaluate(SEEN)["names"]
    assert names[:2] == ["torch.softmax(scores, dim=-1)[0, 0, 0, :]", "values[0, 0, :, 0]"]
    step_slider(figure).press("ArrowRight")
    assert figure.locator(".product").count() == 0
    step_slider(figure).fill(str(len(state["steps"]) - 1))
    names = figure.evaluate(SEEN)["names"]
    assert names[:2] == ["output[0, 0, :]", "W_o.weight[0, :]"]
