"""The parts of the end-to-end test; `make colab-test` is the test itself, which takes minutes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest
from nbformat import v4

from tools import ROOT
from tools.book.notebooks import read
from tools.colab.clean_environment import (
    StepFailedError,
    borrow,
    prove_absent,
    without_project,
)
from tools.colab.end_to_end import (
    differences,
    main,
    needless_output,
    without_repeated_installation,
)
from tools.colab.leftovers import ADDED


@pytest.fixture
def chapter():
    return read(ROOT / "chapters" / "masked-softmax.ipynb")


@pytest.fixture
def executed(chapter):
    added = [v4.new_markdown_cell("from"), v4.new_code_cell("%pip")]
    return v4.new_notebook(cells=[*added, *deepcopy(chapter.cells)])


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([v4.new_output("stream", name="stdout", text="0.1")], "stdout: 0.1"),
        ([v4.new_output("stream", name="stderr", text="Deprecated")], "stderr: Deprecated"),
        ([], "prints\nnothing"),
    ],
)
def test_other_outputs_are_a_difference(chapter, executed, outputs, message):
    assert list(differences(chapter, executed)) == []
    printing = (cell for cell in executed.cells if str(cell.get("outputs")).count("stdout"))
    next(printing).outputs = outputs
    (problem,) = differences(chapter, executed)
    assert message in problem


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        ("\x1b[33mWARNING: no index\x1b[0m\x1b[33m\n\x1b[0m", False),
        ("Note: you may need to restart the kernel to use updated packages.\n", False),
        ("ERROR: pip's dependency resolver does not like it\n", True),
        ("Successfully installed x\n", True),
    ],
)
def test_what_an_installation_prints_is_reported_if_a_reader_must_read_it(
    executed, text, is_reported
):
    executed.cells[ADDED - 1].outputs = [v4.new_output("stream", name="stdout", text=text)]
    assert bool(list(needless_output(executed))) is is_reported


def test_the_same_installation_is_run_twice_and_another_one_too(executed):
    runs = Counter()

    def run(line):
        copied = deepcopy(executed)
        copied.cells[ADDED - 1].source = line
        return without_repeated_installation(copied, runs).cells[ADDED - 1].source

    assert [run("%pip a") for _ in range(4)] == ["%pip a", "%pip a", "", ""]
    assert [run("%pip b"), run("%pip a"), run("%pip b")] == ["%pip b", "", "%pip b"]


def git(*arguments):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def test_a_checkout_whose_copies_cannot_be_installed_does_not_pass(tmp_path, capsys):
    source, flat = tmp_path / "source", tmp_path / "flat"
    git("init", "--quiet", source)
    for _ in range(2):
        git("-C", source, "commit", "-q", "--allow-empty", "-m", "a")
    git("clone", "-q", "--depth", "1", source.as_uri(), flat)
    (source / "changed.py").touch()
    for folder, reason in ((source, "changed.py"), (flat, "git fetch --unshallow")):
        assert main(["--root", str(folder)]) == 1
        output = capsys.readouterr().out
        assert "NOT DONE" in output
        assert reason in output


def test_an_environment_that_has_the_package_is_refused(tmp_path):
    (tmp_path / "attnbook.py").touch()
    with pytest.raises(StepFailedError, match="before it is installed"):
        prove_absent(Path(sys.executable), tmp_path)


@pytest.mark.slow
def test_only_what_is_borrowed_can_be_imported(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    python = tmp_path / "v" / "bin" / "python"
    borrow("sympy", tmp_path / "borrowed", python)
    prove_absent(python, tmp_path)
    variables = without_project({"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"})

    def importing(name):
        program = f"import {name}; print({name}.__file__)"
        return subprocess.run(
            [python, "-c", program], cwd=tmp_path, env=variables, capture_output=True, check=False
        )

    assert importing("mpmath").stdout.decode().startswith(str(tmp_path / "borrowed"))
    assert importing("numpy").returncode == 1
