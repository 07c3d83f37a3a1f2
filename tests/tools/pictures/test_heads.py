"""The picture of heads: their weights are the layer's, and no number is lost."""

from __future__ import annotations

import re

import pytest
import torch

import attnbook
from tests.tools.pictures import test_draw
from tests.tools.pictures.test_draw import CELL, SVG, WEIGHT, Shape, picture
from tools.pictures.arithmetic import format_number
from tools.pictures.heads import KEYS, QUERY
from tools.pictures.svg_shapes import KEY_COLORS

FRAMES = ((0, 133), (133, 267), (267, 400))  # the column of each head
ATTEND, MERGE = 288, 470  # the tops of these stages


def shapes(*kind) -> list[Shape]:
    return test_draw.shapes("heads", *kind)


def inside(all_shapes: list[Shape], head: int) -> list[Shape]:
    left, right = FRAMES[head]
    return [shape for shape in all_shapes if left <= shape.x < right]


def drawn_weights() -> list[list[float]]:
    """The height of each bar as a share of all bars of its head."""
    heads = [inside(shapes(WEIGHT), head) for head in range(3)]
    return [[bar.size / sum(b.size for b in bars) for bar in bars] for bars in heads]


def layer_weights() -> torch.Tensor:
    """The weights of a layer whose projections are the identity."""
    layer = attnbook.MultiHeadAttention(6, 6, 6, 6, 3)
    for projection in (layer.W_q, layer.W_k, layer.W_v):
        torch.nn.init.eye_(projection.weight)
    query, keys = torch.tensor([[QUERY]]).float(), torch.tensor([KEYS]).float()
    layer(query, keys, keys)
    return layer.attention_weights[0, :, 0]


def test_the_bars_are_the_attention_weights_of_the_layer():
    for drawn, weights in zip(drawn_weights(), layer_weights().tolist(), strict=True):
        assert drawn == pytest.approx(weights, abs=2e-4)


def test_each_pooled_number_is_mixed_by_the_weights_of_its_head():
    stripes = shapes(CELL, ATTEND, MERGE)
    for head, weights in enumerate(layer_weights().tolist()):
        own = inside(stripes, head)
        for number in (own[:4], own[4:]):
            total = sum(stripe.size for stripe in number)
            assert [stripe.color for stripe in number] == list(KEY_COLORS)
            assert [s.size / total for s in number] == pytest.approx(weights, abs=2e-4)


def test_the_description_has_the_weights_of_the_heads_in_order():
    about = picture("heads").findtext(f"{SVG}desc") or ""
    described = re.findall(r"head (\d) gives them ([^;]*?)[;.] ", about)
    for (head, numbers), weights in zip(described, layer_weights().tolist(), strict=True):
        printed = re.findall(r"\d\.\d\d", numbers)
        assert printed == [format_number(weight, 2) for weight in weights], head
        assert sum(map(float, printed)) == pytest.approx(1), head
    assert [head for head, _ in described] == ["0", "1", "2"]
