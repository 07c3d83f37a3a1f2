"""The wording of each kind of verdict, once; other tests compare the case and the bugs."""
# ruff: noqa: ARG001, ARG005 - answers take the arguments of the task, used or not

from __future__ import annotations

import json
import re
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional

from attnbook.practice import LIST_TASKS, TASKS, check, grade_tests
from attnbook.practice.judge.checking import judge
from attnbook.practice.list_task import ListTask
from attnbook.practice.statements.cases import describe_cases
from attnbook.practice.task import Case, Law, Task

SMALL = Law("No number may be above 100.", lambda output, *_: bool((output <= 100).all()))
ROWS = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def register_bug(task, name, function):
    function.__name__, function.__doc__ = name, f"it is {name}."
    task.bug(symptom=f"It looks {name}.", fix=f"avoid {name}.")(function)


def make_double():
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

    task.solution(why="it is twice.")(double)
    first = [1.0, 0.0]
    register_bug(task, "short", lambda x, _: 2 * x * torch.tensor(first)[: len(x), None])
    register_bug(task, "brief", lambda x, _: torch.cat([2 * x[:1], 0 * x[1:]]))
    register_bug(task, "tripled", lambda x, _: 3 * x)
    return task


def make_split():
    """Two outputs, of a narrow type, and arguments that are not tensors."""
    outputs = ("the head", "the rest")
    task = Task("split", "Write it.", "def split(x, at, more):\n    ...", outputs=outputs)
    task.case("of three")(lambda: (torch.arange(3).half(), 1, None))
    task.solution(why="it cuts.")(lambda x, at, more: (x[:at], x[at:]))
    return task


def make_task(name, right):
    task = Task(name, "Write it.", f"def {name}(x):\n    ...")
    task.case("two numbers")(lambda: (torch.tensor([1.0, 2.0]),))
    task.solution(why="it is so.")(right)
    return task


TENSOR_TASKS = [
    make_double(),
    make_split(),
    make_task("positive", lambda x: x > 1),
    make_task("total", lambda x: x.sum()),
    make_task("zero", lambda x: x.zero_()),
]


def make_list_task(name, right, *arguments):
    task = ListTask(name, "Write it.", f"def {name}(x):\n    ...", in_torch=TENSOR_TASKS[0])
    task.case("the first")(lambda: (arguments[0],))
    task.case("the others")(lambda: (arguments[-1],))
    task.solution(why="it is so.")(right)
    return task


NEW_LIST_TASKS = [
    make_list_task("doubled", lambda x: [2.0 * each for each in x], [1, 2], [3]),
    make_list_task("nested", lambda x: [[each, each] for each in x], [1, 2], [3]),
    make_list_task("summed", sum, [1, 0.5], [3]),
    make_list_task("bounded", lambda x: x < 1, 0.5, 2),
]


@pytest.fixture(autouse=True)
def register_tasks(monkeypatch):
    for registry, tasks in ((TASKS, TENSOR_TASKS), (LIST_TASKS, NEW_LIST_TASKS)):
        for task in tasks:
            monkeypatch.setitem(registry, task.name, task)


# Tensors


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


def raises_key_error(x, lens):
    return fails(KeyError("odd")) if lens.is_floating_point() else x + x


class Double(nn.Module):
    pass


