"""The sample of combinations is small, and has every value and every pair."""

from __future__ import annotations

from itertools import combinations, product

from tests.sampling import choose_cases

DTYPES, LAYERS, MASKS, PATHS = ["f64", "f32", "f16"], ["dot", "additive"], [1, 2, 3, 4], [0, 1]
CASES = [tuple(enumerate(values)) for values in product(DTYPES, LAYERS, MASKS, PATHS)]


def pairs(cases):
    return {pair for case in cases for pair in combinations(case, 2)}


def test_a_sample_holds_every_pair_of_values():
    chosen = [CASES[i] for i in choose_cases(CASES, 16, seed=1)]
    assert pairs(chosen) == pairs(CASES)
    assert len(chosen) <= 16 < len(CASES)


def test_a_budget_leaves_out_pairs_but_no_value():
    chosen = [CASES[i] for i in choose_cases(CASES, 4, seed=1)]
    assert {value for case in chosen for value in case} == {
        value for case in CASES for value in case
    }
    assert len(chosen) == 4
