"""The translator figure's sentences of a text; a browser reads what it computes."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures import TranslatorFigure
from attnbook.figures.translator.packing import translator_of
from attnbook.figures.translator.reading import (
    certainty,
    compute_stored,
    is_date,
    objection,
    read,
    verdict,
)
from attnbook.models.translator.interventions import without
from tests.figures.shared.node import ask_module
from tools.models.checkpoints import RECIPES
from tools.models.grade import MAIN, make_later_dates

PROGRAM = """
const reading = ([text, hidden, output]) => ({ text: [...text], hidden, output: [...output] });
return {
    visible: characters_seen.map(figure.visible),
    columns: counts.map((count) => figure.columnsFor(count, 20)),
    read: typed.map((text) => figure.textOf(text, characters)),
    refused: typed.map((text) => figure.refusal(text, characters)),
    verdicts: answers.map((given) => figure.verdict(reading(given), [...given[3]])),
    dates: dates.map(figure.isDate),
    certainties: certainties.map(([output, probabilities]) => [
        figure.certainty({ probabilities }), figure.objection({ output: [...output] })]),
    without: rows.map(([weights, hidden]) => figure.without(weights, hidden)),
    stored: stored.map((shown) => figure.readingOf(shown).weights),
    steps: steps.map(([given, step]) => figure.describeStep(
        { ...given, text: [...given.text], output: [...given.output] }, step)),
};
"""
UNKNOWN = "The model does not know {}: no date that it learned from contains that."
REFUSED = {
    "": "Type a date, as people write it.",
    " \t\u00a0": "Type a date, as people write it.",
    "9. März 1987": "",
    "9! März": UNKNOWN.format("“!”"),
    "9\u200dB\u0301": UNKNOWN.format("“◦”, “B” and “◌\u0301”"),
    "😀9": UNKNOWN.format("“😀”"),
    "!?%&!": UNKNOWN.format("“!”, “?”, “%” and 1 more"),
    "1" * 65: "The figure takes at most 64 characters, but there are 65.",
    "1" * 64: "",
    f" {'1' * 64} ": "",
}
READ = {"9. Ma\u0308rz 1987 ": "9. März 1987", "9\t9": "9 9", "9\u20099": "9 9"}
ANSWERS = [
    ["9. März 1987", [], "1987-03-09", "1987-03-09"],
    ["9. März 1987", [3, 4, 5, 6], "1987-09-09", "1987-03-09"],
    ["9. März 1987", [0, 3, 4, 11], "1987-03-09", "1987-03-09"],
    ["9. März 1987", [1, 2], "1987-03-09", "1987-03-09"],
    ["9. März 1987", [0, 2, 4, 5, 7], "1987-02-09", "1987-03-09"],
    ["9. März 1987", [*range(12)], "", "1987-03-09"],
    ["9", [0], "1", "1"],
    ["9", [], "", ""],
]


BY_HAND = [
    "It writes 1987-03-09.",
    "Without “März” it writes 1987-09-09 instead of 1987-03-09.",
    "Without “9”, “Mä” and “7” it still writes 1987-03-09.",
    "Without “. ” it still writes 1987-03-09.",
    "Without 5 of its characters it writes 1987-02-09 instead of 1987-03-09.",
    "With nothing left to attend to it writes nothing instead of 1987-03-09.",
]
ROWS = [
    [[0.5, 0.25, 0.25], []],
    [[0.5, 0.25, 0.25], [0]],
    [[0.2, 0.3, 0.5], [2, 0]],
    [[0.5, 0.5], [0, 1]],
    [[1.0, 0.0], [0]],
    [[1.0, 1e-320], [0]],
]


NOTHING_LEFT = "nothing was left to attend to"
STEP = {
    "text": "9 m",
    "output": "12",
    "weights": [[0.25, 0.5, 0.25], [0, 0, 0]],
    "probabilities": [0.9, 1],
}
STEPS = [
    (
        STEP,
        0,
        "Step 0: to write “1” (probability 0.900) it attended to "
        "“␣” at 1 (50 %), “9” at 0 (25 %) and “m” at 2 (25 %).",
    ),
    (STEP, 1, f"Step 1: to write “2” (probability above 0.999) {NOTHING_LEFT}: its context is 0."),
    (STEP | {"output": "", "weights": []}, 0, "The model wrote nothing for this text."),
]
HIDDEN = [3, 8]
# Every day from 0 to 32 of every month from 0 to 13, in years with and without a leap day.
DATES = [
    *(f"{y}-{m:02}-{d:02}" for y in (1900, 2000, 2023, 2024) for m in range(14) for d in range(33)),
    *("", "2024-2-29", "2024-02-290", "0000-01-01", "0001-01-01", "--", "20240229", "2024-W09-4"),
]
CHARACTERS = {"a": "a", " ": "␣", "\u202f": "␣", "\u05b0": "◌\u05b0", "\u200f": "◦", "年": "年"}
# At most 20 in a row, and rows of one length.
COLUMNS = {1: 1, 20: 20, 21: 11, 36: 18, 40: 20, 41: 14, 256: 20}
CERTAINTIES = [("2023-02-31", [0.9, 0.5, 0.5]), ("2024-02-29", [1e-3, 0.49]), ("", [0.25])]


@pytest.fixture(scope="module")
def graded():
    """All dates that `make grade` grades: the test dates, and those that were drawn later."""
    return [date.text for date in (*RECIPES[MAIN].dates().test, *make_later_dates(RECIPES[MAIN]))]


@pytest.fixture(scope="module")
def answers(graded):
    """The page's answers to all inputs of these tests."""
    return ask_module(
        TranslatorFigure,
        PROGRAM,
        characters=translator_of(MAIN).source.characters,
        characters_seen=[*CHARACTERS],
        counts=[*COLUMNS],
        typed=[*REFUSED, *READ, *graded],
        answers=ANSWERS,
        rows=ROWS,
        dates=DATES,
        certainties=CERTAINTIES,
        stored=[compute_stored(MAIN, "9. März 1987", HIDDEN)],
        steps=[[given, step] for given, step, _ in STEPS],
    )


