"""Answers of new readers to the book's predictions are judged as when they were stored."""

from __future__ import annotations

import pytest

from tests.figures.prediction.replay import judge_reading, readings
from tests.practice.replay import read_attempts


@pytest.mark.parametrize("reading", readings(), ids=lambda path: path.stem)
def test_answers_are_judged_as_before(reading, site):
    assert judge_reading(reading, site) == read_attempts(reading)
