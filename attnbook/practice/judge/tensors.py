"""The outcome of an implementation in a case, and how two outcomes differ, in words."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnbook.messages import Messages
from attnbook.practice.judge.lists import Unreadable, add_hint, capitalized, format_number
from attnbook.practice.judge.reading import (
    class_name,
    error_text,
    is_a,
    is_raised_by_statement,
    line_in_own_code,
    to_plain_tensor,
    to_tensors,
)
from attnbook.practice.judge.run_safely import CallResult, Stopped, by_default, run, session
from attnbook.practice.task import Case, Function, Task

Arguments = tuple[Any, ...]
TEXT = Messages(__file__)
BACKWARD, ENDLESS, UNREADABLE = "backward", "endless", "unreadable"
MOST_KINDS = 5  # classes of a result that a sentence names
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
    """The outcome of a call."""

    problem: str = ""  # a sentence, when there are no tensors to compare
    kind: str = ""  # of a problem; equal problems of two implementations have equal kinds
    refusal: bool = False  # whether the problem is an error about wrong input
    outputs: tuple[Tensor, ...] = ()
    changed: tuple[str, ...] = ()  # names of arguments
    written: tuple[str, ...] = ()  # also of those that were given the same numbers again
    gradients: tuple[Tensor | None, ...] = ()  # of each floating-point argument, if one flows
    printed: str = ""  # with its warnings


@by_default()
def outcome_of(
    task: Task, case: Case, written: Function, run: Callable[..., CallResult] = run
) -> Outcome:
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
    task: Task, case: Case, written: Function, arguments: Arguments, before: Arguments
) -> Outcome:
    """Run in the worker, where code of the reader's own classes can be stopped, too."""
    wrong = _describe_wrong_call(task, written, arguments)
    if wrong:
        return Outcome(wrong, "call")
    compare_gradients = case.gradients and not case.refused
    leaves = [each for each in arguments if compare_gradients and has_gradient(each)]
    for leaf in leaves:
        leaf.requires_grad_()
    called = tuple(
        # Not a leaf itself: writing into it is detected and raises nothing.
        argument.clone() if compare_gradients and has_gradient(argument) else argument
        for argument in arguments
    )
    versions = [_version(argument) for argument in called]
    try:
        value = task.as_function(written)(*called)
    except Stopped:
        raise
    except BaseException as error:  # exit() is an answer, too
        inputs = TEXT("inputs", inputs=_describe_arguments(task, arguments))
        refusal = is_a(error, TypeError) or is_a(error, ValueError)
        outcome = Outcome(f"{_describe_error(error)} {inputs}", _error_kind(error), refusal)
    else:
        try:
            outcome = _read_value(task, value)
        except Unreadable as error:
            outcome = _unreadable(str(error))
    pairs = zip(task.arguments, called, versions, strict=False)
    outcome.written = tuple(name for name, it, version in pairs if _version(it) != version)
    outcome.changed = tuple(
        name
        for name, argument, old in zip(task.arguments, called, before, strict=False)
        if isinstance(argument, Tensor) and not _same(argument.detach(), old)
    )
    if compare_gradients and outcome.outputs:
        _run_backward(outcome, leaves, leftovers=case.leftovers)
    outcome.outputs = tuple(output.detach() for output in outcome.outputs)
    return outcome


def _unreadable(why: str) -> Outcome:
    return Outcome(TEXT("cannot_be_read", reason=why), UNREADABLE)


def _describe_wrong_call(task: Task, written: Function, arguments: Arguments) -> str:
    """Report arguments that do not fit, before they cause an error somewhere inside."""
    names = ", ".join(task.arguments[: len(arguments)])
    if task.as_function(written) is not written:
        return ""  # the function that is called is ours
    if inspect.isclass(written):
        return TEXT("is_class", name=written.__name__, arguments=names)
    try:
        signature = inspect.signature(written)
    except Exception:  # of a callable that raises whenever it is inspected
        return ""  # like functions in C, it reports wrong arguments itself
    try:
        signature.bind(*arguments)
    except TypeError as error:
        return TEXT(
            "wrong_arguments",
            arguments=names,
            error=error,
            signature=signature,
            called=task.called,
        )
    return ""


def _describe_arguments(task: Task, arguments: Arguments) -> str:
    """Describe the arguments of a case by shape and type."""
    parts = []
    for name, argument in zip(task.arguments, arguments, strict=False):
        if isinstance(argument, Tensor):
            wide = argument.dtype in (torch.float32, torch.int64, torch.bool)
            text = f"`{name}` {tuple(argument.shape)}"
            parts.append(text if wide else TEXT("of_type", argument=text, type=argument.dtype))
        elif argument is None or isinstance(argument, (bool, int, float)):
            parts.append(f"`{name}` {argument}")
    return ", ".join(parts)


