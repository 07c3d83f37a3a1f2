"""Multi-head attention; tests of all layers, with it, are in other files."""

import copy
import math

import pytest
import torch
from torch import nn

from attnbook import MultiHeadAttention, causal_mask, length_mask
from tests.cases import NUM_HEADS, NUM_HIDDENS, make
from tools import ROOT
from tools.book.notebooks import read

pytestmark = pytest.mark.usefixtures("every_path")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 5e-2}
every_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
with_and_without_bias = pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])


def test_two_heads_of_one_number_by_hand():
    # Every projection leaves vectors as they are. The first head scores its one number: log 1
    # and log 3, weights 1/4 and 3/4. The second: log 3 and log 1, weights 3/4 and 1/4.
    layer = MultiHeadAttention(2, 2, 2, 2, 2).double()
    for projection in (layer.W_q, layer.W_k, layer.W_v, layer.W_o):
        nn.init.eye_(projection.weight)
    queries = torch.ones(1, 1, 2).double()
    keys = torch.tensor([[[0, math.log(3)], [math.log(3), 0]]]).double()
    output = layer(queries, keys, torch.tensor([[[4.0, 40], [8, 80]]]).double())
    assert output.flatten().tolist() == pytest.approx([4 / 4 + 3 * 8 / 4, 3 * 40 / 4 + 80 / 4])
    weights = layer.attention_weights.flatten().tolist()
    assert weights == pytest.approx([1 / 4, 3 / 4, 3 / 4, 1 / 4])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_the_class_to_copy_from_the_book_needs_only_torch_and_does_the_same(dtype):
    cells = read(ROOT / "chapters" / "multi-head-attention.ipynb").cells
    (source,) = [cell.source for cell in cells if cell.id == "multi-head-attention-copy"]
    exec(source, scope := {"torch": torch, "nn": nn})  # noqa: S102
    layers = MultiHeadAttention(*[6] * 4, 2, dropout=0.5), scope["MultiHead"](6, 2, dropout=0.5)
    layers[1].load_state_dict(layers[0].state_dict())
    inputs = [torch.randn(2, n, 6, dtype=dtype, requires_grad=True) for n in (3, 7, 7)]
    mask, lens = torch.arange(42).reshape(2, 3, 7) % 5 != 0, torch.tensor([7, 0])
    for rules in ({}, {"valid_lens": lens}, {"valid_lens": lens, "mask": mask, "causal": True}):
        results = []
        for layer in layers:
            torch.manual_seed(17)  # drops the same weights
            output = layer.to(dtype)(*inputs, **rules)
            results.append((output, *torch.autograd.grad(output.square().sum(), inputs)))
        torch.testing.assert_close(*results)


# torch's layer

SIZES = {"one size": {}, "three sizes": {"kdim": 5, "vdim": 11}}
every_sizes = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)


def make_torchs(bias=True, dtype=torch.float64, **options):
    torch.manual_seed(17)
    options = {"bias": bias, "batch_first": True} | options
    return randomize_biases(nn.MultiheadAttention(NUM_HIDDENS, NUM_HEADS, **options)).to(dtype)


def randomize_biases(module):
    for parameter in module.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter)
    return module


def inputs_of(module, dtype=torch.float64):
    generator = torch.Generator().manual_seed(19)
    sizes = (3, module.embed_dim), (7, module.kdim), (7, module.vdim)
    made = [torch.randn(2, *size, generator=generator, dtype=torch.float64) for size in sizes]
    return [tensor.to(dtype) for tensor in made]


NO_EMPTY_ROW = {
    "all keys": {},
    "per example": {"valid_lens": torch.tensor([4, 1])},
    "per query": {"valid_lens": torch.tensor([[1, 2, 7], [3, 6, 7]])},
    "causal": {"causal": True},
    "causal, per example": {"valid_lens": torch.tensor([4, 1]), "causal": True},
}
every_full_mask = pytest.mark.parametrize("mask", NO_EMPTY_ROW.values(), ids=NO_EMPTY_ROW)


def torchs_masks(valid_lens=None, *, causal=False):
    """Make torch's masks of the same rule, where True hides: 3-D and per head where needed."""
    hidden = {}
    if valid_lens is not None and valid_lens.dim() == 1:
        hidden["key_padding_mask"] = ~length_mask(valid_lens, (2, 3, 7)).squeeze(1)
    elif valid_lens is not None:
        visible = length_mask(valid_lens, (2, 3, 7))
        hidden["attn_mask"] = ~visible.repeat_interleave(NUM_HEADS, dim=0)
    if causal:
        hidden["attn_mask"] = ~causal_mask((2, 3, 7))[0]
    return hidden


def compare_layers(ours, theirs, mask, dtype):
    """Compare outputs, weights of each head, and gradients."""
    results = []
    for layer in (ours, theirs):
        leaves = [tensor.requires_grad_() for tensor in inputs_of(theirs, dtype)]
        if layer is ours:
            output = ours(*leaves, **mask)
            weights = ours.attention_weights
        else:
            output, weights = theirs(*leaves, **torchs_masks(**mask), average_attn_weights=False)
        output.square().sum().backward()
        results.append([output, weights, *(leaf.grad for leaf in leaves)])
    for left, right in zip(*results, strict=True):
        atol = TOLERANCE[dtype] * max(1.0, right.abs().amax().item())
        assert torch.allclose(left.double(), right.double(), rtol=0, atol=atol)


