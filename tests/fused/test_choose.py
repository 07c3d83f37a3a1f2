"""When the fast paths are used: from their sizes on, and never in an exported program."""

import pytest
import torch

from attnbook import AdditiveAttention, DotProductAttention
from attnbook.fused import blocks, choose
from attnbook.fused.choose import (
    PRODUCTS_SLICED,
    PRODUCTS_WIDENED,
    SCORES,
    UNITS,
    UNITS_OF_ONE,
    UNITS_TRAINING,
    blocks_pay,
    fast_weigh_pays,
    kernel_pays,
    slices_pay,
    streaming_pays,
)
from tests.cases import PER_EXAMPLE, PER_QUERY, make
from tests.core.random_calls import THRESHOLDS

HIDDENS = 64


def tensors(queries, keys, size=1, value_size=1):
    shapes = (queries, size), (keys, size), (keys, value_size)
    return [torch.empty(1, *shape) for shape in shapes]


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("queries", [1, 16])
def test_blocks_are_used_from_their_number_of_hidden_units_on(queries, learns, monkeypatch):
    monkeypatch.setattr(choose, "FAST_TANH", False)
    enough = UNITS_OF_ONE if queries == 1 else UNITS_TRAINING if learns else UNITS
    keys = enough // (queries * HIDDENS)
    weight = torch.empty(HIDDENS, requires_grad=learns)
    for number, pays in ((keys, True), (keys - 1, False)):
        q, k, _ = tensors(queries, number)
        assert blocks_pay(q, k, HIDDENS, [weight]) is pays
    monkeypatch.setattr(choose, "FAST_TANH", True)
    assert blocks_pay(*tensors(queries, keys)[:2], HIDDENS, [weight]) is (queries > 1)


def test_the_fast_softmax_is_used_from_its_number_of_scores_on():
    assert fast_weigh_pays(torch.empty(1, 1, SCORES))
    assert not fast_weigh_pays(torch.empty(1, 1, SCORES - 1))


def test_streaming_is_used_where_scores_outnumber_inputs_and_a_block():
    few, many = torch.empty(4, 512, 64), torch.empty(16, 512, 512)
    assert not streaming_pays(few, few)  # as many as a block has hidden units
    assert streaming_pays(few, torch.empty(4, 513, 64))
    assert not streaming_pays(many, torch.empty(16, 512, 512))
    assert streaming_pays(torch.empty(16, 1024, 512), torch.empty(16, 1025, 512))


def test_the_kernel_takes_values_of_another_size_only_for_many_products():
    for size, value_size in ((32, 64), (64, 32)):
        enough = PRODUCTS_WIDENED // 64 // 256
        assert kernel_pays(*tensors(256, enough, size, value_size))
        assert not kernel_pays(*tensors(256, enough - 1, size, value_size))
    assert kernel_pays(*tensors(2, 2, 32, 32))


def test_slices_are_used_from_their_number_of_products_on():
    assert slices_pay(*tensors(256, PRODUCTS_SLICED // 256 // 64, 32, 64))
    assert not slices_pay(*tensors(255, PRODUCTS_SLICED // 256 // 64, 32, 64))


@pytest.mark.parametrize("nothing", [(0, 7), (7, 0)])
def test_no_fast_path_is_used_for_empty_inputs(nothing, monkeypatch):
    for name in THRESHOLDS:
        monkeypatch.setattr(choose, name, 0)
    queries, keys, values = tensors(*nothing)
    assert not fast_weigh_pays(queries @ keys.transpose(1, 2))
    assert not blocks_pay(queries, keys, HIDDENS, [])
    assert not kernel_pays(queries, keys, values)


N = torch.export.Dim("n", min=2, max=4096)
SHAPES = (*({1: N},) * 3, None)


def inputs(positions):
    lens = torch.tensor([positions, 3])
    return *(torch.randn(2, positions, size) for size in (5, 5, 11)), lens


def export_layer(layer, at):
    return torch.export.export(layer, inputs(at), dynamic_shapes=SHAPES).module()


def as_onnx(layer, at):
    program = torch.onnx.export(layer, inputs(at), dynamic_shapes=SHAPES, verbose=False)
    return lambda *given: program(*given)[0]


@pytest.mark.slow
# torch warns itself.
@pytest.mark.filterwarnings("ignore:# The axis name", "ignore:.*LeafSpec:FutureWarning")
@pytest.mark.parametrize(
    ("export", "at", "layer"),
    [
        (export_layer, 7, AdditiveAttention(5, 5, 64, keep_weights=False)),
        (export_layer, 400, DotProductAttention(keep_weights=False)),
        (as_onnx, 400, AdditiveAttention(5, 5, 64)),
        pytest.param(as_onnx, 400, DotProductAttention(), marks=pytest.mark.weekly),
    ],
)
def test_a_program_exported_at_one_size_takes_all_sizes(export, at, layer):
    layer.eval()
    program = export(layer, at)
    for positions in (5, 500):
        given = inputs(positions)
        assert torch.allclose(program(*given), layer(*given), atol=1e-5)


@pytest.fixture
def no_blocks(monkeypatch):
    """Take every fast path, and make blocks raise a NameError."""
    for name in THRESHOLDS:
        monkeypatch.setattr(choose, name, 0)
    monkeypatch.delattr(blocks, "BLOCK")


def call_and_export(layer, qkv):
    """Call a layer with each kind of lengths and order, and export it."""
    leaves = [tensor.clone().requires_grad_() for tensor in qkv]
    for lengths in (None, PER_EXAMPLE, PER_QUERY):
        for causal in (False, True):
            layer(*leaves, lengths, causal=causal).sum().backward()
    torch.export.export(layer.eval(), (*qkv, PER_EXAMPLE), {"causal": True})


@pytest.mark.parametrize("keep_weights", [True, False])
@pytest.mark.usefixtures("no_blocks")
def test_only_additive_scores_are_made_in_blocks(keep_weights, qkv):
    for name in ("dot", "a subclass", "multi-head"):
        call_and_export(make(name, keep_weights=keep_weights), qkv)
    with pytest.raises(NameError, match="BLOCK"):
        call_and_export(make("additive", keep_weights=keep_weights), qkv)
