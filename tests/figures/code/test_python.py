"""What a page's Python answers: by MicroPython from the shipped file, as by CPython."""

from __future__ import annotations

from functools import cache

import pytest

from attnbook.practice import LIST_TASKS, check
from tests.figures.code.interpreters import as_typed, comparable, in_cpython, in_micropython

KNOWN = [
    (task, name, function)
    for task in LIST_TASKS.values()
    for name, function in [
        *((right.name, right.function) for right in task.rights.values()),
        *((bug.name, bug.function) for bug in task.bugs.values()),
    ]
]
SOFTMAX = LIST_TASKS["softmax-by-hand"].as_data()


@cache
def known_answers():
    """What both interpreters say of everything that the registry knows, in one run each."""
    questions = [
        {"code": as_typed(task, function), "task": task.as_data()} for task, _, function in KNOWN
    ]
    return in_micropython(questions), in_cpython(questions)


@pytest.mark.parametrize("number", range(len(KNOWN)), ids=[f"{t.name}-{n}" for t, n, _ in KNOWN])
def test_both_interpreters_say_the_same_as_check(number):
    task, name, function = KNOWN[number]
    ours, theirs = (answers[number] for answers in known_answers())
    assert comparable(ours) == comparable(theirs)
    verdict = {"verdict": check(task.name, function).paragraphs(), "line": ours.get("line")}
    assert comparable(ours)["verdict"] == comparable(verdict)["verdict"]
    assert ours["verdict"][0].startswith("✓" if name in task.rights else "✗")


@pytest.mark.parametrize("ask", [in_micropython, in_cpython])
@pytest.mark.parametrize(
    ("code", "error", "line"),
    [
        ("x = 1\ny = x / 0\n", "ZeroDivisionError: ", 2),
        ("def f(x):\n    return x.y\n\n\nf(3)\n", "AttributeError: ", 2),
        ("def f(:\n    pass\n", "SyntaxError: ", 1),
        ("import torch_or_such\n", "This page's Python is a small one", 1),
        ("numbers = [1, 2]\nnumbers[2]\n", "IndexError: list index out of range", 2),
        ("input('How many?')\n", "OSError: there is nobody to type", 1),
        ("raise SystemExit(3)\n", "SystemExit: 3.", 1),
        ("list(zip([1], [2, 3], strict=True))\n", "ValueError: zip() with strict=True", 1),
        ("def f(n):\n    return f(n + 1)\nf(0)\n", "maximum recursion depth exceeded", 2),
    ],
)
def test_an_error_is_told_with_its_line(ask, code, error, line):
    [answer] = ask([{"code": code}])
    assert error in answer["error"]
    assert answer["line"] == line


def test_what_micropython_says_badly_is_said_better():
    [answer] = in_micropython([{"code": "a = [1]\nb = [*a, 2]\n"}])
    assert "add lists with `+`" in answer["error"]


@pytest.mark.parametrize("ask", [in_micropython, in_cpython])
def test_what_is_printed_and_what_was_defined_stays_apart(ask):
    first = {"code": "left_over = 3\nprint('one')\nprint('two')\n"}
    second = {"code": "def softmax(scores):\n    return left_over\n", "task": SOFTMAX}
    answers = ask([first, second])
    assert answers[0]["said"] == "one\ntwo"
    assert "It raises NameError" in answers[1]["verdict"][1]
    assert answers[1]["line"] == 2


@pytest.mark.parametrize("ask", [in_micropython, in_cpython])
@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (
            "None",
            "It returns None where a list of numbers was expected. Is there a `return`, on every",
        ),
        ("3", "It returns a number where a list of numbers was expected."),
        ("'abc'", "It returns a str where a list of numbers was expected."),
        ("scores[1:]", "It returns 2 numbers, and should return 3 numbers."),
        ("[scores]", "It returns a list of lists of numbers where a list of numbers was expected."),
        ("map(abs, scores)", "It returns a map where a list of numbers was expected."),
        ("[float('nan')] * 3", "3 of 3 numbers are wrong; the first, at `[0]`, is NaN."),
        ("[float('inf')] * 3", "3 of 3 numbers are wrong; the first, at `[0]`, is infinity."),
        ("[0.09, 1, 2]", "3 of 3 numbers are wrong; the first, at `[0]`, is 0.09, and should be"),
    ],
)
def test_what_is_no_answer_is_told_in_words(ask, returned, told):
    [answer] = ask([{"code": f"def softmax(scores):\n    return {returned}\n", "task": SOFTMAX}])
    assert answer["verdict"][1].startswith(told)
    assert "It was called as `softmax([1, 2, 3])`." in answer["verdict"][1]


@pytest.mark.parametrize("ask", [in_micropython, in_cpython])
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("return scores / 2.0", "type(s) for /: 'list' and 'float'. Lists are not computed with"),
        ("return scores @ scores", "type(s) for @: 'list' and 'list'. Lists are not computed with"),
        ("return [scores[0] ^ 2.0]", "A power is written `**`."),
        ("return [math.exp(1)]", "Begin with `import math`."),
        ("return scores[len(scores) / 2 :]", "To divide into whole numbers, write `//`."),
        ("return [0.0] * (len(scores) / 1)", "TypeError"),
        ("return scores[0, 1]", "a part of a list is `[from:to]`."),
        ("total += 1", "A name needs a value first"),
    ],
)
def test_a_slip_of_a_first_day_gets_a_hint(ask, line, told):
    [answer] = ask([{"code": f"def softmax(scores):\n    {line}\n", "task": SOFTMAX}])
    assert told in answer["verdict"][1]
    # Many slips end in such errors: none of them names a bug.
    assert len(answer["verdict"]) == 2


@pytest.mark.parametrize("ask", [in_micropython, in_cpython])
def test_an_overflow_has_pythons_own_name(ask):
    code = (
        "import math\nfrom math import exp\ntry:\n    math.exp(1000.0)\n"
        "except OverflowError as error:\n    print(error)\n"
        "print(exp(-1000.0), math.exp(1.0) == exp(1), round(math.sqrt(4)))\n"
    )
    assert ask([{"code": code}])[0]["said"] == "math range error\n0.0 True 2"


@pytest.mark.parametrize("ask", [in_micropython, in_cpython])
def test_prints_are_those_up_to_the_case_that_fails(ask):
    code = "def softmax(scores):\n    print(len(scores))\n    return scores\n"
    [answer] = ask([{"code": code, "task": SOFTMAX}])
    assert answer["said"] == "3"


@pytest.mark.parametrize("ask", [in_micropython, in_cpython])
def test_a_task_without_its_function_says_so(ask):
    answers = ask([{"code": "", "task": SOFTMAX}, {"code": "softmax = 3", "task": SOFTMAX}])
    assert {answer["error"] for answer in answers} == {
        "There is no function `softmax`: its first line must stay."
    }


@pytest.mark.parametrize("ask", [in_micropython, in_cpython])
def test_a_function_is_called_as_often_as_a_figure_asks(ask):
    code = "def double(x):\n    return [2 * each for each in x]\n"
    known = {"code": code, "called": "double", "calls": [[[1, 2]], [[0.5]]]}
    other = {"code": code.replace("2 *", "3 *"), "called": "double", "calls": [[[1]]]}
    broken = {"code": code, "called": "double", "calls": [[3]]}
    answers = ask([{"code": code}, known, other, broken])
    assert [answer.get("given") for answer in answers] == [None, [[2, 4], [1.0]], [[3]], None]
    assert answers[3]["error"].startswith("TypeError")
    assert answers[3]["line"] == 2
