"""The faults that measure the tests: they fit the code, and trials are reliable."""

from __future__ import annotations

import pytest

from tools import ROOT
from tools.ci.mutants import Mutant, find_tests, read_faults

ALL = read_faults()


def test_there_are_200_faults_at_least_and_no_two_are_the_same():
    assert len(ALL) >= 200
    assert len({(mutant.file, mutant.replacement, mutant.line) for mutant in ALL}) == len(ALL)


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
