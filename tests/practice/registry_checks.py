"""What is asked of every task, as functions for tests and for `make judge-grades`."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import torch
from torch import Tensor

from attnbook.practice import TASKS
from attnbook.practice.judge import run_safely
from attnbook.practice.judge.checking import expected, judge, of_bug
from attnbook.practice.judge.grading import failure
from attnbook.practice.judge.tensors import Outcome, difference, outcome_of
from attnbook.practice.task import Case, Function, Task

COMPILED = 3  # cases


def doubled(case: Case) -> Case:
    """The same case in double precision."""

    def wide(argument):
        single = isinstance(argument, Tensor) and argument.dtype == torch.float32
        return argument.double() if single else argument

    return replace(case, make=lambda: tuple(wide(argument) for argument in case.make()))


def refused_in_double(task: Task, right: Function) -> list[str]:
    """The cases in which an implementation differs from the reference in double precision."""
    wrong = []
    with run_safely.session():
        for case in map(doubled, task.cases.values()):
            ours = _in_double(task.name, case.name)
            if told := difference(task, case, outcome_of(task, case, right), ours):
                wrong.append(f"{case.name}: {told}")
    return wrong


@cache
def _in_double(task: str, case: str) -> Outcome:
    """What the reference does in double precision."""
    found = TASKS[task]
    return outcome_of(found, doubled(found.cases[case]), found.reference)


def compiled(function: Function) -> Function:
    """What `torch.compile` makes of it, without another compiler; a layer's class builds such."""
    torch.compiler.reset()
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # many types, many programs
    if isinstance(function, type):
        return lambda *sizes, **options: torch.compile(function(*sizes, **options), backend="eager")
    return torch.compile(function, backend="eager")


def accepted_compiled(task: Task, right: Function) -> bool:
    """Whether an implementation passes compiled.

    Each new shape or type is compiled again, so only the first cases are tried so.
    """
    few = replace(task, cases=dict([*task.cases.items()][:COMPILED]))
    with patch.object(run_safely, "LIMIT", 300):  # a first compilation takes its time
        return bool(judge(few, compiled(right)))


def caught_by_shapes(task: Task) -> list[str]:
    """The bugs that a test catches which looks at the shape and the type of one output only."""
    case = next(each for each in task.cases.values())
    right = expected(task, case)
    assert right.problem == ""
    return [
        name
        for name, bug in task.bugs.items()
        if _form(found := of_bug(task, case, bug)) != _form(right) or found.problem
    ]


def _form(outcome: Outcome) -> list[tuple[torch.Size, torch.dtype]]:
    return [(output.shape, output.dtype) for output in outcome.outputs]


def caught(task: Task, tests: list[Function]) -> list[str]:
    """The bugs that some test fails on."""
    return [
        bug.name for bug in task.bugs.values() if any(failure(test, bug.function) for test in tests)
    ]
