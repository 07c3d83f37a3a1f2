"""`make release` stops at the first step that refuses, and says why."""

from __future__ import annotations

import subprocess

import pytest

from tools.release import __main__ as program
from tools.release.__main__ import RefusedError, check_tree, main, refuse, run_tests


def git(root, *arguments):
    command = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "Makefile").write_text(
        'test pythons:\n\t@echo $@ >> calls; test $@ != "$(FAILS)"\n'
    )
    (tmp_path / ".gitignore").write_text("calls\n")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "-m", "a")
    return tmp_path


def test_files_that_are_not_committed_are_named(checkout, tmp_path_factory):
    check_tree(checkout)
    (checkout / "Makefile").write_text("")
    (checkout / "new.txt").touch()
    with pytest.raises(RefusedError) as refused:
        check_tree(checkout)
    assert str(refused.value) == "- Makefile is not committed\n- new.txt is not committed"
    with pytest.raises(RefusedError, match="git finds none"):
        check_tree(tmp_path_factory.mktemp("unpacked"))


@pytest.mark.parametrize(
    ("stored", "fails", "calls", "message"),
    [
        ("", "", "test pythons", ""),
        ("HEAD", "", "pythons", ""),
        ("", "test", "test", "make test failed"),
        ("HEAD", "pythons", "pythons", "make pythons failed"),
    ],
)
def test_tests_run_unless_they_have_passed_for_this_commit(
    checkout, monkeypatch, stored, fails, calls, message
):
    commit = stored and git(checkout, "rev-parse", "HEAD")
    monkeypatch.setattr(program, "passed_commit", lambda: commit)
    monkeypatch.setenv("FAILS", fails)
    if message:
        with pytest.raises(RefusedError, match=message):
            run_tests(checkout)
    else:
        run_tests(checkout)
    assert (checkout / "calls").read_text().split() == calls.split()


def test_nothing_is_built_of_a_version_that_is_not_this_one(monkeypatch, capsys):
    monkeypatch.setattr(program, "check_tree", lambda _root: None)
    monkeypatch.setattr(program, "build", lambda *_: pytest.fail("it was built"))
    assert main(["9.9.9", "--tested"]) == 1
    output = capsys.readouterr().out
    assert output.startswith("No release of 9.9.9:\n- ")
    assert "attnbook/_version.py must have 9.9.9" in output


def test_no_problem_is_no_reason_to_stop():
    refuse([])
    with pytest.raises(RefusedError, match=r"^- one\n- two$"):
        refuse(["one", "two"])
