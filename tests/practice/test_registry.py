"""Every task of the registry: right code passes, each bug is told apart, named and catchable."""

from __future__ import annotations

import pytest

from attnbook.practice import TASKS
from tests.practice.judge import Grades, faults, grades_of

SHORTEST = 15  # characters of a sentence


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_judge_is_right_about_a_task(name, request):
    grades = grades_of(name, all_compiled=request.config.getoption("--full"))
    assert grades.not_accepted == []
    assert grades.not_refused == []
    assert grades.not_apart == []
    assert grades.not_named == []
    assert grades.not_tested == []
    assert grades.unfair == []


@pytest.mark.slow
def test_the_judge_stops_mutants_and_shapes_catch_few_bugs():
    total = sum((grades_of(name, all_compiled=False) for name in TASKS), start=Grades())
    assert faults(total) == []


@pytest.mark.parametrize("name", TASKS)
def test_a_task_of_more_than_a_line_has_four_right_implementations(name):
    assert len(TASKS[name].rights) >= 4
    assert all(right.why.endswith(".") for right in TASKS[name].rights.values())


def test_a_bug_says_what_it_is():
    for task in TASKS.values():
        for known in task.bugs.values():
            for words in (known.sentence, known.symptom, known.mend):
                assert words.endswith("."), known.name
                assert len(words) > SHORTEST, known.name
            assert known.origin, known.name
            assert not known.sentence.startswith("This is"), known.name
            assert known.sentence[0].islower() or known.sentence[0] in "`1W", known.name
