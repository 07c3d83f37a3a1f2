"""What the page makes of a translation's scores: against PyTorch, at every step."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from attnbook.figures import AlignmentFigure
from tests.figures.alignment.cases import (
    CASES,
    expected_facts,
    expected_sentence,
    figure_of,
    translated,
)
from tests.figures.attention.cases import traits
from tests.figures.shared.node import in_node, with_fault, written

CLOSE = 1e-12  # the contract asks for 1e-6
# Runs the figure's own module: every step of every text. JSON in, JSON out.
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, states, characters, names } = JSON.parse(readFileSync(0, "utf-8"));
const page = await import(module);
const told = (shown) => {
    const weights = page.alignmentOf(shown);
    const shades = [...page.cellsByShade(weights)];
    return {
        weights, shades, boxes: page.goldBoxes(shown), wrong: page.wrongSteps(shown),
        name: page.optionName(shown), rightToLeft: page.isRightToLeft(shown.text),
        nothing: shown.output.length ? "" : page.sentence(shown, weights, 0),
        steps: weights.map((row, step) => {
            const span = page.goldOf(shown, step);
            return {
                span, peak: page.peakOf(shown.scores[step]),
                inside: span && page.weightInside(row, span),
                sentence: page.sentence(shown, weights, step),
            };
        }),
    };
};
process.stdout.write(JSON.stringify({
    states: states.map((translations) => translations.map(told)),
    visible: characters.map(page.visible),
    columns: [1, 20, 21, 36, 40, 41, 256].map((count) => page.columnsFor(count, 20)),
    names: Object.keys(page),
}));
"""
CHARACTERS = {"a": "a", " ": "␣", "\u202f": "␣", "\u05b0": "◌\u05b0", "\u200f": "◦", "年": "年"}
each_case = pytest.mark.parametrize("case", CASES)


def run(module: str, folder: Path, states: list) -> dict:
    task = {"states": states, "characters": list(CHARACTERS)}
    return in_node(PROGRAM, written(module, folder), **task)


@pytest.fixture(scope="module")
def states():
    return {case: traits(figure_of(case))["translations"] for case in CASES}


@pytest.fixture(scope="module")
def answers(tmp_path_factory, states):
    """What the shipped file makes of each case."""
    folder = tmp_path_factory.mktemp("shipped")
    return run(str(AlignmentFigure._esm), folder, list(states.values()))


def of_case(answers: dict, case: str) -> list[dict]:
    return answers["states"][list(CASES).index(case)]


def shades_of(rows: list[list[float]]) -> dict[int, list[list[int]]]:
    """The cells [character, step] of each shade, in 1/100."""
    found: dict[int, list[list[int]]] = {}
    for step, row in enumerate(rows):
        for i, weight in enumerate(row):
            if weight >= 0.005:
                found.setdefault(math.floor(100 * weight + 0.5), []).append([i, step])
    return found


def boxes_of(case: str, date: int, count: int) -> list[dict]:
    """Where the heatmap's outlines stand."""
    dated = translated(case)[0][date]
    if isinstance(dated, str):
        return []
    steps = {"year": (0, 4), "month": (5, 7), "day": (8, 10)}
    return [
        {
            "field": field,
            "x": start,
            "width": end - start,
            "y": steps[field][0],
            "height": min(count, steps[field][1]) - steps[field][0],
        }
        for field, (start, end) in dated.spans.items()
        if steps[field][0] < count
    ]


def same(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=CLOSE, abs_tol=CLOSE)


def wrong(case: str, states: list[dict], shown: list[dict]) -> list[str]:
    """Where the page differs from the model and the texts."""
    found = []
    for date, (state, page) in enumerate(zip(states, shown, strict=True)):
        translation = translated(case)[1][date]
        count = len(translation.output)
        assert len(page["steps"]) == count
        model = translation.weights.double().reshape(count, len(translation.text))
        weights = torch.tensor(page["weights"], dtype=torch.float64).reshape(model.shape)
        if not torch.allclose(weights, model, rtol=0, atol=1e-5):
            found.append(f"date {date}: the model's weights")
        expected = state["expected"]
        facts = [expected_facts(case, date, step, state["scores"]) for step in range(count)]
        ours = {
            "wrong": [
                step
                for step, character in enumerate(translation.output)
                if expected and expected[step : step + 1] != character
            ],
            "shades": sorted(shades_of([each["weights"] for each in facts]).items()),
            "boxes": boxes_of(case, date, count),
        }
        page["shades"] = sorted((shade, cells) for shade, cells in page["shades"])
        found += [f"date {date}: {name}" for name, value in ours.items() if page[name] != value]
        for step, (fact, told) in enumerate(zip(facts, page["steps"], strict=True)):
            row = page["weights"][step]
            ours = {
                "weights": row == pytest.approx(fact["weights"], rel=CLOSE, abs=CLOSE),
                "span": told["span"] == (list(fact["span"]) if fact["span"] else None),
                "peak": told["peak"] == fact["peak"],
                "inside": same(told["inside"], fact["inside"]),
                "sentence": told["sentence"] == expected_sentence(fact, step),
            }
            found += [
                f"date {date}, step {step}: {name}" for name, right in ours.items() if not right
            ]
    return found


