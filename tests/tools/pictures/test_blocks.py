"""The picture of blocks: its slabs have the same scale, and its scores are in order."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.tools.pictures.test_draw import SVG, labels, picture

MIDDLE = 217  # of the picture: the line between the halves
FILL = 0.88  # of the way from one cell to the next, the rest is the gap


class Face(NamedTuple):
    """The cells of a face: where they begin, their sides along and down, and their colour."""

    corners: list[tuple[float, float]]
    along: tuple[float, float]
    down: tuple[float, float]
    color: str

    def counts(self) -> tuple[int, int]:
        """Rows and columns; the cells of a column are one `down` below each other."""
        columns = next(
            i
            for i, corner in enumerate([*self.corners, (0, 0)])
            if corner != pytest.approx(self.at(i), abs=1e-3)
        )
        return len(self.corners) // columns, columns

    def at(self, column: int) -> tuple[float, float]:
        (x, y), (dx, dy) = self.corners[0], self.along
        return x + column * dx / FILL, y + column * dy / FILL


def faces(empty: bool = False) -> list[Face]:
    """Every face of equal cells, in the order they are drawn: the filled ones, or the empty."""
    drawn = []
    for shape in picture("blocks").iter(f"{SVG}path"):
        steps = [
            [float(number) for number in re.findall(r"-?[\d.]+", cell)]
            for cell in shape.attrib["d"].split("z")
            if cell.count("l") == 3
        ]
        if steps and (shape.attrib["fill"] == "none") == empty:
            _, _, *sides = steps[0]
            assert all(step[2:] == sides for step in steps)
            corners = [(step[0], step[1]) for step in steps]
            down = (sides[2], sides[3])
            drawn.append(Face(corners, (sides[0], sides[1]), down, shape.attrib["fill"]))
    return drawn


def solids(left: float = 0, right: float = 400) -> list[list[Face]]:
    """The slabs of a half: front, top and side of each, before the rows of its scores."""
    half = [face for face in faces() if left <= face.corners[0][0] < right]
    deep = [i for i, face in enumerate(half) if face.along[1]]
    return [half[i - 2 : i + 1] for i in deep]


def score_rows(left: float, right: float = 400) -> list[Face]:
    return [f for f in faces() if left <= f.corners[0][0] < right and f.corners[0][1] > 450]


def test_the_formula_holds_two_slabs_of_queries_by_keys_by_hiddens():
    hiddens, squeezed = solids(right=MIDDLE)
    for front, top, side in (hiddens, squeezed):
        assert (front.counts(), top.counts(), side.counts()) == ((4, 5), (6, 5), (4, 6))


def test_the_block_is_as_wide_and_deep_as_a_slab_and_one_query_high():
    [(front, top, side)] = solids(left=MIDDLE)
    assert (front.counts(), top.counts(), side.counts()) == ((1, 5), (6, 5), (1, 6))


def test_the_formula_has_every_score_and_the_blocks_have_those_computed_so_far():
    formula, blocks = score_rows(0, MIDDLE), score_rows(MIDDLE)
    assert [row.counts() for row in formula] == [(1, 5)] * 4
    assert [row.counts() for row in blocks] == [(1, 5)] * 2
    tops = [row.corners[0][1] for row in formula]
    assert [row.corners[0][1] for row in blocks] == tops[:2]
    empty = faces(empty=True)
    assert [len(row.corners) for row in empty] == [5, 5]
    assert [row.corners[0][1] for row in empty] == pytest.approx(tops[2:], abs=1)


def test_only_the_block_and_its_scores_share_a_color():
    block, *_ = solids(left=MIDDLE)[0]
    done, current = score_rows(MIDDLE)
    assert current.color == block.color
    assert done.color != block.color
    assert block.color not in {face.color for face in faces() if face.corners[0][0] < MIDDLE}
    named = {text.text: rect.attrib["fill"] for text, rect in labels(picture("blocks"))}
    assert named["in the cache"] == block.color