INPUTS = "The inputs: `x` (1, 2), `lens` (1,)."
WRONG = {
    ("double", lambda x, lens: len(x) and None): (
        "It returns None where a tensor was expected. Is there a `return`?"
    ),
    ("double", lambda x, lens: x.tolist()): "It returns list where a tensor was expected.",
    ("double", lambda x, lens: (x, 0.5)): "It returns a tuple of 2: return one tensor.",
    ("double", lambda x, lens: (x + x,)): "It returns a tuple of 1: return one tensor.",
    ("double", lambda x, lens: x[0]): "The shape of the output is (2,), and should be (1, 2).",
    ("double", lambda x, lens: x.double()): (
        "The type of the output is torch.float64, and should be torch.float32."
    ),
    ("double", lambda x, lens: {}[3]): f"It raises KeyError: 3 (line #). {INPUTS}",
    ("double", lambda x, lens: sys.exit(3)): f"It raises SystemExit: 3 (line #). {INPUTS}",
    ("double", lambda x, lens: x + torch.nan): (
        "In the output 2 of 2 numbers are wrong; the first, at (0, 0), is NaN."
    ),
    ("double", lambda x, lens: x + x + 0.25): (
        "In the output 2 of 2 numbers are wrong; the first, at (0, 0), is 2.25, and should "
        "be smaller."
    ),
    ("double", lambda x, lens: 1000 * x): "No number may be above 100.",
    ("double", lambda x, lens: x.mul_(2)): "It changes the caller's `x`: write into a new tensor.",
    ("double", lambda x, lens: (x + x).detach()): (
        "No gradient flows back to `x`; was it detached, or made a number?"
    ),
    ("double", lambda x, lens: x + x.detach()): (
        "What it returns is right, and the gradient of `x` is not."
    ),
    ("double", lambda x, lens: x + x + (x - x).sqrt()): (
        "What it returns is right, and the gradient of `x` is NaN."
    ),
    ("double", overwritten): (
        "No gradient can flow back: a tensor that the gradients need was changed in place. "
        "Make a new one instead, with `torch.where` or `masked_fill` for instance."
    ),
    ("double", hooked): "No gradient can flow back: division by zero.",
    ("double", lambda x: x): (
        "It cannot be called with (x, lens): too many positional arguments. What you wrote "
        "takes (x); the task says `double(x, lens)`."
    ),
    ("double", Double): (
        "`Double` is a class. It was called with (x, lens) to make an object, where an "
        "answer was expected: pass an object of it, `Double(…)`."
    ),
    ("double", lambda x, lens: x + x): (
        "It gives an answer, but the input is wrong: raise a ValueError that says why."
    ),
    ("double", raises_key_error): (
        f"It raises KeyError: 'odd' (line #). {INPUTS} A ValueError or a TypeError was expected."
    ),
    ("split", lambda x, at, more: x): "It returns 1 tensor, and should return 2.",
    ("split", lambda x, at, more: {at: x}): (
        "It returns dict where a tuple was expected: (the head, the rest)."
    ),
    ("split", lambda x, at, more: [x[:at], x]): (
        "The shape of the rest is (3,), and should be (2,)."
    ),
    ("split", lambda x, at, more: (x, None)): "The rest is NoneType where a tensor was expected.",
    ("split", lambda x, at, more: more.x): (
        "It raises AttributeError: 'NoneType' object has no attribute 'x' (line #). The "
        "inputs: `x` (3,) of torch.float16, `at` 1, `more` None."
    ),
    ("positive", lambda x: x >= 1): (
        "In the output 1 of 2 positions is wrong: the one at (0,) is True."
    ),
    ("total", lambda x: x.prod()): (
        "In the output the number is wrong: it is 2, and should be larger."
    ),
    ("total", lambda x: x.add_(0).sum()): (
        "It writes into the caller's `x`, although no number changes: write into a new tensor."
    ),
    ("double", lambda x, lens: x ^ 2): (
        "It raises NotImplementedError: \"bitwise_xor_cpu\" not implemented for 'Float' "
        f"(line #). A power is written `**`. {INPUTS}"
    ),
    ("split", lambda x, at, more: (x[:at], x[at:] + (at ^ 5))): (
        "In the rest 2 of 2 numbers are wrong; the first, at (0,), is 5, and should be smaller. "
        "A power is written `**`."
    ),
    ("zero", lambda x: 0 * x): "It changes nothing of the caller's.",
}


@pytest.mark.parametrize(("answer", "expected"), WRONG.items(), ids=WRONG.values())
def test_a_wrong_answer_on_tensors_gets_one_sentence(answer, expected):
    verdict = check(*answer)
    assert re.sub(r"line \d+ of the cell or file", "line #", verdict.wrong) == expected


