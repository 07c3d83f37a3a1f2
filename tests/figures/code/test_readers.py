"""Attempts of new readers are judged as when they were stored."""

from __future__ import annotations

from tests.figures.code.replay import ENDLESS, attempts, judge_attempts


def test_attempts_are_judged_as_before():
    tried = [each for file in attempts().values() for each in file if each["case"] != ENDLESS]
    changed = [
        (before, now)
        for before, now in zip(tried, judge_attempts(tried), strict=True)
        if before != before | now
    ]
    assert changed == []
