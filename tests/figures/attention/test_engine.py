"""The arithmetic that runs in the page, in the file that is shipped, against PyTorch."""

from __future__ import annotations

import random
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import attnbook
from attnbook.figures import AttentionFigure
from tests.figures.attention.cases import CASES, Case, differ, traits, truth
from tests.figures.shared.node import in_node, with_fault, written

PROGRAM = Path(__file__).with_name("engine.mjs").read_text("utf-8")
COMBINATIONS = 200
STEPS = range(-20, 21)  # of the temperature slider; test_page.py holds that it has no others
CLOSE = 1e-12  # the contract asks for 1e-6
HUGE = ("huge_scores", "huge_padding")  # a score of 1e5 has its own last digit at 1e-11


def run(module: Path, jobs: list[dict[str, Any]]) -> Any:
    return in_node(PROGRAM, module, jobs=jobs)


def with_length(valid_lens: list[Any], example: int, query: int | None, length: int) -> list[Any]:
    moved = deepcopy(valid_lens)
    if query is None:
        moved[example] = length
    else:
        moved[example][query] = length
    return moved


def settings(case: Case) -> list[dict[str, Any]]:
    """Every position of each slider with the others at rest, and seeded combinations."""
    rest, num_keys = case.valid_lens.tolist(), case.keys.shape[1]
    places = [index if len(index) == 2 else (*index, None) for index in indices(case.valid_lens)]
    moves = [
        {"valid_lens": with_length(rest, *place, length), "step": 0}
        for place in places
        for length in range(num_keys + 1)
    ]
    moves += [{"valid_lens": rest, "step": step} for step in STEPS]
    dice = random.Random(7)  # noqa: S311 - any numbers will do
    for _ in range(COMBINATIONS):
        lens = rest
        for place in places:
            lens = with_length(lens, *place, dice.randint(0, num_keys))
        moves.append({"valid_lens": lens, "step": dice.choice(STEPS)})
    return moves


def indices(tensor: torch.Tensor) -> list[tuple[int, ...]]:
    return [tuple(index) for index in torch.ones_like(tensor).nonzero().tolist()]


def job(name: str) -> dict[str, Any]:
    case = CASES[name]()
    return {"state": traits(case.figure()), "settings": settings(case)}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The module as anywidget hands it out."""
    path = tmp_path_factory.mktemp("shipped") / "figure.mjs"
    path.write_text(str(CASES["toy"]().figure()._esm), "utf-8")
    return path


@pytest.fixture(scope="module")
def answered(shipped):
    """A function that gives a case's job, and what the shipped file answers."""

    @cache
    def ask(name: str) -> tuple[dict[str, Any], Any]:
        task = job(name)
        return task, run(shipped, [task])["rows"][0]

    return ask


def part(answer: Any, name: str) -> list[Any]:
    """One thing of each row: [example][query]."""
    return [[row[name] for row in rows] for rows in answer]


def wrong_rows(task: dict[str, Any], answers: Any, tolerance: float) -> list[dict[str, Any]]:
    """The settings at which the page's weights or output are not PyTorch's."""
    wrong = []
    for setting, answer in zip(task["settings"], answers, strict=True):
        temperature = answer[0][0]["temperature"]
        weights, output = truth(task["state"], setting["valid_lens"], temperature)
        if differ(part(answer, "weights"), weights, tolerance) or differ(
            part(answer, "output"), output, tolerance
        ):
            wrong.append(setting)
    return wrong


def tolerance_of(name: str) -> float:
    return 1e-6 if name in HUGE else CLOSE


@pytest.mark.parametrize("name", CASES)
def test_the_page_equals_torch_at_every_slider_position_and_200_combinations(answered, name):
    task, answers = answered(name)
    assert len(answers) >= COMBINATIONS + len(STEPS) + len(task["state"]["key_labels"]) + 1
    assert wrong_rows(task, answers, tolerance_of(name)) == []


@pytest.mark.parametrize("name", [name for name in CASES if name != "huge_padding"])
def test_the_layer_itself_agrees_in_its_own_precision(answered, name):
    case, (task, answers) = CASES[name](), answered(name)
    layer = case.layer
    if not isinstance(layer, attnbook.Attention):
        layer = attnbook.Attention()
        layer.score = case.layer
    for setting, answer in zip(task["settings"], answers, strict=True):
        if setting["step"] == 0:
            lens = torch.tensor(setting["valid_lens"])
            with torch.no_grad():
                output = layer(case.queries, case.keys, case.values, lens, mask=case.mask)
            assert not differ(part(answer, "weights"), layer.attention_weights, 1e-5)
            assert not differ(part(answer, "output"), output, 1e-5)