def test_an_error_is_reported_with_the_line_of_the_readers_own_code():
    def written(x, lens):
        return torch.softmax(x, dim="none")

    def refused_by_torch(x, lens):
        return functional.dropout(x, p=2.0)  # which raises in its own Python

    for answer in (written, refused_by_torch):
        line = answer.__code__.co_firstlineno + 1
        assert f"(line {line} of the cell or file)" in check("double", answer).wrong


def test_a_verdict_has_the_case_the_output_and_one_bug_or_two():
    def tripled(x, lens):
        print("here")  # noqa: T201 - as readers do
        return 3 * x

    assert str(check("double", TENSOR_TASKS[0].reference)) == "✓ double: right. All 3 cases hold."
    assert str(check("double", tripled)) == (
        "✗ double: not yet. Case: one row.\n"
        "In the output 2 of 2 numbers are wrong; the first, at (0, 0), is 3, and should be "
        "smaller.\n"
        "It printed: here\n"
        "This is what you get when it is tripled.\n"
        "To fix it: avoid tripled."
    )
    assert str(check("double", TENSOR_TASKS[0].bugs["short"].function)) == (
        "✗ double: not yet. Case: two rows, after 1 case that holds.\n"
        "In the output 2 of 4 numbers are wrong; the first, at (1, 0), is 0, and should be "
        "larger.\n"
        "This is what you get when it is short. Or when it is brief.\n"
        "To fix it: avoid short. Or: avoid brief."
    )
    third = str(check("double", lambda x, lens: x + x))
    assert third.startswith("✗ double: not yet. Case: half a length, after 2 cases that hold.\n")


def test_an_answer_that_gives_the_numbers_of_a_bug_with_other_gradients_gets_no_name():
    tripled, constant = (lambda x, lens: x + x + x), (lambda x, lens: 3 * x.detach() + 0 * x)
    assert [bug.name for bug in check("double", tripled).bugs] == ["tripled"]
    assert check("double", constant).bugs == []


def test_a_second_bug_or_case_of_a_name_is_refused():
    task = make_double()
    with pytest.raises(ValueError, match="must differ, got 'tripled' twice"):
        register_bug(task, "tripled", lambda x, _: x)
    with pytest.raises(ValueError, match="must differ, got 'one row' twice"):
        task.case("one row")(lambda: (ROWS, torch.tensor([2, 2])))
    assert [*task.bugs] == ["short", "brief", "tripled"]


def catches_tripled(double):
    assert double(ROWS, torch.tensor([2, 2]))[0, 0] == 2


def catches_short(double):
    assert double(ROWS, torch.tensor([2, 2]))[1, 0] > 0


def fails_on_right_code(double):
    assert double(ROWS, torch.tensor([2, 2]))[0, 0] == 1


def test_a_grade_names_a_bug_that_is_left_and_has_a_table_where_some_are_caught():
    some = grade_tests("double", catches_tripled)
    assert str(some) == (
        "double, 1 test: not every known bug is caught. "
        "It passes on every correct implementation.\n"
        "  test 1: catches_tripled\n"
        "bug     test 1\n"
        "short        –\n"
        "brief        –\n"
        "tripled caught\n"
        "Not caught, for example: 'short'. A user would report: It looks short."
    )
    html = some._repr_html_()  # on a page, too, the name is above the table: no head breaks in it
    assert re.findall(r"<th .*?</th>|<code>\w+</code>", html)[:3] == [
        "<code>catches_tripled</code>",
        '<th scope="col">bug</th>',
        '<th scope="col">test 1</th>',
    ]
    every = grade_tests("double", [catches_tripled, catches_short])
    none = grade_tests("double", lambda double: None)
    assert str(every) == (
        "✓ double, 2 tests: every known bug is caught. They pass on every correct implementation."
    )
    assert none.paragraphs()[0] == (
        "✗ double, 1 test: no bug is caught. It passes on every correct implementation."
    )
    for grade in (every, none):
        assert str(grade) == "\n".join(grade.paragraphs())
        assert "table" not in grade._repr_html_()


