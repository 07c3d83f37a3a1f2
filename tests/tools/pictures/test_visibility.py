"""The picture of masks: hatched keys are those that the softmax hides."""

from __future__ import annotations

import re

import pytest
import torch

import attnbook
from tests.tools.pictures.test_draw import SVG, edges, labels, picture

TILE = re.compile(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z")
PANELS = {
    "no mask:": {},
    "length 3:": {"valid_lens": torch.tensor([3])},
    "causal:": {"causal": True},
}


@pytest.mark.parametrize("name", PANELS)
def test_a_key_is_hatched_where_the_softmax_gives_it_nothing(name):
    boxes = {text.text: rect for text, rect in labels(picture("seeing"))}
    is_seen = {boxes["visible"].attrib["fill"]: True, boxes["hidden"].attrib["fill"]: False}
    cells = sorted(
        (float(top), float(left), is_seen[shape.attrib["fill"]])
        for shape in picture("seeing").iter(f"{SVG}path")
        for left, top, *_ in TILE.findall(shape.attrib["d"])
    )
    assert len(is_seen) == 2
    assert len(cells) == 3 * 5 * 5

    left, _, right, _ = edges(boxes[name])
    drawn = [seen for _, x, seen in cells if left <= x < right]
    weights = attnbook.masked_softmax(torch.zeros(1, 5, 5), **PANELS[name])[0]
    assert drawn == (weights > 0).flatten().tolist()
