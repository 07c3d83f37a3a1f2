"""The fast paths give the same as the plain formulas, with less memory."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook import AdditiveAttention, DotProductAttention, length_mask
from attnbook.fused import blocks, kernels
from attnbook.fused.additive import fast_additive_score
from attnbook.fused.softmax import fast_weigh
from attnbook.scoring import additive_features
from attnbook.selftest import oracle
from attnbook.weighting import weigh
from tests.cases import (
    PER_EXAMPLE,
    PER_QUERY,
    every_mask,
    layers_that_take_heads,
    make,
    seeds,
)

pytestmark = pytest.mark.usefixtures("every_path")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 5e-2, torch.float16: 5e-3}
# How far projections go: beyond 35 in float32 both sides exceed `_reach`.
sizes_of_projections = st.sampled_from([1.0, 10.0, 50.0, 1e3, 1e4])
sizes = st.sampled_from([1, 2, 3, 5, 7])


def projections(seed, sizes, scale, dtype):
    """Queries and keys of opposite signs that nearly cancel, and a weight."""
    examples, num_queries, num_keys, hiddens = sizes
    generator = torch.Generator().manual_seed(seed)
    offset = scale * torch.randn(examples, 1, hiddens, generator=generator, dtype=torch.float64)
    spread = torch.randn(2, generator=generator, dtype=torch.float64).exp().tolist()
    queries = torch.randn(examples, num_queries, hiddens, generator=generator, dtype=torch.float64)
    keys = torch.randn(examples, num_keys, hiddens, generator=generator, dtype=torch.float64)
    weight = torch.randn(hiddens, generator=generator, dtype=torch.float64) / hiddens
    tensors = queries * spread[0] + offset, keys * spread[1] - offset, weight
    return [tensor.to(dtype) for tensor in tensors]


@st.composite
def calls(draw, dtype):
    """Projected queries and keys, a weight, and a mask of lengths."""
    shape = tuple(draw(sizes) for _ in range(4))
    inputs = projections(draw(seeds), shape, draw(sizes_of_projections), dtype)
    examples, num_queries, num_keys, _ = shape
    lengths = draw(st.lists(st.integers(0, num_keys), min_size=examples, max_size=examples))
    return inputs, length_mask(torch.tensor(lengths), (examples, num_queries, num_keys))


@given(st.data())
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_additive_scores_of_any_size_agree_with_the_oracle(dtype, data):
    inputs, visible = data.draw(calls(dtype))
    scores = fast_additive_score(*inputs, visible)
    assert scores.dtype == dtype
    # Not compared with the plain formula: in half precision it rounds q + k before tanh.
    difference = scores.double() - oracle.additive_score(*inputs)
    assert (difference.abs() * visible <= TOLERANCE[dtype]).all()


def plain(queries, keys, weight):
    return additive_features(queries, keys) @ weight


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_query_of_45_and_a_key_of_minus_42_score_tanh_3(dtype):
    # e^90 is too large for float32; with both cut to the same limit, the score would be 0.
    queries = torch.tensor([[[45.0], [-45.0]]], dtype=dtype)
    keys = torch.tensor([[[-42.0], [42.0]]], dtype=dtype)
    scores = fast_additive_score(queries, keys, torch.ones(1, dtype=dtype), None).float()
    expected = torch.tensor([[[math.tanh(3), 1], [-1, -math.tanh(3)]]])
    assert torch.allclose(scores, expected, atol=4e-3 if dtype == torch.bfloat16 else 1e-3)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_nan_and_infinity_in_a_visible_key_give_the_same_as_the_plain_formula(value):
    queries, keys, weight = projections(1, (2, 3, 5, 2), 1.0, torch.float32)
    keys[0, 1, 0] = value
    scores = fast_additive_score(queries, keys, weight, None)
    assert torch.allclose(scores, plain(queries, keys, weight), atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("visible", [None, length_mask(PER_QUERY, (2, 3, 7))])
def test_additive_scores_can_be_differentiated_twice(visible):
    inputs = [
        tensor.requires_grad_() for tensor in projections(2, (2, 3, 7, 5), 1.0, torch.float64)
    ]

    def score(*inputs):
        scores = fast_additive_score(*inputs, visible)
        return scores if visible is None else torch.where(visible, scores, 0.0)

    assert torch.autograd.gradcheck(score, inputs)
    assert torch.autograd.gradgradcheck(score, inputs)


def test_weights_can_be_differentiated_twice():
    for lengths in (PER_EXAMPLE, PER_QUERY):
        visible = length_mask(lengths, (2, 3, 7))
        scores = torch.randn(2, 3, 7, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradgradcheck(lambda s, v=visible: fast_weigh(s, v), [scores])


@pytest.mark.parametrize("lengths", [PER_EXAMPLE, PER_QUERY], ids=["per example", "per query"])
@pytest.mark.few(8)
@pytest.mark.parametrize("junk", [0.0, math.inf, -math.inf, math.nan])
def test_weights_and_their_gradients_equal_the_plain_formula(lengths, junk, dtype):
    visible = length_mask(lengths, (2, 5, 3, 7))
    scores = torch.randn(2, 5, 3, 7).to(dtype)
    scores = torch.where(visible, scores, junk)
    before = scores.clone()
    # Infinite gradients of padding must not reach the scores.
    grad = torch.where(visible, torch.randn(2, 5, 3, 7).to(dtype), junk)
    found = []
    for function in (fast_weigh, weigh):
        leaf = scores.clone().requires_grad_()
        weights = function(leaf, visible)
        weights.backward(grad)
        found.append((weights.detach(), leaf.grad, function(scores, visible)))
    for left, right in zip(*found, strict=True):
        assert left.dtype == dtype
        assert torch.allclose(left, right, atol=1e-6 if dtype != torch.bfloat16 else 1e-2)
        assert (torch.where(visible, 0.0, left) == 0).all()
    assert torch.allclose(scores, before, rtol=0, atol=0, equal_nan=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(fast_weigh(scores, visible), weigh(scores, visible))


# Dot products without weights


def test_a_product_that_overflows_for_one_query_does_not_affect_others():
    # The second query sees one key only; with the other its product would be infinite.
    queries = torch.tensor([[[1.0, 1.0], [1e30, 1e30]]])
    keys = torch.tensor([[[1e-30, 0.0], [1e30, 1e30]]])
    values = torch.tensor([[[3.0, 3.0], [5.0, 5.0]]])
    layer = DotProductAttention(keep_weights=False)
    output = layer(queries, keys, values, torch.tensor([[2, 1]]))
    # In float32 the first query's score for the second key is 2e30, all of the weight.
    assert output[0].tolist() == [[5.0, 5.0], [3.0, 3.0]]


def test_huge_values_hidden_from_one_query_leave_its_gradient_finite():
    queries, keys = torch.zeros(1, 2, 2, requires_grad=True), torch.ones(1, 2, 2)
    values = torch.tensor([[[1.0, 1.0], [3e38, 3e38]]])
    output = DotProductAttention(keep_weights=False)(queries, keys, values, torch.tensor([[2, 1]]))
    output[0, 1].mul(100.0).sum().backward()
    assert (queries.grad == 0).all()


def test_the_score_of_a_subclass_is_used(qkv):
    class Capped(AdditiveAttention):
        def score(self, queries, keys):
            return super().score(queries, keys).clamp(max=0)

    layer = Capped(5, 5, 13)
    layer(*qkv, PER_EXAMPLE)
    assert (layer.score(qkv[0], qkv[1]) == 0).any()
    expected = oracle.masked_softmax(layer.score(qkv[0], qkv[1]), PER_EXAMPLE)
    assert torch.allclose(layer.attention_weights.double(), expected, atol=1e-6)


# Keys projected once


@pytest.mark.few(7)
@every_mask
@pytest.mark.parametrize("keep_weights", [True, False])
def test_keys_projected_once_give_the_same_as_a_call(mask, keep_weights, qkv):
    queries, keys, values = qkv
    layer = make("additive", keep_weights=keep_weights)
    projected_keys = layer.project_keys(keys)
    expected = layer(queries, keys, values, **mask)
    weights = getattr(layer, "attention_weights", None)
    assert torch.equal(layer.attend(queries, projected_keys, values, **mask), expected)
    if keep_weights:
        assert torch.equal(layer.attention_weights, weights)


def test_attend_refuses_keys_that_are_not_projected_and_layers_with_another_score(qkv):
    class Own(AdditiveAttention):
        def score(self, queries, keys):
            return super().score(queries, keys)

    with pytest.raises(ValueError, match=r"keys must have num_hiddens=13 .* 5"):
        AdditiveAttention(5, 5, 13).attend(*qkv)
    with pytest.raises(TypeError, match="Own must score as AdditiveAttention does"):
        Own(5, 5, 13).attend(qkv[0], torch.ones(2, 7, 13), qkv[2])


# Memory and paths


class LargestTensor(TorchDispatchMode):
    """Records the size of the largest tensor that any operation makes."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        results = result if isinstance(result, (tuple, list)) else [result]
        sizes = [tensor.numel() for tensor in results if isinstance(tensor, torch.Tensor)]
        self.numbers = max(self.numbers, *sizes, 0)
        return result


