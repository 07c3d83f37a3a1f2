"""Other processors: which results their rounding changes, and that a changed digit is found."""

import re

import pytest
import torch

from tests.tools.book.test_notebooks import book_with, code
from tools.book.notebooks import execute
from tools.ci import processors
from tools.ci.rounding_noise import LAYOUTS, UNITS, Jitter, move

BITS = {dtype: layout.bits for dtype, layout in LAYOUTS.items()}


def units_between(one, other):
    """The difference of numbers of one sign, in units of the last place."""
    return (one.view(BITS[one.dtype]).long() - other.view(BITS[other.dtype]).long()).tolist()


@pytest.fixture
def numbers(rng):
    return torch.randn(997, generator=rng)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_a_rounded_result_moves_by_a_few_units_of_its_last_place(numbers, dtype):
    numbers = numbers.to(dtype)
    here = numbers.tanh()
    with Jitter(1):
        there = numbers.tanh()

    moved = units_between(there, here)
    assert set(moved) == set(range(-UNITS, UNITS))
    assert abs(sum(moved)) < 997


def test_the_same_processor_rounds_the_same_number_equally(numbers):
    with Jitter(1):
        assert torch.equal(numbers.exp(), numbers.exp())
        assert torch.equal(numbers.exp(), numbers.clone().exp_())
        out = torch.empty_like(numbers)
        assert torch.equal(numbers.exp(), torch.exp(numbers, out=out))
        assert torch.equal(numbers.exp()[7:9], numbers[7:9].exp())
        assert torch.equal(-numbers.tanh(), (-numbers).tanh())


def test_exact_results_are_unchanged():
    quarters = torch.arange(16.0) / 4
    ends = torch.tensor([0.0, -0.0, float("inf"), float("nan"), 3.4e38, 1e-42])
    with Jitter(1):
        assert quarters.sum() == 30
        assert (quarters.reshape(4, 4) @ quarters[:4]).tolist() == [0.875, 2.375, 3.875, 5.375]
        assert torch.zeros(1, 4).softmax(-1).tolist() == [[0.25] * 4]
    before = ends.clone()
    move(ends, salt=3)
    assert torch.equal(ends.nan_to_num(5), before.nan_to_num(5))


def test_adding_and_multiplying_are_rounded_equally_everywhere(numbers):
    with Jitter(1):
        there = (numbers + 0.1) * numbers / 3 - numbers.sqrt()
    here = (numbers + 0.1) * numbers / 3 - numbers.sqrt()
    assert torch.equal(there.nan_to_num(), here.nan_to_num())


# Chapters: cells of earlier versions, whose digits another processor changed

# Points of a curve, with the decimals that matplotlib writes.
CURVES = """
import torch
gap = torch.linspace(-4, 4, 81, dtype=torch.{dtype})
[f"{{y:.6f}}" for y in (50 * torch.tanh(gap + 0.5)).tolist()]
"""


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "expected"), [("float32", ["0"]), ("float64", [])])
def test_a_chapter_whose_digits_change_is_found(tmp_path, capfd, dtype, expected):
    path = book_with(tmp_path, code(CURVES.format(dtype=dtype)))
    execute(path)

    assert processors.outputs_change([path], seed=1) is bool(expected)
    failed = re.findall(r"^FAILED .*second\.ipynb::Cell (\d)", capfd.readouterr().out, re.M)
    assert failed == expected
