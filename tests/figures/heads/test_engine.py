"""The heads figure's sentences of a text; a browser reads what its model computes."""

from __future__ import annotations

import pytest

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.reading import describe_count, predictable
from tests.figures.shared.node import ask_module
from tools.models.decoders import lines

PROGRAM = """
return {
    refused: typed.map((text) => figure.refusal(text, "abcdefghijklmnop")),
    predictable: texts.map(figure.predictable),
    counted: counts.map((given) => figure.describeCount(...given)),
    read: typed.map(figure.readTyped),
};
"""
TEXTS = ["a", "pa", "abcabcab", "abcdefgh" * 4, *(line.text for line in lines("test"))]
HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]]
REFUSED = {
    "": "Type at least one token, from a to p.",
    "abq": "The model knows only the tokens a to p, not “q”.",
    " ": "Type at least one token, from a to p.",
    "A Z": "The model knows only the tokens a to p, not “Z”.",
    "aİ": "The model knows only the tokens a to p, not “İ”.",
    "a😀": "The model knows only the tokens a to p, not “😀”.",
    "a" * 33: "The figure shows at most 32 tokens, but there are 33.",
    "a " * 33: "The figure shows at most 32 tokens, but there are 33.",
    "a " * 32: "",
    "a" * 32: "",
    "p": "",
}
READ = {"d k a f c d k": "dkafcdk", "ABCD": "abcd", " a\tB\u00a0c ": "abc"}
COUNTS = [
    ["abcabcab", "bcabcabc", "bcabcabc", []],
    ["abcabcab", "bcaacaba", "bcabcabc", [[0, 1], [1, 0]]],
    ["abcab", "aaaaa", "aaaaa", []],
    ["abc", "aaa", "aaa", [[1, 1]]],
    ["abcabcab", "bcabcabc", "bcabcabc", [[0, 0], [0, 1], [1, 0]]],
    ["abcabcab", "bcabcabc", "bcabcabc", HEADS],
]


@pytest.fixture(scope="module")
def answers():
    """The page's answers to all inputs of these tests."""
    typed = [*REFUSED, *READ]
    return ask_module(HeadsFigure, PROGRAM, typed=typed, texts=TEXTS, counts=COUNTS)


def test_a_text_that_cannot_be_read_gets_a_message(answers):
    found = answers["refused"]
    assert dict(zip(REFUSED, found, strict=False)) == REFUSED
    assert {*found[len(REFUSED) :]} == {""}


def test_blanks_are_skipped_and_capitals_become_small_letters(answers):
    found = answers["read"][len(REFUSED) :]
    assert dict(zip(READ, found, strict=True)) == READ


def test_the_page_finds_the_same_predictable_symbols_and_counts_as_python(answers):
    assert answers["predictable"] == [predictable(text) for text in TEXTS]
    assert answers["counted"] == [describe_count(*given) for given in COUNTS]
