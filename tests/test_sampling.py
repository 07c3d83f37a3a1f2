"""The sample of combinations: small, the same each time, and no value and no pair is forgotten."""

from __future__ import annotations

from itertools import combinations, product

from tests.sampling import covering

DTYPES, LAYERS, MASKS, PATHS = ["f64", "f32", "f16"], ["dot", "additive"], [1, 2, 3, 4], [0, 1]
CASES = [tuple(enumerate(values)) for values in product(DTYPES, LAYERS, MASKS, PATHS)]


def pairs(cases):
    return {pair for case in cases for pair in combinations(case, 2)}


def test_a_sample_holds_every_pair_of_values():
    kept = [CASES[i] for i in covering(CASES, 16, seed=1)]
    assert pairs(kept) == pairs(CASES)
    assert len(kept) <= 16 < len(CASES)


def test_a_budget_leaves_out_pairs_but_no_value():
    kept = [CASES[i] for i in covering(CASES, 4, seed=1)]
    assert {value for case in kept for value in case} == {value for case in CASES for value in case}
    assert len(kept) == 4
