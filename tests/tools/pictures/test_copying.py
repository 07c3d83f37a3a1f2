"""The picture of copying: each row follows from the row above it."""

from __future__ import annotations

import pytest
import torch

from attnbook import DotProductAttention
from tests.tools.pictures.test_draw import parsed, rows, texts

NAME = "heads-that-copy"


def read_rows() -> dict[str, list[str]]:
    """The content of each row, by its name."""
    return {name: rest for name, *rest in map(texts, rows(NAME))}


def test_each_position_stores_the_token_before_it_and_its_own():
    read = read_rows()
    assert read["own"] == read["text"]
    assert read["before"] == ["–", *read["text"][:-1]]


def test_the_weights_are_those_of_a_layer_whose_keys_are_the_previous_tokens():
    read = read_rows()
    own = torch.eye(26)[[ord(token) - ord("a") for token in read["own"]]]
    before = torch.cat([torch.zeros(1, 26), own[:-1]])
    layer = DotProductAttention()
    layer(3 * 26**0.5 * own[None], before[None], own[None], causal=True)
    expected = layer.attention_weights[0, -1].tolist()
    assert list(map(parsed, read["weights"])) == pytest.approx(expected, abs=0.005)


def test_what_comes_next_is_the_token_of_the_largest_weight():
    read = read_rows()
    weights = list(map(parsed, read["weights"]))
    best = weights.index(max(weights))
    assert read["next"] == [read["own"][best]]
    assert read["before"][best] == read["own"][-1]
