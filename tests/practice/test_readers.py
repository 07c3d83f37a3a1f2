"""Stored answers of readers fail in the same case, and get the same bugs' names, as when stored."""

from __future__ import annotations

import pytest

from tests.practice.replay import BLIND, READERS, read_attempts, replay

FILES = {f"{path.parent.name}, {path.stem}": path for path in READERS + BLIND}


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
