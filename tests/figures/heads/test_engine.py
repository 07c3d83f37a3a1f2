"""The model in the page against the decoder: weights, guesses, snapshots and knock-outs."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.packing import decoder_of, steps_of
from attnbook.figures.heads.reading import counted, foreseen
from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.transformer.removal import without_heads
from attnbook.position import sinusoidal_encoding
from tests.figures.heads.engine import follow, words
from tests.figures.shared.node import with_fault
from tools.models.decoders import lines

CLOSE = 1e-5
TEXTS = [line.text for line in lines("test")]  # what `make grade` grades
LENGTHS = ["a", "pa", "abcabcab", "abcdefgh" * 4]
HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]]
REMOVALS = [[], *([head] for head in HEADS)]
PLACES = range(len(steps_of("copying")))
MODULE = str(HeadsFigure._esm)


def triangle(square):
    return square[torch.ones_like(square, dtype=torch.bool).tril()]


def disagreements(read, texts, step, removals, name="copying"):
    """Texts of which the page says something else than the decoder in double precision."""
    decoder, wrong = decoder_of(name, step), []
    for r, removed in enumerate(removals):
        with without_heads(decoder, [tuple(head) for head in removed]):
            expected = decoder.follow(texts)
        for page, truth in zip(read[r * len(texts) :], expected, strict=False):
            found, squares = torch.stack(page.weights), truth.weights.flatten(0, 1)
            same = torch.stack([triangle(square) for square in squares])
            chances = truth.probabilities.amax(-1)
            if (
                page.guesses != truth.guesses
                or not torch.allclose(found, same, rtol=0, atol=CLOSE)
                or not torch.allclose(page.chances, chances, rtol=0, atol=CLOSE)
            ):
                wrong.append((truth.text, removed))
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_the_page_reads_every_test_text_as_the_decoder_does(tmp_path, place):
    step = steps_of("copying")[place]
    read = follow(MODULE, tmp_path, "copying", step, TEXTS, REMOVALS)
    assert len(read) == len(TEXTS) * len(REMOVALS) == 5000
    assert disagreements(read, TEXTS, step, REMOVALS) == []
    single = book_decoder("copying", step)
    for r, removed in enumerate(REMOVALS):
        with without_heads(single, [tuple(head) for head in removed]):
            expected = [reading.guesses for reading in single.follow(TEXTS)]
        assert [page.guesses for page in read[len(TEXTS) * r : len(TEXTS) * (r + 1)]] == expected


@pytest.mark.parametrize("place", [0, -1])
def test_texts_of_all_lengths_are_read_alike_with_any_heads_away(tmp_path, place):
    step = steps_of("copying")[place]
    removals = [*REMOVALS, HEADS[2:], HEADS]
    texts = LENGTHS + TEXTS[:6]
    read = follow(MODULE, tmp_path, "copying", step, texts, removals)
    assert disagreements(read, texts, step, removals) == []


FAULTS = {
    "scores are not scaled": ("0) / scale", "0)"),
    "all heads have one share": ("slice(head * size, (head + 1) * size)", "slice(0, size)"),
    "positions begin at 1": ("sinusoidal(position, num", "sinusoidal(position + 1, num"),
    "sine and cosine change places": ("i % 2 ? Math.cos", "i % 2 === 0 ? Math.cos"),
    "the residual is lost": ("return plus(vector, times", "return plus([...vector].fill(0), times"),
    "no head is ever taken away": ("if (!gone)", "if (!gone || true)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_model_that_reads_otherwise_would_be_noticed(tmp_path, fault):
    step = steps_of("copying")[-1]
    module = with_fault(HeadsFigure, fault)
    read = follow(module, tmp_path, "copying", step, TEXTS[:3], REMOVALS)
    assert disagreements(read, TEXTS[:3], step, REMOVALS)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    return lambda **asked: words(MODULE, tmp_path_factory.mktemp("heads"), **asked)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "Type at least one symbol, from a to p."),
        ("abq", "The model knows the symbols a to p, and no “q”."),
        (" ", "Type at least one symbol, from a to p."),
        ("A Z", "The model knows the symbols a to p, and no “Z”."),
        ("aİ", "The model knows the symbols a to p, and no “İ”."),
        ("a😀", "The model knows the symbols a to p, and no “😀”."),
        ("a" * 33, "The figure shows at most 32 symbols, these are 33."),
        ("a " * 33, "The figure shows at most 32 symbols, these are 33."),
        ("a " * 32, ""),
        ("a" * 32, ""),
        ("p", ""),
    ],
)
def test_what_cannot_be_read_gets_a_sentence(said, typed, told):
    assert said(typed=[typed])["refused"] == [told]


def test_blanks_are_passed_over_and_capitals_are_small_letters(said):
    found = said(typed=["d k a f c d k", "ABCD", " a\tB\u00a0c "])
    assert found["read"] == ["dkafcdk", "abcd", "abc"]
    assert found["refused"] == ["", "", ""]


def test_positions_that_training_never_had_are_told(said):
    told = "It was trained on 24 symbols at a time: positions from 24 on are new to it."
    assert said(typed=["a" * 24, "a" * 25])["warned"] == ["", told]


def test_page_and_python_foresee_the_same_symbols(said):
    texts = LENGTHS + TEXTS
    assert said(texts=texts)["foreseen"] == [foreseen(text) for text in texts]


COUNTS = [
    ["abcabcab", "bcabcabc", "bcabcabc", []],
    ["abcabcab", "bcaacaba", "bcabcabc", [[0, 1], [1, 0]]],
    ["abcab", "aaaaa", "aaaaa", []],
    ["abc", "aaa", "aaa", [[1, 1]]],
    ["abcabcab", "bcabcabc", "bcabcabc", [[0, 0], [0, 1], [1, 0]]],
    ["abcabcab", "bcabcabc", "bcabcabc", HEADS],
]


def test_page_and_python_count_alike(said):
    assert said(counts=COUNTS)["counted"] == [counted(*given) for given in COUNTS]


def test_only_what_can_be_foreseen_is_right_or_wrong(said):
    # the first b, the first c and the second a are hit, and nobody could know them
    found = said(counts=[["abcabcab", "bcaacaba", "", []]])["verdicts"]
    assert found == [["", "", "", "wrong", "right", "right", "right", ""]]


def test_sinusoids_are_those_of_the_layer(said):
    found = torch.tensor(said(positions=[*range(32)], size=7)["sinusoids"], dtype=torch.float64)
    expected = sinusoidal_encoding(32, 7, dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)


def test_the_module_exports_what_is_tested_and_never_render(said):
    names = said()["names"]
    assert {"default", "follow", "opened", "refusal", "foreseen"} <= {*names}
    assert "render" not in names
