"""Pooling figures of several kinds, and PyTorch's numbers for each in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import attnbook
from attnbook.figures import PoolingFigure


def column(*numbers: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.tensor(numbers, dtype=dtype).reshape(1, -1, 1)


def true_curve(x: Tensor) -> Tensor:
    """A curve that has no values left of 0."""
    return 2 * torch.sin(x) + x**0.8


def noisy(num_keys: int = 50, **changes: Any) -> PoolingFigure:
    """Keys in no order, on a curve with noise."""
    rng = torch.Generator().manual_seed(num_keys)
    keys = 5 * torch.rand(1, num_keys, 1, generator=rng)
    values = true_curve(keys) + 0.5 * torch.randn(1, num_keys, 1, generator=rng)
    return PoolingFigure(keys, values, **({"width": 0.5, "truth": true_curve} | changes))


def few(**changes: Any) -> PoolingFigure:
    """Five points with names, in double precision."""
    keys, values = column(1, 2, 3, 5, 7).double(), column(2, 3, 5, 4, -1).double()
    return PoolingFigure(keys, values, **({"key_name": "age", "value_name": "height"} | changes))


def two() -> PoolingFigure:
    """The smallest figure there is."""
    return PoolingFigure(column(0, 1), column(3, 5), width=0.5)


def equal_keys() -> PoolingFigure:
    """All keys at one position, so that all weights are equal."""
    return PoolingFigure(column(2, 2, 2), column(1, 5, 6), width=0.1)


def most_keys() -> PoolingFigure:
    """As many keys as a figure shows."""
    return noisy(256, width=0.1)


def tiny_width() -> PoolingFigure:
    """Scores of about minus 1e9, where a naive softmax divides 0 by 0."""
    return few(width=1e-5, query=2.25)


def far_query() -> PoolingFigure:
    """A query that is far from all keys."""
    return few(width=0.01, query=120)


def between_steps() -> PoolingFigure:
    """A query and a width between the steps of the sliders."""
    return few(width=1.0123456789, query=3.00123456789)


def far_from_zero() -> PoolingFigure:
    """Keys with small distances for their size, such as times."""
    keys = torch.arange(1.7e9, 1.7e9 + 110, 10, dtype=torch.float64).reshape(1, -1, 1)
    return PoolingFigure(keys, (keys / 17).sin(), width=12)


CASES: dict[str, Callable[[], PoolingFigure]] = {
    case.__name__: case
    for case in (
        noisy,
        few,
        two,
        equal_keys,
        most_keys,
        tiny_width,
        far_query,
        between_steps,
        far_from_zero,
    )
}


def truth(points: list[list[float]], queries: list[float], width: float) -> dict[str, Tensor]:
    """Scores, weights and output for each query, by the layers' own functions in float64."""
    keys, values = torch.tensor([points], dtype=torch.float64).split(1, dim=-1)
    scores = attnbook.gaussian_score(
        torch.tensor(queries, dtype=torch.float64).reshape(1, -1, 1), keys, width
    )
    weights = attnbook.masked_softmax(scores)
    output = attnbook.pool(weights, values)
    return {"scores": scores[0], "weights": weights[0], "output": output[0, :, 0]}
