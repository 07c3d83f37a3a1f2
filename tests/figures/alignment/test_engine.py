"""Pure functions of the alignment figure's page; a browser reads its numbers."""

from __future__ import annotations

import pytest

from attnbook.figures import AlignmentFigure
from tests.figures.shared.node import ask_module

PROGRAM = """
return {
    visible: characters.map(figure.visible),
    columns: counts.map((count) => figure.columnsFor(count, 20)),
    sides: [[0, 1], [1, 2], [2, 3]].map((day) => figure.sentence({
        text: [..."abc"], output: ["1"], expected: "1", fields: ["day"], spans: { day },
    }, [[0.25, 0.5, 0.25]], 0)),
    written: ["-1", "--", "07"].map(([output, expected], i) => figure.sentence({
        text: ["a"], output: [output], expected, fields: [i ? "" : "day"], spans: {},
    }, [[1]], 0)),
};
"""
CHARACTERS = {"a": "a", " ": "␣", "\u202f": "␣", "\u05b0": "◌\u05b0", "\u200f": "◦", "年": "年"}
# At most 20 in a row, and rows of one length.
COLUMNS = {1: 1, 20: 20, 21: 11, 36: 18, 40: 20, 41: 14, 256: 20}


@pytest.fixture(scope="module")
def answers():
    return ask_module(AlignmentFigure, PROGRAM, characters=list(CHARACTERS), counts=list(COLUMNS))


def test_invisible_characters_have_a_sign(answers):
    assert dict(zip(CHARACTERS, answers["visible"], strict=True)) == CHARACTERS


def test_rows_of_columns_are_even(answers):
    assert dict(zip(COLUMNS, answers["columns"], strict=True)) == COLUMNS


def test_the_sentence_reports_peaks_before_inside_and_after_a_span(answers):
    start = "Step 0: to write “1”, a digit of the day, it attended to "
    start += "“b” at 1 (50 %), “a” at 0 (25 %) and “c” at 2 (25 %). The largest weight is "
    assert answers["sides"] == [
        f"{start}outside the bracket; 0.250 of the weight lies inside.",
        f"{start}inside the bracket; 0.500 of the weight lies inside.",
        f"{start}outside the bracket; 0.250 of the weight lies inside.",
    ]


def test_the_sentence_reports_what_was_expected_and_hyphens(answers):
    start, end = "Step 0: to write ", ", it attended to “a” at 0 (100 %)."
    assert answers["written"] == [
        f"{start}“-” where “1” is expected, in the day{end}",
        f"{start}“-”, a hyphen without a bracket{end}",
        f"{start}“0” where “7” is expected without a bracket{end}",
    ]
