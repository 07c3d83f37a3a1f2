"""Copies of a layer's inputs, laid out like them, so that a run cannot reach the caller's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from attnbook.tracing.holding import Rebuilding, reachable

Shaped: TypeAlias = "Tensor | torch.Size"


@dataclass(frozen=True)
class Inputs:
    """What a layer is called with.

    Args:
        own: the tensors and shapes that were made for this one call.
    """

    positional: tuple[Any, ...]
    by_name: dict[str, Any]
    own: list[Shaped] = field(default_factory=list)

    def copied(self, change: Callable[[Shaped], Shaped]) -> Inputs:
        """Copy what holds tensors or shapes, each changed once, wherever it is held.

        One that is given twice stays one: layers may ask `query is key`. Modules, and what
        cannot be copied, are handed on as they are.
        """
        given = reachable([self.positional, self.by_name], _is_whole)
        changed = {id(it): change(it) for it in given if isinstance(it, Tensor | torch.Size)}
        copies = Rebuilding(changed, _is_whole)

        def made(value: Any) -> Any:  # noqa: ANN401 - any input
            try:
                return copies.of(value)
            except (TypeError, AttributeError, RecursionError):
                return value

        positional = tuple(map(made, self.positional))
        by_name = {name: made(value) for name, value in self.by_name.items()}
        handed = {*map(id, reachable([positional, by_name], _is_whole))}
        return Inputs(positional, by_name, [it for it in changed.values() if id(it) in handed])

    def holding(self, wanted: Callable[[Shaped], bool]) -> list[str]:
        """Say which inputs hold a wanted tensor or shape that was not made for this call."""
        own = {*map(id, self.own)}
        named = {f"inputs[{n}]": value for n, value in enumerate(self.positional)} | self.by_name
        return [name for name, value in named.items() if _holds(value, own, wanted)]


def _is_whole(value: object) -> bool:
    return isinstance(value, Tensor | torch.Size | nn.Module)


def _holds(value: object, own: set[int], wanted: Callable[[Shaped], bool]) -> bool:
    held = reachable(value, lambda it: isinstance(it, Tensor | torch.Size))
    shaped = (it for it in held if isinstance(it, Tensor | torch.Size))
    return any(id(it) not in own and wanted(it) for it in shaped)


def own_copy(given: Shaped) -> Shaped:
    """Copy a tensor, strides and all, so that nothing can be done to the caller's."""
    return given if isinstance(given, torch.Size) else in_own_graph(duplicate(given), given)


def in_own_graph(copied: Tensor, tensor: Tensor) -> Tensor:
    """Make a copy a leaf, or the result of one, as its original is; backward ends there."""
    leaf = copied.requires_grad_(tensor.requires_grad)
    if tensor.is_leaf:
        return leaf
    with torch.enable_grad():
        return _laid_out_alike(leaf)


def duplicate(tensor: Tensor) -> Tensor:
    """Copy a tensor's numbers, laid out alike; what is expanded stays so."""
    return _laid_out_alike(tensor.detach())


def _laid_out_alike(plain: Tensor) -> Tensor:
    narrow = unrepeated(plain)
    if narrow is not plain:
        return _laid_out_alike(narrow).expand(plain.shape)
    if type(plain) is not Tensor or not has_strides(plain):
        return plain.clone()
    return torch.empty_strided(
        plain.size(), plain.stride(), dtype=plain.dtype, device=plain.device
    ).copy_(plain)


def unrepeated(tensor: Tensor) -> Tensor:
    """Take once what an expanded tensor repeats: it may be too large to write down."""
    if not has_strides(tensor) or 0 not in tensor.stride():
        return tensor
    once = [slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride()]
    return tensor[tuple(once)] if _repeats(tensor) else tensor


def _repeats(tensor: Tensor) -> bool:
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return any(size > 1 and stride == 0 for size, stride in sizes)


def has_strides(tensor: Tensor) -> bool:
    """Whether a tensor's numbers stand in memory at regular steps."""
    dense = tensor.layout == torch.strided and not tensor.is_nested
    return dense and not tensor.is_quantized
