"""Every task of the registry: right code passes, each bug is told apart, named and catchable."""

from __future__ import annotations

import pytest

from attnbook.practice import TASKS
from attnbook.practice.checking import judge
from attnbook.practice.grading import failure
from tests.practice.registry_checks import (
    caught,
    naming,
    refused_in_double,
    told_apart,
)

RIGHTS = [(task, right) for task in TASKS.values() for right in task.rights]
BUGS = [(task, bug) for task in TASKS.values() for bug in task.bugs]
each_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
each_right = pytest.mark.parametrize(
    ("task", "right"), RIGHTS, ids=[f"{task.name}-{right}" for task, right in RIGHTS]
)
each_bug = pytest.mark.parametrize(
    ("task", "bug"), BUGS, ids=[f"{task.name}-{bug}" for task, bug in BUGS]
)


@each_right
def test_a_right_implementation_is_accepted(task, right):
    verdict = judge(task, task.rights[right].function)
    assert verdict, str(verdict)


@each_right
def test_a_right_implementation_is_right_in_double_precision(task, right):
    assert refused_in_double(task, task.rights[right].function) == []


@each_task
def test_a_task_of_more_than_a_line_has_four_right_implementations(task):
    assert len(task.rights) >= 4
    assert all(right.why.endswith(".") for right in task.rights.values())


@each_bug
def test_a_bug_says_what_it_is(task, bug):
    known = task.bugs[bug]
    for words in (known.sentence, known.symptom, known.mend):
        assert words.endswith(".")
        assert len(words) > 15
    assert known.origin
    assert not known.sentence.startswith("This is")
    assert known.sentence[0].islower() or known.sentence[0] in "`1W"


@each_bug
def test_the_case_that_a_bug_names_tells_it_from_a_right_implementation(task, bug):
    assert told_apart(task, bug)


@each_bug
def test_a_bug_is_refused_and_named_alone_or_in_a_pair(task, bug):
    assert bug in naming(task, bug)


@each_task
def test_the_books_own_tests_pass_right_code_and_catch_every_bug(task):
    wrong = [
        (test.__name__, right.name, told)
        for test in task.tests
        for right in task.rights.values()
        if (told := failure(test, right.function))
    ]
    assert wrong == []
    assert set(task.bugs) - set(caught(task, task.tests)) == set()
