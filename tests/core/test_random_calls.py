"""What a hostile reviewer tried: thousands of random calls, each against an oracle of loops."""

import pytest

from tests.core.random_calls import WITH_MASKS, wrong_in

# Each was wrong once: 2824 without autocast, the others with it; 220 and 2798 in their dtype.
ONCE_WRONG = [220, 231, 499, 1056, 1224, 1281, 2019, 2155, 2798, 2824, 2825]


@pytest.mark.parametrize("seed", [*ONCE_WRONG, *range(WITH_MASKS, WITH_MASKS + 40)])
def test_calls_that_were_wrong_once_and_some_with_masks_are_right(seed, monkeypatch):
    assert wrong_in(seed, monkeypatch.setattr) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WITH_MASKS + 1500, 500))
def test_random_calls_are_right(first, monkeypatch):
    found = {seed: wrong_in(seed, monkeypatch.setattr) for seed in range(first, first + 500)}
    assert {seed: wrong for seed, wrong in found.items() if wrong} == {}
