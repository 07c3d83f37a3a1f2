"""A bug is named if an answer on tensors does the same: numbers, gradients and all."""

from __future__ import annotations

import pytest
import torch

from attnbook.practice import check
from attnbook.practice.registry import TASKS
from attnbook.practice.task import Task


def register_bug(task, name, function):
    function.__name__, function.__doc__ = name, f"it is {name}."
    task.bug(fix=f"not {name}.")(function)


@pytest.fixture
def total(monkeypatch, request):
    """A new task for each test: the sum of two numbers, then of huge ones."""
    task = Task(f"total-{request.node.name}", "Write `total(x)`.", "def total(x):\n    ...")
    task.case("two numbers")(lambda: (torch.tensor([2.0, 3.0]),))
    task.case("huge numbers")(lambda: (torch.tensor([2e30, 3e30]),))
    task.solution("it adds.")(lambda x: x.sum())
    register_bug(task, "product", lambda x: x.prod())
    register_bug(task, "difference", lambda x: x[0] - x[1])
    monkeypatch.setitem(TASKS, task.name, task)
    return task


def test_a_second_bug_or_case_of_a_name_is_refused(total):
    with pytest.raises(ValueError, match="must differ, got 'product' twice"):
        register_bug(total, "product", lambda x: x.sum())
    with pytest.raises(ValueError, match="must differ, got 'two numbers' twice"):
        total.case("two numbers")(lambda: (torch.ones(2),))
    assert [*total.bugs] == ["product", "difference"]


NAMED = {
    "the same by another operation": (lambda x: torch.einsum("i,i->i", x[:1], x[1:])[0], "product"),
    "another fault": (lambda x: x.sum() + 1, ""),
    "equal numbers with other gradients": (lambda x: 6 + 0 * x.sum(), ""),
}


@pytest.mark.parametrize(("answer", "name"), NAMED.values(), ids=NAMED)
def test_an_answer_that_does_the_same_as_a_bug_gets_its_name(total, answer, name):
    verdict = check(total.name, answer)
    assert not verdict
    assert "".join(bug.name for bug in verdict.bugs) == name
