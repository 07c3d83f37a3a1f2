"""Weights of large calls are computed when they are read: they are those of the call.

Small calls count as large here.
"""

import copy
import io
import math
import weakref
from contextlib import nullcontext

import pytest
import torch

from attnbook import DotProductAttention, KeyValueCache, MultiHeadAttention
from attnbook.fused import choose
from attnbook.fused.on_demand import WeightsOnDemand
from tests.cases import every_mask, make, random_qkv
from tests.core.random_calls import Distance

BIAS = torch.linspace(-1, 1, 21).reshape(3, 7)
dot_and_heads = pytest.mark.parametrize("name", ["dot", "multi-head"])


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch):
    for name in ("SCORES_STORED", "PRODUCTS_WIDENED"):
        monkeypatch.setattr(choose, name, 0)


def stored_weights(name, inputs, **options):
    """Compute the weights of a call as the formula stores them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "SCORES_STORED", math.inf)
        layer = make(name)
        layer(*inputs, **options)
        return layer.attention_weights


@dot_and_heads
@every_mask
@pytest.mark.parametrize("bias", [None, BIAS])
def test_what_happens_after_a_call_does_not_change_its_weights(name, mask, bias):
    inputs = random_qkv(3, dtype=torch.float32)
    options = {key: copy.copy(it) for key, it in mask.items()} | {"bias": bias}
    options = {key: it.clone() if torch.is_tensor(it) else it for key, it in options.items()}
    expected = stored_weights(name, inputs, **options)
    layer = make(name)
    layer(*inputs, **options)
    assert isinstance(getattr(layer, "attention", layer)._attention_weights, WeightsOnDemand)
    for it in (*inputs, *layer.parameters(), *options.values()):
        if torch.is_tensor(it):
            it.data.zero_()
    for _ in range(2):
        torch.testing.assert_close(layer.attention_weights, expected, rtol=0, atol=1e-6)
    assert not layer.attention_weights.requires_grad


@dot_and_heads
def test_the_mode_of_the_reading_does_not_matter_but_that_of_the_call_does(name):
    inputs = random_qkv(5, dtype=torch.float32)
    low = torch.autocast("cpu", dtype=torch.bfloat16)
    for called_in, read_in in ((low, nullcontext()), (torch.inference_mode(), low), (low, low)):
        layer = make(name)
        with called_in:
            layer(*inputs)
            expected = stored_weights(name, inputs)
        with read_in:
            found = layer.attention_weights
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected)
        assert not found.is_inference()


def test_a_saved_layer_and_a_copy_hold_parameters_and_no_weights():
    layer = MultiHeadAttention(8, 8, 8, num_hiddens=8, num_heads=2)
    torch.save(layer, new := io.BytesIO())
    layer(*torch.ones(3, 4, 64, 8))
    torch.save(layer, called := io.BytesIO())
    assert len(called.getvalue()) == len(new.getvalue())
    assert not hasattr(copy.deepcopy(layer), "attention_weights")
    assert layer.attention_weights.shape == (4, 2, 64, 64)


class Doubled(DotProductAttention):
    def score(self, queries, keys):
        self.calls = getattr(self, "calls", 0) + 1
        return 2 * super().score(queries, keys)


@pytest.mark.parametrize("change", ["score", "hook", "dropout", "subclass"])
def test_a_layer_with_anything_of_its_own_stores_its_weights_in_the_call(change):
    layer = {"score": Doubled, "subclass": type("Mine", (DotProductAttention,), {})}.get(
        change, DotProductAttention
    )(dropout=0.5 if change == "dropout" else 0.0)
    if change == "hook":
        layer.register_forward_hook(lambda *_: None)
    layer(*random_qkv(1))
    assert isinstance(layer._attention_weights, torch.Tensor)
    layer.attention_weights  # noqa: B018 - to be read
    assert getattr(layer, "calls", 1) == 1


@pytest.mark.slow
@pytest.mark.parametrize("keep_weights", [True, False])
def test_a_gradient_penalty_has_the_formulas_gradient(keep_weights, monkeypatch):
    layer = MultiHeadAttention(256, 256, 256, 256, 8, keep_weights=keep_weights)
    x = torch.randn(4, 512, 256, generator=torch.Generator().manual_seed(0))

    def take_penalty():
        leaf = x.clone().requires_grad_()
        output = layer(leaf, leaf, leaf, causal=True)
        (grad,) = torch.autograd.grad(output.square().mean(), leaf, create_graph=True)
        return torch.autograd.grad(grad.square().sum() * 1e6, [leaf, *layer.parameters()])

    found = take_penalty()
    layer.keep_weights = True
    monkeypatch.setattr(choose, "SCORES_STORED", math.inf)
    for ours, expected in zip(found, take_penalty(), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-3, atol=1e-5 * expected.abs().max())


@pytest.mark.parametrize("keep_weights", [True, False])
@pytest.mark.parametrize("step", ["forward", "__call__", "_weigh_and_pool"])
def test_a_step_of_ones_own_decides_in_every_way_of_calling(step, keep_weights):
    layer = MultiHeadAttention(8, 8, 8, num_hiddens=8, num_heads=2)

    def zeros(_self, queries_or_scores, *_, **__):
        return torch.zeros(*queries_or_scores.shape[:-1], 4)

    layer.attention = type("Own", (DotProductAttention,), {step: zeros})(keep_weights=keep_weights)
    x, cache = torch.ones(1, 3, 8), KeyValueCache(1, 1, 2, 4, 4)
    with torch.no_grad(), cache.step(3):
        cached = layer(x, x, x, cache=cache.layer(0))
    for output in (layer(x, x, x), layer.attend(x, layer.project_keys(x, x)), cached):
        assert not output.any()


def test_an_attention_of_ones_own_takes_a_cache():
    layer = MultiHeadAttention(8, 8, 8, num_hiddens=8, num_heads=2)
    layer.attention = Distance()
    x, cache = torch.randn(2, 5, 8), KeyValueCache(1, 2, 2, 4, 4)
    with torch.no_grad():
        whole, outputs = layer(x, x, x, causal=True), []
        for new in x.split([3, 1, 1], dim=1):
            with cache.step(new.shape[1]):
                outputs.append(layer(new, new, new, cache=cache.layer(0)))
    torch.testing.assert_close(torch.cat(outputs, dim=1), whole)


def test_a_compiled_layer_keeps_infinite_keys_of_another_document_from_other_queries():
    q, k, v = random_qkv(2, dtype=torch.float32)
    k[:, 5] = math.inf
    documents = torch.tensor([[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 0]])
    layer = DotProductAttention(keep_weights=False)
    found = torch.compile(layer, backend="eager")(q, k, v, mask=documents.bool())
    torch.testing.assert_close(found[:, ::2], layer(q, k, v, mask=documents.bool())[:, ::2])
    assert found[:, ::2].isfinite().all()


# What a hostile round of calls has found


LEFT_PADDED = {"causal": True, "mask": (torch.arange(7) >= 3).expand(7, 7)}


@pytest.mark.parametrize("options", [LEFT_PADDED, {"valid_lens": torch.tensor([7, 0])}])
@pytest.mark.parametrize("compiled", [False, True])
def test_padded_queries_may_be_anything(options, compiled):
    x = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    empty = torch.zeros(2, 7, dtype=torch.bool)
    empty[:, :3] = "causal" in options
    empty[1] |= "valid_lens" in options
    wrong = x.masked_fill(empty[..., None], math.nan)
    torch.compiler.reset()
    layer = DotProductAttention()
    attend = torch.compile(layer, backend="eager") if compiled else layer
    found = []
    for queries in (x, wrong):
        keys = wrong.clone().requires_grad_()
        output = attend(queries, keys, wrong, **options)
        assert not output[empty].any()
        found.append([output.detach(), *torch.autograd.grad(output.sum(), keys)])
    torch.testing.assert_close(*found)
    assert found[1][1].isfinite().all()


def test_second_derivatives_take_a_bias_of_two_axes():
    layer, (q, k, v) = DotProductAttention(), random_qkv(1, (2,))
    q.requires_grad_()
    bias = BIAS.double()
    assert torch.autograd.gradgradcheck(lambda q: layer(q, k, v, bias=bias), q)


@pytest.mark.parametrize("name", ["mask", "bias"])
def test_a_mask_changed_before_the_gradient_is_taken_is_refused_and_nothing_keeps_it_alive(name):
    q, k, v = random_qkv(1)
    q.requires_grad_()
    given = torch.ones(2, 3, 7, dtype=torch.bool if name == "mask" else torch.float64)
    output = DotProductAttention()(q, k, v, **{name: given})
    given.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(output.sum(), q, create_graph=True)
    given = given.clone()
    loss = DotProductAttention(keep_weights=False)(q, k, v, **{name: given}).sum()
    loss.backward()
    alive = weakref.ref(given)
    del given
    assert alive() is None
    assert loss.requires_grad


def test_autocast_does_not_round_a_bias():
    q, k, v = random_qkv(1, dtype=torch.float32)
    # 1000.3 and 1000.1 are 1000 in bfloat16.
    bias = 1000 + torch.rand(2, 3, 7, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = DotProductAttention()(q, k, v, bias=bias)
        expected = stored_weights("dot", (q, k, v), bias=bias).float() @ v
    torch.testing.assert_close(found, expected, rtol=0, atol=0.05)


def test_a_reader_in_another_thread_replaces_no_newer_weights(monkeypatch):
    layer, inputs = DotProductAttention(), random_qkv(1)
    layer(*inputs)
    compute = WeightsOnDemand.compute

    def call_meanwhile(self):
        weights = compute(self)
        monkeypatch.setattr(WeightsOnDemand, "compute", compute)
        layer(*(2 * it for it in inputs))
        return weights

    monkeypatch.setattr(WeightsOnDemand, "compute", call_meanwhile)
    old, new = layer.attention_weights, layer.attention_weights
    torch.testing.assert_close(old, stored_weights("dot", inputs))
    torch.testing.assert_close(new, stored_weights("dot", [2 * it for it in inputs]))