def test_no_tensor_of_all_hidden_units_is_made_in_training(every_path):
    layer = AdditiveAttention(5, 5, 31)
    queries, keys, values = torch.randn(2, 11, 5), torch.randn(2, 13, 5), torch.randn(2, 13, 3)
    with LargestTensor() as largest:
        layer(queries, keys, values, torch.tensor([13, 7])).sum().backward()
    units = 2 * 11 * 13 * 31
    projected_keys = 2 * 13 * 31
    assert largest.numbers == (projected_keys if every_path == "fast" else units)


def test_blocks_of_several_examples_copy_no_more_keys_than_a_block_holds(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 3 * 13 * 31)
    queries, keys, weight = torch.randn(12, 1, 31), torch.randn(12, 13, 31), torch.randn(31)
    visible = torch.arange(13) < torch.tensor([13, 7, 2] * 4)[:, None, None]
    with LargestTensor() as largest:
        scores = fast_additive_score(queries, keys, weight, visible)
    assert largest.numbers == 3 * 13 * 31
    expected = additive_features(queries, keys) @ weight
    assert torch.allclose(scores[visible], expected[visible], atol=1e-6)


@layers_that_take_heads
def test_no_weights_are_computed_where_none_are_stored(name, every_path):
    queries = torch.randn(2, 61, 5, requires_grad=True)
    with LargestTensor() as largest:
        layer = make(name, keep_weights=False)
        layer(queries, queries, queries, torch.tensor([61, 7])).sum().backward()
    if every_path == "fast" or name == "dot":
        assert largest.numbers < 2 * 61 * 61


