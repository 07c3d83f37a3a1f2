"""A bug is named if what was written does what it does: alone or in a pair, and no other."""

from __future__ import annotations

import pytest
import torch

from attnbook.practice import check
from attnbook.practice.registry import TASKS
from attnbook.practice.task import Task


def known(task, name, function):
    """Register a bug of that name."""
    function.__name__, function.__doc__ = name, f"it is {name}."
    task.bug(fix=f"not {name}.")(function)


@pytest.fixture
def total(monkeypatch, request):
    """A task of its own for each test: the sum of two numbers, then of huge ones."""
    task = Task(f"total-{request.node.name}", "Write `total(x)`.", "def total(x):\n    ...")
    task.case("two numbers")(lambda: (torch.tensor([2.0, 3.0]),))
    task.case("huge numbers")(lambda: (torch.tensor([2e30, 3e30]),))
    task.solution("it adds.")(lambda x: x.sum())
    known(task, "product", lambda x: x.prod())
    known(task, "difference", lambda x: x[0] - x[1])
    monkeypatch.setitem(TASKS, task.name, task)
    return task


def test_a_second_bug_or_case_of_a_name_is_refused(total):
    with pytest.raises(ValueError, match="must differ, got 'product' twice"):
        known(total, "product", lambda x: x.sum())
    with pytest.raises(ValueError, match="must differ, got 'two numbers' twice"):
        total.case("two numbers")(lambda: (torch.ones(2),))
    assert [*total.bugs] == ["product", "difference"]


def names(task, written):
    return [bug.name for bug in check(task.name, written).bugs]


def test_what_a_bug_does_gets_its_name(total):
    verdict = check(total.name, lambda x: torch.einsum("i,i->i", x[:1], x[1:])[0])
    assert [bug.name for bug in verdict.bugs] == ["product"]
    assert "This is what you get when it is product.\nTo fix it: not product." in str(verdict)


def test_right_code_and_other_faults_get_no_name(total):
    assert check(total.name, lambda x: x[0] + x[1])
    assert names(total, lambda x: x.sum() + 1) == []


def test_equal_numbers_with_other_gradients_are_another_fault(total):
    assert names(total, lambda x: 6 + 0 * x.sum()) == []


def test_two_bugs_that_do_the_same_are_both_named(total):
    known(total, "multiplied", lambda x: 1 * x.prod())
    assert names(total, lambda x: x.prod()) == ["product", "multiplied"]
    assert "when it is product. Or when it is multiplied." in str(check(total.name, torch.prod))


def test_of_three_that_do_the_same_none_is_named(total):
    known(total, "multiplied", lambda x: 1 * x.prod())
    known(total, "times", lambda x: x.prod() * 1)
    assert names(total, lambda x: x.prod()) == []


def test_of_bugs_that_fail_alike_the_one_that_goes_on_alike_is_named(total):
    known(total, "careful", lambda x: x.prod().clamp(max=1e9))
    assert names(total, lambda x: x.prod()) == ["product"]


def test_a_bug_that_is_right_where_the_code_fails_is_not_named(total):
    total.case("three numbers")(lambda: (torch.tensor([2.0, 3.0, 4.0]),))
    known(total, "of_two", lambda x: x[0] + x[1])
    assert names(total, lambda x: x[0] + x[1]) == ["of two"]
    assert names(total, lambda x: x[0] + x[1] if len(x) < 3 else x[2]) == []
