"""Read what a reader's code gives: whatever it is, as plain tensors, lists, numbers and text.

A result may be of a class that pretends to be another one, hold itself, or raise when it is
looked at. So classes are asked for by `type`, and values are read by methods of exact classes.
"""

from __future__ import annotations

import sys
from types import CodeType, TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from attnbook.practice.judge.lists import DEEPEST, TOO_DEEP, Unreadable, as_plain

MOST = 10_000_000  # numbers of a result
LONGEST = 300  # characters of an error
_OURS = ("attnbook.", "torch.")


def name_of(value: Any) -> str:
    """The name of its class, whatever the value says of itself."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name[:60]


def is_a(value: Any, kind: type) -> bool:
    """As `isinstance`, which a value can deceive."""
    return kind in type.__dict__["__mro__"].__get__(type(value))


def text_of(error: BaseException) -> str:
    """What an error says, on one line; nothing if that cannot be read."""
    try:
        text = " ".join(str.__str__(str(error))[: 10 * LONGEST].split())
    except Exception:  # of a class of the reader's own
        return ""
    return text[:LONGEST]


def line_of(error: BaseException) -> int:
    """Where in the reader's own code it was raised; 0 if nowhere."""
    last = _last_own(error)
    return last.tb_lineno if last else 0


def ends_in_own(error: BaseException) -> bool:
    """Whether it came up in the reader's own code, or in what that calls of others than us."""
    last = _last_own(error)
    return last is not None and last.tb_next is None


def is_raised(error: BaseException) -> bool:
    """Whether the reader's own code raised it by `raise`, not Python or torch while it ran."""
    last = _last_own(error)
    if last is None or last.tb_next is not None:
        return False
    return _instruction(last.tb_frame.f_code, last.tb_lasti) == "RAISE_VARARGS"


def _last_own(error: BaseException) -> TracebackType | None:
    trace, last = error.__traceback__, None
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if not (type(name) is str and name.startswith(_OURS)):
            last = trace
        trace = trace.tb_next
    return last


def _instruction(code: CodeType, offset: int) -> str:
    import dis  # noqa: PLC0415 - few answers raise

    return next((it.opname for it in dis.get_instructions(code) if it.offset == offset), "")


def tensors(value: Any, *, several: bool) -> tuple[Any, ...]:
    """What a function of tensors gave, one by one; a list is taken where several are asked for."""
    if is_a(value, tuple):
        return tuple(tuple.__iter__(value))
    if several and is_a(value, list):
        return tuple(list.__iter__(value))
    return (value,)


def plain_tensor(value: Tensor) -> Tensor:
    """The same numbers as a tensor of torch's own class, with its gradients.

    Raises:
        Unreadable: it holds no numbers that can be compared.
    """
    if is_a(value, UninitializedParameter) or is_a(value, UninitializedBuffer):
        raise Unreadable("a parameter that is not initialized holds no numbers")
    with torch._C.DisableTorchFunctionSubclass():
        if torch._C._functorch.is_functorch_wrapped_tensor(value):
            raise Unreadable("a tensor of a function transform is used outside it")
        if torch.utils._python_dispatch.is_traceable_wrapper_subclass(value) or _is_fake(value):
            raise Unreadable(f"a tensor of class {name_of(value)} cannot be compared")
        if value.is_nested:
            raise Unreadable("a nested tensor cannot be compared")
        if value.layout != torch.strided:
            raise Unreadable("a sparse tensor cannot be compared: use `to_dense()`")
        if value.device.type == "meta":
            raise Unreadable("a tensor on the meta device holds no numbers")
        if value.is_quantized:
            raise Unreadable("a quantized tensor cannot be compared")
        if value.numel() > MOST:
            raise Unreadable(f"it has {value.numel():,} numbers")
        if value.device.type != "cpu":
            raise Unreadable(f"it is on {value.device}, and the inputs are on the CPU")
        if type(value) not in (Tensor, torch.nn.Parameter):
            value = torch.Tensor.as_subclass(value, Tensor)
    return value


def _is_fake(value: Tensor) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor  # noqa: PLC0415 - takes time to import

    return is_a(value, FakeTensor)


def plain_value(value: Any) -> Any:
    """Lists, numbers and None of Python's own classes, then as `lists.as_plain` gives them.

    Raises:
        Unreadable: lists too deep, a list that holds itself, too many numbers.
    """
    return as_plain(_of_exact_classes(value, 0, [MOST]))


def _of_exact_classes(value: Any, depth: int, room: list[int]) -> Any:
    room[0] -= 1
    if room[0] < 0:
        raise Unreadable(f"it has more than {MOST:,} numbers")
    for kind in (list, tuple):
        if is_a(value, kind):
            if depth == DEEPEST:
                raise Unreadable(TOO_DEEP)
            return [_of_exact_classes(each, depth + 1, room) for each in kind.__iter__(value)]
    if is_a(value, bool):
        return value
    if is_a(value, int):
        return int.__int__(value)
    if is_a(value, float):
        return float.__float__(value)
    return value.item() if is_a(value, _numpy_scalar()) else value


def _numpy_scalar() -> type:
    numpy = sys.modules.get("numpy")
    return numpy.generic if numpy else Unreadable  # without numpy nothing can be one of its numbers
