"""A caller may set another default device; what is on the CPU stays there."""

import pytest
import torch
from torch import nn

from attnbook import MultiHeadAttention, causal_mask, kernel_pool, length_mask, masked_softmax
from attnbook import rotary_encoding as rotary
from attnbook.timing import race
from tests.cases import (
    LAYERS,
    PER_EXAMPLE,
    every_layer_kept_or_not,
    every_mask,
    make,
)


def elsewhere():
    """Tensors that are made without saying where have no values."""
    return torch.device("meta")


def test_what_is_made_without_saying_where_is_elsewhere():
    with elsewhere():
        assert torch.arange(3).is_meta


@pytest.mark.usefixtures("every_path")
@every_layer_kept_or_not
@every_mask
def test_a_layer_gives_the_same(name, mask, qkv):
    layer, found = make(name), []
    for where in (torch.device("cpu"), elsewhere()):
        leaves = [tensor.clone().requires_grad_() for tensor in qkv]
        with where:
            output = layer(*leaves, **mask)
            output.square().sum().backward()
        weights = [layer.attention_weights] if layer.keep_weights else []
        found.append([output.detach(), *weights, *(leaf.grad for leaf in leaves)])
    for left, right in zip(*found, strict=True):
        assert torch.equal(left, right)


@pytest.mark.slow
@pytest.mark.usefixtures("every_path")
@pytest.mark.parametrize("name", LAYERS)
def test_a_compiled_layer_gives_the_same(name, qkv):
    torch.compiler.reset()
    layer = make(name)
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    with elsewhere():
        output = compiled(*qkv, PER_EXAMPLE)
    assert torch.allclose(output, layer(*qkv, PER_EXAMPLE), atol=1e-6)
    torch.compiler.reset()


FUNCTIONS = {
    "length_mask": lambda q, k, v: length_mask(PER_EXAMPLE, (2, 3, 7)),  # noqa: ARG005
    "causal_mask": lambda q, k, v: causal_mask((2, 3, 7)),  # noqa: ARG005
    "masked_softmax": lambda q, k, v: masked_softmax(q @ k.mT, PER_EXAMPLE, causal=True),  # noqa: ARG005
    "kernel_pool": lambda q, k, v: kernel_pool(q, k, v, 2.0, PER_EXAMPLE),
    "rotary_encoding": lambda q, k, v: rotary(q),  # noqa: ARG005
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_the_same(name, qkv):
    expected = FUNCTIONS[name](*qkv)
    with elsewhere():
        found = FUNCTIONS[name](*qkv)
    assert torch.equal(found, expected)


def test_a_wrong_length_is_still_read(qkv):
    with elsewhere(), pytest.raises(ValueError, match=r"got 6 at index \(1,\)"):
        masked_softmax(qkv[0], torch.tensor([3, 6], device="cpu"))


def test_torchs_layer_comes_and_goes_where_it_is():
    theirs = nn.MultiheadAttention(12, 3)
    with elsewhere():
        back = MultiHeadAttention.from_torch(theirs).to_torch()
    assert torch.equal(back.in_proj_weight, theirs.in_proj_weight)


def test_a_race_can_be_run():
    numbers = torch.randn(64)
    with elsewhere():
        result = race({"exp": numbers.exp, "tanh": numbers.tanh}, rounds=2, least=1e-4)
    assert result.one_call("tanh").low > 0
