"""The arithmetic of the pooling figure, in the file that is shipped, against PyTorch."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from attnbook.figures import PoolingFigure
from attnbook.figures.shared.axes import positions_on
from tests.figures.attention.cases import differ, traits
from tests.figures.pooling.cases import CASES, truth
from tests.figures.shared.node import ask_module

COMBINATIONS = 50
CLOSE = 1e-12  # the contract asks for 1e-6
# Every position of each slider with the other at its start, then pairs of positions.
PROGRAM = """
const answers = states.map((state) => {
  const model = (change) => ({ get: (name) => ({ ...state, ...change })[name] });
  const steps = figure.stepsOf(model({}));
  const query = (at) => figure.queryAt(state.axis, at);
  const changes = [
    ...Array.from({ length: steps.queries + 1 }, (_, at) => ({ query: query(at) })),
    ...Array.from({ length: steps.widths + 1 }, (_, at) => ({ width: state.widths[at] })),
    ...pairs.map(([q, w]) => ({
      query: query(Math.floor(q * (steps.queries + 1))),
      width: state.widths[Math.floor(w * (steps.widths + 1))],
    })),
  ];
  const at = state.widths.map((width) => figure.stepOf(state.widths, width));
  const rows = changes.map((change) => figure.rowOf(model(change)));
  return { at, rows, sweep: figure.sweep(model({})) };
});
const ticks = ranges.map((r) => figure.ticks(...r));
return { answers, ticks, sharing: weights.map(figure.describeSharing) };
"""
SHARING = {
    (0.25, 0.25, 0.25, 0.25): "as if 4.0 keys shared the weight evenly",
    (0.5, 0.5, 0): "as if 2.0 keys shared the weight evenly",
    (1, 0): "as if one key had all the weight",
    (0.8, 0.2): "as if 1.6 keys shared the weight evenly",  # 0.72 bits
}
TICKS = {
    (0, 5, 6): [0, 1, 2, 3, 4, 5],
    (-0.3, 0.3, 3): [-0.2, 0, 0.2],
    (1.7e9, 1.7e9 + 100, 5): [1.7e9, 1.7e9 + 50, 1.7e9 + 100],
    (0.12, 0.19, 2): [0.15],
    (-7, 1000, 4): [0, 500, 1000],
}
each_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    """The numbers of the shipped module, and the state of each case."""
    dice = random.Random(7)  # noqa: S311 - any numbers will do
    states = [traits(case()) for case in CASES.values()]
    answers = ask_module(
        PoolingFigure,
        PROGRAM,
        states=states,
        pairs=[(dice.random(), dice.random()) for _ in range(COMBINATIONS)],
        ranges=list(TICKS),
        weights=list(SHARING),
    )
    return answers | {"states": states}


@pytest.fixture(scope="module")
def cases(answer) -> dict[str, tuple[dict, dict]]:
    """For each case its state and the answer."""
    return dict(zip(CASES, zip(answer["states"], answer["answers"], strict=True), strict=True))


@each_case
def test_scores_weights_and_output_equal_torch_at_all_positions_of_the_sliders(cases, name):
    state, answer = cases[name]
    rows = sorted(answer["rows"], key=lambda row: row["width"])
    for width, group in itertools.groupby(rows, key=lambda row: row["width"]):
        rows_of_width = list(group)
        queries = [row["query"] for row in rows_of_width]
        for key, expected in truth(state["points"], queries, width).items():
            assert not differ([row[key] for row in rows_of_width], expected, CLOSE), (width, key)


@each_case
def test_the_curve_of_all_queries_equals_torch(cases, name):
    state, answer = cases[name]
    queries, outputs = zip(*answer["sweep"]["curve"], strict=True)
    assert not differ(
        [*outputs], truth(state["points"], [*queries], state["width"])["output"], CLOSE
    )


@each_case
def test_the_sliders_have_the_positions_that_python_has(cases, name):
    state, answer = cases[name]
    queries, rows = positions_on(state["axis"]), answer["rows"]
    assert [row["query"] for row in rows[: len(queries)]] == queries
    assert [query for query, _ in answer["sweep"]["curve"]] == queries
    assert [row["width"] for row in rows[len(queries) : -COMBINATIONS]] == state["widths"]
    assert answer["at"] == list(range(len(state["widths"])))


def test_the_entropy_is_described_as_keys_that_share_evenly(answer):
    assert answer["sharing"] == list(SHARING.values())


def test_ticks_are_round_and_within_their_range(answer):
    assert answer["ticks"] == list(TICKS.values())
