"""What an implementation does with a case."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnbook.practice.guard import by_default, run
from attnbook.practice.task import Case, Function, Task

BACKWARD = "backward"
WIDE = (torch.float32, torch.float64)  # types in which what flows back is compared


@dataclass
class Outcome:
    """What happened.

    Args:
        problem: a sentence, when there are no tensors to compare.
        kind, refusal: of the problem.
        outputs: what came back.
        changed: the names of arguments that are no longer what they were.
        gradients: what flows back to each argument of numbers, None where nothing does.
        said: what was printed.
    """

    problem: str = ""
    kind: str = ""  # of a problem; equal problems of two implementations have equal kinds
    refusal: bool = False  # whether the problem is an error that says the input is wrong
    outputs: tuple[Tensor, ...] = ()
    changed: tuple[str, ...] = ()
    gradients: tuple[Tensor | None, ...] = ()
    said: str = ""


@by_default()
def outcome_of(task: Task, case: Case, written: Function) -> Outcome:
    """Call what was written, and look at all that came of it."""
    arguments, before = case.make(), case.make()
    wrong = _cannot_be_called(task, written, arguments)
    if wrong:
        return Outcome(wrong, "call")
    follow = case.gradients and not case.refused
    leaves = [is_numbers(argument) and follow for argument in arguments]
    for argument, leaf in zip(arguments, leaves, strict=True):
        if leaf:
            argument.requires_grad_()
    called = tuple(
        # Not a leaf itself: what writes into it is found, and raises nothing.
        argument.clone() if leaf else argument
        for argument, leaf in zip(arguments, leaves, strict=True)
    )
    ran = run(lambda: task.as_function(written)(*called))
    outcome = Outcome(said=ran.said)
    if ran.endless:
        outcome.problem, outcome.kind = ran.endless, "endless"
    elif ran.error is not None:
        outcome.problem, outcome.kind = _told_error(ran.error), _kind_of(ran.error)
        outcome.refusal = isinstance(ran.error, (TypeError, ValueError))
        outcome.problem += f" The inputs: {_described(task, arguments)}."
    else:
        _read(outcome, task, ran.value)
    outcome.changed = tuple(
        name
        for name, argument, old in zip(task.arguments, called, before, strict=False)
        if isinstance(argument, Tensor) and not _same(argument.detach(), old)
    )
    if follow and outcome.outputs:
        followed = [a for a, leaf in zip(arguments, leaves, strict=True) if leaf]
        _follow_back(outcome, followed, leftovers=case.leftovers)
    return outcome


def _cannot_be_called(task: Task, written: Function, arguments: tuple[Any, ...]) -> str:
    """Say so if the arguments do not fit, before an error somewhere inside does."""
    names = ", ".join(task.arguments[: len(arguments)])
    if task.as_function(written) is not written:
        return ""  # what is called is ours
    if inspect.isclass(written):
        return (
            f"`{written.__name__}` is a class. It was called with ({names}) to make an object, "
            f"where an answer was expected: hand over an object of it, `{written.__name__}(…)`."
        )
    try:
        signature = inspect.signature(written)
    except (TypeError, ValueError):
        return ""  # written in C, it says itself what it wants
    try:
        signature.bind(*arguments)
    except TypeError as error:
        return (
            f"It cannot be called with ({names}): {error}. "
            f"What you wrote takes {signature}; the task says `{task.called}({names})`."
        )
    return ""


def _described(task: Task, arguments: tuple[Any, ...]) -> str:
    """Tell what a case's arguments look like."""
    told = []
    for name, argument in zip(task.arguments, arguments, strict=False):
        if isinstance(argument, Tensor):
            wide = argument.dtype in (torch.float32, torch.int64, torch.bool)
            kind = "" if wide else f" of {argument.dtype}"
            told.append(f"`{name}` {tuple(argument.shape)}{kind}")
        elif argument is None or isinstance(argument, (bool, int, float)):
            told.append(f"`{name}` {argument}")
    return ", ".join(told)


def _told_error(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    line = _line_of(error)
    told = f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
    return f"It raises {told}{line}"


def _told_backward(error: BaseException) -> str:
    if "inplace operation" in str(error):
        return (
            "Nothing can flow back through it: a tensor that the gradients need was written "
            "into. Make a new one instead, with `torch.where` or `masked_fill` for instance."
        )
    return f"Nothing can flow back through it: {str(error).rstrip('.')}."


def _kind_of(error: BaseException) -> str:
    # Two faults that only have their class in common are not alike. Sizes may differ.
    return f"{type(error).__name__} {re.sub(r'[0-9.]+', '#', str(error))[:60]}"


def _line_of(error: BaseException) -> str:
    """Where in the reader's own code it was raised."""
    trace, line = error.__traceback__, None
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if not name.startswith(("attnbook.", "torch.")):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line} of the cell or file)." if line else "."


def _read(outcome: Outcome, task: Task, value: Any) -> None:  # noqa: ANN401 - whatever was written
    values = value if isinstance(value, tuple) else (value,)
    kinds = [type(each).__name__ for each in values]
    if value is None:
        outcome.problem = "It returns None where a tensor was expected. Is there a `return`?"
    elif all(isinstance(each, Tensor) for each in values):
        outcome.outputs = values
        return
    elif len(values) == len(task.outputs) > 1:
        pairs = zip(task.outputs, kinds, values, strict=True)
        told = (f"{name} is {kind}" for name, kind, it in pairs if not isinstance(it, Tensor))
        outcome.problem = f"{' and '.join(told)} where a tensor was expected."
        outcome.problem = outcome.problem[:1].upper() + outcome.problem[1:]
    else:
        wanted = "a tensor was expected"
        if len(task.outputs) > 1:
            wanted = f"a tuple was expected: ({', '.join(task.outputs)})"
        outcome.problem = f"It returns {', '.join(kinds)} where {wanted}."
    outcome.kind = f"returned {', '.join(kinds)}"


def is_numbers(argument: Any) -> bool:  # noqa: ANN401 - whatever a case holds
    """Whether gradients of an argument are compared."""
    return isinstance(argument, Tensor) and argument.dtype in WIDE


def _same(now: Tensor, before: Tensor) -> bool:
    return now.shape == before.shape and bool(
        torch.equal(torch.nan_to_num(now, nan=-7.25), torch.nan_to_num(before, nan=-7.25))
    )


def _follow_back(outcome: Outcome, leaves: list[Tensor], *, leftovers: bool) -> None:
    """Send the same numbers back through each output, and keep what arrives."""
    sent = [
        (output, _sent_back(output, leftovers=leftovers))
        for output in outcome.outputs
        if output.requires_grad
    ]
    if not sent or not leaves:
        outcome.gradients = (None,) * len(leaves)
        return
    outputs, signs = zip(*sent, strict=True)
    ran = run(lambda: torch.autograd.grad(outputs, leaves, signs, allow_unused=True))
    outcome.gradients = ran.value or (None,) * len(leaves)
    if ran.error is not None:
        outcome.problem = _told_backward(ran.error)
        outcome.kind = BACKWARD


def _sent_back(output: Tensor, *, leftovers: bool) -> Tensor:
    # Mixed signs, and no two alike: a sum would hide much.
    numbers = torch.linspace(-1, 1.5, output.numel(), dtype=output.dtype).reshape(output.shape)
    return numbers.masked_fill(output == 0, torch.nan) if leftovers else numbers
