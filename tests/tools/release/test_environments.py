"""What is done in an empty environment, with a Python that only notes what it is asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import ROOT
from tools.ci.pythons import oldest_torch
from tools.colab.clean_environment import StepFailedError
from tools.release import environments
from tools.release.distributions import Distributions
from tools.release.environments import (
    examples,
    find_pythons,
    make_environments,
    run_examples,
    try_release,
)

README = (
    "```python\nx = 1\n```\n```bash\nmake\n```\n```python\nprint(x + 1)\n```\n```text\n{}\n```\n"
)


def test_the_oldest_torch_is_the_one_that_the_metadata_promise():
    assert oldest_torch(ROOT) == "torch==2.7.*"


def test_the_examples_are_one_program_and_the_outputs_of_the_page():
    assert examples(README.format(2)) == ("x = 1\n\nprint(x + 1)\n", ["2\n"])


def test_an_example_that_fails_or_prints_something_else_is_refused(tmp_path):
    run_examples(Path(sys.executable), tmp_path, README.format(2))
    for text, message in (
        (README.format(3), r"must print \['3\\n'\], got 2"),
        (README.format(2).replace("x = 1", "y = 1"), "NameError"),
        ("```python\nprint(2)\n```", "must print"),
    ):
        with pytest.raises(StepFailedError, match=message):
            run_examples(Path(sys.executable), tmp_path, text)


# Notes its arguments, makes an environment that has the same Python, and prints what it is asked.
PYTHON = """#!/bin/sh
echo "$*" >> {calls}
case "$*" in
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
  *"import attnbook, sys"*) echo "No module named 'attnbook'" >&2; exit 1 ;;
  *"torch.__version__"*) echo 9.9 ;;
  *readme.py*) echo 2 ;;
  *pip*torch*) exit {status} ;;
  *) echo {version} ;;
esac
"""


@pytest.fixture
def pythons(tmp_path, monkeypatch):
    """Three Pythons on the PATH, and the file of their calls; the first finds no torch if asked."""

    def write(status=0, names=("3.11", "3.12", "3.13")):
        calls = tmp_path / "calls"
        for name in names:
            program = tmp_path / f"python{name}"
            text = PYTHON.format(calls=calls, status=status, version=f"{name}.4")
            program.write_text(text)
            program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setenv("PIP_ARGS", "--quiet")
        return calls

    return write


def built(tmp_path):
    (tmp_path / "README.md").write_text(README.format(2))
    return Distributions(tmp_path / "a.tar.gz", tmp_path / "dist" / "a.whl", tmp_path, "")


def test_the_oldest_python_gets_the_oldest_torch_and_each_environment_both_files(pythons, tmp_path):
    calls, lines = pythons(), []
    for environment in make_environments(ROOT, tmp_path / "made"):
        lines.append(try_release(environment, built(tmp_path), "0.1.0"))
        assert environment.python.exists()
    assert not [*(tmp_path / "made").iterdir()]
    words = [line.split()[:4] for line in lines]
    assert words == [["Python", f"3.{n}.4", "torch", "9.9"] for n in (11, 12, 13)]
    installs = [line for line in calls.read_text().splitlines() if "pip install" in line]
    index = f"--find-links {tmp_path}/dist attnbook[figures]==0.1.0"
    assert installs[0].endswith(f"{index} torch==2.7.*")
    assert installs[2].endswith(index)
    assert installs[1].endswith(f"--force-reinstall --no-deps {tmp_path}/a.tar.gz")
    assert len(installs) == 6
    assert calls.read_text().count("readme.py") == 6


def test_an_environment_is_used_again_only_if_asked(pythons, tmp_path):
    calls = pythons()
    for reuse, made in ((True, 3), (True, 3), (False, 6)):
        list(make_environments(ROOT, tmp_path / "made", reuse=reuse))
        assert calls.read_text().count("-m venv") == made


def test_what_cannot_be_installed_is_refused_with_the_command(pythons, tmp_path):
    pythons(status=3)
    environment = next(make_environments(ROOT, tmp_path / "made"))
    with pytest.raises(StepFailedError, match=r"pip install .*torch==2\.7"):
        try_release(environment, built(tmp_path), "0.1.0")


def test_a_release_is_tried_on_every_promised_python(pythons):
    pythons(names=("3.11", "3.13"))
    with pytest.raises(StepFailedError, match=r"not found: \['3\.12'\]"):
        find_pythons()


def test_the_size_is_that_of_all_files_without_links(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"12345")
    (tmp_path / "c").symlink_to(tmp_path / "a" / "b")
    assert environments.size_of(tmp_path) == 5
