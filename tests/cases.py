"""Layers, inputs, lengths and masks that test files share. Axis sizes are different primes."""

import pytest
import torch
from hypothesis import strategies as st

from attnbook import (
    AdditiveAttention,
    Attention,
    DotProductAttention,
    MLPAttention,
    MultiHeadAttention,
    dot_score,
)

PER_EXAMPLE = torch.tensor([4, 0])
PER_QUERY = torch.tensor([[0, 1, 2], [3, 6, 7]])
ROWS = torch.tensor([[0, 1, 0, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 1]]).bool()
# In each example one row is empty and others have holes.
SOME_MASK = torch.stack([ROWS, ROWS.roll(1, 0)])
MASKS = {
    "all keys": {},
    "per example": {"valid_lens": PER_EXAMPLE},
    "per query": {"valid_lens": PER_QUERY},
    "causal": {"causal": True},
    "causal, per example": {"valid_lens": PER_EXAMPLE, "causal": True},
    "causal, per query": {"valid_lens": PER_QUERY, "causal": True},
    "a mask": {"mask": SOME_MASK},
}
every_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)

WITHOUT_WEIGHTS = " without weights"
LAYERS = ["dot", "additive", "multi-head"]
WITH_OR_WITHOUT_WEIGHTS = [*LAYERS, *(name + WITHOUT_WEIGHTS for name in LAYERS)]
every_layer = pytest.mark.parametrize("name", LAYERS)
every_layer_with_or_without_weights = pytest.mark.parametrize("name", WITH_OR_WITHOUT_WEIGHTS)
# The same as two parameters, for tests that compile: `few` covers them with half as many cases.
with_or_without_weights = pytest.mark.parametrize("keep_weights", [True, False])
# The third layer makes its heads itself.
layers_that_take_heads = pytest.mark.parametrize("name", ["dot", "additive"])
NUM_HEADS, NUM_HIDDENS = 4, 24
seeds = st.integers(0, 2**16)


def make(name, dropout=0.0, dtype=torch.float32, **options):
    """Make a layer for queries and keys of size 5, with the same parameters each time."""
    if name.endswith(WITHOUT_WEIGHTS):
        options["keep_weights"] = False
        name = name.removesuffix(WITHOUT_WEIGHTS)
    if name in WITHOUT_PARAMETERS:
        return WITHOUT_PARAMETERS[name](dropout, **options)
    torch.manual_seed(13)
    if name.startswith("multi-head"):
        options["bias"] = name == "multi-head with bias"
        sizes = 5, 5, 11, NUM_HIDDENS, NUM_HEADS
        return MultiHeadAttention(*sizes, dropout, **options).to(dtype)
    layer = MLPAttention if name == "older name" else AdditiveAttention
    return layer(5, 5, 13, dropout, **options).to(dtype)


def random_qkv(seed, heads=(), dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)

    def random(*sizes):
        return torch.randn(2, *heads, *sizes, generator=generator, dtype=dtype)

    return random(3, 5), random(7, 5), random(7, 11)


def gradients(layer, inputs, *given, **options):
    """Compute the output, and the gradients of inputs and parameters for its squares."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    parameters = [*layer.parameters()]
    output = layer(*leaves, *given, **options)
    wanted = [*leaves, *parameters]
    found = torch.autograd.grad(output.square().sum(), wanted, materialize_grads=True)
    return [output.detach(), *found]


def all_close(found, expected, tolerance=1e-12):
    return all(
        torch.allclose(left, right, rtol=tolerance, atol=tolerance)
        for left, right in zip(found, expected, strict=True)
    )


def copy_with_versions(tensors):
    return [(tensor.clone(), tensor._version) for tensor in tensors]


def are_unchanged(tensors, before):
    return all(
        torch.equal(now, then) and now._version == version
        for now, (then, version) in zip(tensors, before, strict=True)
    )


class FirstPartAttention(Attention):
    def score(self, queries, keys):
        return dot_score(queries[..., :1], keys[..., :1])


WITHOUT_PARAMETERS = {"dot": DotProductAttention, "a subclass": FirstPartAttention}
