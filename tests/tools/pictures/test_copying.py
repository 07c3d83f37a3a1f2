"""The still picture of copying: what each row says follows from the row above it."""

from __future__ import annotations

import pytest
import torch

from attnbook import DotProductAttention
from tests.tools.pictures.test_draw import parsed, picture, rows, texts

NAME = "heads-that-copy"


def named() -> dict[str, list[str]]:
    """What stands behind the name of each row."""
    return {name: rest for name, *rest in map(texts, rows(NAME))}


def test_each_position_notes_the_symbol_before_it_and_keeps_its_own():
    found = named()
    assert found["own"] == found["text"]
    assert found["before"] == ["–", *found["text"][:-1]]


def test_the_weights_are_those_of_a_layer_whose_keys_know_who_stood_before():
    found = named()
    own = torch.eye(26)[[ord(symbol) - ord("a") for symbol in found["own"]]]
    before = torch.cat([torch.zeros(1, 26), own[:-1]])
    layer = DotProductAttention()
    layer(3 * 26**0.5 * own[None], before[None], own[None], causal=True)
    expected = layer.attention_weights[0, -1].tolist()
    assert list(map(parsed, found["weights"])) == pytest.approx(expected, abs=0.005)


def test_what_comes_next_is_the_symbol_of_the_largest_weight_and_has_its_colour():
    found = named()
    weights = list(map(parsed, found["weights"]))
    place = weights.index(max(weights))
    assert found["next"] == [found["own"][place]]
    assert found["before"][place] == found["own"][-1]
    [_, (_, chip)] = next(row for row in rows(NAME) if texts(row)[0] == "next")
    weighed = next(row for row in rows(NAME) if texts(row)[0] == "weights")[1 + place][1]
    assert chip.attrib["fill"] == weighed.attrib["fill"]


def test_the_description_says_what_is_asked_and_found():
    about = picture(NAME).findtext("{http://www.w3.org/2000/svg}desc") or ""
    found = named()
    assert " ".join(found["text"]) in about
    assert f"next symbol is {found['next'][0]}" in about