@with_and_without_bias
@every_sizes
@every_full_mask
@every_dtype
def test_a_layer_from_torch_gives_the_same_as_torchs_layer(bias, sizes, mask, dtype):
    theirs = make_torchs(bias, dtype, **sizes)
    compare_layers(MultiHeadAttention.from_torch(theirs), theirs, mask, dtype)


@with_and_without_bias
@every_sizes
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_converting_to_ours_and_back_changes_and_shares_nothing(bias, sizes, training):
    theirs = make_torchs(bias, torch.bfloat16, dropout=0.25, **sizes).train(training)
    state = copy.deepcopy(theirs.state_dict())
    ours = MultiHeadAttention.from_torch(theirs)
    back = ours.to_torch()
    for layer in (ours, ours.attention.dropout, back):
        assert layer.training is training
    assert ours.attention.dropout.p == 0.25
    assert (back.dropout, back.num_heads) == (0.25, NUM_HEADS)
    assert (back.embed_dim, back.kdim, back.vdim) == (theirs.embed_dim, theirs.kdim, theirs.vdim)
    with torch.no_grad():
        for parameter in ours.parameters():
            assert parameter.dtype == torch.bfloat16
            parameter.zero_()
    for layer in (theirs, back):
        found = layer.state_dict()
        assert found.keys() == state.keys()
        assert all(torch.equal(found[name], state[name]) for name in state)
        assert {tensor.dtype for tensor in found.values()} == {torch.bfloat16}


def test_frozen_parameters_stay_frozen_when_converted_and_back():
    theirs = make_torchs()
    theirs.in_proj_bias.requires_grad_(False)
    ours = MultiHeadAttention.from_torch(theirs)
    frozen = [name for name, it in ours.named_parameters() if not it.requires_grad]
    assert sorted(frozen) == ["W_k.bias", "W_q.bias", "W_v.bias"]
    back = ours.to_torch().named_parameters()
    assert [name for name, it in back if not it.requires_grad] == ["in_proj_bias"]


def test_the_joined_matrix_of_torch_learns_if_any_part_does():
    ours = MultiHeadAttention.from_torch(make_torchs())
    for layer in (ours.W_q, ours.W_k):
        layer.requires_grad_(False)
        assert ours.to_torch().in_proj_weight.requires_grad
    ours.W_v.requires_grad_(False)
    assert not ours.to_torch().in_proj_weight.requires_grad


def test_a_layer_of_torch_whose_sequences_come_first_gives_the_same():
    theirs = make_torchs(batch_first=False)
    inputs = inputs_of(theirs)
    output = MultiHeadAttention.from_torch(theirs)(*inputs)
    expected, _ = theirs(*(tensor.transpose(0, 1) for tensor in inputs))
    assert torch.allclose(output, expected.transpose(0, 1), atol=1e-12)


@pytest.mark.parametrize("wrong", [None, nn.Linear(5, 5), nn.MultiheadAttention])
def test_other_things_than_torchs_layer_are_refused(wrong):
    with pytest.raises(TypeError, match=r"module must be an nn\.MultiheadAttention, got"):
        MultiHeadAttention.from_torch(wrong)


@pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
def test_a_layer_that_adds_keys_is_refused(option):
    with pytest.raises(ValueError, match="module must add no keys, got add_bias_kv or add_zero"):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(6, 2, **{option: True}))


def test_a_layer_with_queries_of_another_size_than_the_output_is_not_copied_to_torch():
    rule = "query_size must be num_hiddens=24 in torch's layer, got 5"
    with pytest.raises(ValueError, match=rule):
        make("multi-head").to_torch()


# Refusals, beyond those of every layer


@pytest.mark.parametrize("shape", [(7, 3), (5, 3, 7), (2, 2, 3, 7), (2, 3, 7, 1), (7,)])
@pytest.mark.parametrize("ordered", [{}, {"causal": True, "positions": torch.arange(3)}])
def test_a_mask_of_another_shape_is_refused_with_all_that_fit(shape, ordered):
    layer = make("multi-head")
    x, keys, values = (torch.ones(2, *size) for size in ((3, 5), (7, 5), (7, 11)))
    rule = (
        "(num_queries, num_keys) = (3, 7), (batch, num_queries, num_keys) = (2, 3, 7) or (batch, "
        "num_heads, num_queries, num_keys) = (2, 4, 3, 7), each axis but the last that long or 1"
    )
    ordered = ordered and {**ordered, "key_positions": torch.arange(7)}
    with pytest.raises(ValueError, match="mask must have shape") as caught:
        layer(x, keys, values, mask=torch.ones(shape).bool(), **ordered)
    assert str(caught.value).startswith(f"mask must have shape {rule}, got {shape}")
