"""What the heads figure's page says of a text; what its model computes is read in a browser."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.reading import describe_count, predictable
from attnbook.position import sinusoidal_encoding
from tests.figures.shared.node import in_node, written
from tools.models.decoders import lines

PROGRAM = """
import { readFileSync } from "node:fs";
const task = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(task.module);
process.stdout.write(JSON.stringify({
    refused: task.typed.map((text) => figure.refusal(text, "abcdefghijklmnop")),
    warned: task.typed.map((text) => figure.warning(text, 24)),
    predictable: task.texts.map(figure.predictable),
    counted: task.counts.map((given) => figure.describe_count(...given)),
    verdicts: task.counts.map(([text, guesses]) => Array.from(
        text, (_, i) => figure.verdictOn({ text, guesses }, i))),
    read: task.typed.map(figure.symbolsOf),
    sinusoids: task.positions.map((position) => figure.sinusoidal(position, 7)),
}));
"""
TEXTS = ["a", "pa", "abcabcab", "abcdefgh" * 4, *(line.text for line in lines("test"))]
HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]]
REFUSED = {
    "": "Type at least one symbol, from a to p.",
    "abq": "The model knows the symbols a to p, and no “q”.",
    " ": "Type at least one symbol, from a to p.",
    "A Z": "The model knows the symbols a to p, and no “Z”.",
    "aİ": "The model knows the symbols a to p, and no “İ”.",
    "a😀": "The model knows the symbols a to p, and no “😀”.",
    "a" * 33: "The figure shows at most 32 symbols, these are 33.",
    "a " * 33: "The figure shows at most 32 symbols, these are 33.",
    "a " * 32: "",
    "a" * 32: "",
    "p": "",
}
READ = {"d k a f c d k": "dkafcdk", "ABCD": "abcd", " a\tB\u00a0c ": "abc"}
WARNED = {
    "a" * 24: "",
    "a" * 25: "It was trained on 24 symbols at a time: positions from 24 on are new to it.",
}
COUNTS = [
    ["abcabcab", "bcabcabc", "bcabcabc", []],
    ["abcabcab", "bcaacaba", "bcabcabc", [[0, 1], [1, 0]]],
    ["abcab", "aaaaa", "aaaaa", []],
    ["abc", "aaa", "aaa", [[1, 1]]],
    ["abcabcab", "bcabcabc", "bcabcabc", [[0, 0], [0, 1], [1, 0]]],
    ["abcabcab", "bcabcabc", "bcabcabc", HEADS],
]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What the page says of all that is asked here."""
    module = written(str(HeadsFigure._esm), tmp_path_factory.mktemp("heads"))
    typed = [*REFUSED, *READ, *WARNED]
    return in_node(PROGRAM, module, typed=typed, texts=TEXTS, counts=COUNTS, positions=[*range(32)])


def test_what_cannot_be_read_gets_a_sentence(said):
    found = said["refused"]
    assert dict(zip(REFUSED, found, strict=False)) == REFUSED
    assert {*found[len(REFUSED) : -len(WARNED)]} == {""}


def test_blanks_are_passed_over_and_capitals_are_small_letters(said):
    found = said["read"][len(REFUSED) : -len(WARNED)]
    assert dict(zip(READ, found, strict=True)) == READ


def test_positions_that_training_never_had_get_a_warning(said):
    assert said["warned"][-len(WARNED) :] == [*WARNED.values()]


def test_page_and_python_predict_the_same_symbols_and_count_alike(said):
    assert said["predictable"] == [predictable(text) for text in TEXTS]
    assert said["counted"] == [describe_count(*given) for given in COUNTS]


def test_only_what_can_be_predicted_is_right_or_wrong(said):
    # the first b, the first c and the second a are hit, and nobody could know them
    expected = ["", "", "", "wrong", "right", "right", "right", ""]
    assert said["verdicts"][1] == expected


def test_sinusoids_are_those_of_the_layer(said):
    found = torch.tensor(said["sinusoids"], dtype=torch.float64)
    expected = sinusoidal_encoding(32, 7, dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
