import math

import pytest
import torch

from attnbook import kernel_pool, pool
from attnbook.selftest import oracle

TOLERANCE = {torch.float64: 1e-13, torch.float32: 1e-5, torch.bfloat16: 5e-2, torch.float16: 5e-3}


def column(*numbers):
    return torch.tensor([[[number] for number in numbers]], dtype=torch.float64)


@pytest.mark.parametrize("heads", [(), (5,)])
def test_pool_agrees_with_the_oracle(heads, dtype, rng):
    weights = torch.rand(2, *heads, 3, 7, generator=rng).to(dtype)
    values = torch.randn(2, *heads, 7, 11, generator=rng).to(dtype)
    output = pool(weights, values)
    assert output.dtype == dtype
    expected = oracle.pool(weights, values)
    assert torch.allclose(output.double(), expected, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize(("batch", "queries", "keys"), [(0, 3, 7), (2, 0, 7), (2, 3, 0)])
def test_pooling_nothing_gives_zeros(batch, queries, keys):
    output = pool(torch.ones(batch, queries, keys), torch.ones(batch, keys, 11))
    assert torch.equal(output, torch.full((batch, queries, 11), float(keys)))


def test_kernel_pool_weighs_by_the_gaussian_of_the_distance():
    # Distance √(2 log 3) has the kernel exp(-log 3) = 1/3, distance 0 has 1: weights ¾, ¼.
    keys = column(0, math.sqrt(2 * math.log(3)))
    assert kernel_pool(column(0), keys, column(0, 8)).item() == pytest.approx(2)


@pytest.mark.parametrize("width", [0.3, 1.0, torch.tensor(2.5)])
@pytest.mark.parametrize("valid_lens", [None, torch.tensor([4, 0])], ids=["all keys", "padded"])
def test_kernel_pool_agrees_with_the_oracle(width, valid_lens, qkv):
    expected = oracle.kernel_pool(*qkv, width, valid_lens)
    output = kernel_pool(*qkv, width, valid_lens)
    assert torch.allclose(output.double(), expected, atol=1e-5)


def test_a_narrow_kernel_gives_the_nearest_value():
    # The other kernels underflow to zero; the softmax still sums to one.
    assert kernel_pool(column(0.9), column(0, 1), column(10, 20), 1e-3).item() == 20
