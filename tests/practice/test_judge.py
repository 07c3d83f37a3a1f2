"""The judge's own grades can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.practice.judge import Grades, faults, table

GOOD = Grades(
    cases=9, rights=5, bugs=20, shaped=3, mutants=10,
    not_named=["a", "b"], not_stopped=["c"],
)  # fmt: skip
TOO_FEW = {
    "not_accepted": (["x"], "a right implementation is refused"),
    "not_refused": (["x"], "a known bug is accepted"),
    "not_apart": (["x"], "a bug's own case does not tell it from right code"),
    "not_named": ([*"abc"], "a tenth of the bugs is not named"),
    "not_tested": (["x"], "the book's own tests miss a bug"),
    "unfair": (["x"], "the book's own tests fail on right code"),
    "shaped": (4, "a test of shapes catches a fifth of the bugs"),
    "not_stopped": ([*"ab"], "a tenth of the mutants is accepted"),
}


def test_grades_that_are_good_enough_have_no_fault():
    assert faults(GOOD) == []


@pytest.mark.parametrize("grade", TOO_FEW)
def test_each_grade_that_is_not_good_enough_is_reported(grade):
    value, fault = TOO_FEW[grade]
    assert faults(replace(GOOD, **{grade: value})) == [fault]


def test_the_table_adds_up():
    total = GOOD + GOOD
    assert (total.bugs, len(total.not_named)) == (40, 4)
    assert "5/5" in table({"one": GOOD})
    assert "20 20 18 20" in table({"one": GOOD})
    assert "9/10" in table({"one": GOOD})
