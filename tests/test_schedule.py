"""Tests that run for long, and one that never ends: it is named, and the others still run."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.schedule import PROGRESS
from tools import ROOT
from tools.ci import run_tests

# The sleep is in C, where no exception of Python could interrupt it.
TESTS = """
import ctypes
def test_that_never_ends():
    ctypes.PyDLL(None).sleep(100)
def test_after_them(): pass
"""
CONFTEST = 'pytest_plugins = ["tests.sampling", "tests.schedule"]'


@pytest.mark.slow
def test_what_never_ends_is_tried_again_and_the_others_run(tmp_path):
    for name, text in {"test_it.py": TESTS, "conftest.py": CONFTEST}.items():
        (tmp_path / name).write_text(text)
    state = tmp_path / "progress.json"
    options = "-q -p no:cacheprovider -n 1 --dist=loadfile -o faulthandler_timeout=1".split()
    settings = ["-c", ROOT / "pyproject.toml", "--rootdir", tmp_path]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *settings, tmp_path],
        cwd=tmp_path,
        env={**os.environ, PROGRESS: str(state), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "crashed while running 'test_it.py::test_that_never_ends'" in done.stdout
    assert 'test_it.py", line 4 in test_that_never_ends' in done.stderr
    endless = "test_it.py::test_that_never_ends"
    found = json.loads(state.read_text())
    assert (found["done"], found["running"]) == (2, {})
    assert found["failed"] == found["again"] == [endless]


def test_a_status_line_names_tests_that_run_for_long(tmp_path, monkeypatch):
    state = {"done": 1, "total": 3, "failed": [], "seconds_left": 0.0}
    state["running"] = {"tests/a.py::test_one": 1000.0, "tests/a.py::test_two": 1290.0}
    (tmp_path / "progress.json").write_text(json.dumps(state))
    monkeypatch.setattr(run_tests, "PROGRESS", tmp_path / "progress.json")
    monkeypatch.setattr(run_tests.time, "time", lambda: 1303.0)
    line = run_tests.status([], 0.0, 2)
    assert line.endswith("; about 0:00 of tests left; tests/a.py::test_one for 5:03")
