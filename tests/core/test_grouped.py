"""Heads that share keys, and layers that are given positions."""

import copy
from functools import partial

import pytest
import torch
from torch import nn
from torch.export import Dim

from attnbook import DotProductAttention, MultiHeadAttention, rotary_encoding
from tests.core.grouped_calls import make_call
from tests.core.random_calls import WITH_BIAS, find_faults

HALVES = partial(rotary_encoding, layout="halves", base=500_000.0)


def llama(**options):
    """Six heads of queries on two of keys, as in Llama."""
    torch.manual_seed(5)
    given = {"num_kv_heads": 2, "head_size": 4, "rotary": HALVES} | options
    return MultiHeadAttention(5, 5, 5, 7, 6, **given).double()


def x_of(batch=2, count=5):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(batch, count, 5, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("first", [0, WITH_BIAS])
def test_random_calls_are_right(first, monkeypatch, request):
    count = 2500 if request.config.getoption("--full") else 100
    seeds = range(first, first + count)
    put = monkeypatch.setattr
    assert [it for seed in seeds if (it := find_faults(seed, put, make=make_call))] == []


@pytest.mark.usefixtures("every_path")
@pytest.mark.few(3)
@pytest.mark.parametrize("keep", [True, False])
def test_left_padding_changes_nothing_where_positions_are_given(keep):
    layer, x = llama(keep_weights=keep), x_of(1)
    padded = torch.cat([torch.full((1, 3, 5), torch.nan), x], dim=1)
    positions = torch.tensor([[0, 0, 0, 0, 1, 2, 3, 4]])
    real = torch.arange(8) >= 3
    found = layer(padded, padded, padded, causal=True, mask=real[None], positions=positions)
    assert torch.allclose(found[:, 3:], layer(x, x, x, causal=True), rtol=0, atol=1e-12)


# Torch's programs


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("keep", [False, True])
def test_it_compiles_to_one_graph_and_exports_with_dynamic_sizes(keep):
    torch.compiler.reset()
    layer = llama(keep_weights=keep).eval()
    compiled = torch.compile(layer, fullgraph=True, backend="eager", dynamic=True)
    batch, count = Dim("batch", min=2, max=64), Dim("count", min=2, max=64)
    axes = {name: {0: batch, 1: count} for name in ("queries", "keys", "values")}
    x = x_of()
    positions = {"positions": torch.arange(5).expand(2, -1)}
    program = torch.export.export(
        layer,
        (x, x, x),
        {"causal": True, **positions},
        dynamic_shapes=axes | {"causal": None, "positions": {0: batch, 1: count}},
    ).module()
    for shape in ((2, 5), (3, 7), (4, 4)):
        x = x_of(*shape)
        options = {"causal": True, "positions": torch.arange(shape[1]).expand(*shape)}
        expected = layer(x, x, x, **options)
        for call in (compiled, program):
            assert torch.allclose(call(x, x, x, **options), expected, rtol=0, atol=1e-12)
    torch.compiler.reset()


def test_it_runs_under_autocast_and_can_be_copied():
    layer, x = llama(keep_weights=False), x_of()
    expected = layer(x, x, x, causal=True)
    assert torch.equal(copy.deepcopy(layer)(x, x, x, causal=True), expected)
    with torch.autocast("cpu", torch.bfloat16):
        found = layer.float()(*[x.float()] * 3, causal=True)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.double(), expected, atol=0.03)


# Refusals


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"num_kv_heads": 4},
            ValueError,
            'num_kv_heads must divide num_heads=6, .* got 4; see: recipes, "shared keys"$',
        ),
        ({"num_kv_heads": 0}, ValueError, "num_kv_heads must be at least 1, got 0"),
        ({"head_size": 2.0}, TypeError, "head_size must be a whole number, got 2.0"),
        ({"rotary": True}, TypeError, "rotary must be a function such as rotary_encoding"),
    ],
)
def test_a_layer_that_cannot_be_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        llama(**options)


@pytest.mark.parametrize(
    ("num_queries", "options", "message"),
    [
        (3, {"positions": torch.arange(3)}, "key_positions must be given where keys are not as"),
        (5, {"key_positions": torch.arange(5)}, "positions must be given where key_positions are"),
        (5, {"positions": torch.arange(4)}, r"positions must have shape \(num_queries=5,\) or"),
        (7, {}, "rotary must have a key for each query"),
    ],
)
def test_positions_that_do_not_fit_are_refused(num_queries, options, message):
    with pytest.raises(ValueError, match=message):
        llama()(x_of(count=num_queries), x_of(), x_of(), **options)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 4, 7, 3), "keys must have the batch of queries, 2, and heads that divide their 6"),
        ((1, 2, 7, 3), "keys must have the batch of queries, 2, and heads that divide their 6"),
        ((2, 2, 7, 5), "keys must have query_size=3 numbers in the last axis"),
    ],
)
def test_keys_that_heads_cannot_share_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        DotProductAttention()(torch.ones(2, 6, 5, 3), torch.ones(shape), torch.ones(shape))


@pytest.mark.parametrize("options", [{"num_kv_heads": 2}, {"rotary": HALVES}])
def test_torchs_layer_cannot_share_keys_or_turn_them(options):
    with pytest.raises(ValueError, match=r"must be .* in torch's layer, got"):
        MultiHeadAttention(6, 6, 6, 6, 6, **options).to_torch()
    assert isinstance(MultiHeadAttention(6, 6, 6, 6, 6).to_torch(), nn.MultiheadAttention)
