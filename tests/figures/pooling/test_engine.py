"""The arithmetic of the pooling figure, in the file that is shipped, against PyTorch."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from attnbook.figures import PoolingFigure
from attnbook.figures.shared.axes import places_on
from tests.figures.attention.cases import differ, traits
from tests.figures.pooling.cases import CASES, truth
from tests.figures.shared.node import in_node, with_fault, written

PROGRAM = Path(__file__).with_name("engine.mjs").read_text("utf-8")
COMBINATIONS = 200
CLOSE = 1e-12  # the contract asks for 1e-6


def run(module: Path, jobs: list[dict]) -> dict:
    return in_node(PROGRAM, module, jobs=jobs)


def job(name: str) -> dict:
    dice = random.Random(7)  # noqa: S311 - any numbers will do
    pairs = [(dice.random(), dice.random()) for _ in range(COMBINATIONS)]
    return {"state": traits(CASES[name]()), "pairs": pairs}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The module as anywidget hands it out."""
    path = tmp_path_factory.mktemp("shipped") / "figure.mjs"
    path.write_text(str(PoolingFigure._esm), "utf-8")
    return path


@pytest.fixture(scope="module")
def answered(shipped):
    """A function that gives a case's state, and what the shipped file answers."""

    @cache
    def ask(name: str) -> tuple[dict, dict]:
        task = job(name)
        return task["state"], run(shipped, [task])["jobs"][0]

    return ask


def wrong_rows(state: dict, rows: list[dict]) -> list[tuple[float, float, str]]:
    """Where the page's scores, weights or output are not PyTorch's."""
    return [
        (row["query"], row["width"], name)
        for row in rows
        for name, expected in truth(state["points"], row["query"], row["width"]).items()
        if differ(row[name], expected, CLOSE)
    ]


def wrong_curve(state: dict, sweep: dict) -> list[float]:
    """The queries at which the page's curve is not PyTorch's."""
    return [
        query
        for query, output in sweep["curve"]
        if differ(output, truth(state["points"], query, state["width"])["output"], CLOSE)
    ]


@pytest.mark.parametrize("name", CASES)
def test_the_page_equals_torch_at_every_slider_position_and_200_combinations(answered, name):
    state, answer = answered(name)
    widths = len(state["widths"])
    assert len(answer["rows"]) == len(places_on(state["axis"])) + widths + COMBINATIONS
    assert wrong_rows(state, answer["rows"]) == []


@pytest.mark.parametrize("name", CASES)
def test_the_curve_of_all_queries_equals_torch(answered, name):
    state, answer = answered(name)
    assert wrong_curve(state, answer["sweep"]) == []


@pytest.mark.parametrize("name", CASES)
def test_the_sliders_pass_the_places_that_python_names(answered, name):
    state, answer = answered(name)
    places = places_on(state["axis"])
    rows = answer["rows"]
    assert [row["query"] for row in rows[: len(places)]] == places
    assert [query for query, _ in answer["sweep"]["curve"]] == places
    assert [row["width"] for row in rows[len(places) : -COMBINATIONS]] == state["widths"]
    assert answer["at"] == list(range(len(state["widths"])))


def test_half_of_all_queries_give_no_key_more_than_the_usual_weight(answered):
    state, answer = answered("few")
    largest = sorted(
        truth(state["points"], query, state["width"])["weights"].max().item()
        for query in places_on(state["axis"])
    )
    middle = largest[len(largest) // 2]
    assert answer["sweep"]["usual"] == pytest.approx(middle, abs=1e-12)


def test_a_query_far_from_all_keys_still_has_weights(answered):
    for name in ("tiny_width", "far_query"):
        _, answer = answered(name)
        assert min(min(row["scores"]) for row in answer["rows"]) < -1e7
        assert all(sum(row["weights"]) == pytest.approx(1, abs=1e-12) for row in answer["rows"])
    # The nearest key, 7, takes it all.
    far = answered("far_query")[1]["rows"][-COMBINATIONS - 1]
    assert far["query"] == 120
    assert far["weights"][-1] > 0.99


def test_the_weight_is_shared_as_its_entropy_says(shipped):
    weights = [[0.25] * 4, [0.5, 0.5, 0], [1, 0], [0.8, 0.2]]
    told = run(shipped, [{**job("two"), "weights": weights}])["sharing"]
    assert told == [
        "as if 4.0 keys shared the weight evenly",
        "as if 2.0 keys shared the weight evenly",
        "as if one key had all the weight",
        "as if 1.6 keys shared the weight evenly",  # 0.72 bits
    ]


def test_ticks_are_round_and_within_their_range(shipped):
    ranges = [[0, 5, 6], [-0.3, 0.3, 3], [1.7e9, 1.7e9 + 100, 5], [0.12, 0.19, 2], [-7, 1000, 4]]
    told = run(shipped, [{**job("two"), "ranges": ranges}])["ticks"]
    assert told == [
        [0, 1, 2, 3, 4, 5],
        [-0.2, 0, 0.2],
        [1.7e9, 1.7e9 + 50, 1.7e9 + 100],
        [0.15],
        [0, 500, 1000],
    ]


def test_a_module_can_be_imported_without_a_page_and_keeps_its_names(shipped):
    names = run(shipped, [])["names"]
    assert "render" not in names  # anywidget warns of it
    assert {"default", "gaussianScores", "rowOf", "queryAt", "stepOf"} <= set(names)


MUTANTS = {
    "the width is not squared": ("((query - key) / width) ** 2", "(query - key) ** 2 / width"),
    "the score is not halved": ("/ width) ** 2) / 2", "/ width) ** 2)"),
    "near keys score lowest": ("-(((query", "(((query"),
    "the largest score is not taken off": ("(scores[i] - largest)", "scores[i]"),
    "the last key is padding": (
        "maskedSoftmax(scores, keys.length)",
        "maskedSoftmax(scores, keys.length - 1)",
    ),
    "keys are pooled in place of values": ("(([, value]) => [value])", "(([value]) => [value])"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_these_tests_notice_that(tmp_path, mutant):
    path = written(with_fault(PoolingFigure, MUTANTS[mutant]), tmp_path)
    tasks = [job(name) for name in ("noisy", "far_query")]
    answers = run(path, tasks)["jobs"]
    pairs = list(zip(tasks, answers, strict=True))
    assert any(wrong_rows(task["state"], answer["rows"][::10]) for task, answer in pairs)
    assert any(wrong_curve(task["state"], answer["sweep"]) for task, answer in pairs)
