"""Grade a reader's tests: right code must pass them, and each known bug should not."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from functools import wraps
from types import FunctionType
from typing import Any

import torch
from torch import nn

from attnbook.messages import Messages
from attnbook.practice.judge.progress import GRADED, progress_after
from attnbook.practice.judge.reading import class_name, error_text, is_raised_in_own_code
from attnbook.practice.judge.run_safely import Stopped, run, session
from attnbook.practice.judge.tensors import CLOSE
from attnbook.practice.judge.verdicts import Grade
from attnbook.practice.judge.world import Names
from attnbook.practice.registry import find_task
from attnbook.practice.task import Bug, Function, Solution, Task

TEXT = Messages(__file__)
# What is wrong with a test itself, by the error that it raises or by what it does.
OWN_FAULTS = TEXT.group("own_faults")
PARTS = ("__code__", "__defaults__", "__kwdefaults__")  # of a function, that can be assigned


def grade_tests(task: str, tests: Function | Iterable[Function]) -> Grade:
    """Run tests on all right implementations and on all known bugs of a task.

    Args:
        task: its name; `attnbook.practice.TASKS` holds them all.
        tests: one function or several. Each takes an implementation as its only argument,
            and raises (by `assert`, say) when something is wrong with it.

    Returns:
        Which test catches which bug, and which test fails on right code, with the reason
        why that code is right.

    Raises:
        ValueError: there is no such task, or no test.
        TypeError: a test is not a function of one argument.

    Example:
        >>> from attnbook.practice import grade_tests
        >>> def sums_to_one(masked_softmax):
        ...     weights = masked_softmax(torch.zeros(1, 1, 4), torch.tensor([2]))
        ...     assert weights.sum() == 1
        >>> bool(grade_tests("masked-softmax", sums_to_one))  # it does not catch every bug
        False
    """
    found = find_task(task)
    functions = [tests] if callable(tests) else list(tests)
    for test in functions:
        _check_test(test)
    if not functions:
        raise ValueError("tests must hold at least one function, got none")
    result = grade(found, functions)
    result.progress = progress_after(GRADED, task, functions, is_right=bool(result))
    return result


def grade(task: Task, tests: list[Function]) -> Grade:
    """Run all tests on all bugs."""
    failures, hints, rows = [], [], []
    with session():
        for test in tests:
            texts, hint = _run_on_all(test, task.solutions.values())
            found = [(task.solutions[name], text) for name, text in texts.items() if text]
            caught: dict[str, str] = {}
            if not found and not hint:  # else a failure on a bug means nothing
                caught, hint = _run_on_all(test, task.bugs.values())
                hint = hint or ("" if any(caught.values()) else _fault_of_idle_test(test, task))
            elif not hint and len(found) < len(texts):
                hint = _describe_rounding(test, task, texts)
            failures.append(found)
            hints.append(hint)
            rows.append(caught)
    caught_by = {name: [bool(row.get(name)) for row in rows] for name in task.bugs}
    return Grade(task, [test.__name__ for test in tests], failures, caught_by, hints)


def _run_on_all(
    test: Function, implementations: Iterable[Solution | Bug]
) -> tuple[dict[str, str], str]:
    """Find how a test fails on each, up to one that shows a fault of the test itself."""
    texts = {}
    for each in implementations:
        texts[each.name], hint = _run_test(test, each.function)
        if hint:
            return texts, hint
    return texts, ""


class _CalledError(BaseException):
    """No test catches it by mistake."""


def _uncalled(*_: Any, **__: Any) -> None:
    raise _CalledError


def _fault_of_idle_test(test: Function, task: Task) -> str:
    """Find why a test passes on all implementations; empty if it may."""
    if not failure(test, _uncalled):
        return OWN_FAULTS["never_calls"]
    returned = run(lambda: test(task.reference)).value
    return "" if returned is None else OWN_FAULTS["returns_value"]


def _describe_rounding(test: Function, task: Task, texts: dict[str, str]) -> str:
    """Report by how much right code differs, if that is why a test fails on some of it."""
    passing, failing = (
        next(task.solutions[name].function for name, text in texts.items() if bool(text) is fails)
        for fails in (False, True)
    )
    gaps: list[float] = []

    @wraps(failing)
    def passing_renamed(*inputs: Any, **options: Any) -> Any:
        output = passing(*inputs, **options)
        with torch.random.fork_rng(devices=[]):
            other = failing(*inputs, **options)
        if not isinstance(output, nn.Module):
            gaps.append(_gap(output, other))
            return output

        def compare(layer: nn.Module, called: Any, named: dict[str, Any], output: Any) -> None:
            other.load_state_dict(
                layer.state_dict(), strict=False
            )  # what both were given, both have
            gaps.append(_gap(output, other.train(layer.training)(*called, **named)))

        output.register_forward_hook(compare, with_kwargs=True)
        return output

    is_cause = not failure(test, passing_renamed) and 0 < max(gaps, default=0) < math.inf
    return TEXT("rounding", gap=f"{max(gaps):.0e}") if is_cause else ""


def _gap(one: Any, other: Any) -> float:
    """How far two outputs are apart; infinity if it is more than rounding."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return max(map(_gap, one, other), default=0)
    share, least = CLOSE.get(getattr(one, "dtype", torch.float64), CLOSE[torch.float64])
    try:
        one, other = (torch.as_tensor(it, dtype=torch.float64).detach() for it in (one, other))
        is_close = torch.allclose(one, other, share, least)
    except (TypeError, ValueError, RuntimeError):  # no numbers, or other shapes
        return math.inf
    return float((one - other).abs().max()) if is_close else math.inf


