"""The words of each kind of verdict, once; elsewhere tests compare the case and the bugs."""
# ruff: noqa: ARG005 - what is written takes the arguments of the task, used or not

from __future__ import annotations

import re
import sys

import pytest
import torch
from torch import nn

from attnbook.practice import LIST_TASKS, TASKS, check, grade_tests
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Law, Task

SMALL = Law("No number may be above 100.", lambda output, *_: bool((output <= 100).all()))
ROWS = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def known_bug(task, case, name, function):
    function.__name__, function.__doc__ = name, f"it is {name}."
    told = {"symptom": f"It looks {name}.", "origin": "nowhere", "mend": f"avoid {name}."}
    task.bug(case=case, **told)(function)


def doubling():
    """Two rows after one, then lengths that must be refused."""
    task = Task("double", "Write it.", "def double(x, lens):\n    ...", laws=(SMALL,))
    task.case("one row")(lambda: (ROWS[:1].clone(), torch.tensor([2])))
    task.case("two rows")(lambda: (ROWS.clone(), torch.tensor([2, 1])))
    task.case("half a length", refused=True)(lambda: (ROWS[:1].clone(), torch.tensor([1.5])))

    def double(x, lens):
        """A sum of two."""
        if lens.is_floating_point():
            raise ValueError("lens must be whole numbers")
        return x + x

    task.right(why="it is twice.")(double)
    first = [1.0, 0.0]
    known_bug(task, "two rows", "short", lambda x, _: 2 * x * torch.tensor(first)[: len(x), None])
    known_bug(task, "two rows", "brief", lambda x, _: torch.cat([2 * x[:1], 0 * x[1:]]))
    known_bug(task, "one row", "tripled", lambda x, _: 3 * x)
    return task


def splitting():
    """Two outputs, of a narrow type, and arguments that are no tensors."""
    outputs = ("the head", "the rest")
    task = Task("split", "Write it.", "def split(x, at, more):\n    ...", outputs=outputs)
    task.case("of three")(lambda: (torch.arange(3).half(), 1, None))
    task.right(why="it cuts.")(lambda x, at, more: (x[:at], x[at:]))
    return task


def task_of(name, right):
    task = Task(name, "Write it.", f"def {name}(x):\n    ...")
    task.case("two numbers")(lambda: (torch.tensor([1.0, 2.0]),))
    task.right(why="it is so.")(right)
    return task


MADE = [
    doubling(),
    splitting(),
    task_of("positive", lambda x: x > 1),
    task_of("total", lambda x: x.sum()),
    task_of("zero", lambda x: x.zero_()),
]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for task in MADE:
        monkeypatch.setitem(TASKS, task.name, task)
    for task in LISTS:
        monkeypatch.setitem(LIST_TASKS, task.name, task)


def fails(error):
    raise error


def hooked(x, _):
    output = x + x
    output.register_hook(lambda _: 1 / 0)
    return output


def overwritten(x, _):
    powers = x.exp()
    output = powers.log()
    powers.zero_()
    return output


def refuses_oddly(x, lens):
    return fails(KeyError("odd")) if lens.is_floating_point() else x + x


def changes_both(x, lens):
    output = x + x
    x.zero_()
    lens.zero_()
    return output


class Double(nn.Module):
    pass


INPUTS = "The inputs: `x` (1, 2), `lens` (1,)."
WRONG = [
    ("double", lambda x, lens: None, "It returns None where a tensor was expected. Is there a `return`?"),
    ("double", lambda x, lens: x.tolist(), "It returns list where a tensor was expected."),
    ("double", lambda x, lens: (x, x), "It returns 2 tensors, expected was 1."),
    ("double", lambda x, lens: x[0], "The shape of the output is (2,), expected was (1, 2)."),
    ("double", lambda x, lens: x.double(), "The type of the output is torch.float64, expected was torch.float32."),
    ("double", lambda x, lens: {}[3], f"It raises KeyError: 3 (line #). {INPUTS}"),
    ("double", lambda x, lens: {}.popitem(*[]) if 0 else fails(KeyError), f"It raises KeyError (line #). {INPUTS}"),
    ("double", lambda x, lens: sys.exit(3), f"It raises SystemExit: 3 (line #). {INPUTS}"),
    ("double", lambda x, lens: x + torch.nan, "In the output 2 of 2 numbers are wrong; the first, at (0, 0), is NaN."),
    ("double", lambda x, lens: x + x + 0.25, "In the output 2 of 2 numbers are wrong; the first, at (0, 0), is 2.25, and should be smaller."),
    ("double", lambda x, lens: x + 1, "In the output 1 of 2 numbers are wrong; the first, at (0, 1), is 3, and should be larger."),
    ("double", lambda x, lens: 1000 * x, "No number may be above 100."),
    ("double", lambda x, lens: x.mul_(2), "It changes the caller's `x`: write into a new tensor."),
    ("double", changes_both, "It changes the caller's `x`, `lens`: write into a new tensor."),
    ("double", lambda x, lens: (x + x).detach(), "No gradient flows back to `x`; was it detached, or made a number?"),
    ("double", lambda x, lens: x + x.detach(), "What it returns is right, and the gradient of `x` is not."),
    ("double", lambda x, lens: x + x + (x - x).sqrt(), "What it returns is right, and the gradient of `x` is NaN."),
    ("double", overwritten, "Nothing can flow back through it: a tensor that the gradients need was written into. Make a new one instead, with `torch.where` or `masked_fill` for instance."),
    ("double", hooked, "Nothing can flow back through it: division by zero."),
    ("double", lambda x: x, "It cannot be called with (x, lens): too many positional arguments. What you wrote takes (x); the task says `double(x, lens)`."),
    ("double", Double, "`Double` is a class. It was called with (x, lens) to make an object, where an answer was expected: hand over an object of it, `Double(…)`."),
    ("double", lambda x, lens: x + x, "It gives an answer, where the input is wrong: raise a ValueError that says what is."),
    ("double", refuses_oddly, f"It raises KeyError: 'odd' (line #). The inputs: `x` (1, 2), `lens` (1,). A ValueError or a TypeError was expected."),
    ("split", lambda x, at, more: x, "It returns 1 tensor, expected was 2."),
    ("split", lambda x, at, more: [x], "It returns list where a tuple was expected: (the head, the rest)."),
    ("split", lambda x, at, more: (x, None), "The rest is NoneType where a tensor was expected."),
    ("split", lambda x, at, more: (x[:1], x), "The shape of the rest is (3,), expected was (2,)."),
    ("split", lambda x, at, more: more.x, "It raises AttributeError: 'NoneType' object has no attribute 'x' (line #). The inputs: `x` (3,) of torch.float16, `at` 1, `more` None."),
    ("positive", lambda x: x >= 1, "In the output 1 of 2 places are wrong; the first, at (0,), is True."),
    ("total", lambda x: x.prod(), "In the output the number is wrong: it is 2, and should be larger."),
    ("zero", lambda x: 0 * x, "It changes nothing of the caller's."),
]  # fmt: skip


@pytest.mark.parametrize(("task", "written", "words"), WRONG, ids=[words for *_, words in WRONG])
def test_what_is_wrong_is_one_sentence(task, written, words):
    assert re.sub(r"line \d+ of the cell or file", "line #", check(task, written).wrong) == words
