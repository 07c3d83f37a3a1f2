"""The outcome of an implementation in a case, and how two outcomes differ, in words."""

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
    class_name,
    error_text,
    is_a,
    is_raised_by_statement,
    line_in_own_code,
    to_plain_tensor,
    to_tensors,
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
WIDE = (torch.float32, torch.float64)  # types in which gradients are compared
# How far numbers may be apart, as a share and in all; for whole numbers and masks not at all.
CLOSE = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 2e-3),
    torch.bfloat16: (4e-2, 1e-2),
}


@dataclass
class Outcome:
    """The outcome of a call.

    Args:
        problem: a sentence, when there are no tensors to compare.
        kind, refusal: of the problem.
        outputs: the tensors it returns.
        changed: the names of arguments that it changes.
        gradients: of each floating-point argument, None where nothing flows back.
        printed: its output and its warnings.
    """

    problem: str = ""
    kind: str = ""  # of a problem; equal problems of two implementations have equal kinds
    refusal: bool = False  # whether the problem is an error about wrong input
    outputs: tuple[Tensor, ...] = ()
    changed: tuple[str, ...] = ()
    gradients: tuple[Tensor | None, ...] = ()
    printed: str = ""


@by_default()
def outcome_of(task: Task, case: Case, written: Function) -> Outcome:
    """Call an answer and read its outcome, within one time limit."""
    with session():
        arguments, before = case.make(), case.make()
        result = run(lambda: _outcome(task, case, written, arguments, before))
    if result.endless:
        outcome = Outcome(result.endless, ENDLESS)
    elif result.error is not None:  # from reading the result, not from the call
        outcome = _unreadable(class_name(result.error))
    else:
        outcome = result.value
    outcome.printed = result.printed
    return outcome


def _outcome(
    task: Task,
    case: Case,
    written: Function,
    arguments: tuple[Any, ...],
    before: tuple[Any, ...],
) -> Outcome:
    """Run in the worker, where code of the reader's own classes can be stopped, too."""
    wrong = _describe_wrong_call(task, written, arguments)
    if wrong:
        return Outcome(wrong, "call")
    compare_gradients = case.gradients and not case.refused
    leaves = [has_gradient(argument) and compare_gradients for argument in arguments]
    for argument, leaf in zip(arguments, leaves, strict=True):
        if leaf:
            argument.requires_grad_()
    called = tuple(
        # Not a leaf itself: writing into it is detected and raises nothing.
        argument.clone() if leaf else argument
        for argument, leaf in zip(arguments, leaves, strict=True)
    )
    outcome = Outcome()
    try:
        value = task.as_function(written)(*called)
    except Stopped:
        raise
    except BaseException as error:  # exit() is an answer, too
        outcome.problem, outcome.kind = _describe_error(error), _error_kind(error)
        outcome.refusal = is_a(error, TypeError) or is_a(error, ValueError)
        outcome.problem += f" The inputs: {_describe_arguments(task, arguments)}."
    else:
        try:
            _read_value(outcome, task, value)
        except Unreadable as error:
            outcome = _unreadable(str(error))
    outcome.changed = tuple(
        name
        for name, argument, old in zip(task.arguments, called, before, strict=False)
        if isinstance(argument, Tensor) and not _same(argument.detach(), old)
    )
    if compare_gradients and outcome.outputs:
        leaves_of_call = [a for a, leaf in zip(arguments, leaves, strict=True) if leaf]
        _run_backward(outcome, leaves_of_call, leftovers=case.leftovers)
        outcome.outputs = tuple(output.detach() for output in outcome.outputs)
    return outcome


def _unreadable(why: str) -> Outcome:
    return Outcome(f"The result cannot be read: {why}.", UNREADABLE)


def _describe_wrong_call(task: Task, written: Function, arguments: tuple[Any, ...]) -> str:
    """Report arguments that do not fit, before they cause an error somewhere inside."""
    names = ", ".join(task.arguments[: len(arguments)])
    if task.as_function(written) is not written:
        return ""  # the function that is called is ours
    if inspect.isclass(written):
        return (
            f"`{written.__name__}` is a class. It was called with ({names}) to make an object, "
            f"where an answer was expected: pass an object of it, `{written.__name__}(…)`."
        )
    try:
        signature = inspect.signature(written)
    except Exception:  # of a callable that raises whenever it is inspected
        return ""  # like functions in C, it reports wrong arguments itself
    try:
        signature.bind(*arguments)
    except TypeError as error:
        return (
            f"It cannot be called with ({names}): {error}. "
            f"What you wrote takes {signature}; the task says `{task.called}({names})`."
        )
    return ""


