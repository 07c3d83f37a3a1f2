"""What new readers tried fails the same case, and gets the same names, as when it was read."""

from __future__ import annotations

import pytest

from tests.practice.replay import FOLDER, replayed, stored

READERS = {path.stem: path for path in sorted(FOLDER.glob("*.md"))}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_attempts_are_judged_as_before(reader):
    attempts = stored(READERS[reader])
    wrong = [
        (number, tried.task, tried.facts, now)
        for number, tried in enumerate(attempts)
        if (now := replayed(tried)) != tried.facts
    ]
    assert wrong == []


@pytest.mark.parametrize("reader", READERS)
def test_every_attempt_is_found(reader):
    attempts = stored(READERS[reader])
    assert len(attempts) == READERS[reader].read_text("utf-8").count("\n````python\n") > 20
    assert {it.call for it in attempts} == {"check", "grade"}
