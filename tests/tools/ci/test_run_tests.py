"""`make test`: the order of its parts, its output, and the command for each failure."""

from __future__ import annotations

import json
import sys

import pytest

from tools.ci import run_tests
from tools.ci.run_tests import Part, failures, run


@pytest.fixture(autouse=True)
def logs(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    monkeypatch.setattr(run_tests, "PROGRESS", tmp_path / "progress.json")
    monkeypatch.setattr(run_tests, "BOOK", tmp_path / "book-exit-code")
    return tmp_path


def program(name, text, after=""):
    return Part(name, [sys.executable, "-c", text], after)


def test_a_part_begins_when_the_one_before_it_has_passed(logs, capsys):
    read = f"print(open({str(logs / 'book-exit-code')!r}).read())"
    book, chapters = program("book", "print('built')"), program("chapters", read, "book")
    assert run([chapters, book], workers=2) == 0
    output = capsys.readouterr().out
    assert "book passed in 0:00: built" in output
    assert "chapters passed in 0:00: 0" in output


def test_a_part_that_waits_for_a_failing_part_is_not_run_and_fails_too(capsys):
    book = program("book", "print('a warning'); raise SystemExit(3)")
    assert run([book, program("chapters", "print('never')", "book")], workers=2) == 2
    output = capsys.readouterr().out
    assert "--- book failed after 0:00:\na warning\n---" in output
    assert "never" not in output
    assert "\nchapters  not run " in output
    assert "  make book\n  make nbval" in output


def test_each_failed_test_gets_the_command_that_runs_only_it(logs):
    tests = ["tests/a.py::test_one[x-1]", "tests/a.py::test_one[x-1]", "tests/b.py::test_two"]
    (logs / "progress.json").write_text(json.dumps({"failed": tests}))
    part = program("tests", "")
    part.code = 1
    assert list(failures([part])) == [
        "  .venv/bin/pytest 'tests/a.py::test_one[x-1]'",
        "  .venv/bin/pytest 'tests/b.py::test_two'",
    ]
