"""A trace in the order of its run: each tensor when it was made, and its numbers then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from attnbook.tracing.instrument import Site

MOST_NUMBERS = 4096
"""Larger tensors are not stored: nobody could read them."""


@dataclass(frozen=True, eq=False)
class Step:
    """A tensor that a traced run made.

    Args:
        section: the index in `Trace.sections` of the function that made it.
        title: what that function is called in the trace.
        line: the line within the function's source, from 1.
        name: what it is called, or the expression that made it.
        shape: its sizes; -1 for one that differs from row to row.
        symbols: its sizes as the trace prints them, by name where one is known.
        numbers: a copy of it, on the CPU, as it was when it was made. None for more
            than 4096 numbers, and for what holds none to read.
        part: whether it is only a part of what its line makes.

    Example:
        >>> from attnbook.tracing import trace
        >>> found = trace(split_heads, torch.ones(3, 5, 14), 2, sizes={"batch": 3, "positions": 5})
        >>> step = found.steps[-1]
        >>> step.name, step.shape, step.symbols
        ('return', (3, 2, 5, 7), ('batch', '2', 'positions', '7'))
    """

    section: int
    title: str
    line: int
    name: str
    shape: tuple[int, ...]
    symbols: tuple[str, ...]
    numbers: Tensor | None
    part: bool


@dataclass(frozen=True, eq=False)
class Moment:
    """When a site made its tensors first, and their numbers.

    Args:
        number: counts the moments of all functions.
        site: the position in the source.
    """

    number: int
    site: Site
    numbers: list[Tensor | None]


def copy_numbers(tensor: Tensor) -> Tensor | None:
    """Copy a tensor's numbers, so that no later change reaches them."""
    if tensor.is_nested or tensor.numel() > MOST_NUMBERS:
        return None
    try:
        # By way of a list: the copy is a plain tensor, whatever its original was.
        plain = tensor.detach()
        listed = (plain.to_dense() if plain.is_sparse else plain).tolist()
        return torch.tensor(listed, dtype=tensor.dtype, device="cpu").reshape(tensor.shape)
    except (RuntimeError, TypeError):  # of the meta device, quantized, inside of vmap
        return None
