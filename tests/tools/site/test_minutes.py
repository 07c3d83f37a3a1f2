"""The seconds of a word, a figure or a task, compared with the hours that a newcomer needed."""

import pytest

from tools.site.minutes import SECONDS

# What the nine first chapters held when a newcomer read them (they are shorter now): queries, keys
# and values; attention from nothing; attention pooling; scoring functions; masked softmax; scaled
# dot-product, additive, Bahdanau and multi-head attention.
READ = {
    "word": 29056,
    "formula": 23,
    "picture": 24,
    "figure": 33,
    "prediction": 46,
    "editor": 11,
    "code": 7,
}
PRACTICE = {"word": 15751, "picture": 1, "figure": 1, "editor": 1, "code": 22, "question": 60}
HOURS_OF_READING, HOURS_WITH_PRACTICE = 10, 24


def hours(amounts):
    return sum(SECONDS[name] * count for name, count in amounts.items()) / 3600


def test_the_times_are_those_of_a_newcomer_within_a_fifth():
    assert hours(READ) == pytest.approx(HOURS_OF_READING, rel=0.2)
    assert hours(READ) + hours(PRACTICE) == pytest.approx(HOURS_WITH_PRACTICE, rel=0.2)
