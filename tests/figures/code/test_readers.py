"""What new readers typed fails the same case, and gets the same names, as when it was read."""

from __future__ import annotations

from collections import Counter

from tests.figures.code.replay import ENDLESS, attempts, judged_today

TRIED = [each for tried in attempts().values() for each in tried]


def test_attempts_are_judged_as_before():
    finite = [each for each in TRIED if each["case"] != ENDLESS]
    wrong = [
        (before, now)
        for before, now in zip(finite, judged_today(finite), strict=True)
        if before != before | now
    ]
    assert wrong == []


def test_three_tasks_and_more_were_tried_three_times():
    right = Counter(each["task"] for each in TRIED if each["case"] == "")
    assert sum(count >= 3 for count in right.values()) >= 3
    assert len(TRIED) > 50