def test_a_verdict_and_a_grade_for_programs_hold_what_json_holds():
    named = check("double", lambda x, lens: 3 * x).as_dict()
    assert json.loads(json.dumps(named)) == {
        "task": "double",
        "passed": False,
        "case": "one row",
        "wrong": check("double", lambda x, lens: 3 * x).wrong,
        "bug": "tripled",
        "cause": "it is tripled.",
        "fix": "avoid tripled.",
    }
    right = check("double", TENSOR_TASKS[0].reference).as_dict()
    assert right == dict.fromkeys(named) | {"task": "double", "passed": True}
    grade = grade_tests("double", [catches_tripled, fails_on_right_code]).as_dict()
    assert json.loads(json.dumps(grade)) == {
        "task": "double",
        "passed": False,
        "tests": [
            {"name": "catches_tripled", "fair": True, "caught": ["tripled"]},
            {"name": "fails_on_right_code", "fair": False, "caught": []},
        ],
        "missed": ["short", "brief"],
    }


# Plain lists


def generator(x):
    yield x


def raises_type_error(x):
    raise TypeError("unsupported types for x")


def with_first(x, value):
    x[0] = value
    return x


WRONG_LISTS = {
    ("doubled", lambda x: [[]]): (
        "It returns a list of empty lists where a list of numbers was expected. "
        "Is `return` inside a loop? It ends the loop."
    ),
    ("doubled", lambda x: sys.exit()): "It raises SystemExit.",
    ("doubled", lambda x: len(x) and None): (
        "It returns None where a list of numbers was expected. Is there a `return` on every path?"
    ),
    ("doubled", lambda x: [*x, None]): (
        "It returns a list of Nones and numbers where a list of numbers was expected."
    ),
    ("doubled", lambda x: []): "It returns an empty list where a list of numbers was expected.",
    ("doubled", lambda x: (4.0, 2.0)): (
        "2 of 2 numbers are wrong; the first, at `[0]`, is 4, and should be smaller."
    ),
    ("doubled", lambda x: x[:1]): (
        "It returns 1 number, and should return 2 numbers. "
        "Is `return` inside a loop? It ends the loop."
    ),
    ("doubled", lambda x: 2.0 * x[0]): (
        "It returns a number where a list of numbers was expected. "
        "Is `return` inside a loop? It ends the loop."
    ),
    ("doubled", lambda x: [0] * len(x)): (
        "2 of 2 numbers are wrong; the first, at `[0]`, is 0, and should be larger. "
        "It returns only 0, whatever the input is."
    ),
    ("doubled", generator): (
        "It returns a generator: write `def` and `return`, not `async def` or `yield`."
    ),
    ("doubled", lambda x: [type("number", (), {})() for _ in x]): (
        "It returns a list of number objects where a list of numbers was expected."
    ),
    ("doubled", raises_type_error): "It raises TypeError: unsupported types for x.",
    ("doubled", lambda x: [float("nan"), 4]): ("1 of 2 numbers is wrong: the one at `[0]` is NaN."),
    ("doubled", lambda x: [2, 4.00002]): (
        "1 of 2 numbers is wrong: the one at `[1]` is 4.00002, and should be smaller."
    ),
    ("doubled", lambda x: [with_first(x, 2)[0], 4]): (
        "It changes the caller's `x`: make a new list."
    ),
    ("doubled", lambda x: with_first(x, 3)): (
        "2 of 2 numbers are wrong; the first, at `[0]`, is 3, and should be smaller. It also "
        "changes the caller's `x`: make a new list."
    ),
    ("nested", lambda x: [[each] for each in x]): (
        "It returns 2 lists of 1 number, and should return 2 lists of 2 numbers."
    ),
    ("nested", lambda x: [[1, 1], [2]]): (
        "It returns 2 lists, one of 2 numbers and one of 1 number, and should return 2 lists "
        "of 2 numbers."
    ),
    ("nested", lambda x: [[1, 1], [2, 3]]): (
        "1 of 4 numbers is wrong: the one at `[1][1]` is 3, and should be smaller."
    ),
    ("summed", max): "It returns 1, and should be larger.",
    ("summed", lambda x: x): "It returns a list of numbers where a number was expected.",
    ("bounded", lambda x: [x > 1]): "It returns a list of bools where True or False was expected.",
    ("bounded", lambda x: x + 1): "It returns 1.5 where True or False was expected.",
    ("bounded", lambda x: int(x < 1)): "It returns 1 where True or False was expected.",
    ("bounded", lambda x: True): (
        "It returns True, and should return False. It returns only True, whatever the input is."
    ),
    ("bounded", lambda x: x["a"]): (
        "It raises TypeError: 'float' object is not subscriptable. A number has no items. Are the "
        "arguments in the right order?"
    ),
}