def _describe_error(error: BaseException) -> str:
    text, line = error_text(error).rstrip("."), line_in_own_code(error)
    message = f"{class_name(error)}: {text}" if text else class_name(error)
    raises = TEXT("raises_at_line" if line else "raises", error=message, line=line)
    return f"{raises} {TEXT('overflows')}" if "::Half" in text else add_hint(raises, error)


def _describe_backward(error: BaseException) -> str:
    if "inplace operation" in error_text(error):
        return TEXT("no_gradient_in_place")
    return TEXT("no_gradient", error=error_text(error).rstrip("."))


def _error_kind(error: BaseException) -> str:
    # A reader's own `raise` has any wording. Two errors of torch with only the class in common are
    # different; sizes may differ.
    if is_raised_by_statement(error):
        return f"{class_name(error)} raised"
    return f"{class_name(error)} {re.sub(r'[0-9.]+', '#', error_text(error))[:60]}"


def _read_value(task: Task, value: Any) -> Outcome:
    values = to_tensors(value, several=len(task.outputs) > 1)
    is_tuple_for_one = is_a(value, tuple) and len(task.outputs) == 1
    kinds = [class_name(each) for each in values]
    given = [is_a(each, Tensor) for each in values]
    if values and all(given) and not is_tuple_for_one:
        return Outcome(outputs=tuple(to_plain_tensor(each) for each in values))
    returned = ", ".join(kinds[:MOST_KINDS])
    if value is None:
        problem = TEXT("returns_none_for_tensor")
    elif is_tuple_for_one:
        problem = TEXT("returns_tuple", count=len(values))
    elif inspect.iscoroutine(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
        problem = TEXT.group("asynchronous")[class_name(value)]
    elif len(values) == len(task.outputs) > 1:
        parts = [
            TEXT("output_is", output=name, kind=kind)
            for name, kind, is_tensor in zip(task.outputs, kinds, given, strict=True)
            if not is_tensor
        ]
        problem = capitalized(TEXT("no_tensors", outputs=TEXT("and").join(parts)))
    else:
        several = is_a(value, tuple) or len(values) > 1
        problem = TEXT(
            "returns_no_tuple" if len(task.outputs) > 1 else "returns_no_tensor",
            returned=returned if several and kinds else class_name(value),
            outputs=", ".join(task.outputs),
        )
    return Outcome(problem, f"returned {returned}")


def _version(argument: Any) -> int:
    """A count that goes up with each operation in place, even with one that changes no number."""
    return argument._version if isinstance(argument, Tensor) else 0


def has_gradient(argument: Any) -> bool:
    """Whether gradients of an argument are compared."""
    return isinstance(argument, Tensor) and argument.dtype in WIDE


def _same(now: Tensor, before: Tensor) -> bool:
    return now.shape == before.shape and bool(
        torch.equal(torch.nan_to_num(now, nan=-7.25), torch.nan_to_num(before, nan=-7.25))
    )


@by_default()  # whatever the answer has set
def _run_backward(outcome: Outcome, leaves: list[Tensor], *, leftovers: bool) -> None:
    """Send fixed numbers back through each output, and store the gradients."""
    outcome.gradients = (None,) * len(leaves)
    outputs = [output for output in outcome.outputs if output.requires_grad]
    if not outputs or not leaves:
        return
    sent = [_numbers_sent_back(output, leftovers=leftovers) for output in outputs]
    try:
        flows = torch.autograd.grad(outputs, leaves, sent, allow_unused=True)
        outcome.gradients = tuple(None if it is None else to_plain_tensor(it) for it in flows)
    except Stopped:
        raise
    except BaseException as error:  # the reader's own function may raise anything
        outcome.problem, outcome.kind = _describe_backward(error), BACKWARD


def _numbers_sent_back(output: Tensor, *, leftovers: bool) -> Tensor:
    # Mixed signs, and no two equal: ones would hide errors that cancel.
    numbers = torch.linspace(-1, 1.5, output.numel(), dtype=output.dtype).reshape(output.shape)
    return numbers.masked_fill(output == 0, torch.nan) if leftovers else numbers


def describe_constant(outcome: Outcome) -> str:
    """Report in a sentence that all numbers of an outcome are the same; empty if they are not."""
    if not all(output.dtype in (*CLOSE, torch.bool, torch.int64) for output in outcome.outputs):
        return ""
    ends = [end.item() for it in outcome.outputs if it.numel() for end in (it.min(), it.max())]
    if not ends or any(end != ends[0] for end in ends):
        return ""
    return TEXT("constant", number=format_number(ends[0]))


@by_default()
def difference(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    """Describe in a sentence how an outcome differs from another one; empty if it does not."""
    if case.refused:
        if found.refusal:
            return ""
        expects = TEXT("error_expected")
        return f"{found.problem} {expects}" if found.problem else TEXT("input_is_wrong")
    if found.kind == BACKWARD and found.changed != expected.changed:
        return _describe_changes(found, expected)  # that is why nothing flows back
    if found.problem or expected.problem:
        return "" if found.kind == expected.kind else found.problem or TEXT("gives_answer")
    return (
        _describe_form(task, found, expected)
        or _broken_law(task, case, found)
        or _describe_wrong(task, found, expected)
        or _describe_changes(found, expected)
        or _describe_gradients(task, case, found, expected)
    )


def same(case: Case, found: Outcome, other: Outcome) -> bool:
    """Whether two implementations, wrong ones for instance, did the same."""
    if found.problem or other.problem:
        refused = case.refused and found.refusal and other.refusal
        return refused or found.kind == other.kind
    return (
        len(found.outputs) == len(other.outputs)
        and found.changed == other.changed
        and all(map(_agree, found.outputs, other.outputs))
        and (
            all(map(_agree, found.gradients, other.gradients))
            # Where an output is NaN, gradients depend on how it was computed.
            or not all(output.isfinite().all() for output in (*found.outputs, *other.outputs))
        )
    )


def _describe_form(task: Task, found: Outcome, expected: Outcome) -> str:
    count, right_count = len(found.outputs), len(expected.outputs)
    if count != right_count:
        return TEXT("returns_tensors", count=count, right=right_count)
    for name, mine, right in zip(task.outputs, found.outputs, expected.outputs, strict=True):
        if mine.shape != right.shape:
            shape = tuple(mine.shape)
            return TEXT("wrong_shape", output=name, shape=shape, right=tuple(right.shape))
        if mine.dtype != right.dtype:
            return TEXT("wrong_type", output=name, type=mine.dtype, right=right.dtype)
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
        wrong = _differ(mine, right)
        if wrong.any():
            return _describe_numbers(name, mine, right, wrong)
    return ""


def _agree(mine: Tensor | None, right: Tensor | None) -> bool:
    """Whether two tensors are the same; a gradient that does not flow is 0."""
    if mine is None or right is None:
        known = right if mine is None else mine
        return known is None or not _differ(known, torch.zeros_like(known)).any()
    same_form = mine.shape == right.shape and mine.dtype == right.dtype
    return same_form and not _differ(mine, right).any()


def _differ(mine: Tensor, right: Tensor) -> Tensor:
    if mine.dtype not in CLOSE:
        return mine != right
    share, least = CLOSE[mine.dtype]
    return ~torch.isclose(mine, right, rtol=share, atol=least, equal_nan=True)


def _describe_numbers(name: str, mine: Tensor, right: Tensor, wrong: Tensor) -> str:
    """Describe how many numbers differ, and the first one, without the right number."""
    count = int(wrong.sum())
    index = tuple(wrong.nonzero()[0].tolist())
    one, other = mine[index].item(), right[index].item()
    if mine.dtype == torch.bool:
        text = str(one)
    elif math.isnan(one):
        text = "NaN"
    else:
        text = TEXT("too_big" if one > other else "too_small", number=f"{one:.4g}")
    if not index:
        return TEXT("only_number_wrong_in", output=name, number=text)
    return TEXT(
        "positions_wrong_in" if mine.dtype == torch.bool else "numbers_wrong_in",
        output=name,
        count=count,
        total=mine.numel(),
        index=index,
        number=text,
    )


def _describe_changes(found: Outcome, expected: Outcome) -> str:
    changed = [name for name in found.changed if name not in expected.changed]
    if changed:
        return TEXT("changes_tensor", names="`, `".join(changed))
    return "" if found.changed == expected.changed else TEXT("changes_nothing")


def _describe_gradients(task: Task, case: Case, found: Outcome, expected: Outcome) -> str:
    for i, (mine, right) in enumerate(zip(found.gradients, expected.gradients, strict=False)):
        if _agree(mine, right):
            continue
        pairs = zip(task.arguments, case.make(), strict=False)
        name = [name for name, argument in pairs if has_gradient(argument)][i]
        if mine is None:
            return TEXT("gradient_stops", argument=name)
        return TEXT("gradient_is_nan" if mine.isnan().any() else "gradient_is_wrong", argument=name)
    return ""
