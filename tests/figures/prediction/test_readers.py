"""New readers answered the book's predictions; what was right or known then is so now."""

from __future__ import annotations

import pytest

from tests.figures.prediction.replay import judged, readings, stored


@pytest.mark.parametrize("reading", readings(), ids=lambda path: path.stem)
def test_answers_are_taken_for_the_same_again(reading, site):
    assert judged(reading, site) == stored(reading)


def test_some_were_right_some_a_known_mistake_and_some_neither():
    tries = [it for path in readings() for it in stored(path)]
    kinds = [(it["right"], it["known"]) for it in tries]
    assert kinds.count((True, False)) >= 20
    assert kinds.count((False, True)) >= 10
    assert kinds.count((False, False)) >= 5
