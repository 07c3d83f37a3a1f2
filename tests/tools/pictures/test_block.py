"""The picture of a block: the order of its parts, and which of them combine positions."""

from __future__ import annotations

from tests.tools.pictures.test_draw import rows, texts
from tools.pictures.block import COLORS, STREAM, TOKENS


def test_each_half_begins_with_a_norm_and_ends_with_a_sum():
    lines = [" ".join(texts(row)) for row in rows("transformer-block")]
    norms = " ".join(["norm"] * len(TOKENS))
    symbols, sums = " ".join(TOKENS), " ".join("+" * len(TOKENS))
    changed = " ".join(f"{token}′" for token in TOKENS)
    first, second = lines[1:4], lines[4:7]
    assert (lines[0], lines[-1]) == (symbols, changed)
    assert (first[0], first[2]) == (norms, sums)
    assert (second[0], second[2]) == (norms, sums)
    assert first[1].startswith("attention")
    assert second[1].split() == ["feed-", "forward"] * len(TOKENS)


def test_only_attention_combines_positions():
    parts = rows("transformer-block", STREAM)
    [combining] = [row for row in parts if texts(row)[0] == "attention"]
    assert len({id(box) for _, box in combining}) == 1
    for row in parts:
        if row is not combining:
            assert {box.attrib["fill"] for _, box in row} == {*COLORS}
