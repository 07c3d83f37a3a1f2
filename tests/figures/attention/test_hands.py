"""What follows the reader's hand, in the file that is shipped, against PyTorch."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import attnbook
from attnbook.figures import AttentionFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.attention.hands import LAYERS, layers_own, moved_figure, places
from tests.figures.shared.node import in_node, with_fault, written

COMBINATIONS = 50  # of every vector, for each formula
CLOSE = 1e-12  # to the same numbers; the contract asks for 1e-6
STORED = 1e-7  # a page has a layer's float32 weights in nine digits
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, jobs } = JSON.parse(readFileSync(0, "utf-8"));
const page = await import(module);
const rowsAt = (traits) => {
  const model = { get: (name) => traits[name] };
  return traits.scores.map((rows, example) => rows.map((_, query) => {
    const { scores, weights, output } = page.rowOf(model, example, query);
    return { scores, weights, output };
  }));
};
const told = jobs.map(({ state, places }) => places.map((place) => rowsAt({ ...state, ...place })));
process.stdout.write(JSON.stringify(told));
"""


@cache
def job(name: str) -> dict[str, Any]:
    """A figure whose vectors move, where it starts and 50 places more, lengths and temperature."""
    figure = moved_figure(LAYERS[name])
    start = figure.moves["start"]
    moved = [start, *places(figure.moves, COMBINATIONS)]
    for i, place in enumerate(moved):
        settings = {"temperature": [1, 0.1, 10, 2.5][i % 4], "valid_lens": [i % 6, (3 * i) % 6]}
        place.update(settings)
    return {"state": traits(figure), "places": moved}


def run(module: Path, jobs: list[dict[str, Any]]) -> Any:
    return in_node(PROGRAM, module, jobs=jobs)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    module = written(str(AttentionFigure._esm), tmp_path_factory.mktemp("hands"))
    return dict(zip(LAYERS, run(module, [job(name) for name in LAYERS]), strict=True))


def part(answer: Any, name: str) -> list[Any]:
    return [[row[name] for row in rows] for rows in answer]


def of_torch(name: str, place: dict[str, Any]) -> dict[str, torch.Tensor]:
    """What the layer itself says in float64."""
    scores, _, _ = layers_own(name, place, place["valid_lens"])
    lens = torch.tensor(place["valid_lens"])
    weights = attnbook.masked_softmax(scores / place["temperature"], lens)
    values = torch.tensor(job(name)["state"]["values"], dtype=torch.float64)
    return {"scores": scores, "weights": weights, "output": attnbook.pool(weights, values)}


def wrong_places(name: str, answer: Any) -> list[tuple[int, str]]:
    """The places at which the page's scores, weights or output are not the layer's."""
    return [
        (i, what)
        for i, (place, rows) in enumerate(zip(job(name)["places"], answer, strict=True))
        for what, theirs in of_torch(name, place).items()
        if differ(part(rows, what), theirs, STORED)
    ]


@pytest.mark.parametrize("name", LAYERS)
def test_scores_weights_and_output_follow_moved_vectors_as_torch_says(answers, name):
    assert len(answers[name]) == COMBINATIONS + 1
    assert wrong_places(name, answers[name]) == []


@pytest.mark.parametrize("name", LAYERS)
def test_the_page_and_the_traits_in_python_agree(answers, name):
    for place, rows in zip(job(name)["places"], answers[name], strict=True):
        figure = moved_figure(LAYERS[name])
        figure.set_state(place)
        assert not differ(
            part(rows, "scores"), torch.tensor(figure.scores, dtype=torch.float64), CLOSE
        )
        assert not differ(part(rows, "weights"), figure.attention_weights, CLOSE)
        assert not differ(part(rows, "output"), figure.output, CLOSE)


def test_weights_and_output_follow_moved_scores(tmp_path):
    figure = moved_figure(attnbook.DotProductAttention(), "scores")
    task = {"state": traits(figure), "places": places(figure.moves, 200)}
    module = written(str(AttentionFigure._esm), tmp_path)
    for place, rows in zip(task["places"], run(module, [task])[0], strict=True):
        scores = torch.tensor(place["scores"], dtype=torch.float64)
        weights = attnbook.masked_softmax(scores, torch.tensor([5, 3]))
        values = torch.tensor(task["state"]["values"], dtype=torch.float64)
        assert part(rows, "scores") == place["scores"]
        assert not differ(part(rows, "weights"), weights, CLOSE)
        assert not differ(part(rows, "output"), attnbook.pool(weights, values), CLOSE)


MUTANTS = {
    "the dot product is scaled by d": ("dot(query, key) / Math.sqrt(", "dot(query, key) / ("),
    "the dot product is never scaled": ("/ Math.sqrt(query.length)", "/ 1"),
    "the bilinear weight is turned round": (
        "dot(query, times(weight, key))",
        "dot(key, times(weight, query))",
    ),
    "the width of the Gaussian is ignored": ("(x - key[i]) / width)", "x - key[i])"),
    "the distance is not halved": ("** 2, 0) / 2", "** 2, 0)"),
    "queries and keys swap their matrices": (
        "[times(forQuery, query), times(forKey, key)]",
        "[times(forKey, query), times(forQuery, key)]",
    ),
    "the score network has no tanh": ("Math.tanh(x + other[i])", "(x + other[i])"),
    "the first query asks for all": ('_vectors")[example][query]', '_vectors")[example][0]'),
    "every example has the first one's keys": ('("key_vectors")[example]', '("key_vectors")[0]'),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_these_tests_notice_that(tmp_path, mutant):
    module = written(with_fault(AttentionFigure, MUTANTS[mutant]), tmp_path)
    told = run(module, [job(name) for name in LAYERS])
    assert any(wrong_places(name, answer) for name, answer in zip(LAYERS, told, strict=True))
