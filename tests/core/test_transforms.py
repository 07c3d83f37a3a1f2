"""The layers under what PyTorch does to layers: compile, export, autocast, copy, save."""

import copy
import math
import pickle

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensor

from attnbook import checked
from tests.cases import (
    MASKS,
    PER_EXAMPLE,
    SOME_MASK,
    all_close,
    every_layer,
    every_layer_with_or_without_weights,
    gradients,
    make,
    random_qkv,
    with_or_without_weights,
)

pytestmark = pytest.mark.usefixtures("every_path")
masks_to_compile = pytest.mark.parametrize("mask", ["per query", "causal, per example", "a mask"])


@pytest.fixture(autouse=True)
def _fresh_compiler():
    yield
    torch.compiler.reset()


def compiled_like(layer, backend="aot_eager"):
    return torch.compile(copy.deepcopy(layer), fullgraph=True, backend=backend)


# torch.compile


@pytest.mark.slow
@pytest.mark.few(3)
@every_layer
@with_or_without_weights
@masks_to_compile
@pytest.mark.parametrize("heads", [(), (2,)])
def test_a_layer_compiles_to_one_graph_with_the_same_outputs_and_gradients(
    name, keep_weights, mask, heads
):
    options = dict(MASKS[mask])
    if name == "multi-head":
        heads = ()
    elif heads and "mask" in options:
        options["mask"] = SOME_MASK[:, None]
    layer = make(name, dtype=torch.float64, keep_weights=keep_weights)
    inputs = random_qkv(3, heads)
    compiled = compiled_like(layer)
    assert all_close(gradients(compiled, inputs, **options), gradients(layer, inputs, **options))
    if layer.keep_weights:
        assert torch.allclose(compiled.attention_weights, layer.attention_weights)


@pytest.mark.few(3)
@every_layer
def test_a_compiled_layer_drops_weights_in_training_and_does_not_recompile(name, qkv):
    counter = CompileCounter()
    compiled = compiled_like(make(name, dropout=1.0), counter)
    for _ in range(3):
        assert not compiled(*qkv, PER_EXAMPLE).any()
        weights = compiled.attention_weights
    expected = (PER_EXAMPLE > 0).float()[(..., *[None] * (weights.dim() - 2))]
    assert torch.allclose(weights.sum(-1), expected)
    assert counter.frame_count == 1


OUT_OF_RANGE = torch.tensor([99.0, -3.0, math.nan])
AS_IF = torch.tensor([7, 0, 0])


@pytest.mark.few(3)
@every_layer
def test_unread_lengths_past_the_end_mean_all_keys_and_negative_or_nan_ones_mean_none(name):
    torch.manual_seed(5)
    inputs = torch.randn(3, 2, 5), torch.randn(3, 7, 5), torch.randn(3, 7, 11)
    layer = make(name)
    compiled = compiled_like(layer)
    output, expected = compiled(*inputs, OUT_OF_RANGE), layer(*inputs, AS_IF)
    weights = compiled.attention_weights
    assert torch.allclose(output, expected, atol=1e-6)
    assert torch.allclose(weights, layer.attention_weights, atol=1e-6)
    exported = torch.export.export(layer, (*inputs, AS_IF.float())).module()
    assert torch.allclose(exported(*inputs, OUT_OF_RANGE), expected, atol=1e-6)
    # `checked` refuses them, and then lets the layer run on.
    rule = r"valid_lens must lie in \[0, num_keys=7\], got 99.0"
    with pytest.raises(ValueError, match=rule), checked():
        compiled(*inputs, OUT_OF_RANGE)
    assert compiled.attention_weights is weights
    assert torch.equal(compiled(*inputs, OUT_OF_RANGE), output)


# torch.export


@pytest.mark.slow
@pytest.mark.few(3)
@every_layer
@with_or_without_weights
@masks_to_compile
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "non-strict"])
def test_an_exported_layer_gives_the_same_and_export_does_not_change_the_layer(
    name, keep_weights, mask, strict, qkv
):
    layer, mask = make(name, keep_weights=keep_weights).eval(), MASKS[mask]
    expected = layer(*qkv, **mask)
    weights = getattr(layer, "attention_weights", None)
    program = torch.export.export(layer, qkv, mask, strict=strict)
    assert torch.allclose(program.module()(*qkv, **mask), expected, atol=1e-6)
    assert getattr(layer, "attention_weights", None) is weights
    assert not isinstance(weights, FakeTensor)
    assert torch.equal(layer(*qkv, **mask), expected)


# Autocast


@pytest.mark.few(3)
@every_layer
def test_autocast_mixes_dtypes_that_are_refused_without_it(name, qkv):
    queries, keys, values = qkv
    mixed = queries, keys.bfloat16(), values
    layer = make(name)
    compiled = compiled_like(layer)
    expected = layer(*qkv, PER_EXAMPLE)
    with torch.autocast("cpu", torch.bfloat16):
        output = layer(*mixed, PER_EXAMPLE)
        from_compiled = compiled(*mixed, PER_EXAMPLE)
    assert torch.allclose(output.float(), expected, atol=5e-2)
    assert torch.allclose(output, from_compiled, atol=5e-2)
    assert not layer.attention_weights[0, ..., 4:].any()
    assert not layer.attention_weights[1].any()
    with pytest.raises(TypeError, match="keys must have the dtype of queries"):
        layer(*mixed, PER_EXAMPLE)


# Copying, saving, loading


@pytest.mark.few(6)
@every_layer_with_or_without_weights
def test_a_copy_made_after_training_gives_the_same_and_shares_nothing(name, qkv):
    layer = make(name, dropout=0.5).train()
    layer(qkv[0].requires_grad_(), *qkv[1:]).sum().backward()
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):  # noqa: S301 - our own
        assert not hasattr(copied, "attention_weights")
        for ours, theirs in zip(layer.parameters(), copied.parameters(), strict=True):
            assert ours is not theirs
        assert torch.equal(copied.eval()(*qkv), make(name).eval()(*qkv))
