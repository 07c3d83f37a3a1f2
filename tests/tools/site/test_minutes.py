"""The minutes of the chapters, compared with those that a newcomer needed."""

from __future__ import annotations

import re

import pytest

# The nine first chapters as they were read, with the hours for reading, and with the practice.
READ = (
    "queries-keys-values",
    "attention-from-nothing",
    "attention-pooling",
    "scoring-functions",
    "masked-softmax",
    "scaled-dot-product-attention",
    "additive-attention",
    "bahdanau-attention",
    "multi-head-attention",
)
READING, WITH_PRACTICE = 10, 24
DATA = re.compile(r'data-core="(\d+)" data-deeper="(\d+)" data-practice="(\d+)"')


def test_the_minutes_are_those_of_a_newcomer_within_a_fifth(site):
    texts = [(site / "chapters" / f"{name}.html").read_text("utf-8") for name in READ]
    times = [[int(number) for number in DATA.findall(text)[0]] for text in texts]
    reading = sum(core + deeper for core, deeper, _ in times) / 60
    practice = sum(practice for *_, practice in times) / 60
    assert reading == pytest.approx(READING, rel=0.2)
    assert reading + practice == pytest.approx(WITH_PRACTICE, rel=0.2)
