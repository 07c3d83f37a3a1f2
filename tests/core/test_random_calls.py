"""Thousands of random calls, each against an oracle of loops, and those that were wrong once."""

import pytest
import torch

from tests.core.random_calls import WITH_MASKS, compiled, exported, find_faults

# 2824 was wrong without autocast, the others with it; 220 and 2798 in their dtype.
ONCE_WRONG = [220, 231, 499, 1056, 1224, 1281, 2019, 2155, 2798, 2824, 2825]


def faults_of(seeds, monkeypatch):
    return [faults for seed in seeds if (faults := find_faults(seed, monkeypatch.setattr))]


def test_calls_that_were_wrong_once_and_some_with_masks_are_right(monkeypatch):
    seeds = [*ONCE_WRONG, *range(WITH_MASKS, WITH_MASKS + 40)]
    assert faults_of(seeds, monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 500, 1000, WITH_MASKS, WITH_MASKS + 500, WITH_MASKS + 1000])
def test_random_calls_are_right(first, monkeypatch):
    assert faults_of(range(first, first + 500), monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("made", [compiled, exported])
@pytest.mark.parametrize("first", [0, WITH_MASKS])
def test_programs_for_any_sizes_are_right(first, made, monkeypatch, request):
    count = 2500 if request.config.getoption("--full") else {compiled: 3, exported: 10}[made]
    for seed in range(first, first + count):
        torch.compiler.reset()
        assert find_faults(seed, monkeypatch.setattr, made) == []


@pytest.mark.parametrize("seed", [3057, 3094])
def test_a_mask_that_fits_is_taken_where_a_size_of_queries_is_the_number_of_keys(seed, monkeypatch):
    torch.compiler.reset()
    assert find_faults(seed, monkeypatch.setattr, compiled) == []
