"""The count of memory finds exactly what is known to be allocated."""

import pytest
import torch

from tests.conftest import needs_cuda
from tools.bench.memory import measure_memory

MEBIBYTE = 2**20


def three_blocks_in_turn():
    for _ in range(3):
        torch.empty(MEBIBYTE, dtype=torch.int8)


def two_factors_and_their_product(numbers):
    return (numbers + 1) * (numbers + 2)


@pytest.mark.parametrize(
    ("program", "mebibytes"),
    [
        (lambda _: torch.empty(MEBIBYTE, dtype=torch.int8), 1),
        (lambda _: three_blocks_in_turn(), 1),
        (two_factors_and_their_product, 3),
        (torch.neg_, 0),
    ],
    ids=["one block", "in turn", "together", "existing"],
)
def test_blocks_are_counted_to_the_byte(program, mebibytes):
    numbers = torch.zeros(MEBIBYTE // 4)
    assert measure_memory(lambda: program(numbers)) == mebibytes * MEBIBYTE


def test_the_backward_pass_is_counted():
    numbers = torch.zeros(MEBIBYTE // 4, requires_grad=True)

    def program():
        return torch.autograd.grad(numbers.exp().sum(), numbers)

    assert 2 * MEBIBYTE <= measure_memory(program) < 2 * MEBIBYTE + 64


@needs_cuda
def test_a_known_block_on_a_gpu_is_counted():
    count = measure_memory(lambda: torch.empty(MEBIBYTE, dtype=torch.int8, device="cuda"), "cuda")
    assert MEBIBYTE <= count < 2 * MEBIBYTE
