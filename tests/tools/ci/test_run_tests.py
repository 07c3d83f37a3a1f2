"""`make test`: the order of its parts, its output, and the command for each failure."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import ROOT
from tools.ci import run_tests, size
from tools.ci.run_tests import Part, failures, parts, run


@pytest.fixture(autouse=True)
def logs(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    monkeypatch.setattr(run_tests, "PROGRESS", tmp_path / "progress.json")
    monkeypatch.setattr(run_tests, "BOOK", tmp_path / "book-exit-code")
    monkeypatch.setattr(run_tests, "PROCESSOR", tmp_path / "processor-seconds")
    return tmp_path


def program(name, text, after=""):
    return Part(name, [sys.executable, "-c", text], after)


def test_a_part_begins_when_the_one_before_it_has_passed(logs, capsys):
    read = f"print(open({str(logs / 'book-exit-code')!r}).read())"
    book, copies = program("book", "print('built')"), program("copies", read, "book")
    assert run([copies, book], workers=2) == 0
    output = capsys.readouterr().out
    assert "book passed in 0:00: built" in output
    assert "copies passed in 0:00: 0" in output


def test_a_part_that_waits_for_a_failing_part_is_not_run_and_fails_too(capsys):
    book = program("book", "print('a warning'); raise SystemExit(3)")
    assert run([book, program("copies", "print('never')", "book")], workers=2) == 2
    output = capsys.readouterr().out
    assert "--- book failed after 0:00:\na warning\n---" in output
    assert "never" not in output
    assert "\ncopies    not run " in output
    assert "  make book\n  make colab-test" in output


def test_each_failed_test_gets_the_command_that_runs_only_it(logs):
    tests = ["tests/a.py::test_one[x-1]", "tests/a.py::test_one[x-1]", "tests/b.py::test_two"]
    (logs / "progress.json").write_text(json.dumps({"failed": tests}))
    part = program("tests", "")
    part.code = 1
    assert list(failures([part])) == [
        "  .venv/bin/pytest 'tests/a.py::test_one[x-1]'",
        "  .venv/bin/pytest 'tests/b.py::test_two'",
    ]


def test_tests_that_ended_their_process_are_listed_even_if_all_passed(logs, capsys):
    (logs / "progress.json").write_text(
        json.dumps({"failed": [], "again": ["tests/a.py::test_one"]})
    )
    assert run([program("tests", "")], workers=2) == 0
    assert capsys.readouterr().out.endswith("):\ntests/a.py::test_one\n")


def test_every_part_names_a_part_to_wait_for_and_a_command_to_run_it_again():
    for full in (False, True):
        names = [part.name for part in parts(2, full=full)]
        assert {part.after for part in parts(2, full=full)} <= {"", *names}
        assert {*names} == {*run_tests.AGAIN}


ENDLESS = """
import time
from pathlib import Path
from tools.ci import run_tests, size
run_tests.LOGS = Path({folder!r})
run_tests.PROGRESS, run_tests.BOOK = run_tests.LOGS / "progress.json", run_tests.LOGS / "book"
child = "import pathlib, os, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(99)"
run_tests.parts = lambda cores, full: [run_tests.Part("book", ["sh", "-c", "cd {folder} && exec "
    "{python} -c \\"" + child + "\\""])]
raise SystemExit(run_tests.main([]))
"""


def test_an_interrupt_ends_all_processes_even_if_they_inherit_it_as_ignored(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    text = ENDLESS.format(folder=str(folder), python=sys.executable)
    process = subprocess.Popen(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", text],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert "Interrupted." in process.communicate(timeout=60)[0]
    assert process.returncode == 130
    child = int((folder / "pid").read_text())
    while Path(f"/proc/{child}").exists():  # until the signal has arrived
        time.sleep(0.01)


def test_the_commit_is_stored_only_if_all_parts_pass_and_nothing_is_changed(logs, monkeypatch):
    monkeypatch.setattr(run_tests, "PASSED", logs / "passed")
    (logs / "passed").write_text("older")
    for exit_code, commit, passed in ((1, "abc", ""), (0, "abc", "abc"), (0, "", "")):
        part = program("tests", f"raise SystemExit({exit_code})")
        monkeypatch.setattr(run_tests, "parts", lambda *_, part=part, **__: [part])
        monkeypatch.setattr(run_tests, "clean_commit", lambda commit=commit: commit)
        assert run_tests.main([]) == exit_code
        assert run_tests.passed_commit() == passed


def test_a_commit_with_changed_files_is_none(tmp_path):
    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "a"], check=True)
    assert len(run_tests.clean_commit(tmp_path)) == 40
    (tmp_path / "new.txt").touch()
    assert run_tests.clean_commit(tmp_path) == ""


def test_the_size_counts_lines_of_code_and_the_processor_time_of_the_parts(logs):
    for file in ("attnbook/a.py", "tools/b/c.js", "attnbook/data.json", "tests/test_a.py"):
        (logs / file).parent.mkdir(parents=True, exist_ok=True)
        (logs / file).write_text("x\n" * 3)
    assert size.lines_of(("attnbook", "tools"), logs) == 6
    assert size.lines_of(("tests",), logs) == 3

    busy = "import time\nwhile time.process_time() < 1.5: pass"
    assert run([program("busy", busy)], workers=1) == 0
    assert float(run_tests.PROCESSOR.read_text()) >= 1
