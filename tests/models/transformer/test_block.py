"""The block: its formula, torch's layer, and blocks without some parts."""

import copy

import pytest
import torch
from torch import nn

from attnbook.models.transformer.block import Block, SwiGLU

SIZE, HEADS = 12, 3


def make_x(batch=2, positions=5, dtype=torch.float64):
    rng = torch.Generator().manual_seed(0)
    return torch.randn(batch, positions, SIZE, generator=rng, dtype=torch.float64).to(dtype)


def make_block(ffn_hiddens=20, **parts):
    torch.manual_seed(1)
    block = Block(SIZE, HEADS, ffn_hiddens, **parts).double().eval()
    for part in block.modules():  # a new norm changes too little to show its position
        if isinstance(part, nn.LayerNorm | nn.RMSNorm):
            for weight in part.parameters():
                nn.init.normal_(weight)
    return block


def normalize(norm, x):
    """Each position's features: mean 0, variance 1, then scaled and shifted."""
    if isinstance(norm, nn.Identity):
        return x
    if isinstance(norm, nn.RMSNorm):  # the mean is not subtracted
        return x / ((x**2).mean(-1, keepdim=True) + 1e-6) ** 0.5 * norm.weight
    centered = x - x.mean(-1, keepdim=True)
    variance = (centered**2).mean(-1, keepdim=True)
    return centered / (variance + norm.eps) ** 0.5 * norm.weight + norm.bias


def compute_by_formula(block, x, **masks):
    normalized = normalize(block.attention_norm, x)
    x = block.attention(normalized, normalized, normalized, **masks) + x * block.residual
    if block.feed_forward is None:
        return x
    network, normalized = block.feed_forward, normalize(block.feed_forward_norm, x)
    if isinstance(network, SwiGLU):
        gate = normalized @ network.gate.weight.T
        hidden = gate / (1 + (-gate).exp()) * (normalized @ network.inner.weight.T)
        return hidden @ network.outer.weight.T + x * block.residual
    hidden = normalized @ network.inner.weight.T + network.inner.bias
    if network.activation == "gelu":
        hidden = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
    else:
        hidden = hidden.clamp_min(0)
    return hidden @ network.outer.weight.T + network.outer.bias + x * block.residual


@pytest.fixture
def float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.few(8)
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("ffn_hiddens", [None, 20])
@pytest.mark.parametrize("feed_forward", ["relu", "gelu", "swiglu"])
@pytest.mark.parametrize("norm", ["layer", "rms", None])
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("masks", [{"causal": True}, {"valid_lens": torch.tensor([2, 5])}], ids=str)
def test_each_block_computes_its_formula(ffn_hiddens, feed_forward, norm, residual, masks):
    parts = {"feed_forward": feed_forward, "norm": norm, "residual": residual}
    block, x = make_block(ffn_hiddens, **parts), make_x()
    assert torch.allclose(block(x, **masks), compute_by_formula(block, x, **masks), atol=1e-12)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_a_block_made_from_torchs_layer_computes_the_same(batch_first, eps):
    torch.manual_seed(2)
    theirs = nn.TransformerEncoderLayer(
        SIZE, HEADS, 20, 0.1, norm_first=True, batch_first=batch_first, layer_norm_eps=eps
    )
    for part in theirs.modules():
        if isinstance(part, nn.LayerNorm):
            nn.init.normal_(part.weight)
    theirs = theirs.double().eval()
    ours, x = Block.from_torch(theirs), make_x()
    lengths = torch.tensor([3, 5])
    hidden = torch.arange(5) >= lengths[:, None]
    order = ~torch.ones(5, 5, dtype=torch.bool).tril()
    given = x if batch_first else x.transpose(0, 1)
    expected = theirs(given, src_mask=order, src_key_padding_mask=hidden)
    expected = expected if batch_first else expected.transpose(0, 1)
    found = ours(x, lengths, causal=True)
    # The output at padding is unspecified; torch may skip it.
    for row, other, length in zip(found, expected, lengths.tolist(), strict=True):
        assert torch.allclose(row[:length], other[:length], atol=1e-12)
    assert not ours.training


def test_a_block_made_from_torchs_layer_copies_the_weights():
    theirs = nn.TransformerEncoderLayer(SIZE, HEADS, 20, norm_first=True, batch_first=True)
    ours = Block.from_torch(theirs)
    before = copy.deepcopy(theirs.state_dict())
    for weight in ours.parameters():
        weight.data.add_(1)
    assert all(torch.equal(before[name], weight) for name, weight in theirs.state_dict().items())
    assert ours.training
    assert ours.dropout.p == theirs.dropout1.p


def test_each_part_keeps_its_dtype_biases_and_frozen_weights():
    theirs = nn.TransformerEncoderLayer(8, 2, 12, norm_first=True, bias=False, batch_first=True)
    theirs.linear1.requires_grad_(False)
    theirs.norm2.requires_grad_(False)
    theirs.self_attn.out_proj.weight.requires_grad_(False)
    ours = Block.from_torch(theirs.eval())
    x = torch.randn(2, 5, 8)
    assert torch.allclose(ours(x), theirs(x), atol=1e-6)
    frozen = {name for name, weight in ours.named_parameters() if not weight.requires_grad}
    assert frozen == {
        "attention.W_o.weight",
        "feed_forward.inner.weight",
        "feed_forward_norm.weight",
    }
    theirs.bfloat16().norm1.float()
    kinds = {name: weight.dtype for name, weight in Block.from_torch(theirs).named_parameters()}
    assert kinds.pop("attention_norm.weight") == torch.float32
    assert {*kinds.values()} == {torch.bfloat16}


class ZeroFeedForward(nn.TransformerEncoderLayer):
    def _ff_block(self, x):
        return 0 * x


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"norm_first": False}, "must have norm_first=True"),
        ({"activation": nn.GELU()}, "activation relu"),
        ({"norm1": nn.RMSNorm(4)}, "norm1 must be an nn.LayerNorm"),
        ({"linear1": nn.Identity()}, "linear1 must be an nn.Linear"),
        ({"self_attn": nn.Identity()}, "self_attn must be an nn.Multihead"),
        ({"__class__": ZeroFeedForward}, "a ZeroFeedForward, which has a _ff_block of its own"),
    ],
)
def test_another_kind_of_layer_is_refused(part, message):
    layer = nn.TransformerEncoderLayer(4, 2, 8, norm_first=True)
    for name, other in part.items():
        setattr(layer, name, other)
    with pytest.raises((TypeError, ValueError), match=message):
        Block.from_torch(layer)


def test_the_callers_tensor_is_unchanged_and_gradients_flow():
    block, x = make_block(), make_x().requires_grad_()
    before = x.detach().clone()
    block(x).sum().backward()
    assert torch.equal(x.detach(), before)
    assert x.grad.isfinite().all()
    assert all(weight.grad is not None for weight in block.parameters())


def test_dropout_drops_the_parts_outputs_and_only_in_training():
    block, x = make_block(dropout=1.0), make_x()
    assert not torch.equal(block(x), x)
    assert torch.equal(block.train()(x), x)
