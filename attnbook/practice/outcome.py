"""What an implementation does with a case, and how two such outcomes differ, in words."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnbook.practice.guard import by_default, run
from attnbook.practice.task import Case, Function, Task

# How far numbers may be apart, as a share and in all; for whole numbers and masks not at all.
CLOSE = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 2e-3),
    torch.bfloat16: (4e-2, 1e-2),
}
WIDE = (torch.float32, torch.float64)  # types in which what flows back is compared
OUTPUTS = ("output", "second output", "third output")


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
def outcome_of(task: Task, case: Case, written: Function, limit: float | None = None) -> Outcome:
    """Call what was written, and look at all that came of it."""
    arguments, before = case.make(), case.make()
    wrong = _cannot_be_called(task, written, arguments)
    if wrong:
        return Outcome(wrong, "call")
    follow = case.gradients and not case.refused
    leaves = [_is_numbers(argument) and follow for argument in arguments]
    for argument, leaf in zip(arguments, leaves, strict=True):
        if leaf:
            argument.requires_grad_()
    called = tuple(
        # Not a leaf itself: what writes into it is found, and raises nothing.
        argument.clone() if leaf else argument
        for argument, leaf in zip(arguments, leaves, strict=True)
    )
    ran = run(lambda: task.as_function(written)(*called), limit)
    outcome = Outcome(said=ran.said)
    if not ran.ended:
        outcome.problem, outcome.kind = "The call does not end: it was stopped.", "endless"
    elif ran.error is not None:
        outcome.problem, outcome.kind = _told_error(ran.error), _kind_of(ran.error)
        outcome.refusal = isinstance(ran.error, (TypeError, ValueError))
    else:
        _read(outcome, ran.value)
    outcome.changed = tuple(
        name
        for name, argument, old in zip(task.arguments, called, before, strict=False)
        if isinstance(argument, Tensor) and not _same(argument.detach(), old)
    )
    if follow and outcome.outputs:
        _follow_back(outcome, [a for a, leaf in zip(arguments, leaves, strict=True) if leaf])
    return outcome


@by_default()
def difference(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    """Say how an outcome differs from another one in a sentence; nothing if it does not."""
    if case.refused:
        return _not_refused(found)
    if found.problem or expected.problem:
        return "" if found.kind == expected.kind else found.problem or "It gives an answer."
    return (
        _count(found, expected)
        or _form(found, expected)
        or _broken_law(task, case, found)
        or _numbers(found, expected)
        or _changes(found, expected)
        or _flow(task, case, found, expected)
    )


def same(task: Task, case: Case, found: Outcome, other: Outcome) -> bool:
    """Whether two implementations, wrong ones for instance, did the same."""
    if found.problem or other.problem:
        refused = case.refused and found.refusal and other.refusal
        return refused or found.kind == other.kind
    plain = Task(task.name, "", task.starter, as_function=task.as_function, rights=task.rights)
    answers = Case(case.name, case.make, gradients=case.gradients)
    return not difference(plain, answers, found, other)


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


def _told_error(error: BaseException) -> str:
    text = " ".join(str(error).split())
    line = _line_of(error)
    told = f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
    return f"It raises {told}{line}"


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


def _read(outcome: Outcome, value: Any) -> None:  # noqa: ANN401 - whatever was written
    values = value if isinstance(value, tuple) else (value,)
    if value is None:
        outcome.problem = "It returns None where a tensor was expected. Is there a `return`?"
    elif not all(isinstance(each, Tensor) for each in values):
        kinds = ", ".join(type(each).__name__ for each in values)
        outcome.problem = f"It returns {kinds} where a tensor was expected."
    else:
        outcome.outputs = values
    if outcome.problem:
        outcome.kind = f"returned {type(value).__name__}"


def _is_numbers(argument: Any) -> bool:  # noqa: ANN401 - whatever a case holds
    return isinstance(argument, Tensor) and argument.dtype in WIDE


def _same(now: Tensor, before: Tensor) -> bool:
    return now.shape == before.shape and bool(
        torch.equal(torch.nan_to_num(now, nan=-7.25), torch.nan_to_num(before, nan=-7.25))
    )


def _follow_back(outcome: Outcome, leaves: list[Tensor]) -> None:
    """Send the same numbers back through each output, and keep what arrives."""
    # Mixed signs, and no two alike: a sum would hide much.
    sent = [
        (output, torch.linspace(-1, 1.5, output.numel(), dtype=output.dtype).reshape(output.shape))
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
        outcome.problem = f"Nothing can flow back through it: {ran.error}."
        outcome.kind = "backward"


def _not_refused(found: Outcome) -> str:
    if found.refusal:
        return ""
    if found.problem:
        return f"{found.problem} A ValueError or a TypeError was expected."
    return "It gives an answer, where the input is wrong: raise a ValueError that says what is."


def _count(found: Outcome, expected: Outcome) -> str:
    many = len(found.outputs), len(expected.outputs)
    return "" if many[0] == many[1] else f"It returns {many[0]} tensors, {many[1]} were expected."


def _form(found: Outcome, expected: Outcome) -> str:
    for name, mine, right in zip(OUTPUTS, found.outputs, expected.outputs, strict=False):
        if mine.shape != right.shape:
            return f"The {name} has shape {tuple(mine.shape)}, expected was {tuple(right.shape)}."
        if mine.dtype != right.dtype:
            return f"The {name} is of {mine.dtype}, expected was {right.dtype}."
    return ""


def _broken_law(task: Task, case: Case, found: Outcome) -> str:
    if any(output.isnan().any() for output in found.outputs):
        return ""  # that says more
    for law in task.laws:
        if not law.holds(*found.outputs, *case.make()):
            return law.words
    return ""


def _numbers(found: Outcome, expected: Outcome) -> str:
    for name, mine, right in zip(OUTPUTS, found.outputs, expected.outputs, strict=False):
        wrong = _apart(mine.detach(), right.detach())
        if wrong.any():
            return f"In the {name} {_told_numbers(mine.detach(), right.detach(), wrong)}"
    return ""


def _apart(mine: Tensor, right: Tensor) -> Tensor:
    if mine.dtype not in CLOSE:
        return mine != right
    share, least = CLOSE[mine.dtype]
    return ~torch.isclose(mine, right, rtol=share, atol=least, equal_nan=True)


def _told_numbers(mine: Tensor, right: Tensor, wrong: Tensor) -> str:
    """Tell how many differ, and how the first one does, but not what is right."""
    count = int(wrong.sum())
    index = tuple(wrong.nonzero()[0].tolist())
    one, other = mine[index].item(), right[index].item()
    place = f" at {index}" if index else ""
    share = f"{count} of {mine.numel()} numbers are wrong" if index else "the number is wrong"
    if mine.dtype == torch.bool:
        share, place = share.replace("numbers", "places"), f" at {index}"
        return f"{share}; the first is {one}{place}."
    if math.isnan(one):
        return f"{share}; the first is NaN{place}."
    which = "smaller" if one > other else "larger"
    return f"{share}; the first is {one:.4g}{place}, and should be {which}."


def _changes(found: Outcome, expected: Outcome) -> str:
    changed = [name for name in found.changed if name not in expected.changed]
    if changed:
        return f"It changes the caller's `{'`, `'.join(changed)}`: write into a new tensor."
    return "" if found.changed == expected.changed else "It changes nothing of the caller's."


def _flow(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    names = [
        name
        for name, argument in zip(task.arguments, case.make(), strict=False)
        if _is_numbers(argument)
    ]
    for name, mine, right in zip(names, found.gradients, expected.gradients, strict=False):
        if (mine is None) != (right is None):
            missing = "No gradient flows back" if mine is None else "A gradient flows back"
            return f"{missing} to `{name}`; was it detached, or made a number?"
        if mine is not None and right is not None and _apart(mine, right).any():
            if mine.isnan().any():
                return f"The output is right, and the gradient of `{name}` is NaN."
            return f"The output is right, and the gradient of `{name}` is not."
    return ""
