"""Figures whose vectors or scores can be dragged, and positions to drag them to."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import Tensor

import attnbook
from attnbook.figures import AttentionFigure

# Two examples, three queries, five keys, values of size seven: no two axes have equal length.
SHAPES = ((2, 3, 2), (2, 5, 2), (2, 5, 7))
NUMBERS = torch.Generator().manual_seed(24)
WEIGHT = torch.randn(2, 2, generator=NUMBERS)
HIDDEN = torch.randn(2, generator=NUMBERS)
QUERIES, KEYS, VALUES = (torch.randn(*shape, generator=NUMBERS) for shape in SHAPES)


def additive_layer() -> attnbook.AdditiveAttention:
    with torch.random.fork_rng():
        torch.manual_seed(24)
        return attnbook.AdditiveAttention(2, 2, 11, dropout=0.3).eval()


# Each formula that the page has, as a reader would pass it.
LAYERS: dict[str, Any] = {
    "dot": attnbook.dot_score,
    "scaled dot": attnbook.DotProductAttention().eval(),
    "gaussian": attnbook.gaussian_score,
    "narrow gaussian": partial(attnbook.gaussian_score, width=0.6),
    "bilinear": partial(attnbook.bilinear_score, weight=WEIGHT),
    "additive": additive_layer(),
    "additive without projections": partial(attnbook.additive_score, weight=HIDDEN),
}


class OwnScore(attnbook.DotProductAttention):
    """A subclass with its own score."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -torch.cdist(queries, keys)


def moved_figure(layer: Any, movable: str = "vectors", **texts: Any) -> AttentionFigure:
    """A figure with two examples of different lengths."""
    lens = torch.tensor([5, 3])
    return AttentionFigure(layer, QUERIES, KEYS, VALUES, lens, movable=movable, **texts)


def random_positions(moves: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Random values of the traits that can be dragged: first at the ends of the reach."""
    rng = torch.Generator().manual_seed(count)
    reach = moves["reach"]
    positions = []
    for i in range(count):
        position = {}
        for name, first in moves["start"].items():
            anywhere = torch.rand(torch.tensor(first).shape, generator=rng, dtype=torch.float64)
            to = reach * (2 * anywhere - 1)
            position[name] = (to.sign() * reach if i == 0 else to).tolist()
        positions.append(position)
    return positions


def in_doubles(layer: Any) -> Any:
    """The same layer or function in double precision."""
    if isinstance(layer, torch.nn.Module):
        return deepcopy(layer).double()
    if isinstance(layer, partial) and "weight" in layer.keywords:
        return partial(layer.func, weight=layer.keywords["weight"].double())
    return layer


def compute_by_layer(name: str, position: dict[str, Any], lens: list[int]) -> tuple[Tensor, ...]:
    """Scores, weights and outputs by the layer itself in float64, for any vectors."""
    layer = in_doubles(LAYERS[name])
    queries, keys = (
        torch.tensor(position[vectors], dtype=torch.float64)
        for vectors in ("query_vectors", "key_vectors")
    )
    with torch.no_grad():
        scores = getattr(layer, "score", layer)(queries, keys)
    weights = attnbook.masked_softmax(scores, torch.tensor(lens))
    return scores, weights, attnbook.pool(weights, VALUES.double())
