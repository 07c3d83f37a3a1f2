"""What a hostile reviewer tried: thousands of random calls, each against an oracle of loops."""

import pytest

from tests.core.random_calls import wrong_in

# Each was wrong once: 2824 without autocast, the others with it; 220 and 2798 in their dtype.
ONCE_WRONG = [220, 231, 499, 1056, 1224, 1281, 2019, 2155, 2798, 2824, 2825]


@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_a_call_that_was_wrong_once_is_right(seed, monkeypatch):
    assert wrong_in(seed, monkeypatch.setattr) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_random_calls_are_right(first, monkeypatch):
    found = {seed: wrong_in(seed, monkeypatch.setattr) for seed in range(first, first + 500)}
    assert {seed: wrong for seed, wrong in found.items() if wrong} == {}
