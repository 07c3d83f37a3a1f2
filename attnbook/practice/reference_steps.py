"""Right steps in plain torch; a bug of a layer replaces one of them."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def scale(queries: Tensor, keys: Tensor) -> Tensor:
    """Score by the dot product over √query_size."""
    return queries @ keys.mT / math.sqrt(queries.shape[-1])


def where_padding(scores: Tensor, valid_lens: Tensor | None) -> Tensor:
    """True at padding, for lengths `(batch,)`; None means no padding."""
    positions = torch.arange(scores.shape[-1])
    return positions >= (len(positions) if valid_lens is None else valid_lens[:, None, None])


def fill(numbers: Tensor, valid_lens: Tensor | None, filling: float) -> Tensor:
    """Put a number at padding, of scores or of weights."""
    return numbers.masked_fill(where_padding(numbers, valid_lens), filling)


def lowered(scores: Tensor, visible: Tensor) -> Tensor:
    """Fill hidden scores with the lowest number."""
    return scores.masked_fill(~visible, torch.finfo(scores.dtype).min)


def weigh(scores: Tensor, valid_lens: Tensor | None) -> Tensor:
    """Weigh without -inf; padding, and fully masked rows with it, are cleared after the softmax."""
    padding = where_padding(scores, valid_lens)
    low = torch.finfo(scores.dtype).min
    return scores.masked_fill(padding, low).softmax(-1).masked_fill(padding, 0)


def past(num_queries: int, num_keys: int, diagonal: int = 0) -> Tensor:
    """True up to each query's own position, plus `diagonal`; queries are at the last positions."""
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(diagonal=num_keys - num_queries + diagonal)


def rotated(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Turn pairs of numbers by angles with these cosines and sines."""
    return a * cos - b * sin, a * sin + b * cos
