"""Right steps in plain torch; a bug of a layer replaces one of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.practice.task import Function


def scale(queries: Tensor, keys: Tensor, _values: Tensor | None = None) -> Tensor:
    """Score by the dot product over √query_size."""
    return queries @ keys.mT / math.sqrt(queries.shape[-1])


def visible_keys(valid_lens: Tensor | None, scores: Tensor) -> Tensor:
    """True where a key is visible, (batch, 1, keys), for lengths `(batch,)`; None means all."""
    positions = torch.arange(scores.shape[-1])
    if valid_lens is None:
        return torch.ones(len(scores), 1, len(positions), dtype=torch.bool)
    return positions < valid_lens[:, None, None]


def slot_numbers(positions: Tensor, _valid: Tensor | None = None) -> Tensor:
    """The number of each slot of a cache, where its position belongs."""
    return torch.arange(positions.shape[1]).expand_as(positions)


def lowered(scores: Tensor, visible: Tensor) -> Tensor:
    """Fill hidden scores with the lowest number."""
    return scores.masked_fill(~visible, torch.finfo(scores.dtype).min)


def filled(scores: Tensor, visible: Tensor) -> Tensor:
    """Fill hidden scores with -inf."""
    return scores.masked_fill(~visible, -math.inf)


def finite(scores: Tensor, visible: Tensor, dim: int = -1) -> Tensor:
    """Fill hidden scores with -inf, and fully masked rows with 0."""
    return filled(scores, visible).masked_fill(~visible.any(dim=dim, keepdim=True), 0)


def weigh(scores: Tensor, visible: Tensor | None = None, dim: int = -1) -> Tensor:
    """Clear fully masked rows before the softmax, and all that is hidden after it."""
    if visible is None:
        return scores.softmax(dim)
    return finite(scores, visible, dim).softmax(dim).masked_fill(~visible, 0)


def pool(weights: Tensor, values: Tensor, _keys: Tensor | None = None) -> Tensor:
    """Sum the values, each multiplied by its weight."""
    return weights @ values


def attention(
    score: Function = scale,
    weigh: Function = weigh,
    mask: Function = lambda visible: visible,
    pool: Function = pool,
) -> Callable[..., Tensor]:
    """Attention of queries, keys, values and what is visible, of which a bug changes one step."""

    def attend(
        queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor | None = None
    ) -> Tensor:
        shown = None if visible is None else mask(visible)
        output: Tensor = pool(weigh(score(queries, keys, values), shown), values, keys)
        return output

    return attend


def past(num_queries: int, num_keys: int, diagonal: int = 0) -> Tensor:
    """True up to each query's own position, plus `diagonal`; queries are at the last positions."""
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(diagonal=num_keys - num_queries + diagonal)


def angles_of(positions: Tensor, size: int, base: float = 10_000.0) -> Tensor:
    """The angle of each pair, (…, num_positions, size / 2), in double precision."""
    return positions.double()[..., None] / base ** (torch.arange(0, size, 2).double() / size)


def rotated(a: Tensor, b: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    """Turn pairs of numbers by these angles."""
    cos, sin = angles.cos(), angles.sin()
    return a * cos - b * sin, a * sin + b * cos
