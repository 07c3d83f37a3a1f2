"""Layers with replaced parts: quantized, adapted, left out."""

import pytest
import torch
from torch import nn

from attnbook import AdditiveAttention, MultiHeadAttention
from tests.cases import PER_EXAMPLE

PARTS = [
    *((AdditiveAttention, part) for part in ("W_q", "W_k", "w_v")),
    *((MultiHeadAttention, part) for part in ("W_q", "W_k", "W_v", "W_o")),
]
SIZES = {AdditiveAttention: (5, 5, 8), MultiHeadAttention: (5, 5, 11, 8, 2)}
# torch warns that its own quantization moves to torchao.
ignore_quantization_warnings = pytest.mark.filterwarnings(
    "ignore:.*quantiz:DeprecationWarning", "ignore:.*quantize:UserWarning"
)
pytestmark = pytest.mark.usefixtures("every_path")


class Adapted(nn.Module):
    """A layer and a small correction, as in LoRA (Hu et al., 2021)."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Linear(layer.in_features, 2, bias=False)
        self.up = nn.Linear(2, layer.out_features, bias=False)

    def forward(self, inputs):
        return self.layer(inputs) + self.up(self.down(inputs))


def merge(adapted):
    """Make the one linear layer that gives the same."""
    layer = nn.Linear(adapted.layer.in_features, adapted.layer.out_features, bias=False)
    layer.weight = nn.Parameter(adapted.layer.weight + adapted.up.weight @ adapted.down.weight)
    return layer


@pytest.mark.parametrize(("kind", "part"), PARTS)
@pytest.mark.parametrize("keep_weights", [True, False])
def test_an_adapted_layer_gives_the_same_as_its_merged_layer(kind, part, keep_weights, qkv):
    layer = kind(*SIZES[kind], keep_weights=keep_weights)
    adapted = Adapted(getattr(layer, part))
    setattr(layer, part, adapted)
    found = layer(*qkv, PER_EXAMPLE)
    setattr(layer, part, merge(adapted))
    assert torch.allclose(found, layer(*qkv, PER_EXAMPLE), atol=1e-6)


def test_parts_can_be_left_out(qkv):
    layer = AdditiveAttention(5, 5, 5)
    layer.W_q = layer.W_k = nn.Identity()
    expected = layer.w_v(torch.tanh(qkv[0][:, :, None] + qkv[1][:, None])).squeeze(-1).softmax(-1)
    assert torch.allclose(layer(*qkv), expected @ qkv[2], atol=1e-6)
    layer = MultiHeadAttention(5, 5, 5, 5, 1)
    layer.W_q = layer.W_k = layer.W_v = layer.W_o = nn.Identity()
    expected = (qkv[0] @ qkv[1].transpose(1, 2) / 5**0.5).softmax(-1) @ qkv[1]
    assert torch.allclose(layer(*qkv[:2], qkv[1]), expected, atol=1e-6)


@ignore_quantization_warnings
@pytest.mark.parametrize(
    ("kind", "options"),
    [(AdditiveAttention, {}), (MultiHeadAttention, {}), (MultiHeadAttention, {"bias": True})],
)
def test_a_quantized_layer_gives_nearly_the_same_and_0_for_empty_rows(kind, options, qkv):
    layer = kind(*SIZES[kind], **options).eval()
    quantized = torch.ao.quantization.quantize_dynamic(layer, {nn.Linear})
    found = quantized(*qkv, PER_EXAMPLE)
    assert torch.allclose(found, layer(*qkv, PER_EXAMPLE), atol=0.1)
    assert not found[1].any()


def add_hook(module):
    module.register_forward_hook(lambda _module, _inputs, output: 2 * output)
    return module


class Doubled(nn.MultiheadAttention):
    def forward(self, *inputs, **options):
        output, weights = super().forward(*inputs, **options)
        return 2 * output, weights


NOT_COPIED = {
    "another part": ("W_v", nn.Identity(), r"W_v must be an nn\.Linear to be copied, got Identity"),
    "one bias": ("W_v", nn.Linear(8, 8), "W_v must have no bias in torch's layer, as W_q has"),
    "a larger W_o": (
        "W_o",
        nn.Linear(8, 6, bias=False),
        r"W_o.weight must have shape \(8, 8\) in torch's layer, got \(6, 8\)",
    ),
    "another attention": (
        "attention",
        AdditiveAttention(4, 4, 4),
        "attention must be DotProductAttention to be copied, got AdditiveAttention",
    ),
    "a hook": (
        "W_o",
        add_hook(nn.Linear(8, 8, bias=False)),
        "W_o must have no hooks and no forward of its own",
    ),
}


@pytest.mark.parametrize("case", NOT_COPIED)
def test_a_layer_that_torchs_cannot_compute_is_not_copied_to_it(case):
    name, part, message = NOT_COPIED[case]
    layer = MultiHeadAttention(8, 8, 8, 8, 2)
    setattr(layer, name, part)
    with pytest.raises((TypeError, ValueError), match=message):
        layer.to_torch()


def test_a_layer_of_torch_that_computes_something_else_is_not_copied():
    with pytest.raises(TypeError, match="got a Doubled, which has a forward of its own"):
        MultiHeadAttention.from_torch(Doubled(8, 2))
    with pytest.raises(TypeError, match="module must have no hooks"):
        MultiHeadAttention.from_torch(add_hook(nn.MultiheadAttention(8, 2)))
