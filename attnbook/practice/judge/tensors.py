"""What an implementation does with a case, and how two outcomes differ, in words."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from attnbook.practice.judge.lists import Unreadable
from attnbook.practice.judge.reading import (
    is_a,
    is_raised,
    line_of,
    name_of,
    plain_tensor,
    tensors,
    text_of,
)
from attnbook.practice.judge.run_safely import Stopped, by_default, run, session
from attnbook.practice.task import Case, Function, Task

BACKWARD, ENDLESS, UNREADABLE = "backward", "endless", "unreadable"
MOST_KINDS = 5  # classes of a result that a sentence names
_ASYNC = {
    "coroutine": "a coroutine: write `def`, not `async def`.",
    "async_generator": "an asynchronous generator: write `def`, not `async def`, and `return`.",
    "generator": "a generator: write `return`, not `yield`.",
}
WIDE = (torch.float32, torch.float64)  # types in which what flows back is compared
# How far numbers may be apart, as a share and in all; for whole numbers and masks not at all.
CLOSE = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 2e-3),
    torch.bfloat16: (4e-2, 1e-2),
}


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
        outcome.problem, outcome.kind = _describe_error(error), _kind_of(error)
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
    parts = []
    for name, argument in zip(task.arguments, arguments, strict=False):
        if isinstance(argument, Tensor):
            wide = argument.dtype in (torch.float32, torch.int64, torch.bool)
            kind = "" if wide else f" of {argument.dtype}"
            parts.append(f"`{name}` {tuple(argument.shape)}{kind}")
        elif argument is None or isinstance(argument, (bool, int, float)):
            parts.append(f"`{name}` {argument}")
    return ", ".join(parts)


def _describe_error(error: BaseException) -> str:
    text, line = text_of(error).rstrip("."), line_of(error)
    message = f"{name_of(error)}: {text}" if text else name_of(error)
    return f"It raises {message}{f' (line {line} of the cell or file)' if line else ''}."


def _describe_backward(error: BaseException) -> str:
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


def _read(outcome: Outcome, task: Task, value: Any) -> None:
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
        parts = (f"{name} is {kind}" for name, kind, it_is in pairs if not it_is)
        outcome.problem = f"{' and '.join(parts)} where a tensor was expected."
        outcome.problem = outcome.problem[:1].upper() + outcome.problem[1:]
    else:
        wanted = "a tensor was expected"
        if len(task.outputs) > 1:
            wanted = f"a tuple was expected: ({', '.join(task.outputs)})"
        several = is_a(value, tuple) or len(values) > 1
        found = ", ".join(kinds[:MOST_KINDS]) if several and kinds else name_of(value)
        outcome.problem = f"It returns {found} where {wanted}."
    outcome.kind = f"returned {', '.join(kinds[:MOST_KINDS])}"


def is_numbers(argument: Any) -> bool:
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
        outcome.problem, outcome.kind = _describe_backward(error), BACKWARD


def _sent_back(output: Tensor, *, leftovers: bool) -> Tensor:
    # Mixed signs, and no two alike: a sum would hide much.
    numbers = torch.linspace(-1, 1.5, output.numel(), dtype=output.dtype).reshape(output.shape)
    return numbers.masked_fill(output == 0, torch.nan) if leftovers else numbers


@by_default()
def difference(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    """Say how an outcome differs from another one in a sentence; nothing if it does not."""
    if case.refused:
        return _not_refused(found)
    if found.kind == BACKWARD and found.changed != expected.changed:
        return _changes(found, expected)  # that is why nothing flows back
    if found.problem or expected.problem:
        return "" if found.kind == expected.kind else found.problem or "It gives an answer."
    return (
        _count(found, expected)
        or _form(task, found, expected)
        or _broken_law(task, case, found)
        or _numbers(task, found, expected)
        or _changes(found, expected)
        or _flow(task, case, found, expected)
    )


def same(task: Task, case: Case, found: Outcome, other: Outcome) -> bool:
    """Whether two implementations, wrong ones for instance, did the same."""
    if found.problem or other.problem:
        refused = case.refused and found.refusal and other.refusal
        return refused or found.kind == other.kind
    # Neither laws nor what is asked: only whether all that came of them is equal.
    plain, answers = replace(task, laws=()), replace(case, refused=False)
    if not all(output.isfinite().all() for output in (*found.outputs, *other.outputs)):
        # What flows back where an output is NaN depends on how it came about.
        found, other = replace(found, gradients=()), replace(other, gradients=())
    return not difference(plain, answers, found, other)


def says_nothing(outcome: Outcome) -> bool:
    """Whether all that came back is NaN, as many faults end."""
    return bool(outcome.outputs) and all(
        output.numel() > 0 and bool(output.isnan().all()) for output in outcome.outputs
    )


def _not_refused(found: Outcome) -> str:
    if found.refusal:
        return ""
    if found.problem:
        return f"{found.problem} A ValueError or a TypeError was expected."
    return "It gives an answer, where the input is wrong: raise a ValueError that says what is."


def _count(found: Outcome, expected: Outcome) -> str:
    many = len(found.outputs), len(expected.outputs)
    if many[0] == many[1]:
        return ""
    tensors = "1 tensor" if many[0] == 1 else f"{many[0]} tensors"
    return f"It returns {tensors}, expected was {many[1]}."


def _form(task: Task, found: Outcome, expected: Outcome) -> str:
    for name, mine, right in zip(task.outputs, found.outputs, expected.outputs, strict=True):
        if mine.shape != right.shape:
            shapes = tuple(mine.shape), tuple(right.shape)
            return f"The shape of {name} is {shapes[0]}, expected was {shapes[1]}."
        if mine.dtype != right.dtype:
            return f"The type of {name} is {mine.dtype}, expected was {right.dtype}."
    return ""


def _broken_law(task: Task, case: Case, found: Outcome) -> str:
    if any(output.isnan().any() for output in found.outputs):
        return ""  # that says more
    for law in task.laws:
        if not law.holds(*found.outputs, *case.make()):
            return law.words
    return ""


def _numbers(task: Task, found: Outcome, expected: Outcome) -> str:
    for name, mine, right in zip(task.outputs, found.outputs, expected.outputs, strict=True):
        wrong = _apart(mine.detach(), right.detach())
        if wrong.any():
            return f"In {name} {_describe_numbers(mine.detach(), right.detach(), wrong)}"
    return ""


def _apart(mine: Tensor, right: Tensor) -> Tensor:
    if mine.dtype not in CLOSE:
        return mine != right
    share, least = CLOSE[mine.dtype]
    return ~torch.isclose(mine, right, rtol=share, atol=least, equal_nan=True)


def _describe_numbers(mine: Tensor, right: Tensor, wrong: Tensor) -> str:
    """Tell how many differ, and how the first one does, but not what is right."""
    count = int(wrong.sum())
    index = tuple(wrong.nonzero()[0].tolist())
    one, other = mine[index].item(), right[index].item()
    what = "places" if mine.dtype == torch.bool else "numbers"
    share = f"{count} of {mine.numel()} {what} are wrong; the first, at {index}, is"
    if not index:
        share = "the number is wrong: it is"
    if mine.dtype == torch.bool:
        return f"{share} {one}."
    if math.isnan(one):
        return f"{share} NaN."
    return f"{share} {one:.4g}, and should be {'smaller' if one > other else 'larger'}."


def _changes(found: Outcome, expected: Outcome) -> str:
    changed = [name for name in found.changed if name not in expected.changed]
    if changed:
        return f"It changes the caller's `{'`, `'.join(changed)}`: write into a new tensor."
    return "" if found.changed == expected.changed else "It changes nothing of the caller's."


def _flow(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    leaves = [
        (name, argument)
        for name, argument in zip(task.arguments, case.make(), strict=False)
        if is_numbers(argument)
    ]
    for (name, argument), mine, right in zip(
        leaves, found.gradients, expected.gradients, strict=False
    ):
        nothing = torch.zeros_like(argument)
        mine_flows, right_flows = (nothing if it is None else it for it in (mine, right))
        if not _apart(mine_flows, right_flows).any():
            continue
        if mine is None:
            return f"No gradient flows back to `{name}`; was it detached, or made a number?"
        what = "is NaN" if mine.isnan().any() else "is not"
        return f"What it returns is right, and the gradient of `{name}` {what}."
    return ""
