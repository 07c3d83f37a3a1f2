"""Stored answers of readers get the same verdicts as when stored, and these are good enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.practice.judge import Grades, Verdicts, faults, verdicts_on_answers
from tests.practice.replay import BLIND, READERS, read_attempts, replay

FILES = {f"{path.parent.name}, {path.stem}": path for path in READERS + BLIND}
GOOD = Grades(cases=9, solutions=5, bugs=20, caught_by_shapes=3, not_named=["a", "b"])
GOOD_VERDICTS = Verdicts(right=100, accepted=99, wrong=100, refused=97, named=99, misnamed=1)


@pytest.mark.slow
@pytest.mark.parametrize("reader", FILES)
def test_attempts_are_judged_as_stored(reader, request):
    attempts = read_attempts(FILES[reader])
    assert len(attempts) == FILES[reader].read_text("utf-8").count("\n````python\n") > 20
    assert {it.call for it in attempts} == ({"check"} if attempts[0].meant else {"check", "grade"})
    # Of the many answers that were written blind, every other one is enough for each run.
    step = 2 if attempts[0].meant and not request.config.getoption("--full") else 1
    wrong = [
        (number, attempt.task, attempt.facts, now)
        for number, attempt in [*enumerate(attempts)][::step]
        if (now := replay(attempt)) != attempt.facts
    ]
    assert wrong == []


def test_the_stored_verdicts_on_answers_that_were_written_blind_are_good_enough():
    verdicts = verdicts_on_answers(BLIND)
    assert verdicts.right + verdicts.wrong > 300
    assert verdicts.faults == []


@pytest.mark.parametrize(
    ("worse", "fault"),
    [
        ({"not_accepted": ["x"]}, "a right implementation is refused"),
        ({"not_refused": ["x"]}, "a known bug is accepted"),
        ({"not_named": [*"abc"]}, "a tenth of the bugs is not named"),
        ({"not_tested": ["x"]}, "the book's own tests miss a bug"),
        ({"unfair": ["x"]}, "the book's own tests fail on right code"),
        ({"caught_by_shapes": 4}, "a test of shapes catches a fifth of the bugs"),
        ({"accepted": 98}, "a hundredth of the right answers is refused"),
        ({"refused": 96}, "three hundredths of the wrong answers are accepted"),
        ({"misnamed": 2}, "a hundredth of the names is wrong"),
    ],
)
def test_grades_and_verdicts_that_are_not_good_enough_are_reported(worse, fault):
    assert faults(GOOD) + GOOD_VERDICTS.faults == []
    if hasattr(GOOD, *worse):
        assert faults(replace(GOOD, **worse)) == [fault]
    else:
        assert replace(GOOD_VERDICTS, **worse).faults == [fault]
