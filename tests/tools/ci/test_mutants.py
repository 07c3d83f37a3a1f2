"""The faults that measure the tests: they fit the code, and trials are reliable."""

from __future__ import annotations

import subprocess

import pytest

from tools import ROOT
from tools.ci import mutants
from tools.ci.mutants import Mutant, find_tests, main, read_faults

ALL = read_faults()


def test_there_are_200_faults_and_no_two_are_the_same():
    assert len(ALL) == 200
    assert len({(mutant.file, mutant.replacement, mutant.line) for mutant in ALL}) == 200


def test_each_fault_changes_a_line_that_is_still_there():
    for mutant in ALL:
        text = (ROOT / mutant.file).read_text("utf-8")
        assert mutant.apply_to(text) != text


def test_each_fault_has_tests_of_its_folder():
    for file in {mutant.file for mutant in ALL}:
        assert find_tests(file)
        assert "tests" not in find_tests(file)


def test_a_line_that_is_gone_or_occurs_twice_is_refused():
    mutant = Mutant("a.py", "it is two", "x = 1", "x = 2")
    assert mutant.apply_to("x = 1\ny = 1") == "x = 2\ny = 1"
    for text, count in (("y = 1", 0), ("x = 1\nx = 1", 2)):
        with pytest.raises(ValueError, match=f"must hold 'x = 1' once, holds it {count} times"):
            mutant.apply_to(text)


SUM = "def total(numbers):\n    return sum(numbers)\n"
TESTS = "from attnbook.sums import total\n\n\ndef test_total():\n    assert total([2]) == 2\n"
DETECTED = Mutant("attnbook/sums.py", "no sum", "    return sum(numbers)", "    return 0")
SURVIVES = Mutant(
    "attnbook/sums.py", "a product", "    return sum(numbers)", "    return numbers[0]"
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with one function, one test and two faults, one of which the test detects."""
    files = {"attnbook/__init__.py": "", "attnbook/sums.py": SUM, "tests/core/test_sums.py": TESTS}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "read_faults", lambda: [DETECTED, SURVIVES])
    return tmp_path


@pytest.mark.weekly
@pytest.mark.slow
def test_survivors_are_listed_and_more_than_allowed_fail(project, monkeypatch, capsys):
    assert main(["--jobs", "1"]) == 0
    output = capsys.readouterr().out
    assert "2 faults, 1 survivors\n  attnbook/sums.py: a product\n" in output
    monkeypatch.setattr(mutants, "MOST_SURVIVORS", 0)
    assert main(["--jobs", "1", "--only", "product"]) == 1
    assert (project / "attnbook" / "sums.py").read_text() == SUM
