"""The heads figure's Python half: its refusals, its traits and its text."""

from __future__ import annotations

import json
import re

import pytest
import torch

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.reading import predictable, score
from attnbook.figures.tokens.packing import arrays, pack_model, steps_of
from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.transformer.removal import without_heads
from tests.figures.shared.trained import unpack

STEPS = steps_of("copying")
TEXT = "gbdkafcdkafcdkafcd"


@pytest.mark.parametrize("removed", [[], [(0, 1)], [(1, 0), (1, 1)]])
def test_the_reading_is_that_of_the_decoder_without_these_heads(removed):
    figure = HeadsFigure(text="abcdabcdab", step=STEPS[-2], removed=removed)
    decoder = book_decoder("copying", STEPS[-2])
    with without_heads(decoder, removed):
        (expected,) = decoder.follow(["abcdabcdab"])
    assert figure.reading.guesses == expected.guesses == figure.shown["guesses"]
    torch.testing.assert_close(figure.reading.weights.float(), expected.weights)
    for layer, heads in enumerate(figure.shown["scores"]):
        for head, rows in enumerate(heads):
            for query, row in enumerate(rows):
                weights = torch.tensor(row).softmax(-1)
                expected_row = expected.weights[layer, head, query, : query + 1]
                torch.testing.assert_close(weights, expected_row, rtol=0, atol=1e-3)


def test_the_heads_and_the_embedding_add_up_to_the_score():
    figure, decoder = HeadsFigure(text="cabcabca"), book_decoder("copying").double()
    tokens, _ = decoder.read_lines([figure.text])
    with torch.no_grad():
        direct = decoder.output(decoder.embed(tokens))[0, :, 3:]
        whole = decoder(tokens)[0, :, 3:]
    added = []
    for focus in ([0, 0], [0, 1], [1, 0], [1, 1]):
        figure.focus = focus
        added.append(torch.tensor(figure.shown["added"], dtype=torch.float64))
    torch.testing.assert_close(direct + sum(added), whole, rtol=0, atol=1e-3)


def test_a_removed_head_adds_nothing():
    figure = HeadsFigure(focus=(1, 0), removed=[(1, 0)])
    assert {number for row in figure.shown["added"] for number in row} == {0}


def test_packed_weights_equal_those_of_the_checkpoint():
    model = pack_model("copying")
    names = [name for name, _ in model["arrays"]]
    assert names == [
        "embedding",
        *(f"{layer}.{part}" for layer in (0, 1) for part in ("W_q", "W_k", "W_v", "W_o")),
        "output",
    ]
    assert model["steps"] == STEPS
    assert len(STEPS) == 7
    for step, data in zip(STEPS, model["data"], strict=True):
        own, sent = dict(arrays(book_decoder("copying", step))), unpack(model["arrays"], data)
        assert all(torch.equal(part, own[name]) for name, part in sent.items())
    assert json.loads(json.dumps(model)) == model


def test_traits_can_be_set_together():
    figure = HeadsFigure()
    figure.set_state({"text": "ab", "query": 1, "removed": [[1, 1], [0, 0]]})
    assert (figure.text, figure.query, figure.removed) == ("ab", 1, [[0, 0], [1, 1]])
    figure.set_state({"text": "abcabc", "query": 5})
    assert (figure.query, figure.shown["text"]) == (5, "abcabc")
    figure.text = "abc"
    assert figure.query == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcab", [4]),  # the second a is followed by the same as the first
        ("aaaa", [2, 3]),
        ("abac", []),  # another than before
        ("abacab", []),  # after the last a came a c
        ("abacac", [5]),
        ("a", []),
    ],
)
def test_predictable_symbols_equal_those_found_by_hand(text, expected):
    assert [i for i, can in enumerate(predictable(text)) if can] == expected


def test_the_text_has_guesses_the_count_and_each_heads_peak():
    figure = HeadsFigure(text="abcabcab")
    lines = repr(figure).splitlines()
    assert lines[0] == f"HeadsFigure: copying, step {STEPS[-1]}"
    assert lines[1] == "tokens    a   b   c   a   b   c   a   b"
    assert lines[2] == "guesses   " + "   ".join(figure.reading.guesses)
    percent = (100 * figure.reading.probabilities.amax(-1)).round().int().tolist()
    assert [int(each) for each in lines[3].split()[1:]] == percent
    right, every = score(figure.text, figure.reading.guesses)
    assert lines[5] == f"{right} of {every} tokens that can be predicted are right."
    assert lines[6] == "query 7, b, attends most to"
    for line, row in zip(lines[7:], figure.reading.weights[:, :, 7].flatten(0, 1), strict=True):
        key = int(row.argmax())
        assert line.endswith(f"at {key}, {figure.text[key]}: {row[key]:.3f}")


def test_the_text_has_the_count_without_a_removed_head():
    figure = HeadsFigure("copying", TEXT)
    whole = repr(figure)
    assert "10 of 10 tokens that can be predicted are right." in whole
    figure.removed = [[0, 1]]
    (right,) = re.findall(r"(\d+) of 10 .*; with all heads 10\.", str(figure))
    assert int(right) < 5
    assert "  layer 0, head 1 (removed): at 16" in repr(figure)
    figure.removed = []
    assert repr(figure) == whole == repr(HeadsFigure())


def test_a_text_without_repetition_is_reported():
    assert "No token here can be predicted" in repr(HeadsFigure(text="abcdef"))
