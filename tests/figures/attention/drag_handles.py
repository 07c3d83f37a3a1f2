"""Figures whose vectors or scores a hand moves, and places that it moves them to."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import Tensor

import attnbook
from attnbook.figures import AttentionFigure

# Two examples, three queries, five keys, values of seven numbers: no axis is as long as another.
SHAPES = ((2, 3, 2), (2, 5, 2), (2, 5, 7))
NUMBERS = torch.Generator().manual_seed(24)
WEIGHT = torch.randn(2, 2, generator=NUMBERS)
HIDDEN = torch.randn(2, generator=NUMBERS)
QUERIES, KEYS, VALUES = (torch.randn(*shape, generator=NUMBERS) for shape in SHAPES)


def additive_layer() -> attnbook.AdditiveAttention:
    with torch.random.fork_rng():
        torch.manual_seed(24)
        return attnbook.AdditiveAttention(2, 2, 11, dropout=0.3).eval()


# One of each formula that the page knows, as a reader would give it.
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
    """A subclass with a score of the reader's own."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -torch.cdist(queries, keys)


def moved_figure(layer: Any, movable: str = "vectors", **texts: Any) -> AttentionFigure:
    """A figure with two examples, whose lengths differ."""
    lens = torch.tensor([5, 3])
    return AttentionFigure(layer, QUERIES, KEYS, VALUES, lens, movable=movable, **texts)


def places(moves: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Seeded places for all that can be moved, anywhere in reach, and the corners."""
    rng = torch.Generator().manual_seed(count)
    reach = moves["reach"]
    found = []
    for i in range(count):
        place = {}
        for name, first in moves["start"].items():
            anywhere = torch.rand(torch.tensor(first).shape, generator=rng, dtype=torch.float64)
            to = reach * (2 * anywhere - 1)
            place[name] = (to.sign() * reach if i == 0 else to).tolist()
        found.append(place)
    return found


def in_doubles(layer: Any) -> Any:
    """The same layer or function in double precision."""
    if isinstance(layer, torch.nn.Module):
        return deepcopy(layer).double()
    if isinstance(layer, partial) and "weight" in layer.keywords:
        return partial(layer.func, weight=layer.keywords["weight"].double())
    return layer


def layers_own(name: str, place: dict[str, Any], lens: list[int]) -> tuple[Tensor, ...]:
    """Scores, weights and outputs by the layer itself in float64, for vectors anywhere."""
    layer = in_doubles(LAYERS[name])
    queries, keys = (
        torch.tensor(place[vectors], dtype=torch.float64)
        for vectors in ("query_vectors", "key_vectors")
    )
    with torch.no_grad():
        scores = getattr(layer, "score", layer)(queries, keys)
    weights = attnbook.masked_softmax(scores, torch.tensor(lens))
    return scores, weights, attnbook.pool(weights, VALUES.double())
