"""Numbers for cases: without a pattern, and the same each time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers in single precision; another shape or seed gives others."""
    rng = torch.Generator().manual_seed(1000 * seed + sum(7**i * n for i, n in enumerate(shape)))
    return torch.randn(*shape, generator=rng)


def lengths(*numbers: int | list[int]) -> Tensor:
    """Valid lengths."""
    return torch.tensor(numbers)


def with_dtype(dtype: torch.dtype, *arguments: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any type
    """Convert the floating-point tensors of some arguments."""
    return tuple(
        each.to(dtype) if isinstance(each, Tensor) and each.is_floating_point() else each
        for each in arguments
    )


def of_thousands() -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values: each query's first three scores are near 1024 or near -1024."""
    queries = 1024 * torch.eye(16)[:1] * torch.tensor([[[1.0], [-1.0]]])
    keys = torch.eye(16)[:1] * torch.tensor([[[4.0], [4 - 1 / 256], [-4], [0]]])
    return queries, keys, normal(1, 4, 5)


def with_other_numbers(argument: Any) -> Any:  # noqa: ANN401 - any type
    """Reverse a tensor's first axis; reverse a list and halve its numbers."""
    if isinstance(argument, Tensor) and argument.ndim:
        return argument.flip(0)
    if isinstance(argument, list):
        nested = bool(argument) and isinstance(argument[0], list)
        change = with_other_numbers if nested else lambda number: number / 2
        return [change(each) for each in reversed(argument)]
    return argument
