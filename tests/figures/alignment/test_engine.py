"""Pure functions of the alignment figure's page; a browser reads its numbers."""

from __future__ import annotations

import pytest

from attnbook.figures import AlignmentFigure
from tests.figures.shared.node import run_in_node, write_module

PROGRAM = """
import { readFileSync } from "node:fs";
const { module, characters, counts } = JSON.parse(readFileSync(0, "utf-8"));
const page = await import(module);
process.stdout.write(JSON.stringify({
    visible: characters.map(page.visible),
    columns: counts.map((count) => page.columnsFor(count, 20)),
    sides: [[0, 1], [1, 2], [2, 3]].map((day) => page.sentence({
        text: [..."abc"], output: ["1"], expected: "1", fields: ["day"], spans: { day },
        scores: [[0, 3, 3]],
    }, [[0.25, 0.5, 0.25]], 0)),
}));
"""
CHARACTERS = {"a": "a", " ": "␣", "\u202f": "␣", "\u05b0": "◌\u05b0", "\u200f": "◦", "年": "年"}
# At most 20 in a row, and rows of one length.
COLUMNS = {1: 1, 20: 20, 21: 11, 36: 18, 40: 20, 41: 14, 256: 20}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    module = write_module(str(AlignmentFigure._esm), tmp_path_factory.mktemp("alignment"))
    return run_in_node(PROGRAM, module, characters=list(CHARACTERS), counts=list(COLUMNS))


def test_invisible_characters_have_a_sign(answers):
    assert dict(zip(CHARACTERS, answers["visible"], strict=True)) == CHARACTERS


def test_rows_of_columns_are_even(answers):
    assert dict(zip(COLUMNS, answers["columns"], strict=True)) == COLUMNS


def test_the_sentence_reports_peaks_before_inside_and_after_a_span(answers):
    start = 'Step 0 writes "1", a digit of the day. The peak is on "b", '
    assert answers["sides"] == [
        f"{start}outside the gold span; 0.250 of the weight lies inside.",
        f"{start}inside the gold span; 0.500 of the weight lies inside.",
        f"{start}outside the gold span; 0.250 of the weight lies inside.",
    ]
