"""What new readers tried, after reading up to a task, gets the answers that were read with care."""

from __future__ import annotations

import pytest

from tests.practice.replay import FOLDER, replayed, stored

ATTEMPTS = [
    (f"{path.stem}-{number}-{it.call}-{it.task}", it)
    for path in sorted(FOLDER.glob("*.md"))
    for number, it in enumerate(stored(path), start=1)
]


@pytest.mark.parametrize("tried", [it for _, it in ATTEMPTS], ids=[name for name, _ in ATTEMPTS])
def test_a_reader_is_told_what_was_told_before(tried):
    assert replayed(tried) == tried.said


def test_every_attempt_is_found():
    assert len(ATTEMPTS) > 100
    for path in FOLDER.glob("*.md"):
        assert len(stored(path)) == path.read_text("utf-8").count("\n````text\n")
        assert {it.call for it in stored(path)} == {"check", "grade"}
