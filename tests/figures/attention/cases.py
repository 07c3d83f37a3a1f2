"""Figures of several shapes, and their results by PyTorch in double precision."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import attnbook
from attnbook.figures import AttentionFigure


@dataclass
class Case:
    """A layer or score function, its tensors, the first lengths, and a mask."""

    layer: Any
    queries: Tensor
    keys: Tensor
    values: Tensor
    valid_lens: Tensor
    mask: Tensor | None = None

    def figure(self, **texts: Any) -> AttentionFigure:
        return AttentionFigure(
            self.layer,
            self.queries,
            self.keys,
            self.values,
            self.valid_lens,
            mask=self.mask,
            **texts,
        )


def _random(
    seed: int, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=rng).to(dtype) for shape in shapes]


def toy() -> Case:
    """The toy example of the book: equal keys, two lengths."""
    values = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
    (queries,) = _random(1, (2, 1, 2))
    layer = attnbook.DotProductAttention(dropout=0.5).eval()
    return Case(layer, queries, torch.ones(2, 10, 2), values, torch.tensor([2, 6]))


def planar() -> Case:
    """A length per query, vectors that can be drawn, one number per value, an empty row."""
    queries, keys, values = _random(2, (1, 3, 2), (1, 5, 2), (1, 5, 1))
    lens = torch.tensor([[5, 2, 0]])
    return Case(attnbook.DotProductAttention().eval(), queries, keys, values, lens)


def additive() -> Case:
    """Learned scores between vectors of different sizes."""
    queries, keys, values = _random(3, (2, 3, 5), (2, 7, 3), (2, 7, 11))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        layer = attnbook.AdditiveAttention(3, 5, 13, dropout=0.1).eval()
    return Case(layer, queries, keys, values, torch.tensor([7, 3]))


class NearestAttention(attnbook.Attention):
    """A layer that a reader defines."""

    formula = "-‖q - k‖"

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -torch.cdist(queries, keys)


def nearest() -> Case:
    """A reader's layer, a length per query, more keys than colours."""
    queries, keys, values = _random(4, (2, 3, 5), (2, 11, 5), (2, 11, 2))
    lens = torch.tensor([[11, 0, 4], [1, 7, 10]])
    return Case(NearestAttention().eval(), queries, keys, values, lens)


def function() -> Case:
    """A score function instead of a layer, in double precision."""
    queries, keys, values = _random(5, (1, 2, 3), (1, 7, 3), (1, 7, 3), dtype=torch.float64)
    return Case(attnbook.gaussian_score, queries, keys, values, torch.tensor([5]))


def one_key() -> Case:
    """The smallest figure."""
    queries, keys, values = _random(6, (1, 1, 3), (1, 1, 3), (1, 1, 2))
    return Case(attnbook.DotProductAttention().eval(), queries, keys, values, torch.tensor([1]))


def most_keys() -> Case:
    """As many keys as a figure shows."""
    queries, keys, values = _random(7, (1, 1, 3), (1, 256, 3), (1, 256, 2))
    return Case(attnbook.DotProductAttention().eval(), queries, keys, values, torch.tensor([200]))


def huge_scores() -> Case:
    """Scores of ±10,000, where a naive softmax overflows."""
    values = torch.tensor([[[1.0], [2], [3], [5]]])
    keys = torch.tensor([[[-1e4], [1e4], [1e4], [0]]])
    lens = torch.tensor([2])
    return Case(attnbook.dot_score, torch.tensor([[[1.0], [-1]]]), keys, values, lens)


def huge_padding() -> Case:
    """Very large values and scores at padding."""
    values = torch.tensor([[[1.0, 2], [3, 5], [1e30, -3e38]]])
    keys = torch.tensor([[[0.5], [1], [1e30]]])
    return Case(attnbook.dot_score, torch.ones(1, 1, 1), keys, values, torch.tensor([2]))


def masked() -> Case:
    """A mask with gaps, and one row that is empty for all lengths."""
    queries, keys, values = _random(8, (2, 3, 2), (2, 6, 2), (2, 6, 3))
    rows = [[0, 1, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0]]
    mask = torch.stack([torch.tensor(rows), torch.tensor(rows).roll(1, 1)]).bool()
    layer = attnbook.DotProductAttention().eval()
    return Case(layer, queries, keys, values, torch.tensor([6, 4]), mask)


CASES: dict[str, Callable[[], Case]] = {
    case.__name__: case
    for case in (
        toy,
        planar,
        additive,
        nearest,
        function,
        one_key,
        most_keys,
        huge_scores,
        huge_padding,
        masked,
    )
}


def traits(figure: AttentionFigure) -> dict[str, Any]:
    """The traits that the figure's JavaScript receives, as JSON returns them."""
    state = figure.get_state()
    own = {name: value for name, value in state.items() if not name.startswith("_")}
    for widget in ("layout", "tabbable", "tooltip"):
        own.pop(widget)
    return json.loads(json.dumps(own))


def truth(
    state: dict[str, Any], valid_lens: list[Any], temperature: float = 1
) -> tuple[Tensor, Tensor]:
    """Weights and outputs in float64, from the figure's own scores and values."""
    scores = torch.tensor(state["scores"], dtype=torch.float64)
    values = torch.tensor(state["values"], dtype=torch.float64)
    mask = torch.tensor(state["sees"]) if state["sees"] else None
    weights = attnbook.masked_softmax(scores / temperature, torch.tensor(valid_lens), mask=mask)
    return weights, attnbook.pool(weights, values)


def differ(ours: Any, theirs: Tensor, tolerance: float) -> bool:
    """Whether any number differs by more than the tolerance, absolute or relative, or is NaN."""
    return not torch.allclose(
        torch.tensor(ours, dtype=torch.float64),
        theirs.double().cpu(),
        rtol=tolerance,
        atol=tolerance,
    )
