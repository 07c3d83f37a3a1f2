"""The answers of a page's Python: MicroPython, from the shipped script, agrees with CPython."""

from __future__ import annotations

import json
import math

import pytest

from attnbook.practice import LIST_TASKS, check
from attnbook.practice.judge import lists
from attnbook.practice.judge.data import data_of, parts_of
from attnbook.practice.parts import part_of
from tests.figures.code.interpreters import as_typed, in_cpython, in_micropython, without_messages
from tests.figures.code.replay import ENDLESS, attempts, judge_attempts

SOFTMAX = data_of("softmax-by-hand")
ERRORS = [
    ("x = 1\ny = x / 0\n", "ZeroDivisionError: ", 2),
    ("def f(x):\n    return x.y\n\n\nf(3)\n", "AttributeError: ", 2),
    ("def f(:\n    pass\n", "SyntaxError: ", 1),
    ("numbers = [1, 2]\nnumbers[2]\n", "IndexError: list index out of range", 2),
    ("input('How many?')\n", "OSError: nobody can type here", 1),
    ("raise SystemExit(3)\n", "SystemExit: 3.", 1),
    ("list(zip([1], [2, 3], strict=True))\n", "ValueError: zip() ", 1),
    ("def f(n):\n    return f(n + 1)\nf(0)\n", "maximum recursion depth exceeded", 2),
]
# tests/practice/test_wording.py tests the wording; here, both interpreters must use it.
RETURNED = [
    ("map(abs, scores)", "It returns a map where a list of numbers was expected."),
    ("scores[1:]", "It returns 2 numbers, and should return 3 numbers."),
    ("[float('nan')] * 3", "3 of 3 numbers are wrong; the first, at `[0]`, is NaN."),
    ("[0.09, 1, 2]", "3 of 3 numbers are wrong; the first, at `[0]`, is 0.09, and should be"),
]
FIRST_DAY = [
    ("return scores / 2.0", "type(s) for /: 'list' and 'float'. Python does not compute with"),
    ("return scores @ scores", "type(s) for @: 'list' and 'list'. Python does not compute with"),
    ("return [scores[0] ^ 2.0]", "A power is written `**`."),
    ("return [math.exp(1)]", "Begin with `import math`."),
    ("return scores[len(scores) / 2 :]", "To divide into whole numbers, write `//`."),
    ("return [0.0] * (len(scores) / 1)", "TypeError"),
    ("return scores[0, 1]", "a slice is `[start:stop]`."),
    ("total += 1", " value "),
    ("return [len(score) for score in scores]", "Are the arguments in the right order?"),
    ("return scores[0] / sum(scores)", "Is `return` inside a loop?"),
    ("yield scores", "write `def` and `return`, not `async def` or `yield`."),
    ("return [0 for score in scores]", "It returns only 0, whatever the input is."),
    ("raise TypeError('unsupported types for x')", "TypeError: unsupported types for x."),
]
STAR = {"code": "a = [1]\nb = [*a, 2]\n"}
LEFT_OVER = [
    {"code": "left_over = 3\nprint('one')\nprint('two')\n"},
    {"code": "def softmax(scores):\n    return left_over\n", "task": SOFTMAX},
]
ONCE_WRONG = {
    "code": "def may_see(query, key, *_):\n    return key <= query\n",
    "task": data_of("causal-rule-by-hand"),
}
OVERFLOW = {
    "code": (
        "import math\nfrom math import exp\ntry:\n    math.exp(1000.0)\n"
        "except OverflowError as error:\n    print(error)\n"
        "print(exp(-1000.0), math.exp(1.0) == exp(1), round(math.sqrt(4)))\n"
    )
}
# Calls that CPython's `math` and the page's must answer equally, with the class of each error.
MATH = """
import math
from math import *
PAIRS = [(2.675, 2), (2.5, 0), (-0.5, 0), (1234.5, -2), (1e300, 5), (-1e-9, 3), (5e-324, 3)]
PAIRS += [(0.15, 1), (15, -1), (25, -1), (-35, -1), (7, 2)]
CALLS = [(round, pair) for pair in PAIRS]
SUMS = [[0.1] * 10, [1e308, 1.0, -1e308], [], [inf, 1], [1e16, 1.0, 1e-16]]
SUMS += [[(-1) ** i / (i + 1) for i in range(999)]]
CALLS += [(fsum, (numbers,)) for numbers in SUMS]
CALLS += [(dist, ([1, 2, 3], [4, 6, 3])), (dist, ([1], [1, 2]))]
VECTORS = [(3, 4), (), (1e200, 1e200), (1e-200, 1e-200), (1, 2, 3), (inf, nan)]
CALLS += [(hypot, vector) for vector in VECTORS]
CALLS += [(prod, ([1, 2, 3, 4.5],)), (prod, ([],)), (comb, (50, 25)), (comb, (3, 5))]
CALLS += [(perm, (7, 3)), (perm, (5,)), (comb, (-1, 2))]
CALLS += [(gcd, (12, -18)), (gcd, ()), (lcm, (4, 6)), (lcm, (0, 3))]
CALLS += [(isqrt, (n,)) for n in [0, 1, 2, 15, 16, 17, 10**30 - 1, 10**30, -4]]
CALLS += [(log1p, (x,)) for x in [0, 1e-20, 1e-9, 0.5, -0.999, 1e300, inf, -1, -2]]
CALLS += [(cbrt, (x,)) for x in [0.0, 27, -8, 1e300, 1e-300, 2, inf]]
CALLS += [(exp2, (x,)) for x in [0.5, 10, -1074, 1023, 1024]]
USUAL = [exp, expm1, sinh, cosh, sqrt, log, tanh]
CALLS += [(function, (x,)) for function in USUAL for x in [0.3, -2, 800, inf, -inf]]
POWERS = [(2, 0.5), (10, 400), (-8, 1 / 3), (0, -1), (-2, 3), (inf, -1)]
CALLS += [(math.pow, pair) for pair in POWERS]
for function, arguments in CALLS:
    try:
        print(repr(function(*arguments)))
    except (ValueError, OverflowError) as error:
        print(type(error).__name__)
print(sorted([(k % 3, -k) for k in range(40)], key=lambda pair: pair[0]))
print(sorted([(k % 3, -k) for k in range(40)], key=lambda pair: pair[0], reverse=True))
print(sorted("banana"), sorted({3: 1, 1: 2}), sorted([]), sorted([2, 1, nan][:2]))
print(list(zip("ab", [1, 2], strict=True)), list(zip()), format(2.5, ".2f"), format("a"))
print([name for name in ("fsum", "Any", "_math") if name in globals()])
try:
    (lambda f: f(f))(lambda f: f(f))
except RecursionError:
    print("deep")
"""
REASSIGNED = [
    {"code": "import math, builtins\nmath.exp = math.sqrt = None\nbuiltins.sorted = None\n"},
    {"code": "import builtins\nbuiltins.setattr = builtins.getattr = None\n"},
    {"code": "import math\nprint(math.exp(0), math.sqrt(4), sorted([2, 1]))\n"},
]
HALF_LINES = [
    {"code": "print('a', end='')\nprint('b', end=' ')\n"},
    {"code": "print('c')\nprint('d\\n', end='')\n"},
    {"code": "print('e', end='')\n1 / 0\n"},
    {"code": "class A:\n    def __str__(self):\n        return 1 / 0\nprint('f', A())\n"},
    {"code": "print()\n"},
]
UNREADABLE = ["scores.append(scores); return scores", "return [10**400] * 3"]
PRINTING = {
    "code": "def softmax(scores):\n    print(len(scores))\n    return scores\n",
    "task": SOFTMAX,
}
MISSING = [{"code": "", "task": SOFTMAX}, {"code": "softmax = 3", "task": SOFTMAX}]
DOUBLE = "def double(x):\n    return [2 * each for each in x]\n"
CALLS = [
    {"code": DOUBLE},
    {"code": DOUBLE, "called": "double", "calls": [[[1, 2]], [[0.5]]]},
    {"code": DOUBLE.replace("2 *", "3 *"), "called": "double", "calls": [[[1]]]},
    {"code": DOUBLE, "called": "double", "calls": [[3]]},
]
PRINTING_SCORE = f"print('loaded')\n{part_of('score-by-hand')['code']}"
WRONG_CALL, RIGHT_CALL = (
    {
        "code": f"def attention(q, k, v, n):\n    return score({arguments})\n",
        "called": "attention",
        "calls": [[[2, 2], [[2, 0]], [[4]], 1]],
    }
    for arguments in ("q", "q, k[0]")
)
WITH_PARTS = [
    {**WRONG_CALL, "parts": {"score": PRINTING_SCORE}},
    {**RIGHT_CALL, "parts": {"score": PRINTING_SCORE}},
    {**RIGHT_CALL, "parts": {"score": "def score(q, k):\n    return 7\n"}},
    RIGHT_CALL,
]


