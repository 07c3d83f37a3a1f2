"""The count of memory finds exactly what is known to be allocated."""

import subprocess
import sys

import pytest
import torch

from tests.conftest import needs_cuda
from tools import ROOT
from tools.bench import memory
from tools.bench.memory import RETURNING, allocated, highest

MEBIBYTE = 2**20
needs_linux = pytest.mark.skipif(
    not memory.REFERENCES.exists(), reason="only Linux can reset the peak"
)


@pytest.mark.parametrize(
    ("changes", "peak"),
    [([], 0), ([3, -3, 5, -5], 5), ([3, 5, -3, 2, -7], 8), ([-4, 4], 0), ([-4, 6], 2)],
)
def test_the_peak_is_the_highest_sum(changes, peak):
    assert highest(changes) == peak


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
    assert allocated(lambda: program(numbers)) == mebibytes * MEBIBYTE


def test_the_backward_pass_is_counted():
    numbers = torch.zeros(MEBIBYTE // 4, requires_grad=True)

    def program():
        return torch.autograd.grad(numbers.exp().sum(), numbers)

    assert 2 * MEBIBYTE <= allocated(program) < 2 * MEBIBYTE + 64


@needs_linux
@pytest.mark.weekly
def test_a_fresh_process_grows_by_a_known_block():
    code = (
        "import torch; from tools.bench.memory import resident;"
        "torch.set_num_threads(1); print(resident(lambda: torch.ones(48 * 2**18)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"GLIBC_TUNABLES": RETURNING},
        capture_output=True,
        text=True,
        check=True,
    )
    assert abs(int(done.stdout) - 48 * MEBIBYTE) < 2 * MEBIBYTE


@needs_cuda
def test_a_known_block_on_a_gpu_is_counted():
    count = allocated(lambda: torch.empty(MEBIBYTE, dtype=torch.int8, device="cuda"), "cuda")
    assert MEBIBYTE <= count < 2 * MEBIBYTE
