"""Queries and keys of several shapes for the scaling figure."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.figures import ScalingFigure


def random(
    num_queries: int, num_keys: int, size: int, dtype=torch.float32
) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(size + num_keys)
    shapes = (1, num_queries, size), (1, num_keys, size)
    return tuple(torch.randn(*shape, generator=rng).to(dtype) for shape in shapes)


CASES = {
    "a chapter's": lambda: random(16, 16, 1024),
    "odd numbers": lambda: random(3, 5, 8),
    "the smallest": lambda: random(1, 2, 2),
    "the largest": lambda: random(32, 32, 1024),
    "half precision": lambda: random(2, 7, 64, torch.float16),
    "double precision": lambda: random(2, 7, 16, torch.float64),
    "equal keys": lambda: (random(3, 5, 16)[0], torch.ones(1, 5, 16)),
    "huge scores": lambda: tuple(100 * tensor for tensor in random(3, 7, 64)),
}


def by_hand() -> ScalingFigure:
    """Two keys that share 1 to 3, at both sizes."""
    keys = torch.tensor([[[0, 0], [math.log(3), 0]]], dtype=torch.float64)
    return ScalingFigure(torch.ones(1, 1, 2, dtype=torch.float64), keys)


def truth(scores: Tensor) -> dict[str, Tensor]:
    """Weights and measures in float64, each measure an average over the queries."""
    weights = torch.softmax(scores, -1)
    bits = torch.special.xlogy(weights, weights) / math.log(2)
    slopes = torch.diagonal(
        torch.diag_embed(weights) - weights[:, :, None] * weights[:, None], 0, 1, 2
    )
    return {
        "weights": weights,
        "variance": scores.var(-1).mean(),
        "largest": weights.max(-1).values.mean(),
        "entropy": -bits.sum(-1).mean(),
        "slopes": slopes.sum(-1).mean(),
    }
