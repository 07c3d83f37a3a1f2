"""The pictures of the additive score: their numbers, sizes and colours."""

from __future__ import annotations

import math
import re

import pytest

from tests.tools.pictures.test_draw import dot, parsed, parsed_row, rows, texts


def test_the_printed_additive_score_follows_from_the_printed_numbers():
    _, _, _, projected, _, sums, _, squeezed, stage, score = rows("additive-score")
    query, key = parsed_row(projected)[:3], parsed_row(projected)[3:]
    added = [q + k for q, k in zip(query, key, strict=True)]
    assert parsed_row(sums) == pytest.approx(added)
    assert parsed_row(squeezed) == [round(math.tanh(number), 1) for number in added]
    weights = [parsed(number) for number in re.findall(r"−?\d", texts(stage)[1])]
    score_printed = parsed(texts(score)[0].removeprefix("score "))
    assert score_printed == pytest.approx(dot(weights, parsed_row(squeezed)))
    exact = dot(weights, [math.tanh(number) for number in added])
    assert score_printed == round(exact, 1)