# Compiled and exported


@pytest.mark.few(2)
def test_a_compiled_layer_calls_an_operation_of_its_own(every_path, qkv, monkeypatch):
    monkeypatch.setattr(kernels, "has_cpp_compiler", lambda: False)
    torch.compiler.reset()
    layer = make("additive")
    graphs = []

    def record(graph, _):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(layer, fullgraph=True, backend=record)
    assert torch.allclose(compiled(*qkv, PER_EXAMPLE), layer(*qkv, PER_EXAMPLE), atol=1e-6)
    assert ("attnbook.additive_score" in graphs[0].code) == (every_path != "plain")
    torch.compiler.reset()


@pytest.mark.few(1)
def test_an_exported_layer_needs_no_attnbook(qkv):
    program = torch.export.export(make("additive").eval(), (*qkv, PER_EXAMPLE))
    targets = {str(node.target) for node in program.graph.nodes}
    assert not any("attnbook" in target for target in targets)


def test_a_gpus_blocks_take_tanh_and_agree(monkeypatch):
    # On a GPU no number is read. This forces the same choice.
    monkeypatch.setattr(blocks, "_reach", lambda _: -1.0)
    queries, keys, weight = projections(7, (2, 3, 7, 5), 10.0, torch.float64)
    scores = blocks.score_in_blocks(queries, keys, weight, None)
    assert torch.allclose(scores, plain(queries, keys, weight), atol=1e-12)


def test_small_projections_keep_their_digits():
    queries, keys, weight = projections(9, (2, 3, 7, 5), 0.0, torch.float32)
    queries, keys, weight = queries * 1e-4, keys * 1e-4, weight * 1e4
    expected = plain(queries.double(), keys.double(), weight.double())
    scores = fast_additive_score(queries, keys, weight, None).double()
    assert torch.allclose(scores, expected, rtol=1e-5, atol=1e-6)


def test_hooks_replaced_parts_and_own_scores_are_not_skipped(qkv):
    calls = []

    def record(*_):
        calls.append(True)

    layer = make("additive")
    layer.w_v.register_forward_hook(record)
    layer(*qkv)
    layer = make("additive")
    forward = layer.w_v.forward
    layer.w_v.forward = lambda features: record() or forward(features)
    layer(*qkv)
    layer = make("additive", keep_weights=False)
    layer.dropout = torch.nn.Identity()
    layer.dropout.register_forward_hook(record)
    layer.train()(*qkv)
    layer = make("dot", keep_weights=False)
    layer.score = lambda queries, keys: record() or queries @ keys.transpose(-2, -1)
    layer(*qkv)
    layer = make("additive")
    handle = torch.nn.modules.module.register_module_forward_hook(
        lambda module, *_: calls.append(True) if module is layer.w_v else None
    )
    try:
        layer(*qkv)
    finally:
        handle.remove()
    assert len(calls) == 5


@pytest.mark.parametrize(("number", "dtype"), [(1e30, torch.float64), (1e5, torch.float32)])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.few(4)
@pytest.mark.parametrize("valid_lens", [None, torch.tensor([130, 70])])
def test_huge_scores_have_gradients_in_training(number, dtype, causal, valid_lens, rng):
    # At this size torch's kernel rounds a score otherwise when it computes it again.
    inputs = [torch.randn(2, 130, 32, generator=rng).to(dtype) for _ in range(3)]
    for tensor in inputs[:2]:
        tensor[:, 2:] *= number
    found = []
    for keep_weights in (True, False):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        output = make("dot", keep_weights=keep_weights)(*leaves, valid_lens, causal=causal)
        found.append(torch.autograd.grad(output[:, :2].sum(), leaves))
    for left, right in zip(*found, strict=True):
        assert left.isfinite().all()
        assert torch.equal(left, right)
