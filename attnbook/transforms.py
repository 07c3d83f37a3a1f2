"""Tensors that stand for others: those that `torch.func` wraps, and those without numbers."""

from __future__ import annotations

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

# torch has no public way to ask.
_functorch = torch._C._functorch


def beneath(tensor: Tensor) -> Tensor:
    """Take off what `torch.func` has wrapped around a tensor, within its transforms or after.

    Axes that `vmap` maps over are axes again: they come first, the outermost before all.
    In a program that is being compiled, wrappers stay.
    """
    if torch.compiler.is_compiling():
        return tensor
    while _functorch.is_functorch_wrapped_tensor(tensor):
        mapped = _functorch.maybe_get_bdim(tensor)
        tensor = _functorch.get_unwrapped(tensor)
        if mapped > 0:
            tensor = tensor.movedim(mapped, 0)
    return tensor


def is_mapping() -> bool:
    """Whether this runs within `torch.func.vmap`, for one of many samples."""
    if torch.compiler.is_compiling() or _functorch.maybe_current_level() is None:
        return False
    vmap = _functorch.TransformType.Vmap
    return any(level.key() == vmap for level in _functorch.get_interpreter_stack())


def is_mapped(grad: Tensor) -> bool:
    """Whether a gradient is many at once, as for a vectorised Jacobian."""
    return _functorch.is_batchedtensor(grad) or _functorch.is_legacy_batchedtensor(grad)


def is_traced() -> bool:
    """Whether `torch.jit.trace` records what is done."""
    return torch._C._get_tracing_state() is not None


def has_numbers(tensor: Tensor) -> bool:
    """Whether there are numbers that can be read now, if only after a wait."""
    is_constant = torch.compiler.is_compiling() or is_recording()
    return not (is_constant or tensor.is_meta or isinstance(tensor, FakeTensor))


def is_recording() -> bool:
    """Whether `torch.jit.trace` or `make_fx` records this: what is read becomes a constant."""
    if torch.compiler.is_compiling():
        return False
    # The first question is there because it is answered sooner.
    makes_fx = is_in_torch_dispatch_mode() and get_proxy_mode() is not None
    return makes_fx or is_traced()
