"""What new readers tried fails the same case, and gets the same names, as when it was read."""

from __future__ import annotations

import pytest

from tests.practice.replay import BLIND, READERS, replayed, stored

FILES = {f"{path.parent.name}, {path.stem}": path for path in READERS + BLIND}


@pytest.mark.slow
@pytest.mark.parametrize("reader", FILES)
def test_attempts_are_judged_as_before(reader):
    attempts = stored(FILES[reader])
    wrong = [
        (number, tried.task, tried.facts, now)
        for number, tried in enumerate(attempts)
        if (now := replayed(tried)) != tried.facts
    ]
    assert wrong == []


@pytest.mark.parametrize("reader", FILES)
def test_every_attempt_is_found(reader):
    attempts = stored(FILES[reader])
    assert len(attempts) == FILES[reader].read_text("utf-8").count("\n````python\n") > 20
    assert {it.call for it in attempts} == ({"check"} if attempts[0].meant else {"check", "grade"})
