"""Every task of the registry: right code passes, each bug is refused, named and catchable."""

from __future__ import annotations

import zlib
from inspect import signature

import pytest
import torch
from torch import nn

from attnbook.practice import LIST_TASKS, TASKS, check, find_task, reference_steps
from attnbook.practice.judge.checking import TensorAnswer, judge
from attnbook.practice.judge.run_safely import session
from attnbook.practice.task import rows_sum_to_one
from tests.practice import compare_judges
from tests.practice.adapters import SHARED
from tests.practice.judge import (
    UNNAMED,
    Grades,
    faults,
    grades_of,
    mistakes_of,
    verdicts_on_answers,
)
from tests.practice.registry_checks import bugs_that_tests_miss, unfair_tests
from tests.practice.replay import BLIND, READERS, read_attempts, replay

COMPARED = read_attempts(compare_judges.STORED)
SHORTEST = 15  # characters of a sentence
each_task = pytest.mark.parametrize("name", TASKS)


def is_in_sample(text):
    """Choose a quarter for each run; what is added changes the choice of nothing else."""
    return zlib.crc32(text.encode()) % 4 == 0


@pytest.mark.slow
@each_task
def test_right_code_is_accepted_and_each_bug_is_refused_and_named(name):
    task = TASKS[name]
    assert len(task.solutions) >= 4
    assert all(right.why.endswith(".") for right in task.solutions.values())
    assert [right for right, it in task.solutions.items() if not judge(task, it.function)] == []
    accepted = []
    with session():
        for number, bug in enumerate(task.bugs.values()):
            answer = TensorAnswer(task, bug.function)
            if not any(answer.is_wrong(case, number) for case in range(answer.num_cases)):
                accepted.append(bug.name)
    assert accepted == []
    verdicts = {
        bug.name: judge(task, bug.function) for bug in task.bugs.values() if is_in_sample(bug.name)
    }
    named = {name: [bug.name for bug in verdict.bugs] for name, verdict in verdicts.items()}
    assert {name: bugs for name, bugs in named.items() if name not in bugs} == {}


@each_task
def test_the_books_tests_catch_each_bug_and_pass_on_right_code(name):
    assert bugs_that_tests_miss(TASKS[name]) == []
    assert unfair_tests(TASKS[name]) == []


# Of a mask of lengths, which has one row for all queries, it is not a mistake that people make.
NOT_NAMED = {"mask transposed"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.inherited])
def test_a_mistake_that_a_task_does_not_inherit_changes_nothing_or_has_another_name(name):
    left_out = mistakes_of(name, left_out=True)
    assert {mistake for mistake, cell in left_out.items() if cell == UNNAMED} <= NOT_NAMED


@pytest.mark.weekly
@pytest.mark.slow
def test_the_grades_of_all_tasks_are_good_enough():
    assert faults(sum(map(grades_of, TASKS), start=Grades())) == []


def each_attempt(paths):
    attempts = [
        pytest.param(attempt, id=f"{path.stem}-{number}")
        for path in paths
        for number, attempt in enumerate(read_attempts(path))
    ]
    return pytest.mark.parametrize("attempt", attempts)


@pytest.mark.few(1000)  # all
@pytest.mark.slow
@each_attempt(READERS)
def test_an_attempt_of_a_reader_is_judged_as_stored(attempt):
    assert attempt | replay(attempt) == attempt


@pytest.mark.few(80)
@pytest.mark.slow
@each_attempt(BLIND)
def test_an_answer_that_was_written_blind_is_judged_as_stored(attempt):
    assert attempt | replay(attempt) == attempt


def test_the_stored_verdicts_on_answers_that_were_written_blind_are_good_enough():
    assert verdicts_on_answers(BLIND).faults == []


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize("shared", SHARED, ids=lambda it: f"{it.ours}-{it.theirs}")
def test_our_verdicts_next_to_those_of_torch_judge_are_as_stored(shared):
    right = find_task(shared.ours).solutions.values()
    assert all(shared.is_right(it.function) for it in right), "the adapter makes right code wrong"
    found = compare_judges.verdicts(shared, compare_judges.ours)
    assert found in COMPARED, "run make compare-judges"


def test_the_page_for_teachers_has_the_verdicts_of_both_judges():
    assert compare_judges.table(COMPARED) in compare_judges.PAGE.read_text("utf-8")


def parameters(written):
    """The parameters of a function, or of a layer and of its call."""
    calls = (written.__init__, written.forward) if isinstance(written, type) else (written,)
    return [[*signature(it).parameters] for it in calls]


@pytest.mark.parametrize("name", [*TASKS, *LIST_TASKS])
def test_a_starter_is_refused_and_all_functions_of_its_task_have_its_parameters(name):
    task = find_task(name)
    names = {"nn": nn, "torch": torch}
    exec(task.starter, names)  # noqa: S102 - our own
    starter = names[task.called]
    assert not check(name, starter)
    expected = parameters(starter)
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


def test_each_row_must_sum_to_1_or_be_fully_masked():
    assert rows_sum_to_one(torch.tensor([[0.25, 0.75], [0.0, 0.0]]))
    assert not rows_sum_to_one(torch.tensor([[0.25, 0.75], [0.5, 0.0]]))


def test_the_weights_to_compare_with_are_right_below_the_lowest_half_number():
    scores = torch.tensor([[[-70_000.0, -65_000.0]]])
    assert reference_steps.weigh(scores, torch.tensor([[[True, False]]])).tolist() == [[[1, 0]]]


def test_a_query_without_a_visible_key_must_get_0():
    [law] = TASKS["masked-attention"].laws
    queries = keys = values = torch.ones(1, 1, 2, 1)
    mask = torch.tensor([[[True, True], [False, False]]])
    for output, holds in (([7.0, 0.0], True), ([7.0, 7.0], False)):
        assert (
            law.holds(torch.tensor(output).view(1, 1, 2, 1), queries, keys, values, mask) == holds
        )
