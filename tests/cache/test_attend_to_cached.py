"""Attention to the keys of a cache: one query or several, shared heads, what is hidden."""

import math
from functools import partial

import pytest
import torch

from attnbook import CrossCache, DotProductAttention, MultiHeadAttention

BATCH, HEADS, KV_HEADS, KEYS, SIZE = 2, 6, 2, 7, 5


def inputs(num_queries):
    rng = torch.Generator().manual_seed(0)
    queries = torch.randn(BATCH, HEADS, num_queries, SIZE, generator=rng)
    keys, values = torch.randn(2, BATCH, KV_HEADS, KEYS, SIZE, generator=rng)
    visible = torch.rand(BATCH, 1, num_queries, KEYS, generator=rng) < 0.6
    visible[..., 0] = True
    return queries, keys, values, visible


def attend(layer, queries, keys, values, mask):
    """Attend to a cache in which queries see what a mask says."""
    cache = CrossCache(keys, values)
    cache.visible = mask
    return layer._attend_unchecked(queries, keys, values, cache)


def by_hand(queries, keys, values, visible):
    keys, values = (
        it.repeat_interleave(HEADS // KV_HEADS, dim=1).double() for it in (keys, values)
    )
    scores = queries.double() @ keys.mT / math.sqrt(SIZE)
    return scores.masked_fill(~visible, -math.inf).softmax(dim=-1) @ values


@pytest.mark.parametrize("keep_weights", [False, True])
@pytest.mark.parametrize("filler", [0.0, math.nan, math.inf, 1e38])
@pytest.mark.parametrize("num_queries", [1, 3])
def test_heads_that_share_keys_get_what_the_formula_gives(num_queries, filler, keep_weights):
    layer = DotProductAttention(keep_weights=keep_weights)
    queries, keys, values, visible = inputs(num_queries)
    for mask in (visible, visible[:1], visible[:, :, :1], None):
        seen = torch.ones(1, 1, 1, KEYS).bool() if mask is None else mask
        expected = by_hand(queries, keys, values, seen)
        hidden = ~seen.any(dim=2)[..., None]
        filled = (it.masked_fill(hidden, filler) for it in (keys, values))
        found = attend(layer, queries, *filled, mask)
        torch.testing.assert_close(found, expected.float())


def test_a_query_that_sees_nothing_gets_zeros():
    queries, keys, values, visible = inputs(1)
    visible[1] = False
    layer = DotProductAttention(keep_weights=False)
    output = attend(layer, queries, keys, values, visible)
    assert (output[1] == 0).all()
    torch.testing.assert_close(output[:1], by_hand(*(it[:1] for it in inputs(1))).float())


def test_one_query_has_the_gradients_of_the_formula():
    queries, keys, values, visible = inputs(1)
    grads = []
    layer = DotProductAttention(keep_weights=False)
    for compute in (partial(attend, layer), by_hand):
        leaves = [it.clone().requires_grad_() for it in (queries, keys, values)]
        grads.append(torch.autograd.grad(compute(*leaves, visible).sum(), leaves))
    torch.testing.assert_close(*grads)


def test_keys_of_another_text_must_fit_the_queries():
    layer = MultiHeadAttention(5, 5, 5, 6, 6, num_kv_heads=2, keep_weights=False)
    cache = CrossCache(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4))
    with pytest.raises(ValueError, match=r"^keys must have query_size=1 numbers in the last axis"):
        layer.attend(torch.ones(1, 1, 5), cache)
