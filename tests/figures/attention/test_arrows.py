"""Arrows of queries and keys: each can be told from the others, also where two coincide."""

from __future__ import annotations

import pytest
import torch

from attnbook import DotProductAttention
from attnbook.figures import AttentionFigure
from tests.figures.attention.cases import CASES
from tests.figures.shared.node import in_node, written
from tests.tools.site.site_checks import NARROW, WIDE

PROGRAM = """
import { readFileSync } from "node:fs";
const { module, cases, formulas } = JSON.parse(readFileSync(0, "utf-8"));
const page = await import(module);
const arrows = cases.map(({ query, keys }) => page.arrowsOf(query, keys));
const told = {
    ranks: arrows.map((all) => all.map(({ name, rank }) => [name, rank])),
    coinciding: arrows.map(page.coinciding),
    terms: formulas.map(page.terms),
};
process.stdout.write(JSON.stringify(told));
"""
APART = {"query": [2, 1], "keys": [[2, 0], [0, 2], [-1, 0]]}
ONE_IS_THE_QUERY = {"query": [2, 1], "keys": [[2, 1], [0, 2], [0, 2]]}
ALL_EQUAL = {"query": [0, 1], "keys": [[1, 1]] * 6}
FORMULAS = {
    "w_vᵀ tanh(W_q q + W_k k)": ["w_vᵀ", "tanh(W_q q + W_k k)"],
    "q · k / √d": ["q", "·", "k", "/", "√d"],
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    module = written(str(AttentionFigure._esm), tmp_path_factory.mktemp("arrows"))
    cases = [APART, ONE_IS_THE_QUERY, ALL_EQUAL]
    return in_node(PROGRAM, module, cases=cases, formulas=list(FORMULAS))


def test_of_equal_vectors_each_one_below_is_wider_and_the_query_is_on_top(answers):
    apart, query, equal = answers["ranks"]
    assert apart == [["k2", 0], ["k1", 0], ["k0", 0], ["q", 0]]
    assert query == [["k2", 1], ["k1", 0], ["k0", 1], ["q", 0]]
    assert [rank for _, rank in equal] == [3, 3, 3, 2, 1, 0, 0]


def test_words_say_which_coincide(answers):
    assert answers["coinciding"] == [[], ["q = k0", "k1 = k2"], ["6 keys are equal"]]


def test_a_formula_is_cut_outside_of_brackets_only(answers):
    assert dict(zip(FORMULAS, answers["terms"], strict=True)) == FORMULAS


def figure(vectors):
    queries, keys = torch.tensor([[vectors["query"]]]).float(), torch.tensor([vectors["keys"]])
    layer = DotProductAttention()
    return AttentionFigure(layer, queries, keys.float(), torch.ones(1, keys.shape[1], 1))


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize(
    ("vectors", "names", "words"),
    [
        (APART, ["q", "k0", "k1", "k2"], "solid: keys, dashed: query"),
        (
            ONE_IS_THE_QUERY,
            ["q = k0", "k1 = k2"],
            "solid: keys, dashed: query; q = k0; k1 = k2",
        ),
    ],
)
def test_each_arrow_has_a_name_at_its_tip(alone, vectors, names, words, width):
    with alone(figure(vectors), width=width) as (tab, _):
        assert tab.locator(".plane i").all_inner_texts() == names
        assert tab.locator(".plot > span").inner_text() == words
        plot = tab.locator(".plane i").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect()).map(r => [r.left, r.right])"
        )
        assert all(left >= 0 and right <= width for left, right in plot)


def test_the_additive_score_has_subscripts_and_one_line(alone):
    with alone(CASES["additive"]().figure()) as (tab, _):
        formula = tab.locator(".formula").first
        assert formula.locator("sub").all_inner_texts() == ["v", "q", "k"]
        assert formula.inner_text() == "wvᵀ tanh(Wq q + Wk k)"
        assert "_" not in formula.inner_text()
        tops = formula.locator(".term").evaluate_all("all => all.map(e => e.offsetTop)")
        assert len({*tops}) == 1


def heights(tab):
    return tab.locator(".bars").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().height)"
    )


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_bars_that_are_all_equal_are_low(alone, width):
    keys = torch.ones(1, 4, 1)
    values = torch.tensor([[[2.0], [4], [6], [8]]])
    made = AttentionFigure(DotProductAttention(), keys, keys, values, causal=True)
    with alone(made, width=width) as (tab, _):
        assert heights(tab) == [36, 36]  # they were 132 and 72 at 1280
    with alone(CASES["toy"]().figure(), width=width) as (tab, _):
        assert heights(tab) == [36] * 4


def test_few_keys_make_no_higher_bars_than_many(alone):
    (queries, keys) = torch.eye(3)[None, :2], torch.eye(3)[None]
    made = AttentionFigure(DotProductAttention(), queries, keys, torch.ones(1, 3, 1))
    with alone(made) as (tab, _):
        assert heights(tab) == [72, 72]
