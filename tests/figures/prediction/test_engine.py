"""How the page reads and judges an answer, in node."""

from __future__ import annotations

import pytest

from attnbook.figures import Prediction
from tests.figures.attention.cases import traits
from tests.figures.prediction.cases import HALF, choice, number, numbers
from tests.figures.shared.node import run_in_node, write_module

PROGRAM = """
import { readFileSync } from "node:fs";
const { module, state, texts, answers } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
const model = { get: (name) => state[name] };
process.stdout.write(JSON.stringify({
    read: texts.map((text) => String(figure.readNumber(text))),
    judged: answers.map((answer) => figure.judge(model, answer)),
    formatted: answers.map((answer) => figure.formatAnswer(model, answer)),
}));
"""
READ = {
    "3": "3", " 0.5 ": "0.5", "0,5": "0.5", "−8": "-8", "+2": "2", "2/3": str(2 / 3),
    "1 / 4": "0.25", "-1/4": "-0.25", "1e-3": "0.001", "": "NaN", "/3": "NaN", "1/0": "NaN",
    "1/2/3": "NaN", "two": "NaN", "1 2": "NaN", "Infinity": "NaN",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A function that runs the figure's module."""
    path = write_module(str(Prediction._esm), tmp_path_factory.mktemp("prediction"))

    def go(figure, answers=(), texts=()):
        return run_in_node(
            PROGRAM, path, state=traits(figure), texts=list(texts), answers=list(answers)
        )

    return go


def test_numbers_are_read_as_people_write_them(run):
    assert run(number(), texts=READ)["read"] == list(READ.values())


def test_each_number_of_a_row_is_judged(run):
    answers = [[0.67, 0.33], [0.5, 0.5], [0.66, 0.33], [0, 1]]
    assert run(numbers(), answers)["judged"] == [
        {"right": True, "message": "Right."},
        {"right": False, "message": HALF},
        {"right": False, "message": "Not yet: first is too small, second is right."},
        {"right": False, "message": "Not yet: first is too small, second is too large."},
    ]


def test_one_number_is_judged_without_a_name(run):
    judged = run(number(), [[1034], [1034.1], [64], [0]])["judged"]
    assert [each["right"] for each in judged] == [True, False, False, False]
    assert [each["message"] for each in judged[1:]] == [
        "Not yet: it is too large.",
        "That forgets the batch.",
        "Not yet: it is too small.",
    ]


def test_a_choice_is_right_or_a_known_mistake(run):
    judged = run(choice(), ["(1, 5, 3)", "(1, 7, 3)", "(1, 5, 7)"])["judged"]
    assert [each["message"] for each in judged] == [
        "Right.",
        "`num_keys` is summed over.",
        "Values have size 3.",
    ]


def test_an_answer_is_rounded_to_the_tolerance(run):
    assert run(numbers(), [[2 / 3, -0.0001]])["formatted"] == ["0.667, 0"]
    assert run(number(), [[-1024.4]])["formatted"] == ["−1024"]
