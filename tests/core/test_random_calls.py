"""Random calls, each compared with an oracle of loops, and calls that were wrong once."""

import pytest
import torch

from tests.core.random_calls import WITH_BIAS, WITH_MASKS, compile_layer, export_layer, find_faults

# 2824 was wrong without autocast, the others with it; 220 and 2798 in their dtype.
ONCE_WRONG = [220, 231, 499, 1056, 1224, 1281, 2019, 2155, 2798, 2824, 2825]


def find_all_faults(seeds, monkeypatch):
    return [faults for seed in seeds if (faults := find_faults(seed, monkeypatch.setattr))]


def test_calls_that_were_wrong_once_and_some_with_masks_and_biases_are_right(monkeypatch):
    seeds = [*ONCE_WRONG, *range(WITH_MASKS, WITH_MASKS + 40), *range(WITH_BIAS, WITH_BIAS + 60)]
    assert find_all_faults(seeds, monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, WITH_MASKS, WITH_BIAS])
def test_random_calls_are_right(first, monkeypatch, request):
    count = 1500 if request.config.getoption("--full") else 500
    assert find_all_faults(range(first, first + count), monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize(("program", "few"), [(compile_layer, 2), (export_layer, 4)])
@pytest.mark.parametrize("first", [0, WITH_MASKS, WITH_BIAS])
def test_programs_for_any_sizes_are_right(first, program, few, monkeypatch, request):
    count = 2500 if request.config.getoption("--full") else few
    for seed in range(first, first + count):
        torch.compiler.reset()
        assert find_faults(seed, monkeypatch.setattr, program) == []


def test_a_compiled_layer_takes_a_mask_where_the_query_size_is_the_number_of_keys(monkeypatch):
    torch.compiler.reset()
    assert find_faults(3057, monkeypatch.setattr, compile_layer) == []
