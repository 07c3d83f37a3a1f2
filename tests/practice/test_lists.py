"""Every task on plain lists: right code passes, each bug is refused and named on its own."""

from __future__ import annotations

import json
from inspect import signature

import pytest

from attnbook.practice import LIST_TASKS, TASKS, check, parts
from attnbook.practice.judge.data import as_data, data_of
from tools import BUDGETS

each_task = pytest.mark.parametrize("task", LIST_TASKS.values(), ids=LIST_TASKS)


@each_task
def test_right_code_is_accepted_and_each_bug_is_refused_and_named_on_its_own(task):
    verdicts = {right.name: check(task.name, right.function) for right in task.solutions.values()}
    assert [name for name, verdict in verdicts.items() if not verdict] == []
    verdicts = {bug.name: check(task.name, bug.function) for bug in task.bugs.values()}
    named = {name: [bug.name for bug in verdict.bugs] for name, verdict in verdicts.items()}
    assert named == {name: [name] for name in task.bugs}
    assert [name for name, verdict in verdicts.items() if verdict] == []


@each_task
def test_a_task_has_what_its_page_needs(task):
    assert len(task.solutions) >= 3
    assert all(right.why.endswith(".") for right in task.solutions.values())
    assert task.in_torch in TASKS.values()
    assert task.draws in ("", "score", "weights", "weights of what is seen", "mask", "attention")
    assert f"`{task.called}(" in task.statement
    data = as_data(task)
    assert data == data_of(task.name)
    assert len(json.dumps(data, allow_nan=False)) < BUDGETS["kilobytes"]["task"] * 1000
    names = {}
    exec(task.starter, names)  # noqa: S102 - our own
    starter = names[task.called]
    if task.draws == "mask":  # A figure calls it with positions and sizes only.
        defaults = signature(starter).bind(0, 0, 5, 5)
        defaults.apply_defaults()
        assert [*defaults.arguments] == task.arguments
        assert isinstance(task.reference(*defaults.args), bool)


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        (task.name, bug)
        for task in LIST_TASKS.values()
        for bug in task.bugs
        if task.draws == "mask" and bug in task.in_torch.bugs
    ],
)
def test_a_bug_of_one_name_makes_the_same_mask_on_lists_and_in_torch(name, bug):
    task = LIST_TASKS[name]
    of_pair, of_all = task.bugs[bug].function, task.in_torch.bugs[bug].function
    for window in (1, 3, 10) if "window" in task.arguments else (None,):
        more = [] if window is None else [window]
        for num_queries, num_keys in ((5, 5), (3, 7), (1, 4)):
            mask = [
                [bool(of_pair(i, j, num_queries, num_keys, *more)) for j in range(num_keys)]
                for i in range(num_queries)
            ]
            assert of_all(num_queries, num_keys, *more).bool().tolist() == mask


def test_a_bug_on_lists_has_the_symptom_and_the_origin_of_the_one_in_torch():
    task = LIST_TASKS["attention-by-hand"]
    by_hand, in_torch = (each.bugs["not scaled"] for each in (task, task.in_torch))
    assert in_torch.symptom
    assert (by_hand.symptom, by_hand.origin) == (in_torch.symptom, in_torch.origin)


def test_a_planted_bug_is_named_only_once_it_is_fixed():
    task = LIST_TASKS["attention-to-fix"]
    bug, names = task.bugs[task.planted], vars(parts).copy()
    exec(task.starter, names)  # noqa: S102 - our own
    before, after = check(task.name, names[task.called]), check(task.name, task.reference)
    assert [each.name for each in before.bugs] == [bug.name]
    assert bug.symptom in before.paragraphs()
    assert bug.cause not in str(before)
    assert bug.fix not in str(before)
    assert after.paragraphs()[1] == f"You found the bug. {bug.cause[0].upper()}{bug.cause[1:]}"
    assert "To fix it: " in str(check(task.name, task.bugs["nothing hidden"].function))


@pytest.mark.parametrize("name", [name for name in parts.PARTS if not LIST_TASKS[name].parts])
def test_a_part_is_right_and_complete(name):
    part, names = parts.part_of(name), {}
    exec(part["code"], names)  # noqa: S102 - our own
    assert check(name, names[part["called"]])
    assert part["called"] == LIST_TASKS[name].called


def test_true_or_false_that_agrees_by_chance_names_no_bug():
    never, always = (
        check("causal-rule-by-hand", lambda *_, answer=answer: answer) for answer in (0, 1)
    )
    assert [bug.name for bug in never.bugs] == []
    assert all("visible" in bug.name or "hidden" in bug.name for bug in always.bugs)
