"""Arrows of queries and keys can be distinguished, even if two are equal."""

from __future__ import annotations

import pytest
import torch

from attnbook import DotProductAttention
from attnbook.figures import AttentionFigure
from tests.figures.attention.cases import CASES
from tests.figures.shared.node import run_in_node, write_module
from tests.tools.site.site_checks import NARROW, WIDE

PROGRAM = """
import { readFileSync } from "node:fs";
const { module, cases, formulas } = JSON.parse(readFileSync(0, "utf-8"));
const page = await import(module);
const arrows = cases.map(({ query, keys }) => page.arrowsOf(query, keys));
process.stdout.write(JSON.stringify({
    ranks: arrows.map((all) => all.map(({ name, rank }) => [name, rank])),
    equal: arrows.map(page.describeEqual),
    terms: formulas.map(page.terms),
}));
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
each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    module = write_module(str(AttentionFigure._esm), tmp_path_factory.mktemp("arrows"))
    return run_in_node(PROGRAM, module, cases=list(VECTORS.values()), formulas=list(FORMULAS))


def test_of_equal_vectors_lower_ones_are_wider_and_the_query_is_on_top(results):
    apart, query, equal = results["ranks"]
    assert apart == [["k2", 0], ["k1", 0], ["k0", 0], ["q", 0]]
    assert query == [["k2", 1], ["k1", 0], ["k0", 1], ["q", 0]]
    assert [rank for _, rank in equal] == [3, 3, 3, 2, 1, 0, 0]


def test_a_text_names_equal_vectors(results):
    assert results["equal"] == [[], ["q = k0", "k1 = k2"], ["6 keys are equal"]]


def test_a_formula_is_split_at_spaces_outside_of_brackets(results):
    assert dict(zip(FORMULAS, results["terms"], strict=True)) == FORMULAS


# In a browser


def figure_of_vectors(query, keys):
    queries, keys = torch.tensor([[query]]).float(), torch.tensor([keys]).float()
    return AttentionFigure(DotProductAttention(), queries, keys, torch.ones(1, keys.shape[1], 1))


def figure_of_equal_weights():
    keys, values = torch.ones(1, 4, 1), torch.tensor([[[2.0], [4], [6], [8]]])
    return AttentionFigure(DotProductAttention(), keys, keys, values, causal=True)


def figure_of_few_keys():
    keys = torch.eye(3)[None]
    return AttentionFigure(DotProductAttention(), keys[:, :2], keys, torch.ones(1, 3, 1))


@pytest.fixture(scope="module")
def show(stage):
    figures = {name: figure_of_vectors(**VECTORS[name]) for name in ("apart", "one is the query")}
    figures |= {name: CASES[name]().figure() for name in ("additive", "toy")}
    return stage(
        figures | {"equal weights": figure_of_equal_weights(), "few keys": figure_of_few_keys()}
    )


@each_width
@pytest.mark.parametrize(
    ("case", "names", "legend"),
    [
        ("apart", ["q", "k0", "k1", "k2"], "solid: keys, dashed: query"),
        (
            "one is the query",
            ["q = k0", "k1 = k2"],
            "solid: keys, dashed: query; q = k0; k1 = k2",
        ),
    ],
)
def test_each_arrow_has_a_name_at_its_tip(show, case, names, legend, width):
    figure = show(case, width).figure
    assert figure.locator(".plane i").all_inner_texts() == names
    assert figure.locator(".plot > span").inner_text() == legend
    boxes = [name.bounding_box() for name in figure.locator(".plane i").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)


def test_the_additive_score_has_subscripts_and_one_line(show):
    formula = show("additive").figure.locator(".formula").first
    assert formula.locator("sub").all_inner_texts() == ["v", "q", "k"]
    assert formula.inner_text() == "wvᵀ tanh(Wq q + Wk k)"
    tops = formula.locator(".term").evaluate_all("all => all.map(e => e.offsetTop)")
    assert len({*tops}) == 1


@each_width
@pytest.mark.parametrize(
    ("case", "heights"), [("equal weights", [36] * 2), ("toy", [36] * 4), ("few keys", [72] * 2)]
)
def test_the_height_of_bars_does_not_depend_on_the_width_of_the_page(show, case, heights, width):
    if case == "few keys" and width == NARROW:
        pytest.skip("a phone has lower bars")
    bars = show(case, width).figure.locator(".bars").all()
    assert [bar.bounding_box()["height"] for bar in bars] == heights