def _describe_arguments(task: Task, arguments: tuple[Any, ...]) -> str:
    """Describe the arguments of a case by shape and type."""
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
    text, line = error_text(error).rstrip("."), line_in_own_code(error)
    message = f"{class_name(error)}: {text}" if text else class_name(error)
    return f"It raises {message}{f' (line {line} of the cell or file)' if line else ''}."


def _describe_backward(error: BaseException) -> str:
    if "inplace operation" in error_text(error):
        return (
            "No gradient can flow back: a tensor that the gradients need was changed in place. "
            "Make a new one instead, with `torch.where` or `masked_fill` for instance."
        )
    return f"No gradient can flow back: {error_text(error).rstrip('.')}."


def _error_kind(error: BaseException) -> str:
    # A reader's own `raise` has any wording. Two errors of torch with only the class in common are
    # different; sizes may differ.
    if is_raised_by_statement(error):
        return f"{class_name(error)} raised"
    return f"{class_name(error)} {re.sub(r'[0-9.]+', '#', error_text(error))[:60]}"


def _read_value(outcome: Outcome, task: Task, value: Any) -> None:
    values = to_tensors(value, several=len(task.outputs) > 1)
    kinds = [class_name(each) for each in values]
    given = [is_a(each, Tensor) for each in values]
    if value is None:
        outcome.problem = "It returns None where a tensor was expected. Is there a `return`?"
        kinds = ["NoneType"]
    elif inspect.iscoroutine(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
        outcome.problem = f"It returns {_ASYNC[class_name(value)]}"
    elif values and all(given):
        outcome.outputs = tuple(to_plain_tensor(each) for each in values)
        return
    elif len(values) == len(task.outputs) > 1:
        pairs = zip(task.outputs, kinds, given, strict=True)
        parts = (f"{name} is {kind}" for name, kind, is_tensor in pairs if not is_tensor)
        outcome.problem = f"{' and '.join(parts)} where a tensor was expected."
        outcome.problem = outcome.problem[:1].upper() + outcome.problem[1:]
    else:
        wanted = "a tensor was expected"
        if len(task.outputs) > 1:
            wanted = f"a tuple was expected: ({', '.join(task.outputs)})"
        several = is_a(value, tuple) or len(values) > 1
        found = ", ".join(kinds[:MOST_KINDS]) if several and kinds else class_name(value)
        outcome.problem = f"It returns {found} where {wanted}."
    outcome.kind = f"returned {', '.join(kinds[:MOST_KINDS])}"


def has_gradient(argument: Any) -> bool:
    """Whether gradients of an argument are compared."""
    return isinstance(argument, Tensor) and argument.dtype in WIDE


def _same(now: Tensor, before: Tensor) -> bool:
    return now.shape == before.shape and bool(
        torch.equal(torch.nan_to_num(now, nan=-7.25), torch.nan_to_num(before, nan=-7.25))
    )


def _run_backward(outcome: Outcome, leaves: list[Tensor], *, leftovers: bool) -> None:
    """Send fixed numbers back through each output, and store the gradients."""
    sent = [
        (output, _numbers_sent_back(output, leftovers=leftovers))
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
        outcome.gradients = tuple(None if it is None else to_plain_tensor(it) for it in flows)
    except Stopped:
        raise
    except BaseException as error:  # the reader's own function may raise anything
        outcome.problem, outcome.kind = _describe_backward(error), BACKWARD


def _numbers_sent_back(output: Tensor, *, leftovers: bool) -> Tensor:
    # Mixed signs, and no two equal: ones would hide errors that cancel.
    numbers = torch.linspace(-1, 1.5, output.numel(), dtype=output.dtype).reshape(output.shape)
    return numbers.masked_fill(output == 0, torch.nan) if leftovers else numbers


@by_default()
def difference(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    """Describe in a sentence how an outcome differs from another one; empty if it does not."""
    if case.refused:
        return _describe_missing_refusal(found)
    if found.kind == BACKWARD and found.changed != expected.changed:
        return _describe_changes(found, expected)  # that is why nothing flows back
    if found.problem or expected.problem:
        return "" if found.kind == expected.kind else found.problem or "It gives an answer."
    return (
        _describe_count(found, expected)
        or _describe_form(task, found, expected)
        or _broken_law(task, case, found)
        or _describe_wrong(task, found, expected)
        or _describe_changes(found, expected)
        or _describe_gradients(task, case, found, expected)
    )


def same(task: Task, case: Case, found: Outcome, other: Outcome) -> bool:
    """Whether two implementations, wrong ones for instance, did the same."""
    if found.problem or other.problem:
        refused = case.refused and found.refusal and other.refusal
        return refused or found.kind == other.kind
    # Laws and refusals do not matter here, only whether all results are equal.
    plain, answers = replace(task, laws=()), replace(case, refused=False)
    if not all(output.isfinite().all() for output in (*found.outputs, *other.outputs)):
        # Where an output is NaN, gradients depend on how it was computed.
        found, other = replace(found, gradients=()), replace(other, gradients=())
    return not difference(plain, answers, found, other)


def is_all_nan(outcome: Outcome) -> bool:
    """Whether all outputs are NaN, which is the result of many bugs."""
    return bool(outcome.outputs) and all(
        output.numel() > 0 and bool(output.isnan().all()) for output in outcome.outputs
    )


def _describe_missing_refusal(found: Outcome) -> str:
    if found.refusal:
        return ""
    if found.problem:
        return f"{found.problem} A ValueError or a TypeError was expected."
    return "It gives an answer, but the input is wrong: raise a ValueError that says why."


def _describe_count(found: Outcome, expected: Outcome) -> str:
    many = len(found.outputs), len(expected.outputs)
    if many[0] == many[1]:
        return ""
    tensors = "1 tensor" if many[0] == 1 else f"{many[0]} tensors"
    return f"It returns {tensors}, and should return {many[1]}."


def _describe_form(task: Task, found: Outcome, expected: Outcome) -> str:
    for name, mine, right in zip(task.outputs, found.outputs, expected.outputs, strict=True):
        if mine.shape != right.shape:
            shapes = tuple(mine.shape), tuple(right.shape)
            return f"The shape of {name} is {shapes[0]}, and should be {shapes[1]}."
        if mine.dtype != right.dtype:
            return f"The type of {name} is {mine.dtype}, and should be {right.dtype}."
    return ""


def _broken_law(task: Task, case: Case, found: Outcome) -> str:
    if any(output.isnan().any() for output in found.outputs):
        return ""  # a message about NaN is more helpful
    for law in task.laws:
        if not law.holds(*found.outputs, *case.make()):
            return law.words
    return ""


def _describe_wrong(task: Task, found: Outcome, expected: Outcome) -> str:
    for name, mine, right in zip(task.outputs, found.outputs, expected.outputs, strict=True):
        wrong = _differ(mine.detach(), right.detach())
        if wrong.any():
            return f"In {name} {_describe_numbers(mine.detach(), right.detach(), wrong)}"
    return ""


def _differ(mine: Tensor, right: Tensor) -> Tensor:
    if mine.dtype not in CLOSE:
        return mine != right
    share, least = CLOSE[mine.dtype]
    return ~torch.isclose(mine, right, rtol=share, atol=least, equal_nan=True)


def _describe_numbers(mine: Tensor, right: Tensor, wrong: Tensor) -> str:
    """Describe how many numbers differ, and the first one, without the right number."""
    count = int(wrong.sum())
    index = tuple(wrong.nonzero()[0].tolist())
    one, other = mine[index].item(), right[index].item()
    what = "positions" if mine.dtype == torch.bool else "numbers"
    share = f"{count} of {mine.numel()} {what} are wrong; the first, at {index}, is"
    if not index:
        share = "the number is wrong: it is"
    if mine.dtype == torch.bool:
        return f"{share} {one}."
    if math.isnan(one):
        return f"{share} NaN."
    return f"{share} {one:.4g}, and should be {'smaller' if one > other else 'larger'}."


def _describe_changes(found: Outcome, expected: Outcome) -> str:
    changed = [name for name in found.changed if name not in expected.changed]
    if changed:
        return f"It changes the caller's `{'`, `'.join(changed)}`: write into a new tensor."
    return "" if found.changed == expected.changed else "It changes nothing of the caller's."


def _describe_gradients(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    for i, (mine, right) in enumerate(zip(found.gradients, expected.gradients, strict=False)):
        known = right if mine is None else mine
        if known is None:
            continue
        mine_flows, right_flows = (
            torch.zeros_like(known) if it is None else it for it in (mine, right)
        )
        if not _differ(mine_flows, right_flows).any():
            continue
        pairs = zip(task.arguments, case.make(), strict=False)
        name = [name for name, argument in pairs if has_gradient(argument)][i]
        if mine is None:
            return f"No gradient flows back to `{name}`; was it detached, or made a number?"
        what = "is NaN" if mine.isnan().any() else "is not"
        return f"What it returns is right, and the gradient of `{name}` {what}."
    return ""