def test_invisible_characters_have_a_sign_and_rows_of_columns_are_even(answers):
    assert answers["visible"] == [*CHARACTERS.values()]
    assert answers["columns"] == [*COLUMNS.values()]


def test_a_text_that_cannot_be_read_gets_a_message_and_graded_dates_get_none(answers):
    assert dict(zip(REFUSED, answers["refused"], strict=False)) == REFUSED
    assert {*answers["refused"][len(REFUSED) :]} == {""}


def test_letters_are_composed_and_blanks_are_those_of_the_model(answers, graded):
    found = answers["read"][len(REFUSED) :]
    assert found == [*READ.values(), *graded]


def test_the_page_gives_the_verdicts_of_python(answers):
    assert answers["verdicts"] == [verdict(*answer) for answer in ANSWERS]
    assert answers["verdicts"][: len(BY_HAND)] == BY_HAND


def test_the_page_shares_hidden_weight_like_python(answers):
    found = answers["without"]
    assert found[1] == [0, 0.5, 0.5]  # by hand
    assert found[3] == [0, 0]
    for (weights, hidden), shares in zip(ROWS, found, strict=True):
        mask = torch.tensor([i in hidden for i in range(len(weights))])
        expected = without(torch.tensor(weights, dtype=torch.float64), mask)
        assert shares == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-300)


def test_stored_weights_are_close_to_those_of_the_model(answers):
    found = torch.tensor(answers["stored"][0], dtype=torch.float64)
    expected = read(MAIN, "9. März 1987", HIDDEN).weights
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-3)


def test_the_page_finds_the_same_dates_and_probabilities_as_python(answers):
    assert answers["dates"] == [is_date(text) for text in DATES]
    assert sum(answers["dates"]) == 365 + 366 + 365 + 366 + 1
    assert answers["certainties"] == [[certainty(p), objection(text)] for text, p in CERTAINTIES]
    assert answers["certainties"] == [
        ["Probability of this output: 0.225.", "2023-02-31 is not a real date."],
        ["Probability of this output: below 0.001.", ""],
        ["Probability of this output: 0.250.", "nothing is not a real date."],
    ]


def test_a_step_has_a_sentence_with_its_character_and_peak(answers):
    assert answers["steps"] == [sentence for *_, sentence in STEPS]
