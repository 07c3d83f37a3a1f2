"""Running a layer so that nothing is left behind: not in it, not in its inputs, not in torch."""

from __future__ import annotations

import contextlib
import copy
import io
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from threading import RLock
from types import CellType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.tracing.recorder import Recorder, Section

# A function's code is one for all threads. Reentrant, since a layer may trace another.
_one_at_a_time = RLock()


def observe(
    recorders: list[Recorder], modules: list[nn.Module], call: Callable[[], object]
) -> tuple[Exception | None, Section | None]:
    """Run a call while the recorders listen, and undo what it did.

    Returns:
        The exception that the call raised, and the innermost section that it left.
    """
    with _one_at_a_time, _undone(modules, recorders), _listening(recorders):
        try:
            call()
        except Exception as error:
            innermost = _locate(error, recorders)
            _let_go(error)
            return error, innermost
        finally:
            for recorder in recorders:
                recorder.frames.clear()
    return None, None


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Swallow what a second run would print or warn of once more."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


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


def twin(tensor: Tensor) -> Tensor:
    """Copy a tensor, strides and all, so that nothing can be done to the caller's."""
    if tensor.requires_grad and not tensor.is_leaf:
        return tensor.clone()
    plain = tensor.detach()
    gaps = type(tensor) is Tensor and tensor.layout == torch.strided and not tensor.is_nested
    if gaps and 0 not in tensor.stride():
        copied = torch.empty_strided(
            plain.size(), plain.stride(), dtype=plain.dtype, device=plain.device
        ).copy_(plain)
    else:
        copied = plain.clone()
    return copied.requires_grad_(tensor.requires_grad)


@contextlib.contextmanager
def _listening(recorders: list[Recorder]) -> Iterator[None]:
    """Exchange the code of the functions, so that every call is heard, however it is made."""
    before = [recorder.written.function.__code__ for recorder in recorders]
    with _uncompiled():
        try:
            for recorder in recorders:
                recorder.written.function.__code__ = recorder.code
            yield
        finally:
            for recorder, code in zip(recorders, before, strict=True):
                recorder.written.function.__code__ = code


def _uncompiled() -> contextlib.AbstractContextManager[Any]:
    # Where torch.compile has not been used, asking for it would only load it: seconds.
    if "torch._dynamo" in sys.modules:
        return torch.compiler.set_stance("force_eager")  # type: ignore[no-any-return]
    return contextlib.nullcontext()


@contextlib.contextmanager
def _undone(modules: list[nn.Module], recorders: list[Recorder]) -> Iterator[None]:
    every = {id(it): it for module in modules for it in module.modules()}
    kept = _Kept()
    for module in every.values():
        kept.keep(module.__dict__)
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

    def keep(self, value: Any) -> None:  # noqa: ANN401 - whatever an attribute holds
        if isinstance(value, Tensor):
            self._keep_tensor(value)
        elif isinstance(value, tuple):
            for item in value:
                self.keep(item)
        elif isinstance(value, dict | list | set) and id(value) not in self.containers:
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
        self.tensors[id(tensor)] = (tensor, tensor.detach().clone(), grad)
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
            if isinstance(container, list):
                container[:] = before
            else:
                container.clear()
                container.update(before)
        for cell, value in self.cells:
            cell.cell_contents = value
        for tensor, before, grad in self.tensors.values():
            # Writing would count as a change, and unsettle a backward pass still to come.
            if not torch.equal(tensor, before):
                tensor.copy_(before)
            if tensor.is_leaf and tensor.grad is not grad:
                tensor.grad = grad


def _locate(error: BaseException, recorders: list[Recorder]) -> Section | None:
    innermost = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        for recorder in recorders:
            section = recorder.section_of(frame)
            if section is not None:
                section.error_line, innermost = line, section
    return innermost


def _let_go(error: BaseException | None) -> None:
    """Free the tensors that an exception would hold through the frames it passed."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__
