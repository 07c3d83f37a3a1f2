"""The faults that measure the tests: they fit the code, and trials are reliable."""

from __future__ import annotations

from tools import ROOT
from tools.ci.mutants import read_faults

ALL = read_faults()


def test_there_are_200_faults_at_least_and_no_two_are_the_same():
    assert len(ALL) >= 200
    assert len({(mutant.file, mutant.replacement, mutant.line) for mutant in ALL}) == len(ALL)


def test_each_fault_changes_a_line_that_is_still_there():
    for mutant in ALL:
        text = (ROOT / mutant.file).read_text("utf-8")
        assert mutant.apply_to(text) != text