def in_softmax(line):
    return {"code": f"def softmax(scores):\n    {line}\n", "task": SOFTMAX}


QUESTIONS = [
    *({"code": code} for code, *_ in ERRORS),
    *(in_softmax(f"return {returned}") for returned, _ in RETURNED),
    *(in_softmax(line) for line, _ in FIRST_DAY),
    *(in_softmax(body) for body in UNREADABLE),
    *(STAR, {"code": MATH}, OVERFLOW, PRINTING),
    *(LEFT_OVER + REASSIGNED + HALF_LINES + MISSING + CALLS + WITH_PARTS),
]


def questions_of(name, *, full):
    """The solutions and every third bug of a task (all with `full`), each with its question."""
    task = LIST_TASKS[name]
    question = {"task": data_of(task.name)}
    if task.parts:
        question["parts"] = {part["called"]: part["code"] for part in parts_of(task.parts)}
    bugs = [*task.bugs.values()][:: 1 if full else 3]
    return [
        (each, {"code": as_typed(task, each.function), **question})
        for each in [*task.solutions.values(), *bugs]
    ]


@pytest.fixture(scope="module")
def questions(request):
    """The questions of each task."""
    full = request.config.getoption("--full")
    return {name: questions_of(name, full=full) for name in LIST_TASKS}


