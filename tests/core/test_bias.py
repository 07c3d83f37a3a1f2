"""A bias on the scores and a scale of one's own: equal to torch's, for gradients and programs too.

Random calls with both are in `random_calls` and `grouped_calls`.
"""

import itertools
import math
from functools import partial

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnbook import (
    CrossCache,
    DotProductAttention,
    KeyValueCache,
    MultiHeadAttention,
    checked,
)
from tests.cases import PER_EXAMPLE, SOME_MASK, every_layer, make, random_qkv

pytestmark = pytest.mark.usefixtures("every_path")
HEADS = 4
SCALES = [None, 1.0, 0.07]
SHAPES = [(3, 7), (1, 7), (2, 1, 3, 7), (1, HEADS, 3, 7), (2, HEADS, 1, 7)]


def random_bias(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_it_is_what_torch_computes_with_scale_and_attn_mask():
    q, k, v = random_qkv(0, (HEADS,))
    shared = k[:, :2], v[:, :2]  # grouped heads
    same = partial(torch.testing.assert_close, rtol=0, atol=1e-12)
    for shape, scale, keep in itertools.product([None, *SHAPES], SCALES, [True, False]):
        bias = None if shape is None else random_bias(*shape)
        options = {"attn_mask": bias, "scale": scale}
        layer = DotProductAttention(keep_weights=keep, scale=scale)
        same(layer(q, k, v, bias=bias), scaled_dot_product_attention(q, k, v, **options))
        expected = scaled_dot_product_attention(q, *shared, enable_gqa=True, **options)
        same(layer(q, *shared, bias=bias), expected)
        if bias is None:
            same(layer._attend_unchecked(q, *shared, CrossCache(*shared)), expected)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("lens", [None, torch.tensor([3, 7])])
def test_with_order_it_is_what_torch_computes_with_both_in_one_mask(keep, lens):
    q, k, v = (it[:, :, :7] for it in random_qkv(0, (HEADS,)))
    q = torch.cat([q, 2 * q, q[:, :, :1]], dim=2)  # as many queries as keys
    seen = torch.ones(7, 7, dtype=torch.bool).tril().expand(2, 1, 7, 7)
    if lens is not None:
        seen = seen & (torch.arange(7) < lens[:, None, None, None])
    for shape in [(7, 7), (1, HEADS, 7, 7), (1, 7)]:
        bias = random_bias(*shape)
        expected = scaled_dot_product_attention(q, k, v, torch.where(seen, bias, -math.inf))
        found = DotProductAttention(keep_weights=keep)(q, k, v, lens, causal=True, bias=bias)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@every_layer
def test_its_gradient_is_right_and_0_where_nothing_is_used(name):
    inputs, layer = random_qkv(3), make(name, dtype=torch.float64)
    bias = random_bias(3, 7).requires_grad_()
    for given in ({"valid_lens": PER_EXAMPLE}, {"mask": SOME_MASK, "causal": True}):

        def attend(bias, given=given):
            return layer(*inputs, bias=bias, **given)

        assert torch.autograd.gradcheck(attend, bias)
    low = bias.detach().clone()
    low[:, 1], low[:, 4:] = -math.inf, math.nan
    (grad,) = torch.autograd.grad(layer(*inputs, PER_EXAMPLE, bias=low.requires_grad_()).sum(), low)
    unused = torch.tensor([False, True, False, False, True, True, True]).expand(3, 7)
    assert not grad[unused].any()
    assert grad[~unused].all()


def test_alibi_is_a_bias_of_slopes_times_distances():
    layer = MultiHeadAttention(5, 5, 5, 8, HEADS).double()
    x = random_bias(2, 7, 5)
    slopes = torch.tensor([2 ** (-8 * head / HEADS) for head in range(1, HEADS + 1)]).double()
    positions = torch.arange(7)
    distance = positions[:, None] - positions
    layer(x, x, x, causal=True, bias=-slopes[:, None, None] * distance[None, None])
    for head, query, key in ((0, 6, 2), (3, 5, 5), (2, 4, 0)):
        q, k = (
            (x @ projection.weight.detach().T)[1, :, 2 * head : 2 * head + 2]
            for projection in (layer.W_q, layer.W_k)
        )
        scores = [
            math.exp(q[query] @ k[other] / math.sqrt(2) - slopes[head] * (query - other))
            for other in range(query + 1)
        ]
        weight = layer.attention_weights[1, head, query, key].item()
        assert math.isclose(weight, scores[key] / sum(scores), rel_tol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, torch.ones(3, 7)),
        ({"causal": True}, torch.ones(3, 7).tril(4)),
        ({"valid_lens": (lens := torch.tensor([4, 2]))}, torch.arange(7) < lens[:, None, None]),
    ],
)
def test_the_lowest_number_at_all_keys_of_a_query_gives_what_exact_sums_give(dtype, given, seen):
    generator = torch.Generator().manual_seed(6)
    q, k = (torch.randint(1, 5, (2, n, 5), generator=generator).double() for n in (3, 7))
    low = torch.finfo(dtype).min
    bias = torch.full((3, 7), low, dtype=torch.float64)
    bias[1, 0], bias[2, :2] = -math.inf, -low
    found = []
    for kind in (dtype, torch.float64):
        # The scores are whole numbers from -80 to -5.
        leaves = [it.to(kind).requires_grad_() for it in (q, -k, random_qkv(5)[2], bias)]
        if kind == dtype:
            output = DotProductAttention(scale=1.0)(*leaves[:3], bias=leaves[3], **given)
        else:
            sums = (leaves[0] @ leaves[1].mT + leaves[3]).masked_fill(seen == 0, -math.inf)
            output = sums.softmax(dim=-1) @ leaves[2]
        output.sum().backward()
        found.append([output.detach().double(), *(it.grad.double() for it in leaves)])
    for mine, exact in zip(*found, strict=True):
        torch.testing.assert_close(mine, exact, rtol=0, atol=30 * torch.finfo(dtype).eps)


