"""Every task of the registry: right code passes, each bug is refused, named and catchable."""

from __future__ import annotations

from inspect import signature

import pytest
import torch
from torch import nn

from attnbook.practice import LIST_TASKS, TASKS, find_task
from tests.practice.judge import Grades, faults, grades_of

SHORTEST = 15  # characters of a sentence
COMPILED = ("additive-layer", "softmax")  # a layer and a function


@pytest.fixture
def grades(request):
    """The grades of a task by its name: on half of its bugs, or with `--full` on all.

    With `--full`, right implementations are also judged in double precision, and all compiled.
    """
    if request.config.getoption("--full"):
        return grades_of
    return lambda name: grades_of(name, compiled=name in COMPILED, full=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_judge_is_right_about_a_task(name, grades):
    found = vars(grades(name))
    assert {kind: names for kind, names in found.items() if isinstance(names, list) and names} == {}


@pytest.mark.slow
def test_the_grades_of_all_tasks_are_good_enough(grades):
    assert faults(sum(map(grades, TASKS), start=Grades())) == []


@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_four_right_implementations(name):
    assert len(TASKS[name].solutions) >= 4
    assert all(right.why.endswith(".") for right in TASKS[name].solutions.values())


def parameters(written):
    """The parameters of a function, or of a layer and of its call."""
    calls = (written.__init__, written.forward) if isinstance(written, type) else (written,)
    return [[*signature(it).parameters] for it in calls]


@pytest.mark.parametrize("name", [*TASKS, *LIST_TASKS])
def test_all_functions_of_a_task_have_the_parameters_of_its_starter(name):
    task = find_task(name)
    names = {"nn": nn, "torch": torch}
    exec(task.starter, names)  # noqa: S102 - our own
    expected = parameters(names[task.called])
    # Functions of the package may have more parameters after those.
    others = {
        it.name: found
        for it in [*task.solutions.values(), *task.bugs.values()]
        for found in [parameters(it.function)]
        if any(mine[: len(theirs)] != theirs for mine, theirs in zip(found, expected, strict=True))
    }
    assert others == {}


def test_each_bug_is_described_in_sentences():
    wrong = [
        (task.name, bug.name)
        for task in [*TASKS.values(), *LIST_TASKS.values()]
        for bug in task.bugs.values()
        for texts in [[bug.cause, bug.fix] + [bug.symptom] * (task.name in TASKS)]
        if not all(text.endswith(".") and len(text) > SHORTEST for text in texts)
        or bug.cause.startswith("This is")
        or not (bug.cause[0].islower() or bug.cause[0] in "`1W")
    ]
    assert wrong == []
