"""When a fast path steps aside, and the formula serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules.module import _has_any_global_hook

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def needs_fallback(*tensors: Tensor) -> bool:
    """Whether these tensors, or what is being done to them, ask for the formula.

    So do subclasses of Tensor, tensors without values, the transforms of `torch.func`, and
    forward-mode differentiation.
    """
    return (
        any(type(tensor) not in (Tensor, nn.Parameter) or tensor.is_meta for tensor in tensors)
        # torch has no public way to ask for these two.
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def is_untouched(module: nn.Module) -> bool:
    """Whether calling a module does what its class says: no hook, no forward of its own."""
    # torch has no public way to ask.
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
    )
    return not (any(hooks) or "forward" in vars(module) or _has_any_global_hook())  # type: ignore[no-untyped-call]


def is_plain(linear: nn.Module) -> bool:
    """Whether a layer is nothing but the product with its weight."""
    return type(linear) is nn.Linear and linear.bias is None and is_untouched(linear)


def gradients_by_formula(
    formula: Callable[..., Tensor],
    needed: Sequence[bool],
    inputs: tuple[Any, ...],
    grad: Tensor,
) -> tuple[Tensor | None, ...]:
    """Take gradients through the formula, so that they can be differentiated again."""
    wanted = [value for value, wants in zip(inputs, needed, strict=True) if wants]
    found = iter(torch.autograd.grad(formula(*inputs), wanted, grad, create_graph=True))
    return tuple(next(found) if wants else None for wants in needed)
