"""Every task on plain lists: right code passes, each bug is told apart and named alone."""

from __future__ import annotations

import json
from inspect import signature

import pytest

from attnbook.practice import LIST_TASKS, TASKS, check
from attnbook.practice.plain import difference, outcome_of

RIGHTS = [(task, right) for task in LIST_TASKS.values() for right in task.rights]
BUGS = [(task, bug) for task in LIST_TASKS.values() for bug in task.bugs]
each_task = pytest.mark.parametrize("task", LIST_TASKS.values(), ids=LIST_TASKS)
each_right = pytest.mark.parametrize(
    ("task", "right"), RIGHTS, ids=[f"{task.name}-{right}" for task, right in RIGHTS]
)
each_bug = pytest.mark.parametrize(
    ("task", "bug"), BUGS, ids=[f"{task.name}-{bug}" for task, bug in BUGS]
)
MOST_BYTES = 9_000  # of what a page holds for one task, before it is packed


@each_right
def test_a_right_implementation_is_accepted(task, right):
    verdict = check(task.name, task.rights[right].function)
    assert verdict, str(verdict)


@each_bug
def test_a_bug_is_refused_and_named_alone(task, bug):
    verdict = check(task.name, task.bugs[bug].function)
    assert not verdict
    assert [known.name for known in verdict.bugs] == [bug]


@each_bug
def test_the_case_that_a_bug_names_tells_it_from_a_right_implementation(task, bug):
    known, data = task.bugs[bug], task.as_data()
    [case] = [each for each in data["cases"] if each["name"] == known.case]
    done = outcome_of(known.function, case["arguments"])
    assert difference(data, done, case["right"])


@each_bug
def test_a_bug_says_what_it_is(task, bug):
    known = task.bugs[bug]
    for words in (known.sentence, known.symptom, known.mend):
        assert words.endswith(".")
        assert len(words) > 15
    assert known.origin
    assert known.sentence[0].islower() or known.sentence[0] == "`"


@each_task
def test_a_task_has_what_its_page_needs(task):
    assert len(task.rights) >= 3
    assert all(right.why.endswith(".") for right in task.rights.values())
    assert task.in_torch in TASKS
    assert task.draws in ("", "score", "weights", "weights of what is seen", "mask")
    assert f"`{task.called}(" in task.statement
    assert len(json.dumps(task.as_data(), allow_nan=False)) < MOST_BYTES


@each_task
def test_the_unfinished_starter_is_no_answer_and_shows_nothing_right(task):
    names = {}
    exec(task.starter, names)  # noqa: S102 - our own
    verdict = check(task.name, names[task.called])
    assert not verdict


@pytest.mark.parametrize(
    "task", [task for task in LIST_TASKS.values() if task.draws == "mask"], ids=lambda it: it.name
)
def test_a_figure_can_ask_for_a_mask_by_places_and_sizes_alone(task):
    names = {}
    exec(task.starter, names)  # noqa: S102 - our own
    defaults = signature(names[task.called]).bind(0, 0, 5, 5)
    defaults.apply_defaults()
    assert [*defaults.arguments] == task.arguments
    assert isinstance(task.reference(*defaults.args), bool)


@each_task
def test_what_a_page_holds_is_the_same_each_time(task):
    assert task.as_data() == task.as_data()


def forever(_):
    while True:
        pass


def leaving(_):
    raise SystemExit


def printing(scores):
    print("here:", scores)  # noqa: T201 - what a reader does
    return scores


def gives(something):
    return lambda _: something


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (leaving, "It raises SystemExit."),
        (printing, "It said: here: [1.0, 2.0, 3.0]"),
        (lambda _, __: 0, "It raises TypeError: "),
        (gives([1.0, None, 2.0]), "It returns a list of Nones and numbers where a list of"),
        (gives([[]]), "It returns a list of empty lists where a list of numbers was"),
        (gives([]), "It returns an empty list where a list of numbers was expected."),
        (gives({1: 2}), "It returns a dict where a list of numbers was expected."),
        (gives((0.09003057, 0.24472847, 0.66524096)), "Case: equal scores"),
    ],
)
def test_nonsense_gets_a_sentence(written, told):
    assert told in str(check("softmax-by-hand", written))


def test_what_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr("attnbook.practice.guard.LIMIT", 0.3)
    verdict = check("softmax-by-hand", forever)
    assert "The call does not end: it was stopped." in str(verdict)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (lambda *_: None, "It returns None where True or False was expected."),
        (lambda *_: 1.5, "It returns 1.5 where True or False was expected."),
        (lambda *_: [True], "It returns a list of bools where True or False was expected."),
    ],
)
def test_a_yes_or_no_is_told_as_one(written, told):
    assert told in str(check("causal-rule-by-hand", written))


def test_chance_agreement_of_yes_and_no_names_no_bug():
    never, always = (check("causal-rule-by-hand", lambda *_, said=said: said) for said in (0, 1))
    assert [bug.name for bug in never.bugs] == []
    assert all("visible" in bug.name or "hidden" in bug.name for bug in always.bugs)


def test_a_right_answer_may_be_a_number_for_true():
    def rule(query, key, num_queries, num_keys):
        return int(key <= query + num_keys - num_queries)

    assert check("causal-rule-by-hand", rule)


def test_sizes_are_told_to_the_innermost():
    task = LIST_TASKS["split-heads-by-hand"]

    def short(vectors, num_heads):
        return [[part[:-1] for part in head] for head in task.reference(vectors, num_heads)]

    assert " numbers, and should return " in str(check(task.name, short))
