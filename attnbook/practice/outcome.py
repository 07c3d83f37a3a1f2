"""What an implementation does with a case."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnbook.practice.guard import Stopped, by_default, run, session
from attnbook.practice.plain import Unreadable
from attnbook.practice.reading import (
    is_a,
    is_raised,
    line_of,
    name_of,
    plain_tensor,
    tensors,
    text_of,
)
from attnbook.practice.task import Case, Function, Task

BACKWARD, ENDLESS, UNREADABLE = "backward", "endless", "unreadable"
MOST_KINDS = 5  # classes of a result that a sentence names
_ASYNC = {
    "coroutine": "a coroutine: write `def`, not `async def`.",
    "async_generator": "an asynchronous generator: write `def`, not `async def`, and `return`.",
    "generator": "a generator: write `return`, not `yield`.",
}
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
        printed: what it printed and warned of.
    """

    problem: str = ""
    kind: str = ""  # of a problem; equal problems of two implementations have equal kinds
    refusal: bool = False  # whether the problem is an error that says the input is wrong
    outputs: tuple[Tensor, ...] = ()
    changed: tuple[str, ...] = ()
    gradients: tuple[Tensor | None, ...] = ()
    printed: str = ""


@by_default()
def outcome_of(task: Task, case: Case, written: Function) -> Outcome:
    """Call what was written, and look at all that came of it, within one limit of time."""
    with session():
        arguments, before = case.make(), case.make()
        ran = run(lambda: _outcome(task, case, written, arguments, before))
    if ran.endless:
        outcome = Outcome(ran.endless, ENDLESS)
    elif ran.error is not None:  # not that of the call, but of looking at its result
        outcome = _unreadable(name_of(ran.error))
    else:
        outcome = ran.value
    outcome.printed = ran.printed
    return outcome


def _outcome(
    task: Task,
    case: Case,
    written: Function,
    arguments: tuple[Any, ...],
    before: tuple[Any, ...],
) -> Outcome:
    """In the worker: whatever the reader's own classes do while they are read can be stopped."""
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
    outcome = Outcome()
    try:
        value = task.as_function(written)(*called)
    except Stopped:
        raise
    except BaseException as error:  # exit() is an answer, too
        outcome.problem, outcome.kind = _told_error(error), _kind_of(error)
        outcome.refusal = is_a(error, TypeError) or is_a(error, ValueError)
        outcome.problem += f" The inputs: {_described(task, arguments)}."
    else:
        try:
            _read(outcome, task, value)
        except Unreadable as error:
            outcome = _unreadable(str(error))
    outcome.changed = tuple(
        name
        for name, argument, old in zip(task.arguments, called, before, strict=False)
        if isinstance(argument, Tensor) and not _same(argument.detach(), old)
    )
    if follow and outcome.outputs:
        followed = [a for a, leaf in zip(arguments, leaves, strict=True) if leaf]
        _follow_back(outcome, followed, leftovers=case.leftovers)
        outcome.outputs = tuple(output.detach() for output in outcome.outputs)
    return outcome


def _unreadable(why: str) -> Outcome:
    return Outcome(f"The result cannot be read: {why}.", UNREADABLE)


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
    except Exception:  # of a callable that raises whatever it is asked
        return ""  # as what is written in C, it says itself what it wants
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
    text, line = text_of(error).rstrip("."), line_of(error)
    message = f"{name_of(error)}: {text}" if text else name_of(error)
    return f"It raises {message}{f' (line {line} of the cell or file)' if line else ''}."


def _told_backward(error: BaseException) -> str:
    if "inplace operation" in text_of(error):
        return (
            "Nothing can flow back through it: a tensor that the gradients need was written "
            "into. Make a new one instead, with `torch.where` or `masked_fill` for instance."
        )
    return f"Nothing can flow back through it: {text_of(error).rstrip('.')}."


def _kind_of(error: BaseException) -> str:
    # What the reader's code raises itself it words in its own way. Of torch's errors two that
    # only have their class in common are not alike; sizes may differ.
    if is_raised(error):
        return f"{name_of(error)} raised"
    return f"{name_of(error)} {re.sub(r'[0-9.]+', '#', text_of(error))[:60]}"


def _read(outcome: Outcome, task: Task, value: Any) -> None:  # noqa: ANN401 - whatever was written
    values = tensors(value, several=len(task.outputs) > 1)
    kinds = [name_of(each) for each in values]
    given = [is_a(each, Tensor) for each in values]
    if value is None:
        outcome.problem = "It returns None where a tensor was expected. Is there a `return`?"
        kinds = ["NoneType"]
    elif inspect.iscoroutine(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
        outcome.problem = f"It returns {_ASYNC[name_of(value)]}"
    elif values and all(given):
        outcome.outputs = tuple(plain_tensor(each) for each in values)
        return
    elif len(values) == len(task.outputs) > 1:
        pairs = zip(task.outputs, kinds, given, strict=True)
        told = (f"{name} is {kind}" for name, kind, it_is in pairs if not it_is)
        outcome.problem = f"{' and '.join(told)} where a tensor was expected."
        outcome.problem = outcome.problem[:1].upper() + outcome.problem[1:]
    else:
        wanted = "a tensor was expected"
        if len(task.outputs) > 1:
            wanted = f"a tuple was expected: ({', '.join(task.outputs)})"
        several = is_a(value, tuple) or len(values) > 1
        found = ", ".join(kinds[:MOST_KINDS]) if several and kinds else name_of(value)
        outcome.problem = f"It returns {found} where {wanted}."
    outcome.kind = f"returned {', '.join(kinds[:MOST_KINDS])}"


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
    outcome.gradients = (None,) * len(leaves)
    try:
        flows = torch.autograd.grad(outputs, leaves, signs, allow_unused=True)
        outcome.gradients = tuple(None if it is None else plain_tensor(it) for it in flows)
    except Stopped:
        raise
    except BaseException as error:  # the reader's own function may raise anything
        outcome.problem, outcome.kind = _told_backward(error), BACKWARD


def _sent_back(output: Tensor, *, leftovers: bool) -> Tensor:
    # Mixed signs, and no two alike: a sum would hide much.
    numbers = torch.linspace(-1, 1.5, output.numel(), dtype=output.dtype).reshape(output.shape)
    return numbers.masked_fill(output == 0, torch.nan) if leftovers else numbers
