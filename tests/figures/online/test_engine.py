"""The numbers of the online softmax that are computed in the page, against the chapter's lines."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from attnbook.figures import OnlineSoftmaxFigure
from tests.figures.attention.cases import differ, traits
from tests.figures.online.cases import CASES, chapters_output, figure_of, truth
from tests.figures.shared.node import in_node, with_fault, written

CLOSE = 1e-12  # the contract asks for 1e-6
WAYS = (False, True)
# Runs the figure's own module: every number, at every step, both ways. JSON in, JSON out.
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, states } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
const shown = states.map((state) => figure.shownOf({ get: (name) => state[name] }));
const stories = shown.map(({ walks, outputs, plains }, i) => [0, 1].map((way) =>
  walks[way].map((_, step) => [
    figure.story(walks[way], step, way === 1),
    figure.verdict(figure.errorOf(outputs[way][step], plains[step]), false),
  ])));
const ends = [[[1, 2], [-1, 3]], [[0], [0]], [[-2]]].map(figure.reachOf);
const finite = (_, x) => (x === -Infinity ? "none" : Number.isNaN(x) ? "NaN" : x);
const told = { names: Object.keys(figure), shown, stories, ends };
process.stdout.write(JSON.stringify(told, finite));
"""


def seeded() -> list[tuple[torch.Tensor, torch.Tensor, int]]:
    """200 random sets of scores and values, with blocks of any size."""
    rng = torch.Generator().manual_seed(200)
    found = []
    for _ in range(200):
        count, size = (int(torch.randint(1, most, (), generator=rng)) for most in (33, 4))
        block = int(torch.randint(1, count + 1, (), generator=rng))
        width = 10 ** (4 * torch.rand((), generator=rng).item() - 1)
        scores = width * torch.randn(count, generator=rng, dtype=torch.float64)
        values = torch.randn(count, size, generator=rng, dtype=torch.float64)
        found.append((scores, values, block))
    return found


def states_of(*inputs) -> list[dict]:
    return [traits(OnlineSoftmaxFigure(*each)) for each in inputs]


