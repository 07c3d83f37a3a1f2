"""Convert any result of a reader's code to plain tensors, lists, numbers and text.

A result may be of a class that pretends to be another one, contain itself, or raise when it is
inspected. So classes are read with `type`, and values with methods of exact classes.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType, TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from attnbook.messages import Messages
from attnbook.practice.judge.lists import DEEPEST, Unreadable, as_plain
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Task
from attnbook.torch_private import IGNORES_SUBCLASSES, is_fake, is_wrapped, without_subclasses

TEXT = Messages(__file__)
MOST = 10_000_000  # numbers of a result
LONGEST = 300  # characters of an error
_OURS = ("attnbook.", "torch.")


def class_name(value: Any) -> str:
    """The name of a value's class, even if the value pretends another one."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name[:60]


def is_a(value: Any, kind: type) -> bool:
    """As `isinstance`, which a value can deceive."""
    return kind in type.__dict__["__mro__"].__get__(type(value))


def error_text(error: BaseException) -> str:
    """The message of an error, on one line; empty if it cannot be read."""
    try:
        text = " ".join(str.__str__(str(error))[: 10 * LONGEST].split())
    except Exception:  # of a class of the reader's own
        return ""
    return text[:LONGEST]


def line_in_own_code(error: BaseException) -> int:
    """The line of the reader's own code that raised it; 0 if there is none."""
    last = _last_own_frame(error)
    return last.tb_lineno if last else 0


def is_raised_in_own_code(error: BaseException) -> bool:
    """Whether it comes from the reader's own code, or from other packages that this calls."""
    last = _last_own_frame(error)
    return last is not None and last.tb_next is None


def is_raised_by_statement(error: BaseException) -> bool:
    """Whether the reader's own code raised it by `raise`, not Python or torch for it."""
    last = _last_own_frame(error)
    if last is None or last.tb_next is not None:
        return False
    import dis  # noqa: PLC0415 - few answers raise

    steps = {it.offset: it.opname for it in dis.get_instructions(last.tb_frame.f_code)}
    return steps.get(last.tb_lasti) == "RAISE_VARARGS"


def has_xor(written: Any) -> bool:
    """Whether a function may take a power by `^`, which on whole numbers raises nothing."""
    if type(written) is not FunctionType:
        return False
    import dis  # noqa: PLC0415 - right answers do not need it

    has_number = any(type(it) is int and it > 1 for it in written.__code__.co_consts)
    return has_number and any(it.argrepr == "^" for it in dis.get_instructions(written))


def is_unwritten(task: Task, written: Any) -> bool:
    """Whether a reader's function is still the starter of its task, under any name."""
    is_readers = type(written) is FunctionType and not str(written.__module__).startswith(_OURS)
    has_bug = isinstance(task, ListTask) and task.planted  # which has a verdict
    if has_bug or not is_readers:
        return False
    functions = [it for it in compile(task.starter, "", "exec").co_consts if type(it) is CodeType]
    return any(steps_of(written.__code__) == steps_of(it) for it in functions[-1:])


def steps_of(code: CodeType) -> tuple[Any, ...]:
    """What code does, wherever it is written: its steps, names and constants."""
    inner = (steps_of(it) if type(it) is CodeType else it for it in code.co_consts)
    return (code.co_code, code.co_names, *inner)


def _last_own_frame(error: BaseException) -> TracebackType | None:
    trace, last = error.__traceback__, None
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if not (type(name) is str and name.startswith(_OURS)):
            last = trace
        trace = trace.tb_next
    return last


def to_tensors(value: Any, *, several: bool) -> tuple[Any, ...]:
    """The results of a function of tensors; a list is accepted where several are expected."""
    if is_a(value, tuple):
        return tuple(tuple.__iter__(value))
    if several and is_a(value, list):
        return tuple(list.__iter__(value))
    return (value,)


def to_plain_tensor(value: Tensor) -> Tensor:
    """The same numbers as a tensor of torch's own class, with its gradients.

    Raises:
        Unreadable: it has no numbers that can be compared.
    """
    if is_a(value, UninitializedParameter) or is_a(value, UninitializedBuffer):
        raise Unreadable(TEXT("not_initialized"))
    is_own = type(value) in (Tensor, torch.nn.Parameter)
    with without_subclasses():
        if is_wrapped(value):
            raise Unreadable(TEXT("function_transform"))
        is_wrapper = hasattr(type(value), "__tensor_flatten__")
        if is_wrapper or is_fake(value) or not (is_own or IGNORES_SUBCLASSES):
            raise Unreadable(TEXT("other_class", name=class_name(value)))
        if value.is_nested:
            raise Unreadable(TEXT("nested"))
        if value.layout != torch.strided:
            raise Unreadable(TEXT("sparse"))
        if value.device.type == "meta":
            raise Unreadable(TEXT("meta"))
        if value.is_quantized:
            raise Unreadable(TEXT("quantized"))
        if value.numel() > MOST:
            raise Unreadable(TEXT("too_many", number=f"{value.numel():,}"))
        if value.device.type != "cpu":
            raise Unreadable(TEXT("other_device", device=value.device))
        if not is_own:
            value = torch.Tensor.as_subclass(value, Tensor)
    return value


def to_plain_value(value: Any) -> Any:
    """Convert lists and numbers to Python's own classes, then as `lists.as_plain` does.

    Raises:
        Unreadable: lists too deep, a list that contains itself, too many numbers.
    """
    return as_plain(_to_exact_classes(value, 0, [MOST]))


def _to_exact_classes(value: Any, depth: int, room: list[int]) -> Any:
    room[0] -= 1
    if room[0] < 0:
        raise Unreadable(TEXT("more_than_readable", most=f"{MOST:,}"))
    for kind in (list, tuple):
        if is_a(value, kind):
            if depth == DEEPEST:
                raise Unreadable(TEXT("too_deep", most=DEEPEST))
            return [_to_exact_classes(each, depth + 1, room) for each in kind.__iter__(value)]
    if is_a(value, bool):
        return value
    if is_a(value, int):
        return int.__int__(value)
    if is_a(value, float):
        return float.__float__(value)
    numpy = sys.modules.get("numpy")
    return value.item() if numpy and is_a(value, numpy.generic) else value
