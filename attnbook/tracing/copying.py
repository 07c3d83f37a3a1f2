"""Copies of a layer and of its inputs: a copy runs, so nothing has to be restored."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Shaped: TypeAlias = "Tensor | torch.Size"
Change: TypeAlias = Callable[[Shaped], Shaped]


class UnclearAxisError(ValueError):
    """An input has an axis that cannot be given another size, since several names fit it."""


@dataclass(frozen=True)
class Inputs:
    """What a layer is called with."""

    positional: tuple[Any, ...]
    by_name: dict[str, Any]

    def name_with_modules(self, wanted: Callable[[Shaped], bool]) -> list[str]:
        """Name the inputs that contain a module with such a tensor; modules are never enlarged."""
        named = {f"inputs[{n}]": value for n, value in enumerate(self.positional)} | self.by_name
        return [name for name, value in named.items() if any(map(wanted, _in_modules(value)))]


class Copies:
    """A layer and inputs to call it with, copied; an object that occurs twice is copied once.

    Args:
        change: makes the copy of a tensor or shape that is given, but not within a module.

    Raises:
        TypeError: something in them cannot be copied.
        UnclearAxisError: `change` cannot make another size of an input.
    """

    def __init__(self, layer: object, inputs: Inputs, change: Change | None = None) -> None:
        self._made: dict[int, Any] = {}
        self.layer = self.of(layer)
        given = _held([*inputs.positional, inputs.by_name])
        for module in given:
            if isinstance(module, nn.Module):
                self.of(module)
        for each in given:
            if change is not None and not isinstance(each, nn.Module):
                self._made[id(each)] = change(each)
        self.positional: tuple[Any, ...] = self.of(inputs.positional, change)
        self.by_name: dict[str, Any] = self.of(inputs.by_name, change)

    def of(self, thing: object, change: Change | None = None) -> Any:  # noqa: ANN401 - its kind
        """Copy a thing, once."""
        try:
            with _CopyingTensors(change or copy_input):
                return copy.deepcopy(thing, self._made)
        except UnclearAxisError:
            raise
        except Exception as error:
            raise TypeError(
                "what is traced is a copy of the layer, and something in it or in its inputs "
                f"cannot be copied: {error}"
            ) from error

    def copy_if_possible(self, thing: object) -> Any:  # noqa: ANN401 - its kind
        """Copy what a function closes over, or return it as it is, such as a lock."""
        try:
            return self.of(thing)
        except TypeError:
            return thing

    def copy_or_original(self, thing: object) -> Any:  # noqa: ANN401 - its kind
        """Return the copy of a thing, or the thing itself if it has not been copied."""
        return self._made.get(id(thing), thing)


class _CopyingTensors(TorchFunctionMode):
    """Copies tensors that torch refuses because they are results, such as stored weights."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self.change = change

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever torch gives
        if func is Tensor.__deepcopy__:
            return self.change(args[0])
        return func(*args, **(kwargs or {}))


def _held(value: object) -> list[Shaped | nn.Module]:
    """List the tensors, shapes and modules in nested lists, tuples and dictionaries."""
    found: list[Shaped | nn.Module] = []
    containers, entered = [[value]], set[int]()  # a list may hold itself
    for container in containers:
        for item in container:
            if isinstance(item, Tensor | torch.Size | nn.Module):
                found.append(item)
            elif isinstance(item, dict | list | tuple) and id(item) not in entered:
                entered.add(id(item))
                containers.append([*(item.values() if isinstance(item, dict) else item)])
    return found


def _in_modules(value: object) -> Iterator[Tensor]:
    for module in _held(value):
        if isinstance(module, nn.Module):
            yield from (*module.parameters(), *module.buffers())


def copy_input(given: Shaped) -> Shaped:
    """Copy a tensor, strides and all, so that nothing can be done to the caller's."""
    return given if isinstance(given, torch.Size) else in_own_graph(duplicate(given), given)


def in_own_graph(copied: Tensor, tensor: Tensor) -> Tensor:
    """Make a copy a leaf, or the result of a leaf, as its original is; backward ends there."""
    leaf = copied.requires_grad_(tensor.requires_grad)
    if tensor.is_leaf:
        return leaf
    with torch.enable_grad():
        return _copy_with_strides(leaf)


def duplicate(tensor: Tensor) -> Tensor:
    """Copy a tensor with its strides; an expanded tensor stays expanded."""
    return _copy_with_strides(tensor.detach())


def _copy_with_strides(plain: Tensor) -> Tensor:
    narrow = drop_repeats(plain)
    if narrow is not plain:
        return _copy_with_strides(narrow).expand(plain.shape)
    if type(plain) is not Tensor or not has_strides(plain):
        return plain.clone()
    return torch.empty_strided(
        plain.size(), plain.stride(), dtype=plain.dtype, device=plain.device
    ).copy_(plain)


def drop_repeats(tensor: Tensor) -> Tensor:
    """Drop the repeats of an expanded tensor, which may be too many for memory."""
    if not has_strides(tensor) or 0 not in tensor.stride():
        return tensor
    once = [slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride()]
    return tensor[tuple(once)] if _repeats(tensor) else tensor


def _repeats(tensor: Tensor) -> bool:
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return any(size > 1 and stride == 0 for size, stride in sizes)


def has_strides(tensor: Tensor) -> bool:
    """Whether a tensor's numbers are in memory at regular steps."""
    dense = tensor.layout == torch.strided and not tensor.is_nested
    return dense and not tensor.is_quantized