def failure(test: Function, implementation: Function) -> str:
    """Describe how a test fails on an implementation; empty if it passes."""
    return _run_test(test, implementation)[0]


def _run_test(test: Function, implementation: Function) -> tuple[str, str]:
    """Find how a test fails on an implementation, and what is wrong with the test itself."""
    put_back = _remember_parts(implementation)
    with session():
        result = run(lambda: _call_test(test, implementation))
    put_back()
    if not result.ended:
        return TEXT("test_does_not_end"), OWN_FAULTS["endless"]
    if result.error is not None:
        return class_name(result.error), OWN_FAULTS["unreadable"]
    text, hint = result.value
    return text, hint


def _remember_parts(implementation: Function) -> Callable[[], object]:
    """Give a function that undoes a test's assignments to its implementation."""
    if isinstance(implementation, type):
        return Names([each for each in implementation.__mro__ if each is not object]).put_back
    parts = {}
    if isinstance(implementation, FunctionType):
        parts = {name: getattr(implementation, name) for name in PARTS}
        parts["__dict__"] = dict(vars(implementation))

    def put_back() -> None:
        for name, value in parts.items():
            setattr(implementation, name, value)

    return put_back


def _call_test(test: Function, implementation: Function) -> tuple[str, str]:
    """Call a test in the worker: results and errors may be of the reader's own classes."""
    try:
        value = test(implementation)
    except Stopped:
        raise
    except BaseException as error:  # exit() and skip() are raised, too
        name, text = class_name(error), error_text(error)[:200]
        # An error of the test itself, whatever the implementation is.
        hint = OWN_FAULTS.get(name, "") if is_raised_in_own_code(error) else ""
        return f"{name}: {text}" if text else name, hint
    return "", OWN_FAULTS["returns_false"] if value is False else ""


def _check_test(test: Function) -> None:
    if not callable(test):
        raise TypeError(f"tests must hold functions, got {type(test).__name__}")
    if isinstance(test, type) or not hasattr(test, "__name__"):
        raise TypeError(f"tests must hold functions, got {test!r}")
    if inspect.iscoroutinefunction(test) or inspect.isasyncgenfunction(test):
        raise TypeError(f"each test must be a plain function, `{test.__name__}` is `async def`")
    if inspect.isgeneratorfunction(test):
        raise TypeError(f"each test must be a plain function, `{test.__name__}` has a `yield`")
    try:
        inspect.signature(test).bind(None)
    except TypeError as error:
        raise TypeError(
            f"each test must take one argument, the implementation, got "
            f"`{test.__name__}{inspect.signature(test)}`"
        ) from error