@pytest.mark.parametrize(("answer", "expected"), WRONG_LISTS.items(), ids=WRONG_LISTS.values())
def test_a_wrong_answer_on_lists_gets_one_sentence_and_the_call(answer, expected):
    verdict = check(*answer)
    [argument] = verdict.failed.make()
    assert verdict.wrong == f"{expected} It was called as `{answer[0]}({json.dumps(argument)})`."


# What the cases of a task try


ONE = torch.ones(2)
TRIED = {
    "": [{"size": 3}],
    "The inputs must stay unchanged.": [{"rows": [1]}],
    "Tested in float32, with gradients.": [{"x": ONE}],
    "Tested in float32 and float64, with gradients.": [{"x": ONE, "mask": ONE[:0].double()}],
    "Tested in float16.": [{"x": ONE.half(), "mask": ONE > 0}],
    "Tested in int32 and int64.": [
        {"x": ONE.int()},
        {"x": ONE.long()},
    ],
    "Tested with lengths of 0.": [{"valid_lens": ONE.long() - 1}],
    "Tested in bfloat16, with numbers up to 3e38 and NaN or infinity.": [
        {"x": torch.tensor([3e38, torch.inf]).bfloat16()}
    ],
    "Tested with tensors that are not contiguous.": [{"x": torch.ones(2, 3, dtype=torch.bool).mT}],
}


@pytest.mark.parametrize(("sentence", "inputs"), TRIED.items(), ids=TRIED)
def test_a_statement_ends_with_what_the_cases_try(sentence, inputs):
    names = [*{name for arguments in inputs for name in arguments}]
    cases = [Case("", lambda it=it: tuple(it.get(name) for name in names)) for it in inputs]
    found = " ".join(describe_cases(names, cases))
    assert found.removesuffix(" The inputs must stay unchanged.") == sentence


def test_gradients_and_refusals_are_tried_only_where_a_case_compares_them():
    refused = Case("", lambda: (ONE,), refused=True)
    assert describe_cases(["x"], [refused, Case("", lambda: (ONE,), gradients=False)])[0] == (
        "Tested in float32, with wrong inputs, which must raise a ValueError or a TypeError."
    )


FUNCTIONS = [task for task in TASKS.values() if not isinstance(task.reference, type)]


@pytest.mark.parametrize("task", FUNCTIONS, ids=lambda task: task.name)
def test_gradients_are_mentioned_where_an_answer_without_any_is_refused(task):
    def detached(*inputs):
        with torch.no_grad():
            return task.reference(*inputs)

    assert ("gradients" in task.full_statement.rpartition("Tested")[2]) != bool(
        judge(task, detached)
    )


def test_no_statement_says_itself_what_all_say():
    of_all = re.compile("caller|float")
    tasks = [*TASKS.values(), *LIST_TASKS.values()]
    assert [task.name for task in tasks if of_all.search(task.statement)] == []


def test_a_task_on_lists_shows_its_statement_and_no_bug():
    task = LIST_TASKS["softmax-by-hand"]
    assert repr(task) == f"softmax-by-hand: {task.full_statement}"
