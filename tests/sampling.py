"""Run only as many combinations of a test's parameters as contain every pair of values.

A fault that needs a dtype, a layer, a path and a form of mask at once is rare; one that needs two
of them is not. So where a test is parametrized over several things, pairs are covered, up to a
budget, and every value occurs. `few(n)` sets a smaller budget; on a table of similar cases, such
as the pages of the book, it runs n of them, evenly spaced. `--full` (`make unit FULL=1`, weekly)
runs all combinations, and the tests marked `weekly`: those that try a tool of ours in a new
environment or on whole programs, take long, and depend on little else.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from itertools import combinations

import pytest

BUDGET = 16  # combinations of one test, or as many as it takes for every value to occur
SLOW = 8  # of one that is marked slow: it compiles or exports, a second for each


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="run every combination of parameters")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("--full"):
        return
    tests = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            tests[item.nodeid.partition("[")[0]].append(item)
    left_out = {item for item in items if item.get_closest_marker("weekly")}
    for name, cases in tests.items():
        # By identity, because tensors have no hash and NaN does not equal itself.
        values = [
            tuple((name, id(value)) for name, value in case.callspec.params.items())
            for case in cases
        ]
        few = cases[0].get_closest_marker("few")
        if few and max(Counter(value for case in values for value in case).values()) == 1:
            chosen = spread(len(cases), few.args[0])
        else:
            usual = SLOW if cases[0].get_closest_marker("slow") else BUDGET
            budget = few.args[0] if few else usual
            chosen = choose_cases(values, budget, seed=zlib.crc32(name.encode()))
        left_out |= {*cases} - {cases[index] for index in chosen}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def spread(total: int, count: int) -> list[int]:
    """Choose evenly spaced positions of a list, the same for each test."""
    return sorted({index * total // count for index in range(count)})


def choose_cases(cases: Sequence[tuple[Hashable, ...]], budget: int, seed: int) -> list[int]:
    """Choose cases with every value, and with every pair of values that the budget allows.

    A case is a tuple of values that occur together. The next one is always the case with most new
    values, and among those the one with most new pairs.
    """
    if len(cases) <= budget:
        return [*range(len(cases))]
    pairs_of = [{*combinations(case, 2)} for case in cases]
    occurrences = Counter(value for case in cases for value in case)
    # A case with a value that no other case has cannot be left out.
    chosen = [i for i, case in enumerate(cases) if any(occurrences[value] == 1 for value in case)]
    rest = sorted({*range(len(cases))} - {*chosen})
    random.Random(seed).shuffle(rest)  # noqa: S311 - tests differ in what they leave out
    values = {*occurrences} - {value for i in chosen for value in cases[i]}
    pairs = set().union(*pairs_of) - set().union(*(pairs_of[i] for i in chosen))
    while values or (pairs and len(chosen) < budget):
        gains = [(len(values & {*cases[i]}), len(pairs & pairs_of[i])) for i in rest]
        best = rest.pop(gains.index(max(gains)))
        chosen.append(best)
        values -= {*cases[best]}
        pairs -= pairs_of[best]
    return sorted(chosen)
