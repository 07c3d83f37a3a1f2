"""When layers use the formula instead of a fast path."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnbook.checks import autocast_is_on
from attnbook.reading import may_choose_by
from attnbook.torch_private import is_mapped, is_untouched

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Tensors of a larger norm are huge: their products with gradients might overflow.
ORDINARY = 1e9


def stay_finite(*tensors: Tensor) -> bool:
    """Whether all are known to be finite, and no autocast will make them infinite."""
    are_finite = all(may_choose_by(tensor) and all_finite(tensor) for tensor in tensors)
    return are_finite and not autocast_is_on("cpu")


def are_ordinary(*tensors: Tensor) -> bool:
    """Whether all are known to be so small that products with ordinary numbers stay finite."""
    known = all(may_choose_by(tensor) for tensor in tensors) and not autocast_is_on("cpu")
    return known and all(is_ordinary(tensor) for tensor in tensors)


def is_ordinary(tensor: Tensor) -> bool:
    """Whether products with ordinary numbers stay far from overflow; NaN is not ordinary."""
    norm = torch.linalg.vector_norm(tensor.detach(), dtype=wide_dtype(tensor))
    return bool(norm.item() <= ORDINARY)


def all_finite(tensor: Tensor) -> bool:
    """Whether all numbers are finite, and so is their sum."""
    tensor = tensor.detach() if tensor.requires_grad else tensor
    return math.isfinite(tensor.sum(dtype=wide_dtype(tensor)).item())


def wide_dtype(tensor: Tensor) -> torch.dtype:
    """Return a dtype in which sums of its numbers seldom overflow."""
    return torch.promote_types(tensor.dtype, torch.float)


def is_plain(linear: nn.Module) -> bool:
    """Whether a layer is nothing but the product with its weight."""
    return type(linear) is nn.Linear and linear.bias is None and is_untouched(linear)


def wants_formula(grad: Tensor) -> bool:
    """Whether a gradient is differentiated again, or is a batch of gradients."""
    return torch.is_grad_enabled() or is_mapped(grad)


def gradients_by_formula(
    formula: Callable[..., Tensor],
    needed: Sequence[bool],
    inputs: tuple[Any, ...],
    grad: Tensor,
) -> tuple[Tensor | None, ...]:
    """Take gradients through the formula, which torch can differentiate in every way."""
    wanted = [value for value, wants in zip(inputs, needed, strict=True) if wants]
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        output = formula(*inputs)
    found = iter(torch.autograd.grad(output, wanted, grad, create_graph=again))
    return tuple(next(found) if wants else None for wants in needed)
