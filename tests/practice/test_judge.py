"""The judge's own grades can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.practice.judge import Grades, faults, table

GOOD = Grades(
    cases=9, rights=5, accepted=5, bugs=20, refused=20, named=18, tested=20, shaped=3,
    mutants=10, stopped=9,
)  # fmt: skip
SAID = {
    "accepted": (4, "a right implementation is refused"),
    "refused": (19, "a known bug is accepted"),
    "named": (17, "fewer than nine tenths of the bugs are named"),
    "tested": (19, "the book's own tests miss a bug, or fail on right code"),
    "shaped": (4, "a look at shapes catches a fifth of the bugs"),
    "stopped": (8, "a tenth of the mutants is accepted"),
}


def test_grades_that_are_good_enough_have_no_fault():
    assert faults(GOOD) == []


@pytest.mark.parametrize("grade", SAID)
def test_each_grade_that_is_not_good_enough_is_told(grade):
    number, fault = SAID[grade]
    assert faults(replace(GOOD, **{grade: number})) == [fault]


def test_the_table_adds_up():
    assert Grades(18, 10, 10, 40, 40, 36, 40, 6, 20, 18) == GOOD + GOOD
    assert "5/5" in table({"one": GOOD})
    assert "9/10" in table({"one": GOOD})
