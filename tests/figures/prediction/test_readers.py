"""New readers answered the book's predictions; what they were told then, they are told now."""

from __future__ import annotations

import json

import pytest

from tests.figures.prediction.replay import readings, told


@pytest.mark.parametrize("reading", readings(), ids=lambda path: path.stem)
def test_a_reader_is_told_the_same_again(reading, site):
    assert told(reading, site) == json.loads(reading.read_text("utf-8"))


def test_some_were_right_and_some_were_wrong():
    tries = [it for path in readings() for it in json.loads(path.read_text("utf-8"))]
    right = sum(it["told"] == "Right." for it in tries)
    assert right >= 20
    assert len(tries) - right >= 15
