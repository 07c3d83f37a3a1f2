"""The lived test's own parts; `make lived` is the test itself, and takes minutes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path

import pytest
from nbformat import v4

from tools import ROOT
from tools.book.notebooks import read
from tools.copies.guards import ADDED
from tools.copies.lived import differences, main, quiet, redirected, without_needless
from tools.copies.reader_machine import (
    NotLikeColabError,
    apart,
    borrow,
    changed,
    install_colabs,
    needed_by,
    prove_absent,
)


@pytest.fixture
def chapter():
    return read(ROOT / "chapters" / "masked-softmax.ipynb")


@pytest.fixture
def lived(chapter):
    added = [v4.new_markdown_cell("from"), v4.new_code_cell("%pip")]
    return v4.new_notebook(cells=[*added, *deepcopy(chapter.cells)])


def printing(notebook):
    """The first cell that prints, and what it says."""
    cells = (cell for cell in notebook.cells if cell.get("outputs"))
    return next(cell for cell in cells if cell.outputs[0].output_type == "stream")


def test_the_same_words_are_no_difference(chapter, lived):
    assert list(differences(chapter, lived)) == []


def test_another_printed_number_is_a_difference(chapter, lived):
    printing(lived).outputs[0].text += "0.1"
    assert [problem for problem in differences(chapter, lived) if "0.1" in problem]


def test_a_warning_is_a_difference(chapter, lived):
    cell = printing(lived)
    cell.outputs.append(v4.new_output("stream", name="stderr", text="Deprecated"))
    assert [problem for problem in differences(chapter, lived) if "stderr: Deprecated" in problem]


def test_silence_is_a_difference(chapter, lived):
    printing(lived).outputs = []
    assert [problem for problem in differences(chapter, lived) if "says\nnothing" in problem]


def test_a_lost_cell_is_a_difference(chapter, lived):
    del lived.cells[-1]
    assert "cells, the chapter" in next(differences(chapter, lived))


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("\x1b[33mWARNING: no index\x1b[0m\x1b[33m\n\x1b[0m", False),
        ("Note: you may need to restart the kernel to use updated packages.\n", False),
        ("ERROR: pip's dependency resolver does not like it\n", True),
        ("Successfully installed x\n", True),
    ],
)
def test_an_installation_says_nothing_that_a_reader_must_read(lived, text, heard):
    lived.cells[ADDED - 1].outputs = [v4.new_output("stream", name="stdout", text=text)]
    assert bool(list(quiet(lived))) is heard


def test_an_installation_is_run_in_a_clean_environment_and_once_more_and_another_one_too(lived):
    asked = Counter()

    def run(line):
        copied = deepcopy(lived)
        copied.cells[ADDED - 1].source = line
        return without_needless(copied, asked).cells[ADDED - 1].source

    assert [run("%pip a") for _ in range(4)] == ["%pip a", "%pip a", "", ""]
    assert [run("%pip b"), run("%pip a"), run("%pip b")] == ["%pip b", "", "%pip b"]


def test_git_takes_the_repository_from_the_checkout(tmp_path):
    made_up = "https://github.com/reader/no-such-book"
    source = tmp_path / "a checkout"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet", source], check=True)
    subprocess.run([*git, "-C", source, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    there = redirected(made_up, source) | {"PATH": "/usr/bin:/bin:/usr/local/bin"}
    asked = ["git", "ls-remote", made_up]
    told = subprocess.run(asked, env=there, capture_output=True, text=True, check=True)
    assert "HEAD" in told.stdout


def test_a_tree_without_git_does_not_pass(tmp_path, capsys):
    assert main(["--root", str(tmp_path)]) == 1
    assert "NOT DONE" in capsys.readouterr().out


def test_a_dirty_tree_does_not_pass(tmp_path, capsys):
    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    (tmp_path / "changed.py").touch()
    assert main(["--root", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "NOT DONE" in told
    assert "changed.py" in told


def test_a_shallow_checkout_does_not_pass(tmp_path, capsys):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "--quiet", tmp_path / "deep"], check=True)
    for message in "ab":
        commit = ["commit", "-q", "--allow-empty", "-m", message]
        subprocess.run([*git, "-C", tmp_path / "deep", *commit], check=True)
    address = (tmp_path / "deep").as_uri()
    subprocess.run([*git, "clone", "-q", "--depth", "1", address, tmp_path / "flat"], check=True)
    assert main(["--root", str(tmp_path / "flat")]) == 1
    assert "git fetch --unshallow" in capsys.readouterr().out


def test_an_environment_that_has_the_package_is_refused(tmp_path):
    with pytest.raises(NotLikeColabError, match="before it is installed"):
        prove_absent(Path(sys.executable), tmp_path)


def test_what_is_borrowed_brings_what_it_needs_and_not_the_package():
    names = {*needed_by("torch")}
    assert {"torch", "sympy", "mpmath"} <= names
    assert "attnbook" not in names


@pytest.mark.slow
def test_only_what_is_borrowed_can_be_imported(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    python = tmp_path / "v" / "bin" / "python"
    borrow("sympy", tmp_path / "borrowed", python)

    prove_absent(python, tmp_path)
    ask = [python, "-c", "import sympy, mpmath; print(sympy.__file__)"]
    variables = apart({"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"})
    there = subprocess.run(
        ask, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True
    )
    assert there.stdout.startswith(str(tmp_path / "borrowed"))
    refused = subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False)
    assert refused.returncode == 1
    shutil.rmtree(tmp_path / "borrowed")


@pytest.mark.slow
def test_a_version_that_cannot_be_had_is_replaced_and_named(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    python = tmp_path / "v" / "bin" / "python"
    wanted = {"mpmath": "999.0", "six": version("six")}

    assert install_colabs(wanted, python) == ["mpmath"]
    assert subprocess.run([python, "-c", "import mpmath, six"], check=False).returncode == 0


def test_a_package_that_moved_or_went_is_named():
    before = {"torch": "2.10", "numpy": "2.0.2", "six": "1"}
    after = {"torch": "2.13", "numpy": "2.0.2", "attnbook": "git+https://x"}
    assert changed(before, after) == ["torch 2.10 became 2.13", "six 1 became nothing"]
    assert changed(before, before | {"jaxtyping": "0.3"}) == []
