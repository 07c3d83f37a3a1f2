"""The judge's own grades can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.practice.judge import Grades, Verdicts, faults, of_answers, table, table_of_verdicts
from tests.practice.replay import BLIND

GOOD = Grades(cases=9, rights=5, bugs=20, shaped=3, not_named=["a", "b"])
TOO_FEW = {
    "not_accepted": (["x"], "a right implementation is refused"),
    "not_refused": (["x"], "a known bug is accepted"),
    "not_named": ([*"abc"], "a tenth of the bugs is not named"),
    "not_tested": (["x"], "the book's own tests miss a bug"),
    "unfair": (["x"], "the book's own tests fail on right code"),
    "shaped": (4, "a test of shapes catches a fifth of the bugs"),
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


@pytest.mark.slow
def test_answers_that_were_written_blind_are_judged_well_enough():
    verdicts = of_answers(BLIND)
    assert verdicts.right + verdicts.wrong > 300
    assert verdicts.faults == []


@pytest.mark.parametrize(
    ("worse", "fault"),
    [
        ({"accepted": 98}, "a hundredth of the right answers is refused"),
        ({"refused": 96}, "three hundredths of the wrong answers are accepted"),
        ({"misnamed": 2}, "a hundredth of the names is wrong"),
    ],
)
def test_verdicts_that_are_not_good_enough_are_reported(worse, fault):
    good = Verdicts(right=100, accepted=99, wrong=100, refused=97, named=99, misnamed=1)
    assert good.faults == []
    assert replace(good, **worse).faults == [fault]
    assert "99/100" in table_of_verdicts({"one": good})


def test_a_name_counts_as_right_or_wrong_once():
    verdicts = Verdicts()
    for names in (["a"], ["a", "b"], ["b"], []):
        verdicts.add(right=False, accepted=False, names=names, known=["a"])
    assert (verdicts.named, verdicts.misnamed) == (2, 1)
