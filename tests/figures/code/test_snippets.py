"""Ordinary Python in a page: as in CPython, refused with advice, or listed as different."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.figures.code.interpreters import in_micropython
from tools import ROOT

SNIPPETS = Path(__file__).with_name("snippets")
NAMES = ("ordinary", "differing", "mistakes")
LACKS = ROOT / "chapters" / "python-on-the-page.md"
# A line of a file is a snippet; this character is a line break in it.
NEWLINE = "⏎"
# Runs each snippet in CPython: what it prints, and the class of its error. A page lacks these
# libraries, too, and they take seconds.
CPYTHON = """
import contextlib, io, json, sys
sys.modules |= dict.fromkeys(["numpy", "torch", "matplotlib"])
results = []
for snippet in json.load(sys.stdin):
    printed, error = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(snippet, "snippet", "exec"), {"__name__": "__main__"})
        except BaseException as raised:
            error = type(raised).__name__
    results.append([printed.getvalue().strip(), error])
json.dump(results, sys.stdout)
"""
# Classes that MicroPython does not have, and those that it raises instead.
SAME_ERROR = {
    "FileNotFoundError": "OSError",
    "IndentationError": "SyntaxError",
    "ModuleNotFoundError": "ImportError",
    "RecursionError": "RuntimeError",
    "TabError": "IndentationError",
    "UnboundLocalError": "NameError",
}
UNREAD = "SyntaxError: invalid syntax."  # MicroPython's message for most lines that it cannot read


def read(name):
    """Read the snippets of a file, each with the heading above it."""
    heading, snippets = "", []
    for line in (SNIPPETS / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            heading = line[2:]
        else:
            snippets.append((line, heading))
    return snippets


@pytest.fixture(scope="module")
def results():
    """For each snippet of each file: its line, CPython's result, and the page's."""
    lines = {name: [line for line, _ in read(name)] for name in NAMES}
    snippets = [line.replace(NEWLINE, "\n") for own in lines.values() for line in own]
    command = [sys.executable, "-W", "ignore", "-c", CPYTHON]
    done = subprocess.run(
        command, input=json.dumps(snippets), capture_output=True, text=True, check=True
    )
    ours = in_micropython([{"code": snippet} for snippet in snippets])
    both = zip(json.loads(done.stdout), ours, strict=True)
    return {name: [(line, *next(both)) for line in own] for name, own in lines.items()}


def test_ordinary_code_prints_what_cpython_prints_or_is_refused_with_advice(results):
    different = []
    for line, (printed, error), answer in results["ordinary"]:
        assert error is None, line
        if "error" not in answer:
            if answer["printed"].strip() != printed:
                different.append((line, printed, answer["printed"]))
        elif not answer["advice"] or "cannot read this line" in answer["advice"]:
            different.append((line, answer))
    assert different == []


def test_differences_without_a_message_are_listed_on_a_page(results):
    page = LACKS.read_text("utf-8")
    for (line, (printed, error), answer), (_, heading) in zip(
        results["differing"], read("differing"), strict=True
    ):
        ours = (answer["printed"].strip(), "error" in answer)
        assert ours != (printed, error is not None), f"the same by now: {line}"
        assert f"**{heading}.**" in page


def test_a_mistake_raises_the_same_class_and_a_line_that_cannot_be_read_gets_advice(results):
    different = []
    for line, (_, error), answer in results["mistakes"]:
        raised = answer.get("error", "").split(":")[0].rstrip(".").split(".")[0]
        same = raised in (error, SAME_ERROR.get(error)) or is_expected(line, raised)
        if not same or (UNREAD in answer["error"] and not answer["advice"]):
            different.append((line, error, answer))
    assert different == []


def is_expected(line, raised):
    """Whether a snippet raises another class for a known reason."""
    if line == "del y":
        return raised == "KeyError"
    return raised == "NameError" and any(letter in line for letter in "“‘\u00a0")


ADVICE = [
    ("def f(x)\n    return x", "A line that begins with `def` ends with a colon."),
    ("def f():\n\nprint(1)", "must be indented by four spaces; an empty block needs `pass`."),
    ("print 'a'", "`print` is a function"),
    ("match 3:\n    case 3:\n        pass", "write `if`, `elif` and `else`"),
    ("int('a')", "The string is not a number that Python can read."),
    ("1 / 0", ""),
    ("x = [1, 2\ny = 3", "The bracket `[` of line 1 is not closed."),
    ("x = 'abc", "A string is not closed"),
    (">>> x = 1", "Leave out `>>>`"),
    ("x = 1\n... x = 2", "Leave out `>>>`"),
    ("if x = 3:\n    pass", "To compare, write `==`."),
    ("raise NotImplementedError", "something is not written yet"),
    ("def f():\n    n += 1\nf()", "`n` has no value yet in this function"),
    ("x =\u00a01", "one is a special character"),
    ("from collections import Counter", "counts.get(x, 0) + 1"),
    ("import statistics", "The mean of a list is `sum(x) / len(x)`."),
    ("'abc'[::-1]", "''.join(reversed(x))"),
    ("[1, 2].shape", "A list has no shape"),
]


def test_the_advice_names_the_fix():
    answers = in_micropython([{"code": code} for code, _ in ADVICE])
    for (code, advice), answer in zip(ADVICE, answers, strict=True):
        assert advice in answer["advice"], code
        assert bool(advice) == bool(answer["advice"]), code


@pytest.mark.weekly  # it takes long; the other tests use the same snippets
@pytest.mark.slow
def test_code_with_a_missing_character_gets_an_answer():
    questions = []
    for i, (line, _) in enumerate(read("ordinary") + read("mistakes")):
        snippet = line.replace(NEWLINE, "\n")
        missing = i * 7919 % len(snippet)
        code = snippet[:missing] + snippet[missing + 1 :]
        if "while" not in code:  # it might be endless
            questions.append({"code": code})
    assert len(in_micropython(questions)) == len(questions)