@every_layer
def test_a_whole_row_of_minus_inf_is_read_only_where_lengths_are(name):
    torch.compiler.reset()
    layer, inputs = make(name), random_qkv(2, dtype=torch.float32)
    low = torch.full((3, 7), -math.inf)
    low[0] = 0
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    assert compiled(*inputs, bias=low)[:, 1:].isnan().all()
    with pytest.raises(ValueError, match=r"bias must be finite or -inf.*-inf at index \(1,\)"):
        layer(*inputs, bias=low)
    with checked(), pytest.raises(ValueError, match="bias must be finite or -inf"):
        compiled(*inputs, bias=low)
    past = torch.zeros(3, 7)
    past[0, :5] = -math.inf  # all that the first query sees in causal order
    with pytest.raises(ValueError, match=r"bias must be finite or -inf.*-inf at index \(0, 0"):
        layer(*inputs, bias=past, causal=True)
    seen = torch.tensor([1, 0])  # but where no key is visible, nothing is used
    assert (
        layer(*inputs, seen[:, None].expand(2, 3) * torch.tensor([1, 0, 0]), bias=low)
        .isfinite()
        .all()
    )


def test_per_sample_gradients_take_a_bias():
    layer, inputs = make("multi-head", dtype=torch.float64), random_qkv(4)
    bias = random_bias(2, 1, HEADS, 3, 7)

    def attend(q, k, v, bias):
        return layer(q[None], k[None], v[None], bias=bias).square().sum()

    found = torch.func.vmap(torch.func.grad(attend, argnums=3))(*inputs, bias)
    whole = bias[:, 0].clone().requires_grad_()
    (expected,) = torch.autograd.grad(layer(*inputs, bias=whole).square().sum(), whole)
    torch.testing.assert_close(found[:, 0], expected)


def test_a_cache_refuses_a_bias_and_takes_a_scale():
    layer, x = MultiHeadAttention(5, 5, 5, 8, 2, scale=0.3), torch.randn(1, 4, 5)
    cache = KeyValueCache(1, 1, 2, 4, 4)
    bias = random_bias(1, 2, 4, 4).float()
    instead = "got Tensor: leave out the cache, and pass the keys and values of all tokens so far"
    with torch.no_grad(), cache.step(4):
        with pytest.raises(ValueError, match=f"bias must be left out with a cache, .* {instead}"):
            layer(x, x, x, cache=cache.layer(0), bias=bias)
        found = layer(x, x, x, cache=cache.layer(0))
    torch.testing.assert_close(found, layer(x, x, x, causal=True))
    new = layer(x[:, 3:], x, x, causal=True, bias=bias[:, :, 3:])
    torch.testing.assert_close(new, layer(x, x, x, causal=True, bias=bias)[:, 3:])


def test_a_layer_with_a_scale_shows_it_and_has_no_copy_in_torch():
    layer = MultiHeadAttention(4, 4, 4, 4, 2, scale=0.25)
    assert "scale=0.25" in repr(layer)
    assert layer.attention.formula == "0.25 · q · k"
    with pytest.raises(ValueError, match=r"scale must be None in torch's layer, got 0\.25"):
        layer.to_torch()


@pytest.mark.parametrize("scale", [0, -1.0, math.nan, math.inf])
def test_a_scale_that_is_not_positive_is_refused(scale):
    with pytest.raises(ValueError, match=rf"scale must be positive and finite, got {scale}"):
        DotProductAttention(scale=scale)