def test_padding_and_empty_rows_are_exactly_zero(answered):
    for name in ("toy", "nearest", "huge_scores", "huge_padding"):
        task, answers = answered(name)
        for setting, answer in zip(task["settings"], answers, strict=True):
            for lens, rows in zip(setting["valid_lens"], answer, strict=True):
                for query, row in enumerate(rows):
                    length = lens[query] if isinstance(lens, list) else lens
                    assert not any(row["weights"][length:])
                    assert length or not any(row["output"])


def test_what_a_mask_hides_is_exactly_zero_at_every_length(answered):
    case, (task, answers) = CASES["masked"](), answered("masked")
    for answer in answers:
        assert not any(torch.tensor(part(answer, "weights"))[~case.mask])
    assert task["state"]["hidden"] == "hidden"


def test_huge_padding_changes_nothing(answered):
    task, answers = answered("huge_padding")
    plain = deepcopy(task["state"])
    plain["scores"][0][0][2] = plain["values"][0][2][0] = plain["values"][0][2][1] = 0
    for setting, answer in zip(task["settings"], answers, strict=True):
        if setting["valid_lens"][0] < 3:
            temperature = answer[0][0]["temperature"]
            _, output = truth(plain, setting["valid_lens"], temperature)
            assert not differ(part(answer, "output"), output, CLOSE)


def test_the_shares_of_1_2_and_5_by_hand(shipped):
    state = {
        "scores": [[[0.0, 0.6931471805599453, 1.6094379124341003]]],
        "values": [[[8.0], [16.0], [0.0]]],
        "sees": [],
        "moves": {},
    }
    moves = [{"valid_lens": [3], "step": 0}, {"valid_lens": [2], "step": 0}]
    whole, cut = run(shipped, [{"state": state, "settings": moves}])["rows"][0]
    assert whole[0][0]["weights"] == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=1e-15)
    assert whole[0][0]["output"] == pytest.approx([5], abs=1e-14)
    assert cut[0][0]["weights"] == pytest.approx([1 / 3, 2 / 3, 0], abs=1e-15)
    assert cut[0][0]["output"] == pytest.approx([40 / 3], abs=1e-14)


def test_the_temperature_slider_runs_from_a_tenth_to_ten_and_passes_one(answered):
    _, answers = answered("one_key")
    first = 2  # one key has two lengths; then come the temperatures
    temperatures = [answer[0][0]["temperature"] for answer in answers[first : first + len(STEPS)]]
    assert temperatures == sorted(set(temperatures))
    assert [temperatures[i] for i in (0, 20, 40)] == [0.1, 1, 10]


def test_a_module_can_be_imported_without_a_page_and_keeps_its_names(shipped):
    names = run(shipped, [])["names"]
    assert "render" not in names  # anywidget warns of it
    assert {"default", "maskedSoftmax", "pool"} <= set(names)


MUTANTS = {
    "the largest score is not taken off": ("(scores[i] - largest)", "scores[i]"),
    "one key of padding is seen": ("i < length", "i < Math.min(length + 1, scores.length)"),
    "the temperature is ignored": ("largest) / temperature)", "largest))"),
    "the temperature multiplies": ("largest) / temperature)", "largest) * temperature)"),
    "the shares are never made to sum to one": ("weights[i] /= total", "weights[i] /= 1"),
    "every query has the first one's length": ("length[query]", "length[0]"),
    "values are added up without their weights": ("+= weight * values", "+= values"),
    "the output takes the first number of each value": ("values[i][c]", "values[i][0]"),
    "every example shows the first one's values": ('("values")[example]', '("values")[0]'),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_these_tests_notice_that(tmp_path, mutant):
    path = written(with_fault(AttentionFigure, MUTANTS[mutant]), tmp_path)
    tasks = [job(name) for name in ("nearest", "huge_scores")]
    for task in tasks:
        task["settings"] = task["settings"][::10]
    (task, huge), (answers, huge_answers) = tasks, run(path, tasks)["rows"]
    assert wrong_rows(task, answers, CLOSE) or wrong_rows(huge, huge_answers, 1e-6)
