"""Grade a reader's tests: right code must pass them, and each known bug should not."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from attnbook.practice.guard import run
from attnbook.practice.registry import find_task
from attnbook.practice.showing import Grade
from attnbook.practice.task import Function, Task


def grade_tests(task: str, tests: Function | Iterable[Function]) -> Grade:
    """Run tests on all right implementations and on all known bugs of a task.

    Args:
        task: its name; `attnbook.practice.TASKS` holds them all.
        tests: one function or several. Each takes an implementation as its only argument,
            and raises (by `assert`, say) when something is wrong with it.

    Returns:
        Which test catches which bug, and which one fails on right code, with the reason
        why that code is right.

    Raises:
        ValueError: there is no such task, or no test.
        TypeError: a test is no function of one argument.
    """
    found = find_task(task)
    functions = [tests] if callable(tests) else list(tests)
    for test in functions:
        _check_test(test)
    if not functions:
        raise ValueError("tests must hold at least one function, got none")
    return grade(found, functions)


def grade(task: Task, tests: list[Function]) -> Grade:
    """Make the table tests × bugs."""
    failures = [
        [
            (right, error)
            for right in task.rights.values()
            if (error := failure(test, right.function))
        ]
        for test in tests
    ]
    # What fails on right code says nothing when it fails on a bug.
    caught = {
        bug.name: [
            not unfair and bool(failure(test, bug.function))
            for test, unfair in zip(tests, failures, strict=True)
        ]
        for bug in task.bugs.values()
    }
    return Grade(task, [test.__name__ for test in tests], failures, caught)


def failure(test: Function, implementation: Function) -> str:
    """Say how a test fails on an implementation; nothing if it passes."""
    ran = run(lambda: test(implementation))
    if not ran.ended:
        return "it does not end"
    if ran.error is None:
        return ""
    text = " ".join(str(ran.error).split())[:200]
    name = type(ran.error).__name__
    return f"{name}: {text}" if text else name


def _check_test(test: Function) -> None:
    if not callable(test):
        raise TypeError(f"tests must hold functions, got {type(test).__name__}")
    if isinstance(test, type) or not hasattr(test, "__name__"):
        raise TypeError(f"tests must hold functions, got {test!r}")
    try:
        inspect.signature(test).bind(None)
    except TypeError as error:
        raise TypeError(
            f"each test must take one argument, the implementation, got "
            f"`{test.__name__}{inspect.signature(test)}`"
        ) from error
