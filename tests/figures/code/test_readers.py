"""What new readers typed is judged as it was when a human eye had read the verdicts."""

from __future__ import annotations

from functools import cache

import pytest

from tests.figures.code.replay import ENDLESS, attempts, said_today

TRIED = [each for tried in attempts().values() for each in tried]
FINITE = [each for each in TRIED if ENDLESS not in " ".join(each["verdict"])]


@cache
def today():
    return said_today(FINITE)


def test_three_tasks_and_more_were_tried_three_times():
    right = [each["task"] for each in TRIED if each["verdict"][0].startswith("✓")]
    assert sum(right.count(task) >= 3 for task in set(right)) >= 3
    assert len(TRIED) > 50


@pytest.mark.parametrize(
    "number", range(len(FINITE)), ids=[f"{i}-{each['task']}" for i, each in enumerate(FINITE)]
)
def test_an_attempt_is_judged_as_before(number):
    assert today()[number] == FINITE[number]["verdict"]
