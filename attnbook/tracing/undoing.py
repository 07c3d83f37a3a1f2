"""What a run may change outside of its inputs, kept before it and put back after it."""

from __future__ import annotations

import contextlib
import copy
import random
from collections import deque
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.tracing.copying import duplicate, unrepeated
from attnbook.tracing.recorder import Recorder


def shared(value: object) -> Iterator[object]:
    """List what stands in an input and is given to a run as it is, uncopied."""
    if isinstance(value, nn.Module | torch.Generator | deque | set):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from shared(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from shared(item)


@contextlib.contextmanager
def undone(things: Iterable[object], recorders: list[Recorder]) -> Iterator[None]:
    """Undo what a run does to modules, to containers and to random numbers."""
    kept = _Kept()
    for thing in things:
        kept.keep(thing)
    for recorder in recorders:
        kept.keep_closure(recorder.written.function)
    numbers = random.getstate()
    with torch.random.fork_rng(devices=kept.cuda_devices()):
        try:
            yield
        finally:
            kept.restore()
            random.setstate(numbers)


class _Kept:
    """What modules and closures held: attributes, what is in containers, all numbers."""

    def __init__(self) -> None:
        self.containers: dict[int, tuple[Any, Any]] = {}
        self.cells: list[tuple[CellType, Any]] = []
        self.tensors: dict[int, tuple[Tensor, Tensor, Tensor | None]] = {}
        self.generators: list[tuple[torch.Generator, Tensor]] = []

    def keep(self, value: Any) -> None:  # noqa: ANN401 - whatever an attribute holds
        if isinstance(value, Tensor):
            self._keep_tensor(value)
        elif isinstance(value, nn.Module):
            self.keep(value.__dict__)
        elif isinstance(value, torch.Generator):
            self.generators.append((value, value.get_state()))
        elif isinstance(value, tuple):
            for item in value:
                self.keep(item)
        elif isinstance(value, dict | list | set | deque) and id(value) not in self.containers:
            self.containers[id(value)] = (value, copy.copy(value))
            for item in value.values() if isinstance(value, dict) else value:
                self.keep(item)

    def keep_closure(self, function: FunctionType) -> None:
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # not bound yet
                self.cells.append((cell, cell.cell_contents))
                self.keep(cell.cell_contents)

    def _keep_tensor(self, tensor: Tensor) -> None:
        if id(tensor) in self.tensors:
            return
        if torch.nn.parameter.is_lazy(tensor):
            raise ValueError("the layer has lazy parameters, which its first call makes: call it")
        grad = tensor.grad if tensor.is_leaf else None
        self.tensors[id(tensor)] = (tensor, duplicate(tensor), grad)
        if grad is not None:
            self._keep_tensor(grad)

    def cuda_devices(self) -> list[int]:
        devices = {tensor.device for tensor, _, _ in self.tensors.values()}
        used = {it.index or 0 for it in devices if it.type == "cuda"}
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            used.add(torch.cuda.current_device())
        return sorted(used)

    @torch.no_grad()
    def restore(self) -> None:
        for container, before in self.containers.values():
            container.clear()
            if isinstance(container, list | deque):
                container.extend(before)
            else:
                container.update(before)
        for cell, value in self.cells:
            cell.cell_contents = value
        for generator, numbers in self.generators:
            generator.set_state(numbers)
        for tensor, before, grad in self.tensors.values():
            _write_back(tensor, before)
            if tensor.is_leaf and tensor.grad is not grad:
                tensor.grad = grad


def _write_back(tensor: Tensor, before: Tensor) -> None:
    if (tensor.shape, tensor.dtype) != (before.shape, before.dtype):
        tensor.data = before
        return
    now, then = unrepeated(tensor), unrepeated(before)
    # Writing would count as a change, and unsettle a backward pass still to come.
    if not _equal(now, then):
        now.copy_(then)


def _equal(one: Tensor, other: Tensor) -> bool:
    """Compare two tensors; NaN is equal to NaN, and what holds no numbers never changes."""
    if one.is_meta:
        return True
    try:
        if torch.equal(one, other):
            return True
        return bool(((one == other) | (one.isnan() & other.isnan())).all())
    except RuntimeError:  # sparse
        return False
