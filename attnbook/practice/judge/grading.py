"""Grade a reader's tests: right code must pass them, and each known bug should not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType

from attnbook.practice.judge.reading import ends_in_own, name_of, text_of
from attnbook.practice.judge.run_safely import Stopped, run, session
from attnbook.practice.judge.verdicts import OWN_FAULTS, Grade
from attnbook.practice.judge.world import Names
from attnbook.practice.registry import find_task
from attnbook.practice.task import Function, Solution, Task

PARTS = ("__code__", "__defaults__", "__kwdefaults__")  # of a function, that can be assigned


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
    failures, hints, rows = [], [], []
    with session():
        for test in tests:
            found, hint = _of_rights(test, task)
            row = dict.fromkeys(task.bugs, False)
            if not found and not hint:  # else it says nothing when it fails on a bug
                row, hint = _of_bugs(test, task)
            failures.append(found)
            hints.append(hint)
            rows.append(row)
    caught = {name: [row[name] for row in rows] for name in task.bugs}
    return Grade(task, [test.__name__ for test in tests], failures, caught, hints)


def _of_rights(test: Function, task: Task) -> tuple[list[tuple[Solution, str]], str]:
    """The right code that a test fails on, and what is wrong with the test itself."""
    found = []
    for right in task.solutions.values():
        graded = _graded(test, right.function)
        if graded.failure:
            found.append((right, graded.failure))
        if graded.hint:
            return found, graded.hint  # of the test itself: it would be the same on all
    return found, ""


def _of_bugs(test: Function, task: Task) -> tuple[dict[str, bool], str]:
    """Which bugs a test catches, up to one that shows what is wrong with the test itself."""
    caught = dict.fromkeys(task.bugs, False)
    for bug in task.bugs.values():
        graded = _graded(test, bug.function)
        caught[bug.name] = bool(graded.failure)
        if graded.hint:
            return caught, graded.hint
    return caught, ""


def failure(test: Function, implementation: Function) -> str:
    """Say how a test fails on an implementation; nothing if it passes."""
    return _graded(test, implementation).failure


@dataclass
class _Graded:
    """How a test went on an implementation: how it fails, and what is wrong with the test."""

    failure: str = ""
    hint: str = ""


def _graded(test: Function, implementation: Function) -> _Graded:
    put_back = _keep(implementation)
    with session():
        ran = run(lambda: _called(test, implementation))
    put_back()
    if not ran.ended:
        return _Graded("it does not end", OWN_FAULTS["does not end"])
    if ran.error is not None:
        return _Graded(name_of(ran.error), OWN_FAULTS["unreadable"])
    graded: _Graded = ran.value
    return graded


def _keep(implementation: Function) -> Callable[[], object]:
    """Give what undoes a test's assignments to the implementation that it was given."""
    if isinstance(implementation, type):
        return Names([each for each in implementation.__mro__ if each is not object]).put_back
    parts = {name: getattr(implementation, name, None) for name in PARTS}
    own = dict(vars(implementation)) if isinstance(implementation, FunctionType) else {}

    def put_back() -> None:
        if isinstance(implementation, FunctionType):
            vars(implementation).clear()
            vars(implementation).update(own)
            for name, value in parts.items():
                setattr(implementation, name, value)

    return put_back


def _called(test: Function, implementation: Function) -> _Graded:
    """In the worker: what comes back or is raised may be of a class of the reader's own."""
    try:
        value = test(implementation)
    except Stopped:
        raise
    except BaseException as error:  # exit() and skip() are raised, too
        name, text = name_of(error), text_of(error)[:200]
        return _Graded(f"{name}: {text}" if text else name, _own_fault(error, name))
    return _Graded(hint=OWN_FAULTS["False"]) if value is False else _Graded()


def _own_fault(error: BaseException, name: str) -> str:
    """What to say of an error that is the test's own, whatever the implementation is."""
    return OWN_FAULTS.get(name, "") if ends_in_own(error) else ""


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
