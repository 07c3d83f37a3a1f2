"""What every task must satisfy, as functions for tests and for `make judge-grades`."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import torch
from torch import Tensor

from attnbook.practice import TASKS
from attnbook.practice.judge import run_safely
from attnbook.practice.judge.checking import judge, known_outcome
from attnbook.practice.judge.grading import failure
from attnbook.practice.judge.tensors import Outcome, difference, outcome_of
from attnbook.practice.task import Case, Function, Task

COMPILED = 3  # cases


def in_double(case: Case) -> Case:
    """The same case in double precision."""

    def widen(argument):
        single = isinstance(argument, Tensor) and argument.dtype == torch.float32
        return argument.double() if single else argument

    return replace(case, make=lambda: tuple(widen(argument) for argument in case.make()))


def differences_in_double(task: Task, solution: Function) -> list[str]:
    """How an implementation differs from the reference in double precision, for each case."""
    wrong = []
    with run_safely.session():
        for case in map(in_double, task.cases.values()):
            right = _reference_in_double(task.name, case.name)
            if text := difference(task, case, outcome_of(task, case, solution), right):
                wrong.append(f"{case.name}: {text}")
    return wrong


@cache
def _reference_in_double(name: str, case: str) -> Outcome:
    task = TASKS[name]
    return outcome_of(task, in_double(task.cases[case]), task.reference)


def compiled(function: Function) -> Function:
    """Compile with torch's own backend; of a layer's class, the layers that it makes."""
    torch.compiler.reset()
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # many types, many programs
    if isinstance(function, type):
        return lambda *sizes, **options: torch.compile(function(*sizes, **options), backend="eager")
    return torch.compile(function, backend="eager")


def is_accepted_compiled(task: Task, solution: Function) -> bool:
    """Whether an implementation passes the first cases compiled.

    Each new shape or type is compiled again, which takes its time.
    """
    few = replace(task, cases=dict([*task.cases.items()][:COMPILED]))
    with patch.object(run_safely, "LIMIT", 300):
        return bool(judge(few, compiled(solution)))


def bugs_caught_by_shapes(task: Task) -> list[str]:
    """The bugs whose output has another shape or type in the first case, or that fail there."""
    case = next(iter(task.cases.values()))
    right = known_outcome(task, case)
    assert right.problem == ""
    return [
        bug.name
        for bug in task.bugs.values()
        if _shapes(found := known_outcome(task, case, bug)) != _shapes(right) or found.problem
    ]


def _shapes(outcome: Outcome) -> list[tuple[torch.Size, torch.dtype]]:
    return [(output.shape, output.dtype) for output in outcome.outputs]


def bugs_that_tests_miss(task: Task) -> list[str]:
    """The bugs that none of the book's own tests fails on."""
    with run_safely.session():
        return [
            bug.name
            for bug in task.bugs.values()
            if not any(failure(test, bug.function) for test in task.tests)
        ]


def unfair_tests(task: Task) -> list[str]:
    """The book's own tests that fail on right code."""
    with run_safely.session():
        return [
            f"{test.__name__} on {right.name}"
            for test in task.tests
            for right in task.solutions.values()
            if failure(test, right.function)
        ]
