"""What a run may change outside of its inputs, kept before it and put back after it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator
from types import CellType, MemberDescriptorType
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.tracing.copying import duplicate, has_strides, unrepeated
from attnbook.tracing.holding import CHANGING, base_of, contents, reachable, refill, slots
from attnbook.tracing.recorder import Recorder

OF_LEAVES = ("grad", "requires_grad", "_backward_hooks", "_post_accumulate_grad_hooks")


@contextlib.contextmanager
def undone(
    things: Iterable[object], recorders: list[Recorder], own: Iterable[object] = ()
) -> Iterator[None]:
    """Undo what a run does to all that these things hold, and to random numbers.

    Each part is put back even if another cannot be, and whatever ended the run.

    Args:
        own: what was made for the run, and may change.
    """
    cells = [cell for it in recorders for cell in it.written.function.__closure__ or ()]
    not_kept = {*map(id, own)}
    held = reachable([*things, *map(_content, cells)], _is_closed)
    kept = [it for it in held if id(it) not in not_kept]
    with contextlib.ExitStack() as stack:
        for each in kept:
            _keep(stack, each)
        for cell in cells:
            stack.callback(_fill, cell, _content(cell))
        stack.callback(random.setstate, random.getstate())
        stack.enter_context(torch.random.fork_rng(devices=_cuda_devices(kept)))
        yield


def _is_closed(value: object) -> bool:
    """Whether it is torch's own: its caches, say, stay as they are."""
    ours = base_of(value) or isinstance(value, nn.Module | Tensor)
    return not ours and type(value).__module__.partition(".")[0] == "torch"


def _content(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not bound yet
        return ()


def _fill(cell: CellType, before: tuple[Any, ...]) -> None:
    if before:
        cell.cell_contents = before[0]
    elif _content(cell):
        del cell.cell_contents


def _keep(stack: contextlib.ExitStack, value: Any) -> None:  # noqa: ANN401 - all that is held
    if isinstance(value, Tensor):
        _keep_tensor(stack, value)
    elif isinstance(value, torch.Generator):
        stack.callback(value.set_state, value.get_state())
    elif base_of(value) in CHANGING:
        stack.callback(refill, value, contents(value))
    for slot, before in slots(value):
        stack.callback(_set, slot, value, before)


def _set(slot: MemberDescriptorType, value: object, before: list[Any]) -> None:
    if before:
        slot.__set__(value, before[0])
    else:
        with contextlib.suppress(AttributeError):  # it is not set now either
            slot.__delete__(value)


def _keep_tensor(stack: contextlib.ExitStack, tensor: Tensor) -> None:
    if torch.nn.parameter.is_lazy(tensor):
        raise ValueError("the layer has lazy parameters, which its first call makes: call it")
    if not tensor.is_inference():
        # The numbers are put back, so a backward still to come may rely on them.
        stack.enter_context(torch.autograd.grad_mode._unsafe_preserve_version_counter(tensor))
    # What is put back last stands first: a gradient must fit its tensor's numbers.
    if tensor.is_leaf:
        for name in OF_LEAVES:
            stack.callback(_set_attribute, tensor, name, getattr(tensor, name))
        stack.callback(_make_leaf, tensor)
    if has_strides(tensor):
        size = tensor.untyped_storage().nbytes()
        stack.callback(_write_back, tensor, tensor.data, duplicate(tensor), size)
    elif not hasattr(tensor, "__tensor_flatten__"):  # whose parts are kept instead
        stack.callback(_replace, tensor, duplicate(tensor))


def _set_attribute(tensor: Tensor, name: str, before: object) -> None:
    if getattr(tensor, name) is not before:
        setattr(tensor, name, before)


def _make_leaf(tensor: Tensor) -> None:
    if not tensor.is_leaf:
        tensor.detach_()


@torch.no_grad()
def _replace(tensor: Tensor, before: Tensor) -> None:
    if not _equal(tensor, before):
        tensor.data = before


@torch.no_grad()
def _write_back(tensor: Tensor, memory: Tensor, before: Tensor, size: int) -> None:
    """Put a tensor's numbers back to where they were, though it may stand elsewhere now."""
    if memory.untyped_storage().nbytes() < size:
        memory.untyped_storage().resize_(size)
    now, then = unrepeated(memory), unrepeated(before)
    if not _equal(now, then):
        now.copy_(then)
    if _place(tensor) != _place(memory):
        tensor.data = memory


def _place(tensor: Tensor) -> tuple[object, ...]:
    if not has_strides(tensor):
        return ()
    shape = (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
    return (*shape, tensor.data_ptr())


def _equal(one: Tensor, other: Tensor) -> bool:
    """Compare two tensors; NaN is equal to NaN, and what holds no numbers never changes."""
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    if one.is_meta:
        return True
    try:
        if torch.equal(one, other):
            return True
        return bool(((one == other) | (one.isnan() & other.isnan())).all())
    except RuntimeError:  # sparse
        return False


def _cuda_devices(kept: Iterable[object]) -> list[int]:
    devices = {it.device for it in kept if isinstance(it, Tensor)}
    used = {it.index or 0 for it in devices if it.type == "cuda"}
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        used.add(torch.cuda.current_device())
    return sorted(used)
