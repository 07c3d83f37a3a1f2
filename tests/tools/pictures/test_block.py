"""The still picture of a block: what stands before what, and who is alone."""

from __future__ import annotations

from tests.tools.pictures.test_draw import edges, rows, texts
from tools.pictures.block import COLOURS, STREAM, TOKENS


def test_each_half_norms_first_and_adds_last():
    seen = [" ".join(texts(row)) for row in rows("transformer-block")]
    norms = " ".join(["norm"] * len(TOKENS))
    symbols, sums = " ".join(TOKENS), " ".join("+" * len(TOKENS))
    changed = " ".join(f"{token}′" for token in TOKENS)
    first, second = seen[1:4], seen[4:7]
    assert (seen[0], seen[-1]) == (symbols, changed)
    assert (first[0], first[2]) == (norms, sums)
    assert (second[0], second[2]) == (norms, sums)
    assert first[1].startswith("attention")
    assert second[1].split() == ["feed-", "forward"] * len(TOKENS)


def test_positions_meet_in_attention_alone():
    parts = rows("transformer-block", STREAM)
    [meeting] = [row for row in parts if texts(row)[0] == "attention"]
    assert len({id(box) for _, box in meeting}) == 1
    for row in parts:
        if row is not meeting:
            assert {box.attrib["fill"] for _, box in row} == {*COLOURS}


def test_each_position_has_a_sum_of_its_own():
    sums = [box for row in rows("transformer-block") for text, box in row if text == "+"]
    assert len(sums) == 2 * len(TOKENS)
    assert max(edges(box)[2] for box in sums) == STREAM