@pytest.fixture(scope="module")
def both(questions):
    """The answers of MicroPython, to the tasks' questions too, and of CPython, each in one run."""

    def answers_of(ask, questions):
        answers = dict(zip(map(json.dumps, questions), ask(questions), strict=True))
        return lambda question: answers[json.dumps(question)]

    of_tasks = [question for pairs in questions.values() for _, question in pairs]
    return answers_of(in_micropython, QUESTIONS + of_tasks), answers_of(in_cpython, QUESTIONS)


@pytest.mark.parametrize("name", LIST_TASKS)
def test_the_page_judges_as_check_does(name, questions, both):
    different = []
    lists.WRONG_TRIES.clear()
    for each, question in questions[name]:
        ours, expected = both[0](question), check(name, each.function).paragraphs()
        if without_messages(ours["verdict"]) != without_messages(expected):
            different.append((each.name, ours, expected))
    assert different == []


@pytest.mark.parametrize(("code", "error", "line"), ERRORS)
def test_an_error_is_reported_with_its_line(both, code, error, line):
    for answer in both:
        assert error in answer({"code": code})["error"]
        assert answer({"code": code})["line"] == line


@pytest.mark.parametrize(("returned", "message"), RETURNED)
def test_a_result_of_a_wrong_kind_gets_a_message(both, returned, message):
    for answer in both:
        sentence = answer(in_softmax(f"return {returned}"))["verdict"][1]
        assert sentence.startswith(message)
        assert "It was called as `softmax([1, 2, 3])`." in sentence


@pytest.mark.parametrize(("line", "hint"), FIRST_DAY)
def test_a_beginners_mistake_gets_a_hint(both, line, hint):
    for answer in both:
        # Many mistakes cause such errors, so the verdict names no bug.
        _, *sentences = answer(in_softmax(line))["verdict"]
        assert hint in " ".join(sentences)
        assert "This is what you get when" not in " ".join(sentences)


