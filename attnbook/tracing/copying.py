"""Copies of a layer's inputs, laid out like them, so that a run cannot reach the caller's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def apply(change: Callable[[Tensor], Tensor], value: Any) -> Any:  # noqa: ANN401 - any input
    """Change the tensors in an input: alone, or in tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        changed = copy.copy(value)
        changed.update((key, apply(change, item)) for key, item in value.items())
        return changed
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(apply(change, item) for item in value))
    if isinstance(value, tuple | list):
        return type(value)(apply(change, item) for item in value)
    return value


def once_each(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Let a tensor that is given twice stay one tensor: layers may ask `query is key`."""
    known: dict[int, Tensor] = {}

    def changed(tensor: Tensor) -> Tensor:
        if id(tensor) not in known:
            known[id(tensor)] = change(tensor)
        return known[id(tensor)]

    return changed


def own_copy(tensor: Tensor) -> Tensor:
    """Copy a tensor, strides and all, so that nothing can be done to the caller's."""
    if tensor.requires_grad and not tensor.is_leaf:
        narrow = unrepeated(tensor)
        return tensor.clone() if narrow is tensor else narrow.clone().expand(tensor.shape)
    return duplicate(tensor).requires_grad_(tensor.requires_grad)


def duplicate(tensor: Tensor) -> Tensor:
    """Copy a tensor's numbers, laid out alike; what is expanded stays so."""
    plain = tensor.detach()
    narrow = unrepeated(plain)
    if narrow is not plain:
        return duplicate(narrow).expand(plain.shape)
    if type(tensor) is not Tensor or not _has_strides(plain):
        return plain.clone()
    return torch.empty_strided(
        plain.size(), plain.stride(), dtype=plain.dtype, device=plain.device
    ).copy_(plain)


def unrepeated(tensor: Tensor) -> Tensor:
    """Take once what an expanded tensor repeats: it may be too large to write down."""
    if not _has_strides(tensor) or 0 not in tensor.stride():
        return tensor
    once = [slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride()]
    return tensor[tuple(once)] if _repeats(tensor) else tensor


def _repeats(tensor: Tensor) -> bool:
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return any(size > 1 and stride == 0 for size, stride in sizes)


def _has_strides(tensor: Tensor) -> bool:
    dense = tensor.layout == torch.strided and not tensor.is_nested
    return dense and not tensor.is_quantized