@each_case
def test_every_step_of_every_text_is_the_models(answers, states, case):
    assert wrong(case, states[case], of_case(answers, case)) == []


def test_the_sentence_of_a_step_is_as_written_by_hand(answers):
    date = [date.locale for date in translated("book")[0]].index("de")
    said = [step["sentence"] for step in of_case(answers, "book")[date]["steps"]]
    assert said[6].startswith('Step 6 writes "3", a digit of the month. The peak is on "')
    assert said[6].endswith(" of the weight lies inside.")
    assert ", inside the gold span; " in said[6]
    assert said[4].startswith('Step 4 writes "-", a hyphen: no gold span. The peak is on "')
    assert of_case(answers, "nothing")[0]["nothing"] == "The model wrote nothing for this text."


def test_a_wrong_character_is_said_to_be_wrong(answers):
    page = of_case(answers, "failing")[0]
    assert page["wrong"]
    for step in page["wrong"]:
        wanted = "1453-05-29"[step]
        assert f'" where "{wanted}" is expected, a digit of' in page["steps"][step]["sentence"]
    rest = [one["sentence"] for i, one in enumerate(page["steps"]) if i not in page["wrong"]]
    assert not any("expected" in sentence for sentence in rest)


def test_only_hebrew_is_read_from_right_to_left(answers):
    shown = zip(translated("book")[0], of_case(answers, "book"), strict=True)
    assert [date.locale for date, page in shown if page["rightToLeft"]] == ["he"]


def test_a_text_is_named_by_its_language_and_keeps_its_direction(answers):
    names = [page["name"] for page in of_case(answers, "book")]
    assert names[1] == "de: \u20689. März 1987\u2069"
    assert of_case(answers, "readers")[1]["name"] == "\u2068three\u2069"


def test_characters_that_cannot_be_seen_have_a_sign(answers):
    assert answers["visible"] == list(CHARACTERS.values())


def test_rows_of_columns_are_even(answers):
    # 1, 20, 21, 36, 40, 41 and 256 characters, at most 20 in a row
    assert answers["columns"] == [1, 20, 11, 18, 20, 14, 20]


def test_the_module_hides_the_drawing_from_anywidget(answers):
    assert "render" not in answers["names"]


MUTANTS = {
    "the softmax runs over the steps": (
        "scores.map((row) => maskedSoftmax(row, row.length))",
        "scores.map((row, t) => row.map((_, i) => "
        "maskedSoftmax(scores.map((r) => r[i]), scores.length)[t]))",
    ),
    "the last character is padding": (
        "maskedSoftmax(row, row.length)",
        "maskedSoftmax(row, row.length - 1)",
    ),
    "of several peaks the last wins": ("score > scores[best]", "score >= scores[best]"),
    "the peak is of another step": (
        "const peak = peakOf(shown.scores[step]);",
        "const peak = peakOf(shown.scores[Math.max(0, step - 1)]);",
    ),
    "the span is of another step": ("spans[fields[step]]", "spans[fields[step + 1]]"),
    "the span ends one later": ("weights.slice(start, end)", "weights.slice(start, end + 1)"),
    "the span starts one later": ("weights.slice(start, end)", "weights.slice(start + 1, end)"),
    "the end is inside": ("peak < gold[1]", "peak <= gold[1]"),
    "the start is outside": ("gold[0] <= peak", "gold[0] < peak"),
    "what is right is wrong": ("character !== wanted[step]", "character === wanted[step]"),
    "strings are expected to be empty": ("expected && character !==", "character !=="),
    "a longer output is right": ("wanted[step] ? [step]", "wanted[step] && wanted[step] ? [step]"),
    "steps and characters change places": (".push([i, step])", ".push([step, i])"),
    "small weights have a shade": ("Math.round(100 * weight)", "Math.ceil(100 * weight)"),
    "a box is a step too short": ("last - first + 1", "last - first"),
    "a box is too wide": ("width: end - start", "width: end - start + 1"),
    "a hyphen is a digit": ('output[step] === "-" ? ", a hyphen" : ""', '""'),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_these_tests_notice_that(tmp_path, states, mutant):
    cases = ("book", "failing", "wordy", "strings")
    answers = run(
        with_fault(AlignmentFigure, MUTANTS[mutant]), tmp_path, [states[case] for case in cases]
    )
    pages = zip(cases, answers["states"], strict=True)
    assert [w for case, shown in pages for w in wrong(case, states[case], shown)]
