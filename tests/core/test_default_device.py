"""With another default device, here `meta`, tensors on the CPU stay there."""

import pytest
import torch

from tests.cases import (
    PER_EXAMPLE,
    every_layer_with_or_without_weights,
    every_mask,
    gradients,
    make,
)


@pytest.mark.usefixtures("every_path")
@pytest.mark.few(7)
@every_layer_with_or_without_weights
@every_mask
def test_a_layer_gives_the_same(name, mask, qkv):
    layer, found = make(name), []
    for device in ("cpu", "meta"):
        with torch.device(device):
            found.append(gradients(layer, qkv, **mask))
        found[-1] += [layer.attention_weights] if layer.keep_weights else []
    for left, right in zip(*found, strict=True):
        assert torch.equal(left, right)


@pytest.mark.slow
def test_a_compiled_layer_gives_the_same(qkv):
    torch.compiler.reset()
    layer = make("additive")
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    with torch.device("meta"):
        output = compiled(*qkv, PER_EXAMPLE)
    assert torch.allclose(output, layer(*qkv, PER_EXAMPLE), atol=1e-6)
    torch.compiler.reset()