def run(module: str, folder: Path, states: list[dict]) -> dict:
    return in_node(PROGRAM, written(module, folder), states=states)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the shipped file computes for each case, and for the seeded ones after them."""
    states = [traits(figure_of(case)) for case in CASES] + states_of(*seeded())
    return run(str(OnlineSoftmaxFigure._esm), tmp_path_factory.mktemp("online"), states)


def wrong(state: dict, shown: dict) -> list[str]:
    """Where the page's numbers are not torch's: the way, the step and the number."""
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
            old = torch.tensor(walk[step - 1]["powers"], dtype=torch.float64)
            parts = {
                "before": (now["before"], old),
                "kept": (now["kept"], old * now["correction"]),
                "parts": (math.fsum(now["powers"]), true["total"]),
            }
            pairs = {name: (seen[name], number) for name, number in true.items()} | parts
            found += [
                f"{name} of step {step}, corrected {way}"
                for name, (ours, theirs) in pairs.items()
                if differ(ours, theirs, CLOSE)
            ]
    return found


@pytest.mark.parametrize("place", range(len(CASES)), ids=list(CASES))
def test_every_number_equals_torch_at_every_step_both_ways(answers, place):
    state = traits(figure_of(list(CASES)[place]))
    assert wrong(state, answers["shown"][place]) == []


def test_two_hundred_random_walks_equal_torch(answers):
    states = states_of(*seeded())
    shown = answers["shown"][len(CASES) :]
    assert len(shown) == len(states) == 200
    assert [w for state, each in zip(states, shown, strict=True) for w in wrong(state, each)] == []


def test_the_page_and_the_chapters_own_lines_agree_after_every_step(answers):
    inputs = [(*tensors, block) for tensors, block in (case() for case in CASES.values())]
    for (scores, values, block), shown in zip(inputs + seeded(), answers["shown"], strict=True):
        s, v = scores.double(), values.double()
        # As the figure stores them: nine digits of what is no double.
        s, v = (
            x if x.dtype == y.dtype else x.float().double() for x, y in ((s, scores), (v, values))
        )
        for way in WAYS:
            for step in range(1, -(-len(s) // block) + 1):
                read = slice(0, step * block)
                expected = chapters_output(s[read], v[read], block, corrected=way)
                tolerance = 1e-9 if scores.dtype == torch.float64 else 1e-7
                assert not differ(shown["outputs"][way][step], expected, tolerance)


def test_python_and_page_carry_the_same(answers):
    for case, shown in zip(CASES, answers["shown"], strict=False):
        figure = figure_of(case)
        for way in WAYS:
            for ours, page in zip(figure.carried(corrected=way), shown["walks"][way], strict=True):
                highest = "none" if ours.highest == -math.inf else ours.highest
                assert page["highest"] == highest
                numbers = [ours.needed, ours.correction, ours.total, *ours.weighted]
                told = [page["needed"], page["correction"], page["total"], *page["weighted"]]
                assert not differ(told, torch.tensor(numbers, dtype=torch.float64), CLOSE)


def test_the_error_of_the_corrected_walk_is_always_none(answers):
    for stories in answers["stories"]:
        assert {verdict for _, verdict in stories[1]} == {"error 0"}


def test_each_step_of_the_chapters_case_is_told_in_words(answers):
    without, corrected = answers["stories"][0]
    assert [story for story, _ in corrected] == [
        "Nothing is read yet. Press Next to read the first block.",
        "Block 1: its highest score is 0.693. There is nothing to correct yet.",
        "Block 2: the highest score rises from 0.693 to 1.792. So both old sums shrink: "
        "× e^(0.693\u00a0−\u00a01.792) = × 0.333. Then the block is added.",
        "Block 3: the highest score rises from 1.792 to 2.485. So both old sums shrink: "
        "× e^(1.792\u00a0−\u00a02.485) = × 0.500. Then the block is added.",
    ]
    assert without[3] == [
        "Block 3: the highest score rises from 1.792 to 2.485. Both old sums should shrink: "
        "× 0.500. They stay as they were.",
        "error −5.000",
    ]
    falling = answers["stories"][list(CASES).index("falling scores")]
    stays = "Block 2: the highest score stays 5.000. Nothing to correct: × 1."
    assert falling[0][2] == falling[1][2] == [stays, "error 0"]


def test_an_axis_reaches_from_the_lowest_to_the_highest_sum(answers):
    assert answers["ends"] == [[-1, 3], [0, 1], [-2, 0]]


def test_the_module_hides_the_drawing_from_anywidget(answers):
    assert "render" not in answers["names"]


MUTANTS = {
    "the sum of powers is not corrected": ("correction * now.total", "now.total"),
    "the weighted sum is not corrected": ("correction * sum + gained", "sum + gained"),
    "the correction has the wrong sign": (
        "Math.exp(now.highest - highest)",
        "Math.exp(start ? highest - now.highest : -1)",
    ),
    "both ways are corrected": ("corrected ? needed : 1", "needed"),
    "no way is corrected": ("corrected ? needed : 1", "1"),
    "the highest score is that of the block": (
        "Math.max(now.highest, ...",
        "Math.max(-Infinity, ...",
    ),
    "a block is one key longer": ("i < start + block ?", "i <= start + block ?"),
    "the old parts are not seen to shrink": ("correction * power)", "power)"),
    "the output is not divided": ("sum / (total || 1)", "sum"),
    "the plain softmax sees one key more": (
        "values, step * block)",
        "values, step * block + 1)",
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_these_tests_notice_that(tmp_path, mutant):
    names = ("the chapter's", "a small last block", "falling scores")
    states = [traits(figure_of(name)) for name in names]
    module = with_fault(OnlineSoftmaxFigure, MUTANTS[mutant])
    shown = run(module, tmp_path, states)["shown"]
    assert [w for state, each in zip(states, shown, strict=True) for w in wrong(state, each)]
