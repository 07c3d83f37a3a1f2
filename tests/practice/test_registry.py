"""Every task of the registry: right code passes, each bug is refused, named and catchable."""

from __future__ import annotations

import pytest

from attnbook.practice import TASKS
from tests.practice.judge import Grades, faults, grades_of

SHORTEST = 15  # characters of a sentence


@pytest.fixture
def grades(request):
    """The grades of a task by its name; with `--full`, all its right code is compiled too."""
    return lambda name: grades_of(name, all_compiled=request.config.getoption("--full"))


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_judge_is_right_about_a_task(name, grades):
    found = vars(grades(name))
    assert {kind: names for kind, names in found.items() if isinstance(names, list) and names} == {}


@pytest.mark.slow
def test_the_grades_of_all_tasks_are_good_enough(grades):
    assert faults(sum(map(grades, TASKS), start=Grades())) == []


@pytest.mark.parametrize("name", TASKS)
def test_a_task_of_more_than_a_line_has_four_right_implementations(name):
    assert len(TASKS[name].rights) >= 4
    assert all(right.why.endswith(".") for right in TASKS[name].rights.values())


def test_each_bug_is_described_in_sentences():
    wrong = [
        (task.name, bug.name)
        for task in TASKS.values()
        for bug in task.bugs.values()
        if not all(
            text.endswith(".") and len(text) > SHORTEST
            for text in (bug.sentence, bug.symptom, bug.mend)
        )
        or not bug.origin
        or bug.sentence.startswith("This is")
        or not (bug.sentence[0].islower() or bug.sentence[0] in "`1W")
    ]
    assert wrong == []
