"""Whatever padding holds, it reaches neither an output nor a gradient."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import kernel_pool
from tests.cases import (
    PER_EXAMPLE,
    every_layer,
    every_layer_kept_or_not,
    kept_or_not,
    make,
    random_qkv,
    seeds,
)

pytestmark = pytest.mark.usefixtures("every_path")

junk = st.floats()  # of any size, infinite, or no number at all


def with_padding(tensor, valid_lens, junk):
    """A copy with junk wherever no query may look."""
    furthest = valid_lens if valid_lens.dim() == 1 else valid_lens.amax(-1)
    padding = torch.arange(7) >= furthest[:, None]
    return torch.where(padding[..., None], junk, tensor)


def run(layer, queries, keys, values, valid_lens, **order):
    """The output, and every gradient of a loss."""
    inputs = [tensor.detach().clone().requires_grad_() for tensor in (queries, keys, values)]
    layer.zero_grad()
    output = layer(*inputs, valid_lens, **order)
    output.square().sum().backward()
    return [output.detach(), *(leaf.grad for leaf in (*inputs, *layer.parameters()))]


@every_layer_kept_or_not
@pytest.mark.parametrize("learning", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("valid_lens", [PER_EXAMPLE, torch.tensor([[0, 1, 2], [3, 0, 5]])])
@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_in_padding_never_matters(
    name, junk, valid_lens, causal, learning, dtype
):
    layer = make(name, dtype=dtype)
    queries, keys, values = (tensor.to(dtype) for tensor in random_qkv(5))

    def attend(filling):
        padded = [with_padding(tensor, valid_lens, filling) for tensor in (keys, values)]
        if learning:
            return run(layer, queries, *padded, valid_lens, causal=causal)
        with torch.no_grad():
            return [layer(queries, *padded, valid_lens, causal=causal)]

    for found, expected in zip(attend(junk), attend(0.0), strict=True):
        assert expected.isfinite().all()
        assert torch.equal(found, expected)


@every_layer
@pytest.mark.slow
def test_nor_does_it_matter_in_a_compiled_layer_or_an_exported_program(name):
    layer = make(name).eval()
    queries, keys, values = random_qkv(6, dtype=torch.float32)
    valid_lens = torch.tensor([4, 2])
    junk = [with_padding(tensor, valid_lens, math.nan) for tensor in (keys, values)]
    expected = layer(queries, keys, values, valid_lens)
    compiled = torch.compile(layer, backend="aot_eager")
    exported = torch.export.export(layer, (queries, keys, values, valid_lens)).module()
    for program in (compiled, exported):
        assert torch.allclose(program(queries, *junk, valid_lens), expected, atol=1e-6)


def test_nor_does_it_matter_to_kernel_pooling():
    queries, keys, values = random_qkv(7)
    queries, valid_lens = queries.requires_grad_(), torch.tensor([4, 0])
    expected = kernel_pool(queries, keys, values, valid_lens=valid_lens)
    junk = [with_padding(tensor, valid_lens, math.nan) for tensor in (keys, values)]
    found = kernel_pool(queries, *junk, valid_lens=valid_lens)
    assert torch.equal(found, expected)
    assert torch.autograd.grad(found.sum(), queries)[0].isfinite().all()


@given(seeds, st.lists(st.integers(0, 7), min_size=2, max_size=2), junk, junk)
@every_layer_kept_or_not
def test_padding_never_changes_the_output(name, seed, numbers, key_junk, value_junk):
    queries, keys, values = random_qkv(seed)
    valid_lens = torch.tensor(numbers)
    layer = make(name, dtype=torch.float64)
    clean = run(layer, queries, with_padding(keys, valid_lens, 0.0), values, valid_lens)
    keys = with_padding(keys, valid_lens, key_junk)
    values = with_padding(values, valid_lens, value_junk)
    for left, right in zip(run(layer, queries, keys, values, valid_lens), clean, strict=True):
        assert torch.equal(left, right)


@every_layer_kept_or_not
@pytest.mark.parametrize("causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("scale", [1, 3])
@pytest.mark.parametrize("valid_lens", [PER_EXAMPLE, torch.tensor([[0, 1, 2], [3, 0, 5]])])
def test_the_largest_numbers_of_mixed_signs_in_padding_change_no_gradient(
    name, scale, valid_lens, causal, dtype
):
    layer = make(name, dtype=dtype)
    with torch.no_grad():
        # Weights above 1 make the projection of the largest number overflow.
        for parameter in layer.parameters():
            parameter.mul_(scale)
    queries, keys, values = (tensor.to(dtype) for tensor in random_qkv(2))
    signs = [torch.randn_like(tensor).sign() for tensor in (keys, values)]
    largest = torch.finfo(dtype).max
    clean = [
        with_padding(tensor, valid_lens, torch.zeros((), dtype=dtype)) for tensor in (keys, values)
    ]
    huge = [
        with_padding(tensor, valid_lens, largest * sign)
        for tensor, sign in zip((keys, values), signs, strict=True)
    ]
    expected = run(layer, queries, *clean, valid_lens, causal=causal)
    found = run(layer, queries, *huge, valid_lens, causal=causal)
    for left, right in zip(found, expected, strict=True):
        assert left.isfinite().all()
        assert torch.equal(left, right)


@kept_or_not
@pytest.mark.parametrize("heads", [(), (5,)])
def test_no_gradient_reaches_padding(name, heads):
    inputs = random_qkv(3, heads)
    _, queries, keys, values, *_ = run(make(name, dtype=torch.float64), *inputs, PER_EXAMPLE)
    assert (queries[1] == 0).all()
    for gradient in (keys, values):
        assert (gradient[0, ..., 4:, :] == 0).all()
        assert (gradient[0, ..., :4, :] != 0).all()
        assert (gradient[1] == 0).all()


@every_layer_kept_or_not
def test_an_example_of_nothing_but_padding_has_output_0_and_finite_gradients(name, dtype):
    inputs = [tensor.to(dtype) for tensor in random_qkv(4)]
    with torch.autograd.set_detect_anomaly(True):  # raises at any NaN on the way
        results = run(make(name, dtype=dtype), *inputs, torch.tensor([0, 0]))
    assert all((result == 0).all() for result in results)
