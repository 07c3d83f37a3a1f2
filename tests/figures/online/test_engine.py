"""The numbers of the online softmax that are computed in the page, against torch."""

from __future__ import annotations

import math

import pytest
import torch

from attnbook.figures import OnlineSoftmaxFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.online.cases import CASES, figure_of, truth
from tests.figures.shared.node import ask_module

CLOSE = 1e-12  # the contract asks for 1e-6
WAYS = (False, True)
# Every number at every step, with and without the correction.
PROGRAM = """
const shown = states.map((state) => figure.resultsOf({ get: (name) => state[name] }));
const texts = shown.map(({ walks, outputs, plains }, i) => [0, 1].map((way) =>
  walks[way].map((_, step) => [
    figure.describeStep(walks[way], step, way === 1),
    figure.describeError(figure.errorOf(outputs[way][step], plains[step]), false),
  ])));
return { shown, texts, ends: [[[1, 2], [-1, 3]], [[0], [0]], [[-2]]].map(figure.reachOf) };
"""
RANDOM = 50


def random_states() -> list[dict]:
    """Random scores and values, with blocks of any size."""
    rng = torch.Generator().manual_seed(200)
    found = []
    for _ in range(RANDOM):
        count, size = (int(torch.randint(1, most, (), generator=rng)) for most in (33, 4))
        block = int(torch.randint(1, count + 1, (), generator=rng))
        width = 10 ** (4 * torch.rand((), generator=rng).item() - 1)
        scores = width * torch.randn(count, generator=rng, dtype=torch.float64)
        values = torch.randn(count, size, generator=rng, dtype=torch.float64)
        found.append(traits(OnlineSoftmaxFigure(scores, values, block)))
    return found


@pytest.fixture(scope="module")
def answers():
    """The numbers of the shipped module for each case, then for random states."""
    states = [traits(figure_of(case)) for case in CASES] + random_states()
    return ask_module(OnlineSoftmaxFigure, PROGRAM, states=states) | {"states": states}


def wrong(state: dict, shown: dict) -> list[str]:
    """Where the page's numbers differ from torch's: the number, the step, the correction."""
    scores, values = (torch.tensor(state[n], dtype=torch.float64) for n in ("scores", "values"))
    found = []
    for way in WAYS:
        expected = truth(scores, values, state["block"], corrected=way)
        walk, outputs = shown["walks"][way], shown["outputs"][way]
        assert len(walk) == len(expected) + 1
        for step, true in enumerate(expected, start=1):
            now = walk[step]
            seen = {name: now[name] for name in ("highest", "total", "weighted")}
            seen |= {"output": outputs[step], "plain": shown["plains"][step]}
            old = torch.tensor(walk[step - 1]["exponentials"], dtype=torch.float64)
            parts = {
                "before": (now["before"], old),
                "rescaled": (now["rescaled"], old * now["correction"]),
                "parts": (math.fsum(now["exponentials"]), true["total"]),
            }
            pairs = {name: (seen[name], number) for name, number in true.items()} | parts
            found += [
                f"{name} of step {step}, corrected {way}"
                for name, (ours, theirs) in pairs.items()
                if differ(ours, theirs, CLOSE)
            ]
    return found


def test_every_number_equals_torch_at_every_step_with_and_without_the_correction(answers):
    names = [*CASES, *range(RANDOM)]
    pairs = zip(answers["states"], answers["shown"], strict=True)
    found = {name: wrong(*pair) for name, pair in zip(names, pairs, strict=True)}
    assert {name: where for name, where in found.items() if where} == {}


def test_the_error_of_the_corrected_walk_is_always_zero(answers):
    for _, corrected in answers["texts"]:
        assert {error for _, error in corrected} == {"error 0"}


def test_each_step_of_the_chapters_case_is_described(answers):
    without, corrected = answers["texts"][0]
    assert [text for text, _ in corrected] == [
        "Nothing is read yet. Press Next to read the first block.",
        "Block 1: its highest score is 0.693. There is nothing to correct yet.",
        "Block 2 raises the highest score from 0.693 to 1.792, so both old sums shrink: "
        "×\u00a0e^(0.693\u00a0−\u00a01.792) = 0.333.",
        "Block 3 raises the highest score from 1.792 to 2.485, so both old sums shrink: "
        "×\u00a0e^(1.792\u00a0−\u00a02.485) = 0.500.",
    ]
    assert without[3] == [
        "Block 3 raises the highest score from 1.792 to 2.485. Both old sums should shrink "
        "(×\u00a00.500), but they stay as they were.",
        "error -5.000",
    ]
    falling = answers["texts"][list(CASES).index("falling scores")]
    unchanged = "Block 2: the highest score stays 5.000. Nothing to correct: × 1."
    assert falling[0][2] == falling[1][2] == [unchanged, "error 0"]


def test_the_axis_of_a_sum_includes_its_lowest_and_highest_value(answers):
    assert answers["ends"] == [[-1, 3], [0, 1], [-2, 0]]
