"""The judge's own grades report what is not good enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.practice.judge import (
    Grades,
    Verdicts,
    faults,
    format_grades,
    format_verdicts,
    verdicts_on_answers,
)
from tests.practice.replay import BLIND

GOOD = Grades(cases=9, solutions=5, bugs=20, caught_by_shapes=3, not_named=["a", "b"])
NOT_GOOD_ENOUGH = {
    "not_accepted": (["x"], "a right implementation is refused"),
    "not_refused": (["x"], "a known bug is accepted"),
    "not_named": ([*"abc"], "a tenth of the bugs is not named"),
    "not_tested": (["x"], "the book's own tests miss a bug"),
    "unfair": (["x"], "the book's own tests fail on right code"),
    "caught_by_shapes": (4, "a test of shapes catches a fifth of the bugs"),
}


def test_only_grades_that_are_not_good_enough_are_reported():
    assert faults(GOOD) == []
    for grade, (value, fault) in NOT_GOOD_ENOUGH.items():
        assert faults(replace(GOOD, **{grade: value})) == [fault]


def test_the_table_adds_up():
    total = GOOD + GOOD
    assert (total.bugs, len(total.not_named)) == (40, 4)
    assert "5/5" in format_grades({"one": GOOD})
    assert "20 20 18 20" in format_grades({"one": GOOD})


def test_answers_that_were_written_blind_are_judged_well_enough():
    # The stored verdicts are compared with the judge's own in test_readers.py.
    verdicts = verdicts_on_answers(BLIND)
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
    assert "99/100" in format_verdicts({"one": good})


def test_a_name_counts_as_right_or_wrong_once():
    verdicts = Verdicts()
    for names in (["a"], ["a", "b"], ["b"], []):
        verdicts.add(right=False, accepted=False, names=names, known=["a"])
    assert (verdicts.named, verdicts.misnamed) == (2, 1)