def test_a_fix_that_is_the_answer_comes_with_the_second_wrong_verdict():
    lists.WRONG_TRIES.clear()
    rule = LIST_TASKS["causal-rule-by-hand"].bugs["counted from the first key"].function
    in_a_notebook = [
        {"verdict": check(ONCE_WRONG["task"]["name"], rule).paragraphs()} for _ in "12"
    ]
    for first, second in (in_a_notebook, in_micropython([ONCE_WRONG] * 2)):
        assert first["verdict"][:-1] == second["verdict"][:-1]
        assert first["verdict"][-1] == "If your next try is wrong, too, you see how to fix it."
        assert "`query + num_keys - num_queries`" in second["verdict"][-1]


def test_unclear_messages_of_micropython_get_advice(both):
    assert "add lists with `+`" in both[0](STAR)["advice"]


def test_math_and_built_in_functions_agree_with_cpython(both):
    ours, theirs = (answer({"code": MATH}) for answer in both)
    assert "error" not in ours
    different = [
        pair
        for pair in zip(ours["printed"].split("\n"), theirs["printed"].split("\n"), strict=True)
        if not same_number(*pair)
    ]
    assert different == []


def same_number(one, other):
    """Whether two printed results are equal, except for the last digit of a float."""
    if one == other or "." not in one or "[" in one:
        return one == other
    return math.isclose(float(one), float(other), rel_tol=3e-16)


def test_output_and_definitions_belong_to_one_run(both):
    for answer in both:
        first, second = map(answer, LEFT_OVER)
        assert first["printed"] == "one\ntwo"
        assert "It raises NameError" in second["verdict"][1]
        assert second["line"] == 2


def test_assignments_to_pythons_own_functions_end_with_the_run(both):
    for answer in both:
        *assigning, last = map(answer, REASSIGNED)
        assert not any("error" in each for each in assigning)
        assert last["printed"] == "1.0 2.0 [1, 2]"


def test_an_unfinished_line_is_shown_with_its_own_run(both):
    for answer in both:
        assert [answer(each)["printed"].rstrip() for each in HALF_LINES] == [
            "ab",
            "c\nd",
            "e",
            "f",
            "",
        ]


def test_a_list_that_contains_itself_and_a_huge_number_cannot_be_read(both):
    for answer in both:
        messages = [answer(in_softmax(body))["verdict"][1] for body in UNREADABLE]
        assert all(text.startswith("The result cannot be read: ") for text in messages)


def test_an_overflow_raises_pythons_error(both):
    assert [answer(OVERFLOW)["printed"] for answer in both] == ["math range error\n0.0 True 2"] * 2


def test_output_ends_with_the_case_that_fails(both):
    assert [answer(PRINTING)["printed"] for answer in both] == ["3", "3"]


def test_code_without_the_function_of_the_task_gets_a_message(both):
    assert {answer(question)["error"] for question in MISSING for answer in both} == {
        "There is no function `softmax`: its first line must stay."
    }


def test_a_function_is_called_with_each_list_of_arguments(both):
    for answer in both:
        answers = [answer(question) for question in CALLS]
        assert [each.get("given") for each in answers] == [None, [[2, 4], [1.0]], [[3]], None]
        assert answers[3]["error"].startswith("TypeError")
        assert answers[3]["line"] == 2


def test_code_may_call_its_parts_which_print_nothing(both):
    for answer in both:
        wrong, right, other, without = map(answer, WITH_PARTS)
        assert wrong["error"].startswith("TypeError")
        assert wrong["line"] == 2
        assert (right["given"], other["given"]) == ([-2.0], [7])
        assert without["error"].startswith("NameError")
        assert {each["printed"] for each in (wrong, right, other)} == {""}


def test_attempts_of_readers_are_judged_as_when_they_were_stored():
    tried = [each for file in attempts().values() for each in file if each["case"] != ENDLESS]
    changed = [
        (before, now)
        for before, now in zip(tried, judge_attempts(tried), strict=True)
        if before != before | now
    ]
    assert changed == []
