"""The picture of masks: hatched keys are those that the softmax hides."""

from __future__ import annotations

import re
from typing import NamedTuple

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


class Cell(NamedTuple):
    """A cell of a grid: its corner and its fill."""

    left: float
    top: float
    fill: str


def cells() -> list[Cell]:
    return [
        Cell(float(left), float(top), shape.attrib["fill"])
        for shape in picture("seeing").iter(f"{SVG}path")
        for left, top, *_ in TILE.findall(shape.attrib["d"])
    ]


def headed() -> dict[str, list[list[Cell]]]:
    """The rows of cells below each heading."""
    grids = {}
    for text, rect in labels(picture("seeing")):
        if text.text in PANELS:
            left, _, right, _ = edges(rect)
            own = sorted((c for c in cells() if left <= c.left < right), key=lambda c: c[1::-1])
            grids[text.text] = [own[i : i + 5] for i in range(0, len(own), 5)]
    return grids


def fill_of(word: str) -> str:
    return next(r.attrib["fill"] for t, r in labels(picture("seeing")) if t.text == word)


@pytest.mark.parametrize("name", PANELS)
def test_a_key_is_hatched_where_the_softmax_gives_it_nothing(name):
    weights = attnbook.masked_softmax(torch.zeros(1, 5, 5), **PANELS[name])[0]
    assert len(cells()) == 3 * 5 * 5
    words = {fill_of("visible"): True, fill_of("hidden"): False}
    assert len(words) == 2
    drawn = [[words[cell.fill] for cell in row] for row in headed()[name]]
    assert drawn == (weights > 0).tolist()
