"""Single faults, written from the tasks' statements without sight of the cases and the bugs.

Those that turned out to do what a registered bug does were removed, because bugs are tested too.
"""
# ruff: noqa: N801, N803, ARG001, PLR0913, PLR0917 - as in the tasks

from __future__ import annotations

import math
from collections import defaultdict

import torch
from torch import nn
from torch.nn import functional as F

# What is right, for the parts of a mutant that are.


def _first(valid_lens, num_keys):
    """Visible keys of each example: (batch, 1, num_keys)."""
    return torch.arange(num_keys) < valid_lens[:, None, None]


def _weigh(scores, visible):
    """Softmax of the visible scores; all zeros where there are none."""
    filled = scores.masked_fill(~visible, -math.inf)
    filled = filled.masked_fill(~visible.any(-1, keepdim=True), 0)
    return torch.softmax(filled, dim=-1).masked_fill(~visible, 0)


def _dots(queries, keys):
    """Scaled dot products."""
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def _seen(valid_lens, keys):
    """Visible keys, where None means all."""
    if valid_lens is None:
        return torch.ones(len(keys), 1, keys.shape[1], dtype=torch.bool)
    return _first(valid_lens, keys.shape[1])


def _additive(queries, keys, W_q, W_k, w_v):
    """Additive scores."""
    sums = (queries @ W_q.T)[:, :, None] + (keys @ W_k.T)[:, None]
    return torch.tanh(sums) @ w_v


def _split(vectors, num_heads):
    """(batch, positions, hiddens) to (batch, heads, positions, head size)."""
    return vectors.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def _merge(heads):
    """(batch, heads, positions, head size) to (batch, positions, hiddens)."""
    return heads.transpose(1, 2).flatten(2)


def _squares(queries, keys):
    """Squared distances of all queries and keys."""
    return (queries[:, :, None] - keys[:, None]).square().sum(-1)


# softmax


def softmax_2(scores):
    """It subtracts each example's highest score: rows [0, 0] and [1000, 1000] give NaN."""
    powers = torch.exp(scores - scores.amax(dim=(1, 2), keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax_3(scores):
    """It subtracts in place: the caller's scores change, unless each row's highest is 0."""
    scores -= scores.amax(dim=-1, keepdim=True)
    powers = scores.exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax_4(scores):
    """It cuts scores off so that no power overflows: 1000 and 990 get the same weight."""
    powers = scores.clamp(-80, 80).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax_5(scores):
    """It computes, and answers, in single precision: scores of double or half precision."""
    return torch.softmax(scores.float(), dim=-1)


def softmax_6(scores):
    """It drops axes of 1: scores with one query."""
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True)).squeeze()
    return powers / powers.sum(dim=-1, keepdim=True)


# length-mask


def length_mask_2(valid_lens, num_keys):
    """It lacks the axis for queries where lengths are (batch,)."""
    return torch.arange(num_keys) < valid_lens.unsqueeze(-1)


def length_mask_4(valid_lens, num_keys):
    """It squeezes: lengths (1, num_queries) are taken for those of num_queries examples."""
    valid_lens = valid_lens.squeeze()
    return torch.arange(num_keys) < valid_lens.reshape(len(valid_lens), -1, 1)


def length_mask_5(valid_lens, num_keys):
    """It is as long as the longest length: all lengths below num_keys."""
    longest = int(valid_lens.max())
    return torch.arange(longest) < valid_lens.reshape(len(valid_lens), -1, 1)


def length_mask_7(valid_lens, num_keys):
    """It lays lengths (batch, num_queries) out as (batch, 1, …): two lengths for each example."""
    if valid_lens.dim() == 2:
        valid_lens = valid_lens[:, 0]
    return torch.arange(num_keys) < valid_lens[:, None, None]


# masked-softmax


def _lengths_mask(scores, valid_lens):
    """Visible keys in the shape of the scores; lengths are None, (batch,), (batch, num_queries)."""
    if valid_lens is None:
        return torch.ones_like(scores, dtype=torch.bool)
    visible = torch.arange(scores.shape[-1]) < valid_lens.reshape(len(valid_lens), -1, 1)
    if scores.dim() == 4:
        visible = visible.unsqueeze(1)
    return visible.expand_as(scores)


def masked_softmax_1(scores, valid_lens=None):
    """It hides by -1e6: visible scores of -2e6 weigh nothing, and their row is cleared."""
    visible = _lengths_mask(scores, valid_lens)
    weights = torch.softmax(scores.masked_fill(~visible, -1e6), dim=-1)
    return weights.masked_fill(~visible, 0)


def masked_softmax_5(scores, valid_lens=None):
    """Where lengths are None it takes the softmax over axis 2: with heads these are queries."""
    if valid_lens is None:
        return torch.softmax(scores, dim=2)
    return _weigh(scores, _lengths_mask(scores, valid_lens))


def masked_softmax_6(scores, valid_lens=None):
    """With heads, lengths per query meet the heads, not the examples: 2 examples with 2 heads."""
    visible = _lengths_mask(scores, valid_lens)
    if valid_lens is not None and scores.dim() == 4 and valid_lens.dim() == 2:
        visible = torch.arange(scores.shape[-1]) < valid_lens.unsqueeze(-1)
    return _weigh(scores, visible)


def masked_softmax_7(scores, valid_lens=None):
    """Its highest score may be padding: [0, 0, 1e4] with a length of 2 gives zeros."""
    visible = _lengths_mask(scores, valid_lens)
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True)).masked_fill(~visible, 0)
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)


def masked_softmax_10(scores, valid_lens=None):
    """With lengths it answers in single precision: scores of double precision with lengths."""
    if valid_lens is None:
        return torch.softmax(scores, dim=-1)
    return _weigh(scores.float(), _lengths_mask(scores, valid_lens))


def masked_softmax_11(scores, valid_lens=None):
    """It leaves a row that sees nothing with equal weights."""
    visible = _lengths_mask(scores, valid_lens)
    visible = visible | ~visible.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(~visible, -math.inf), dim=-1)


# checked-lengths


def _check(valid_lens, shape):
    """Raise unless all is as it should be."""
    batch, num_queries, num_keys = shape
    if valid_lens.dtype == torch.bool:
        raise TypeError("a mask is not lengths")
    if valid_lens.shape not in ((batch,), (batch, num_queries)):
        raise ValueError("shape")
    if not ((valid_lens >= 0) & (valid_lens <= num_keys) & (valid_lens % 1 == 0)).all():
        raise ValueError("lengths")


def checked_lengths_1(valid_lens, shape):
    """It refuses num_keys itself."""
    _check(valid_lens, shape)
    if (valid_lens >= shape[-1]).any():
        raise ValueError("too long")
    return valid_lens


def checked_lengths_3(valid_lens, shape):
    """It lets (batch, 1) pass, since that would broadcast: two queries, lengths (batch, 1)."""
    batch = shape[0]
    if valid_lens.shape == (batch, 1):
        _check(valid_lens[:, 0], shape)
        return valid_lens
    _check(valid_lens, shape)
    return valid_lens


def checked_lengths_4(valid_lens, shape):
    """It returns whole numbers of a whole type: lengths of a float type do not come back."""
    _check(valid_lens, shape)
    return valid_lens.long()


def checked_lengths_5(valid_lens, shape):
    """It refuses all float types: 2.0."""
    if valid_lens.is_floating_point():
        raise TypeError("lengths must be whole numbers")
    _check(valid_lens, shape)
    return valid_lens


def checked_lengths_6(valid_lens, shape):
    """It knows two types only: lengths of torch.int32 are refused."""
    if valid_lens.dtype not in (torch.int64, torch.float32):
        raise TypeError("lengths must be whole numbers")
    _check(valid_lens, shape)
    return valid_lens


def checked_lengths_8(valid_lens, shape):
    """Its failure is an AssertionError, neither a ValueError nor a TypeError: any bad lengths."""
    try:
        _check(valid_lens, shape)
    except (ValueError, TypeError) as error:
        raise AssertionError(*error.args) from error
    return valid_lens


def checked_lengths_9(valid_lens, shape):
    """It lets one number for all pass: a tensor of shape ()."""
    _check(valid_lens.expand(shape[0]) if valid_lens.dim() == 0 else valid_lens, shape)
    return valid_lens


def checked_lengths_11(valid_lens, shape):
    """It lets lengths (num_queries,) pass, where there are more or fewer queries than examples."""
    _check(valid_lens.expand(shape[0], -1) if valid_lens.shape == shape[1:2] else valid_lens, shape)
    return valid_lens


# pool


def pool_2(weights, values):
    """It divides rows that sum to more than 1: a row that sums to 2."""
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1) @ values


def pool_3(weights, values):
    """With heads, it takes query i's values from head i: as many heads as queries."""
    return (weights.unsqueeze(-1) * values.unsqueeze(1)).sum(dim=-2)


def pool_4(weights, values):
    """With heads, it reads the values of the first head for all: any two heads."""
    if weights.dim() == 4:
        values = values[:, :1]
    return weights @ values


def pool_7(weights, values):
    """It drops axes of 1: one query, or one example."""
    return (weights @ values).squeeze()


# kernel-pool


def kernel_pool_4(queries, keys, values, width):
    """It guards the sum with a tiny number: where all keys are far, the output is 0."""
    powers = torch.exp(-_squares(queries, keys) / (2 * width**2))
    return powers @ values / (powers.sum(dim=-1, keepdim=True) + 1e-20)


def kernel_pool_6(queries, keys, values, width):
    """It multiplies out the square, so digits cancel: queries and keys near 10000."""
    q = queries.square().sum(-1, keepdim=True)
    k = keys.square().sum(-1).unsqueeze(1)
    squares = q + k - 2 * queries @ keys.transpose(1, 2)
    return torch.softmax(-squares / (2 * width**2), dim=-1) @ values


def kernel_pool_8(queries, keys, values, width):
    """It wants a tensor: a width of 2.0 is no tensor."""
    return torch.softmax(-_squares(queries, keys) / (2 * width.square()), dim=-1) @ values


def kernel_pool_10(queries, keys, values, width):
    """It detaches the weights: gradients flow back to the values only."""
    weights = torch.softmax(-_squares(queries, keys) / (2 * width**2), dim=-1)
    return weights.detach() @ values


# scaled-dot-attention


def scaled_dot_attention_2(queries, keys, values, valid_lens=None):
    """It adds -1e9 to hide: padding of 1e30 is still the highest."""
    visible = _seen(valid_lens, keys)
    weights = torch.softmax(_dots(queries, keys) + ~visible * -1e9, dim=-1)
    return weights.masked_fill(~visible.any(-1, keepdim=True), 0) @ values


def scaled_dot_attention_3(queries, keys, values, valid_lens=None):
    """It cuts all examples at the longest length: two lengths that differ."""
    if valid_lens is None:
        return torch.softmax(_dots(queries, keys), dim=-1) @ values
    longest = int(valid_lens.max())
    keys, values = keys[:, :longest], values[:, :longest]
    output = torch.softmax(_dots(queries, keys), dim=-1) @ values
    return output.masked_fill((valid_lens == 0)[:, None, None], 0)


def scaled_dot_attention_4(queries, keys, values, valid_lens=None):
    """It takes lengths that are all 0 for no lengths: the output is not 0."""
    if valid_lens is None or not valid_lens.any():
        return torch.softmax(_dots(queries, keys), dim=-1) @ values
    return _weigh(_dots(queries, keys), _seen(valid_lens, keys)) @ values


def scaled_dot_attention_6(queries, keys, values, valid_lens=None):
    """It repeats lengths in the wrong order for flat rows: two examples and two queries."""
    scores = _dots(queries, keys)
    if valid_lens is None:
        return torch.softmax(scores, dim=-1) @ values
    flat = scores.reshape(-1, scores.shape[-1])
    visible = torch.arange(scores.shape[-1]) < valid_lens.repeat(queries.shape[1])[:, None]
    return _weigh(flat, visible).reshape(scores.shape) @ values


def scaled_dot_attention_7(queries, keys, values, valid_lens=None):
    """It sets padded keys to 0, which makes their scores 0, not their weights: any padding."""
    if valid_lens is None:
        return torch.softmax(_dots(queries, keys), dim=-1) @ values
    visible = _first(valid_lens, keys.shape[1]).transpose(1, 2)
    keys, values = keys.masked_fill(~visible, 0), values.masked_fill(~visible, 0)
    return torch.softmax(_dots(queries, keys), dim=-1) @ values


# additive-score


def additive_score_2(queries, keys, W_q, W_k, w_v):
    """It reshapes W_q where it should transpose it: two hiddens and two numbers in a query."""
    q = queries @ W_q.reshape(queries.shape[-1], -1)
    return torch.tanh(q[:, :, None] + (keys @ W_k.T)[:, None]) @ w_v


def additive_score_4(queries, keys, W_q, W_k, w_v):
    """It drops axes of 1: one query."""
    return _additive(queries, keys, W_q, W_k, w_v).squeeze()


def additive_score_6(queries, keys, W_q, W_k, w_v):
    """It takes the softmax as well: any scores."""
    return torch.softmax(_additive(queries, keys, W_q, W_k, w_v), dim=-1)


def additive_score_8(queries, keys, W_q, W_k, w_v):
    """It scores the first query in the place of all: two queries."""
    sums = (queries @ W_q.T)[:, :1, None] + (keys @ W_k.T)[:, None]
    return (torch.tanh(sums) @ w_v).expand(-1, queries.shape[1], -1)


# dot-product-layer


class _DotProduct(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.p = dropout
        self.dropout = nn.Dropout(dropout)

    def weigh(self, queries, keys, valid_lens):
        return _weigh(_dots(queries, keys), _seen(valid_lens, keys))


class dot_product_layer_3(_DotProduct):
    """Its own dropout divides by 0 where dropout is 1: NaN in training."""

    def forward(self, queries, keys, values, valid_lens=None):
        weights = self.weigh(queries, keys, valid_lens)
        self.attention_weights = weights.detach()
        if self.training:
            weights = weights * (torch.rand_like(weights) >= self.p).to(weights.dtype)
            weights = weights / (1 - self.p)
        return weights @ values


class dot_product_layer_4(_DotProduct):
    """It keeps the first call's mask while shapes stay: a second call with other lengths."""

    mask = None

    def forward(self, queries, keys, values, valid_lens=None):
        if self.mask is None or self.mask.shape != (len(keys), 1, keys.shape[1]):
            self.mask = _seen(valid_lens, keys)
        weights = _weigh(_dots(queries, keys), self.mask)
        self.attention_weights = weights.detach()
        return self.dropout(weights) @ values


class dot_product_layer_7(_DotProduct):
    """It drops scores, not weights: in training, those that are left still sum to 1."""

    def forward(self, queries, keys, values, valid_lens=None):
        self.attention_weights = self.weigh(queries, keys, valid_lens).detach()
        scores = self.dropout(_dots(queries, keys))
        return _weigh(scores, _seen(valid_lens, keys)) @ values


class dot_product_layer_9(_DotProduct):
    """It keeps the weights in eval only: after a call in training, they are old or none."""

    attention_weights = None

    def forward(self, queries, keys, values, valid_lens=None):
        weights = self.weigh(queries, keys, valid_lens)
        if not self.training:
            self.attention_weights = weights.detach()
        return self.dropout(weights) @ values


class dot_product_layer_11(_DotProduct):
    """It keeps the share that it should drop: a dropout of 0.1 in training."""

    def forward(self, queries, keys, values, valid_lens=None):
        weights = self.weigh(queries, keys, valid_lens)
        self.attention_weights = weights.detach()
        if self.training and 0 < self.p < 1:
            weights = weights * (torch.rand_like(weights) < self.p) / (1 - self.p)
        elif self.training and self.p == 1:
            weights = weights * 0
        return weights @ values


class dot_product_layer_12(_DotProduct):
    """Its output comes from detached weights: no gradient flows to queries and keys."""

    def forward(self, queries, keys, values, valid_lens=None):
        self.attention_weights = self.weigh(queries, keys, valid_lens).detach()
        return self.dropout(self.attention_weights) @ values


# additive-layer


class _Additive(nn.Module):
    def __init__(self, key_size, query_size, num_hiddens):
        super().__init__()
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)

    def score(self, queries, keys):
        return self.w_v(torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None]))

    def forward(self, queries, keys, values, valid_lens=None):
        scores = self.score(queries, keys).squeeze(-1)
        return _weigh(scores, _seen(valid_lens, keys)) @ values


class additive_layer_1(_Additive):
    """It copies w_v when it is made: a w_v that is loaded later has no effect."""

    def __init__(self, key_size, query_size, num_hiddens):
        super().__init__(key_size, query_size, num_hiddens)
        self.vector = self.w_v.weight.detach().clone()

    def score(self, queries, keys):
        hiddens = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])
        return hiddens @ self.vector.T


class additive_layer_3(_Additive):
    """Its W_q has a bias: matrices without one do not load."""

    def __init__(self, key_size, query_size, num_hiddens):
        super().__init__(key_size, query_size, num_hiddens)
        self.W_q = nn.Linear(query_size, num_hiddens)


class additive_layer_5(_Additive):
    """It drops weights in training."""

    def forward(self, queries, keys, values, valid_lens=None):
        scores = self.score(queries, keys).squeeze(-1)
        weights = _weigh(scores, _seen(valid_lens, keys))
        return F.dropout(weights, 0.1, self.training) @ values


class additive_layer_7(_Additive):
    """It gives the mean of the values where nothing is seen: a length of 0."""

    def forward(self, queries, keys, values, valid_lens=None):
        scores = self.score(queries, keys).squeeze(-1)
        scores = scores.masked_fill(~_seen(valid_lens, keys), torch.finfo(scores.dtype).min)
        return torch.softmax(scores, dim=-1) @ values


class additive_layer_9(_Additive):
    """It takes ReLU in the place of tanh: any query and key."""

    def score(self, queries, keys):
        return self.w_v(torch.relu(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None]))


class additive_layer_10(_Additive):
    """It takes valid_lens for one number, the first: two lengths that differ."""

    def forward(self, queries, keys, values, valid_lens=None):
        if valid_lens is not None:
            valid_lens = valid_lens[:1]
        scores = self.score(queries, keys).squeeze(-1)
        return _weigh(scores, _seen(valid_lens, keys)) @ values


# causal-mask


def causal_mask_1(num_queries, num_keys):
    """Its queries stand at the first keys: fewer queries than keys."""
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril()


def causal_mask_3(num_queries, num_keys):
    """It mends only the last query: 2 queries and 3 keys, the first should see 2."""
    mask = torch.ones(num_queries, num_keys, dtype=torch.bool).tril()
    mask[-1] = True
    return mask


def causal_mask_6(num_queries, num_keys):
    """It has an axis for the batch: any sizes."""
    positions = torch.arange(num_keys - num_queries, num_keys)
    return (torch.arange(num_keys) <= positions[:, None])[None]


# causal-attention


def _not_after(queries, keys):
    """Causal mask of some queries and keys."""
    shape = queries.shape[1], keys.shape[1]
    return torch.ones(shape, dtype=torch.bool).tril(diagonal=shape[1] - shape[0])


def causal_attention_2(queries, keys, values):
    """It hides all scores of 0, the visible ones, too: a query of zeros gives NaN."""
    scores = _dots(queries, keys).tril(diagonal=keys.shape[1] - queries.shape[1])
    return torch.softmax(scores.masked_fill(scores == 0, -math.inf), dim=-1) @ values


def causal_attention_4(queries, keys, values):
    """It adds -1e9 to hide: a future of 1e30 is still the highest."""
    hidden = ~_not_after(queries, keys) * -1e9
    return torch.softmax(_dots(queries, keys) + hidden, dim=-1) @ values


def causal_attention_6(queries, keys, values):
    """It hides a query's own key, but from a first that would see none: two queries."""
    mask = _not_after(queries, keys)
    mask = mask.tril(diagonal=keys.shape[1] - queries.shape[1] - 1)
    mask[:, 0] = True
    return _weigh(_dots(queries, keys), mask) @ values


def causal_attention_7(queries, keys, values):
    """It divides by the root of the number of keys."""
    scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[1])
    return _weigh(scores, _not_after(queries, keys)) @ values


def causal_attention_8(queries, keys, values):
    """It multiplies hidden scores by 0 and lets them stand: they still get weight."""
    scores = _dots(queries, keys).tril(diagonal=keys.shape[1] - queries.shape[1])
    return torch.softmax(scores, dim=-1) @ values


# split-heads


def split_heads_4(vectors, num_heads):
    """It adds no axis for one head."""
    return vectors if num_heads == 1 else _split(vectors, num_heads)


def split_heads_6(vectors, num_heads):
    """It folds the heads into the batch."""
    return _split(vectors, num_heads).flatten(0, 1)


def split_heads_8(vectors, num_heads):
    """It stacks heads as the first axis, and views that as the right shape: two examples."""
    heads = torch.stack(vectors.chunk(num_heads, dim=-1))
    return heads.reshape(len(vectors), num_heads, vectors.shape[1], -1)


# merge-heads


def merge_heads_4(heads):
    """It reads memory as if the tensor were contiguous: heads that are a view of vectors."""
    batch, num_heads, num_positions, size = heads.shape
    strides = (num_heads * num_positions * size, size, num_positions * size, 1)
    return heads.as_strided((batch, num_positions, num_heads, size), strides).flatten(2)


def merge_heads_5(heads):
    """It takes the number of heads for that of positions: unless they are the same."""
    return heads.transpose(1, 2).reshape(heads.shape[0], heads.shape[1], -1)


def merge_heads_6(heads):
    """It drops all axes of 1 where there is one head: one example or one position."""
    return heads.squeeze() if heads.shape[1] == 1 else _merge(heads)


# multi-head-attention


def multi_head_attention_2(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens):
    """It does not transpose W_o: any W_o that is not symmetric."""
    q = _split(queries @ W_q.T, num_heads)
    k, v = _split(keys @ W_k.T, num_heads), _split(values @ W_v.T, num_heads)
    weights = _weigh(_dots(q, k), _first(valid_lens, keys.shape[1])[:, None])
    return _merge(weights @ v) @ W_o


def multi_head_attention_3(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens):
    """It repeats lengths in the wrong order for heads in the batch: two heads, two lengths."""
    q = _split(queries @ W_q.T, num_heads).flatten(0, 1)
    k = _split(keys @ W_k.T, num_heads).flatten(0, 1)
    v = _split(values @ W_v.T, num_heads).flatten(0, 1)
    visible = _first(valid_lens.repeat(num_heads), keys.shape[1])
    output = _weigh(_dots(q, k), visible) @ v
    return _merge(output.unflatten(0, (-1, num_heads))) @ W_o.T


def multi_head_attention_4(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens):
    """It deals numbers out to heads like cards, and back: two heads of two numbers."""
    q, k, v = (
        projected.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)
        for projected in (queries @ W_q.T, keys @ W_k.T, values @ W_v.T)
    )
    weights = _weigh(_dots(q, k), _first(valid_lens, keys.shape[1])[:, None])
    return (weights @ v).permute(0, 2, 3, 1).flatten(2) @ W_o.T


def multi_head_attention_6(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens):
    """It sets padding to 0 before it projects, but hides nothing: padding still gets weight."""
    visible = _first(valid_lens, keys.shape[1]).transpose(1, 2)
    keys, values = keys.masked_fill(~visible, 0), values.masked_fill(~visible, 0)
    q = _split(queries @ W_q.T, num_heads)
    k, v = _split(keys @ W_k.T, num_heads), _split(values @ W_v.T, num_heads)
    return _merge(torch.softmax(_dots(q, k), dim=-1) @ v) @ W_o.T


def multi_head_attention_8(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens):
    """It hides keys of the first head only: any padding and two heads."""
    q = _split(queries @ W_q.T, num_heads)
    k, v = _split(keys @ W_k.T, num_heads), _split(values @ W_v.T, num_heads)
    visible = _first(valid_lens, keys.shape[1])[:, None].repeat(1, num_heads, 1, 1)
    visible[:, 1:] = (valid_lens > 0)[:, None, None, None]
    return _merge(_weigh(_dots(q, k), visible) @ v) @ W_o.T


def multi_head_attention_9(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens):
    """It lets an example that may see nothing see all: a length of 0."""
    q = _split(queries @ W_q.T, num_heads)
    k, v = _split(keys @ W_k.T, num_heads), _split(values @ W_v.T, num_heads)
    visible = _first(valid_lens, keys.shape[1])[:, None]
    weights = _weigh(_dots(q, k), visible | ~visible.any(-1, keepdim=True))
    return _merge(weights @ v) @ W_o.T


# grouped-heads


def _repeated(heads, like):
    """As many heads as in `like`, neighbours the same."""
    return heads.repeat_interleave(like.shape[1] // heads.shape[1], dim=1)


def grouped_heads_3(queries, keys, values):
    """It divides by the root of the value size: unless that is the key size."""
    scores = queries @ _repeated(keys, queries).transpose(-2, -1) / math.sqrt(values.shape[-1])
    return torch.softmax(scores, dim=-1) @ _repeated(values, queries)


def grouped_heads_4(queries, keys, values):
    """It divides a head's number by the number of key heads, not the group's: 2 and 2 heads."""
    heads = [head // keys.shape[1] for head in range(queries.shape[1])]
    return torch.softmax(_dots(queries, keys[:, heads]), dim=-1) @ values[:, heads]


def grouped_heads_6(queries, keys, values):
    """It answers in single precision: queries of double precision."""
    output = torch.zeros(*queries.shape[:3], values.shape[-1])
    weights = torch.softmax(_dots(queries, _repeated(keys, queries)), dim=-1)
    output += weights @ _repeated(values, queries)
    return output


def grouped_heads_8(queries, keys, values):
    """It takes the softmax over the query heads of a group, not the keys: any heads."""
    grouped = queries.unflatten(1, (keys.shape[1], -1))
    scores = _dots(grouped, keys.unsqueeze(2))
    weights = torch.softmax(scores, dim=2)
    return (weights @ values.unsqueeze(2)).flatten(1, 2)


# sinusoidal-encoding


def _waves(num_positions, exponents):
    """Angles, in double precision, of positions and exponents."""
    positions = torch.arange(num_positions, dtype=torch.float64)[:, None]
    return positions / 10000 ** exponents.double()


def sinusoidal_encoding_3(num_positions, size):
    """It divides by an odd size plus 1: a size of 5."""
    pairs = (size + 1) // 2
    angles = _waves(num_positions, torch.arange(pairs).double() / pairs)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size].float()


def sinusoidal_encoding_4(num_positions, size):
    """Its frequencies are of single precision, only the angles of double: position 100000."""
    frequencies = 10000 ** (-torch.arange(0, size, 2) / size)
    angles = torch.arange(num_positions, dtype=torch.float64)[:, None] * frequencies.double()
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size].float()


def sinusoidal_encoding_5(num_positions, size):
    """The last frequency is 1 / 10000, as in tensor2tensor: a size of 4."""
    pairs = (size + 1) // 2
    angles = _waves(num_positions, torch.arange(pairs).double() / max(pairs - 1, 1))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size].float()


def sinusoidal_encoding_6(num_positions, size):
    """It answers in double precision: any sizes."""
    angles = _waves(num_positions, torch.arange(0, size, 2).double() / size)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size]


def sinusoidal_encoding_7(num_positions, size):
    """An odd size has no room for its last sine, and gets 0: a size of 3."""
    encoding = torch.zeros(num_positions, size)
    for i in range(size // 2):
        angles = _waves(num_positions, torch.tensor([2 * i / size], dtype=torch.float64))[:, 0]
        encoding[:, 2 * i], encoding[:, 2 * i + 1] = angles.sin().float(), angles.cos().float()
    return encoding


# rotary-encoding


def _turns(positions, size):
    """Angles of all positions and pairs."""
    exponents = torch.arange(0, size, 2, dtype=torch.float64) / size
    return positions.double()[:, None] / 10000**exponents


def _turned(vectors, angles):
    """All pairs, turned by their angles."""
    a, b = vectors[..., 0::2].double(), vectors[..., 1::2].double()
    cos, sin = angles.cos(), angles.sin()
    pairs = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return pairs.flatten(-2).to(vectors.dtype)


def rotary_encoding_3(vectors, positions):
    """It counts on from the first position: positions 0, 2, 4."""
    positions = positions[0] + torch.arange(len(positions))
    return _turned(vectors, _turns(positions, vectors.shape[-1]))


def rotary_encoding_5(vectors, positions):
    """It turns the caller's vectors."""
    vectors[:] = _turned(vectors, _turns(positions, vectors.shape[-1]))
    return vectors


def rotary_encoding_7(vectors, positions):
    """Its angles are of single precision: position 100000."""
    size = vectors.shape[-1]
    angles = positions.float()[:, None] / 10000 ** (torch.arange(0, size, 2) / size)
    return _turned(vectors, angles)


def rotary_encoding_8(vectors, positions):
    """It answers in double precision: vectors of single precision."""
    return _turned(vectors.double(), _turns(positions, vectors.shape[-1]))


def rotary_encoding_9(vectors, positions):
    """Its exponents are i / size: a size of 4."""
    exponents = torch.arange(vectors.shape[-1] // 2, dtype=torch.float64) / vectors.shape[-1]
    return _turned(vectors, positions.double()[:, None] / 10000**exponents)


# online-softmax


def online_softmax_4(scores, values, block_size):
    """The highest score begins at -1e9: finite scores below it, such as -1e10."""
    highest, total, weighted = torch.full_like(scores[..., :1], -1e9), 0, 0
    for start in range(0, scores.shape[-1], block_size):
        block = scores[..., start : start + block_size]
        risen = torch.maximum(highest, block.amax(-1, keepdim=True))
        powers, correction = (block - risen).exp(), (highest - risen).exp()
        total = total * correction + powers.sum(-1, keepdim=True)
        weighted = weighted * correction + powers @ values[:, start : start + block_size]
        highest = risen
    return weighted / total


def online_softmax_6(scores, values, block_size):
    """It carries one highest score for all queries: queries with scores 1000 apart give NaN."""
    highest, total, weighted = torch.tensor(-math.inf, dtype=scores.dtype), 0, 0
    for start in range(0, scores.shape[-1], block_size):
        block = scores[..., start : start + block_size]
        risen = torch.maximum(highest, block.amax())
        powers, correction = (block - risen).exp(), (highest - risen).exp()
        total = total * correction + powers.sum(-1, keepdim=True)
        weighted = weighted * correction + powers @ values[:, start : start + block_size]
        highest = risen
    return weighted / total


def online_softmax_8(scores, values, block_size):
    """It answers in single precision: scores of double precision."""
    highest = torch.full((*scores.shape[:2], 1), -math.inf)
    total, weighted = 0, 0
    for start in range(0, scores.shape[-1], block_size):
        block = scores[..., start : start + block_size].float()
        risen = torch.maximum(highest, block.amax(-1, keepdim=True))
        powers, correction = (block - risen).exp(), (highest - risen).exp()
        total = total * correction + powers.sum(-1, keepdim=True)
        weighted = weighted * correction + powers @ values[:, start : start + block_size].float()
        highest = risen
    return weighted / total


# decoding-step


def decoding_step_2(token, state, memory, valid_lens, W_q, W_k, w_v, cell):
    """It gives the cell no old state: any state but 0."""
    scores = _additive(state[:, None], memory, W_q, W_k, w_v)
    weights = _weigh(scores, _first(valid_lens, memory.shape[1]))
    context = (weights @ memory)[:, 0]
    return cell(torch.cat([token, context], dim=-1), torch.zeros_like(state)), weights[:, 0]


def decoding_step_4(token, state, memory, valid_lens, W_q, W_k, w_v, cell):
    """Its weights keep the axis of the query."""
    scores = _additive(state[:, None], memory, W_q, W_k, w_v)
    weights = _weigh(scores, _first(valid_lens, memory.shape[1]))
    return cell(torch.cat([token, (weights @ memory)[:, 0]], dim=-1), state), weights


def decoding_step_5(token, state, memory, valid_lens, W_q, W_k, w_v, cell):
    """Where a length is 0 it weighs all keys alike."""
    scores = _additive(state[:, None], memory, W_q, W_k, w_v)[:, 0]
    visible = torch.arange(memory.shape[1]) < valid_lens[:, None]
    weights = torch.softmax(scores.masked_fill(~visible, -1e9), dim=-1)
    context = (weights[:, None] @ memory)[:, 0]
    return cell(torch.cat([token, context], dim=-1), state), weights


def decoding_step_6(token, state, memory, valid_lens, W_q, W_k, w_v, cell):
    """Its context is that of all memory, only the weights it returns are masked: any padding."""
    scores = _additive(state[:, None], memory, W_q, W_k, w_v)
    weights = _weigh(scores, _first(valid_lens, memory.shape[1]))
    context = (torch.softmax(scores, dim=-1) @ memory)[:, 0]
    return cell(torch.cat([token, context], dim=-1), state), weights[:, 0]


def decoding_step_7(token, state, memory, valid_lens, W_q, W_k, w_v, cell):
    """It skips the cell where nothing is seen, and keeps the old state: a length of 0."""
    scores = _additive(state[:, None], memory, W_q, W_k, w_v)
    weights = _weigh(scores, _first(valid_lens, memory.shape[1]))
    new_state = cell(torch.cat([token, (weights @ memory)[:, 0]], dim=-1), state)
    return torch.where((valid_lens == 0)[:, None], state, new_state), weights[:, 0]


def decoding_step_8(token, state, memory, valid_lens, W_q, W_k, w_v, cell):
    """It divides scores by the root of num_hiddens."""
    scores = _additive(state[:, None], memory, W_q, W_k, w_v) / math.sqrt(len(w_v))
    weights = _weigh(scores, _first(valid_lens, memory.shape[1]))
    return cell(torch.cat([token, (weights @ memory)[:, 0]], dim=-1), state), weights[:, 0]


def decoding_step_9(token, state, memory, valid_lens, W_q, W_k, w_v, cell):
    """It returns the weights first."""
    scores = _additive(state[:, None], memory, W_q, W_k, w_v)
    weights = _weigh(scores, _first(valid_lens, memory.shape[1]))
    return weights[:, 0], cell(torch.cat([token, (weights @ memory)[:, 0]], dim=-1), state)


def decoding_step_10(token, state, memory, valid_lens, W_q, W_k, w_v, cell):
    """It takes the first length for all examples: two lengths that differ."""
    scores = _additive(state[:, None], memory, W_q, W_k, w_v)
    weights = _weigh(scores, _first(valid_lens, memory.shape[1])[:1])
    return cell(torch.cat([token, (weights @ memory)[:, 0]], dim=-1), state), weights[:, 0]


# masked-loss


def _losses(scores, targets):
    """-log p of the right symbols."""
    return -scores.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def _real(targets, valid_lens):
    return torch.arange(targets.shape[1]) < valid_lens[:, None]


def masked_loss_4(scores, targets, valid_lens):
    """It multiplies padding by 0: padding whose scores are inf or NaN."""
    real = _real(targets, valid_lens)
    return (_losses(scores, targets) * real).sum() / real.sum()


def masked_loss_6(scores, targets, valid_lens):
    """It counts a text of length 0 as one step: a length of 0."""
    losses = _losses(scores, targets).masked_fill(~_real(targets, valid_lens), 0)
    return losses.sum() / valid_lens.clamp(min=1).sum()


def masked_loss_7(scores, targets, valid_lens):
    """It answers in single precision: scores of double precision."""
    return _losses(scores.float(), targets)[_real(targets, valid_lens)].mean()


def masked_loss_8(scores, targets, valid_lens):
    """It divides by the number of texts: texts of two steps."""
    return _losses(scores, targets)[_real(targets, valid_lens)].sum() / len(targets)


def masked_loss_11(scores, targets, valid_lens):
    """It takes log probabilities for granted: scores that are none."""
    logs = scores.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -logs[_real(targets, valid_lens)].mean()


def masked_loss_12(scores, targets, valid_lens):
    """Its loss has the shape (1,)."""
    losses = _losses(scores, targets)[_real(targets, valid_lens)]
    return losses.mean(dim=0, keepdim=True)


# window-mask


def window_mask_2(num_queries, num_keys, back):
    """It takes 0 for no limit: a back of 0."""
    steps = torch.arange(num_keys - num_queries, num_keys)[:, None] - torch.arange(num_keys)
    return (steps >= 0) & (steps <= back) if back else steps >= 0


def window_mask_3(num_queries, num_keys, back):
    """It slices from a negative place: position 1 of 4 with a back of 2 sees nothing."""
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        position = num_keys - num_queries + query
        mask[query, position - back : position + 1] = True
    return mask


def window_mask_4(num_queries, num_keys, back):
    """Only one of its two edges knows where queries stand: fewer queries than keys."""
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(num_keys - num_queries) & ones.triu(-back)


# document-mask


def document_mask_3(documents):
    """It sees a new document only where numbers rise: documents 3, 3, 1, 1."""
    begins = F.pad(documents.diff(dim=1) > 0, (1, 0))
    numbers = begins.cumsum(dim=1)
    return (numbers[:, :, None] == numbers[:, None]).tril()


def document_mask_7(documents):
    """It compares the documents of neighbours only: each token sees at most one before it."""
    same = F.pad(documents[:, 1:] == documents[:, :-1], (1, 0))
    return torch.diag_embed(torch.ones_like(same)) | torch.diag_embed(same[:, 1:], offset=-1)


def document_mask_9(documents):
    """It takes numbers below num_positions for granted: a document 7 in two positions fails."""
    one_hot = F.one_hot(documents, documents.shape[1]).float()
    return (one_hot @ one_hot.transpose(1, 2) > 0).tril()


def document_mask_10(documents):
    """It compares numbers modulo 256, as bytes: documents 1 and 257."""
    small = documents.to(torch.uint8)
    return (small[:, :, None] == small[:, None]).tril()


# left-padding


def left_padding_1(valid_lens, num_keys):
    """It slices from -0 for a length of 0: all are real."""
    mask = torch.zeros(len(valid_lens), 1, num_keys, dtype=torch.bool)
    positions = torch.zeros(len(valid_lens), num_keys, dtype=torch.int64)
    for example, length in enumerate(valid_lens.tolist()):
        mask[example, :, -length:] = True
        positions[example, num_keys - length :] = torch.arange(length)
    return mask, positions


def left_padding_2(valid_lens, num_keys):
    """Positions of padding are 1, as in some libraries: any padding."""
    mask = torch.arange(num_keys) >= num_keys - valid_lens[:, None]
    return mask[:, None], (mask.cumsum(dim=1) - 1).masked_fill(~mask, 1)


def left_padding_3(valid_lens, num_keys):
    """Positions of padding are negative: a padding of 2."""
    mask = torch.arange(num_keys) >= num_keys - valid_lens[:, None]
    return mask[:, None], torch.arange(num_keys) - (num_keys - valid_lens[:, None])


def left_padding_4(valid_lens, num_keys):
    """The mask is for padding on the right: any padding."""
    real = torch.arange(num_keys) >= num_keys - valid_lens[:, None]
    positions = (real.cumsum(dim=1) - 1).clamp(min=0)
    return torch.arange(num_keys) < valid_lens[:, None, None], positions


def left_padding_7(valid_lens, num_keys):
    """The mask lacks its axis for queries."""
    mask = torch.arange(num_keys) >= num_keys - valid_lens[:, None]
    return mask, (mask.cumsum(dim=1) - 1).clamp(min=0)


def left_padding_8(valid_lens, num_keys):
    """Positions have the type of the lengths: lengths of torch.int32."""
    start = num_keys - valid_lens[:, None]
    steps = torch.arange(num_keys, dtype=valid_lens.dtype) - start
    return (steps >= 0)[:, None], steps.clamp(min=0)


def left_padding_9(valid_lens, num_keys):
    """It hides one real key: any length but 0."""
    mask = torch.arange(num_keys) > num_keys - valid_lens[:, None]
    positions = (torch.arange(num_keys) - (num_keys - valid_lens[:, None])).clamp(min=0)
    return mask[:, None], positions


def left_padding_10(valid_lens, num_keys):
    """It pads to the longest length, not to num_keys: all lengths below num_keys."""
    longest = int(valid_lens.max())
    mask = torch.arange(longest) >= longest - valid_lens[:, None]
    return mask[:, None], (mask.cumsum(dim=1) - 1).clamp(min=0)


# two-sided-window


def _ahead_of(num_queries, num_keys):
    """How many positions each key stands after each query."""
    return torch.arange(num_keys) - torch.arange(num_keys - num_queries, num_keys)[:, None]


def two_sided_window_1(num_queries, num_keys, back, ahead):
    """It slices from a negative place: position 1 of 4 with a back of 2 sees nothing."""
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        own = num_keys - num_queries + query
        first = 0 if back is None else own - back
        mask[query, first : num_keys if ahead is None else own + ahead + 1] = True
    return mask


def two_sided_window_3(num_queries, num_keys, back, ahead):
    """It takes None for as many keys as there are queries: more keys than queries, no limit."""
    back, ahead = (num_queries if reach is None else reach for reach in (back, ahead))
    steps = _ahead_of(num_queries, num_keys)
    return (steps >= -back) & (steps <= ahead)


def two_sided_window_4(num_queries, num_keys, back, ahead):
    """It takes the longer of both for both sides: a back of 3 and an ahead of 1."""
    back, ahead = (num_keys if reach is None else reach for reach in (back, ahead))
    return _ahead_of(num_queries, num_keys).abs() <= max(back, ahead)


def two_sided_window_5(num_queries, num_keys, back, ahead):
    """It hides the query's own key: any sizes."""
    back, ahead = (num_keys if reach is None else reach for reach in (back, ahead))
    steps = _ahead_of(num_queries, num_keys)
    return (steps >= -back) & (steps <= ahead) & (steps != 0)


def two_sided_window_6(num_queries, num_keys, back, ahead):
    """Only the last query's window is right: several queries."""
    back, ahead = (num_keys if reach is None else reach for reach in (back, ahead))
    steps = _ahead_of(1, num_keys).expand(num_queries, -1)
    return (steps >= -back) & (steps <= ahead)


def two_sided_window_7(num_queries, num_keys, back, ahead):
    """No limit on one side takes the limit of the other away, too."""
    if back is None or ahead is None:
        return torch.ones(num_queries, num_keys, dtype=torch.bool)
    steps = _ahead_of(num_queries, num_keys)
    return (steps >= -back) & (steps <= ahead)


def two_sided_window_8(num_queries, num_keys, back, ahead):
    """It has a row for each key: fewer queries than keys."""
    back, ahead = (num_keys if reach is None else reach for reach in (back, ahead))
    steps = _ahead_of(num_keys, num_keys)
    return (steps >= -back) & (steps <= ahead)


# prefix-mask


def prefix_mask_1(prefix_lens, num_queries, num_keys):
    """Only the first query sees the prefix whole: a prefix of 3 and 7 queries."""
    past = torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()
    mask = past.repeat(len(prefix_lens), 1, 1)
    mask[:, 0] |= _first(prefix_lens, num_keys)[:, 0]
    return mask


def prefix_mask_2(prefix_lens, num_queries, num_keys):
    """The longest prefix of the batch is everyone's."""
    prefix = torch.arange(num_keys) < prefix_lens.max()
    mask = prefix | torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()
    return mask.repeat(len(prefix_lens), 1, 1)


def prefix_mask_3(prefix_lens, num_queries, num_keys):
    """Its prefix is a square of its own, at the first queries: fewer queries than keys."""
    mask = torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()
    mask = mask.repeat(len(prefix_lens), 1, 1)
    for example, length in enumerate(prefix_lens.tolist()):
        mask[example, :length, :length] = True
        mask[example, length:, :length] = False
    return mask


def prefix_mask_4(prefix_lens, num_queries, num_keys):
    """A prefix of 0 is taken for one of all keys."""
    lengths = torch.where(prefix_lens == 0, num_keys, prefix_lens)
    past = torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()
    return _first(lengths, num_keys) | past


def prefix_mask_5(prefix_lens, num_queries, num_keys):
    """It is the prefix's complement in time: what comes after the prefix is not causal."""
    after = ~_first(prefix_lens, num_keys)
    past = torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()
    return after | past


def prefix_mask_6(prefix_lens, num_queries, num_keys):
    """It adds two masks as numbers: 2 where both rules show a key."""
    past = torch.ones(num_queries, num_keys).tril(num_keys - num_queries)
    return _first(prefix_lens, num_keys) + past


def prefix_mask_7(prefix_lens, num_queries, num_keys):
    """It takes one or the other rule, not both: keys of the prefix that are past are hidden."""
    past = torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()
    return _first(prefix_lens, num_keys) ^ past


def prefix_mask_8(prefix_lens, num_queries, num_keys):
    """It leaves the axis of examples out if there is one query."""
    past = torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()
    mask = _first(prefix_lens, num_keys) | past
    return mask.squeeze(1)


# decoding-mask


def _not_after_square(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries)


def decoding_mask_1(starts, num_queries, num_keys):
    """The text begins at the queries' own number, not at a key: fewer queries than keys."""
    mask = _not_after_square(num_queries, num_keys).repeat(len(starts), 1, 1)
    for example, start in enumerate(starts.tolist()):
        mask[example, :start] = False
    return mask


def decoding_mask_3(starts, num_queries, num_keys):
    """A text that is all padding is taken for one without: a start of num_keys."""
    text = torch.arange(num_keys) >= (starts % num_keys)[:, None, None]
    return text & _not_after_square(num_queries, num_keys)


def decoding_mask_4(starts, num_queries, num_keys):
    """Padding may see padding: queries before the start see all keys before them."""
    text = torch.arange(num_keys) >= starts[:, None, None]
    both = text == text[:, :, num_keys - num_queries :].mT
    return both & _not_after_square(num_queries, num_keys)


def decoding_mask_5(starts, num_queries, num_keys):
    """Rows that see nothing see everything."""
    text = torch.arange(num_keys) >= starts[:, None, None]
    mask = text & _not_after_square(num_queries, num_keys)
    return mask | ~mask.any(-1, keepdim=True)


def decoding_mask_6(starts, num_queries, num_keys):
    """It rolls a triangle to the right, and its end comes back on the left."""
    triangle = _not_after_square(num_queries, num_keys)
    return torch.stack([triangle.roll(int(start), 1) for start in starts])


def decoding_mask_7(starts, num_queries, num_keys):
    """It leaves out the axis of queries, as for padding alone."""
    return torch.arange(num_keys) >= starts[:, None]


def decoding_mask_8(starts, num_queries, num_keys):
    """It slices from the end: a start of 0 leaves nothing."""
    mask = torch.zeros(len(starts), num_queries, num_keys, dtype=torch.bool)
    for example, start in enumerate(starts.tolist()):
        mask[example, :, -(num_keys - start) :] = start > 0
    return mask & _not_after_square(num_queries, num_keys)


# float-mask


def float_mask_4(mask, dtype):
    """It puts -1e4 in narrow types, for fear of an overflow."""
    number = -1e4 if dtype in (torch.float16, torch.bfloat16) else -math.inf
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, number)


def float_mask_5(mask, dtype):
    """It adds axes for examples and heads: a mask of two axes."""
    added = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -math.inf)
    return added[(None,) * (4 - mask.dim())]


def float_mask_7(mask, dtype):
    """It divides by the mask: -1 / 0 is -inf, and -1 / 1 is -1."""
    return -1 / mask.to(dtype)


def float_mask_8(mask, dtype):
    """It makes a causal mask of the mask's size, whatever it says."""
    rows = torch.full(mask.shape, -math.inf, dtype=dtype)
    return rows.triu(1) if mask.dim() > 1 else rows


# masks-for-mha


def _rows_for_heads(mask, num_heads):
    return mask.repeat_interleave(num_heads, dim=0)


def masks_for_mha_1(mask, valid_lens, num_heads):
    """It hides padding in `attn_mask`, and `key_padding_mask` hides nothing."""
    hidden = ~(mask & _first(valid_lens, mask.shape[2]))
    return _rows_for_heads(hidden, num_heads), torch.zeros_like(mask[:, 0])


def masks_for_mha_2(mask, valid_lens, num_heads):
    """It returns them in the other order."""
    padding = ~_first(valid_lens, mask.shape[2])[:, 0]
    return padding, ~_rows_for_heads(mask, num_heads)


def masks_for_mha_3(mask, valid_lens, num_heads):
    """It gives `key_padding_mask` an axis for queries."""
    return ~_rows_for_heads(mask, num_heads), ~_first(valid_lens, mask.shape[2])


def masks_for_mha_4(mask, valid_lens, num_heads):
    """It gives `key_padding_mask` to each head as well."""
    padding = ~_first(valid_lens, mask.shape[2])[:, 0]
    return ~_rows_for_heads(mask, num_heads), _rows_for_heads(padding, num_heads)


def masks_for_mha_5(mask, valid_lens, num_heads):
    """It hides nothing where a length is 0, to keep NaN away."""
    padding = ~_first(valid_lens, mask.shape[2])[:, 0] & (valid_lens > 0)[:, None]
    return ~_rows_for_heads(mask, num_heads), padding


def masks_for_mha_7(mask, valid_lens, num_heads):
    """It turns the caller's mask round in place."""
    hidden = _rows_for_heads(mask.logical_not_(), num_heads)
    return hidden, ~_first(valid_lens, mask.shape[2])[:, 0]


def masks_for_mha_8(mask, valid_lens, num_heads):
    """Its padding ends at the longest length: all lengths below num_keys."""
    padding = ~_first(valid_lens, int(valid_lens.max()))[:, 0]
    return ~_rows_for_heads(mask, num_heads), padding


# masked-attention


def masked_attention_3(queries, keys, values, mask):
    """It adds -1e9 to what is hidden: a hidden score of 1e30 is still the highest."""
    scores = _dots(queries, keys) + ~mask[:, None] * -1e9
    return torch.softmax(scores, dim=-1).masked_fill(~mask[:, None], 0) @ values


def masked_attention_5(queries, keys, values, mask):
    """It hides a key for all queries that is hidden for one."""
    return _weigh(_dots(queries, keys), mask.all(1)[:, None, None]) @ values


def masked_attention_6(queries, keys, values, mask):
    """It hides a key only if it is hidden for all queries."""
    return _weigh(_dots(queries, keys), mask.any(1)[:, None, None]) @ values


def masked_attention_7(queries, keys, values, mask):
    """It forgets the scale."""
    return _weigh(queries @ keys.transpose(-2, -1), mask[:, None]) @ values


def masked_attention_8(queries, keys, values, mask):
    """It is causal besides."""
    causal = torch.ones(mask.shape[1:], dtype=torch.bool).tril(mask.shape[2] - mask.shape[1])
    return _weigh(_dots(queries, keys), (mask & causal)[:, None]) @ values


def masked_attention_9(queries, keys, values, mask):
    """Only the first head is masked."""
    heads = mask[:, None].repeat(1, queries.shape[1], 1, 1)
    heads[:, 1:] = True
    return _weigh(_dots(queries, keys), heads) @ values


def masked_attention_10(queries, keys, values, mask):
    """Its highest score may be a hidden one: all powers of what is seen vanish."""
    scores = _dots(queries, keys)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True)).masked_fill(~mask[:, None], 0)
    return powers @ values / powers.sum(-1, keepdim=True).clamp(min=1e-30)


# transformer-block


class _TransformerBlock(nn.Module):
    """Right, but for what a mutant changes."""

    def __init__(self, attention, attention_norm, feed_forward, feed_forward_norm):
        super().__init__()
        self.attention, self.attention_norm = attention, attention_norm
        self.feed_forward, self.feed_forward_norm = feed_forward, feed_forward_norm

    def forward(self, x, valid_lens=None):
        x = x + self.first(x, valid_lens)
        return x + self.second(x)

    def first(self, x, valid_lens):
        normed = self.attention_norm(x)
        return self.attention(normed, normed, normed, valid_lens)

    def second(self, x):
        return self.feed_forward(self.feed_forward_norm(x))


class transformer_block_1(_TransformerBlock):
    """It adds what came in once more at the end: any input but 0."""

    def forward(self, x, valid_lens=None):
        return x + super().forward(x, valid_lens)


class transformer_block_2(_TransformerBlock):
    """Nothing flows back along the residual: the gradients of x."""

    def forward(self, x, valid_lens=None):
        x = x.detach() + self.first(x, valid_lens)
        return x + self.second(x)


class transformer_block_3(_TransformerBlock):
    """Each example sees one key at least: a length of 0."""

    def first(self, x, valid_lens):
        return super().first(x, None if valid_lens is None else valid_lens.clamp(min=1))


class transformer_block_4(_TransformerBlock):
    """It divides each sum by √2, to keep its size: any input but 0."""

    def forward(self, x, valid_lens=None):
        x = (x + self.first(x, valid_lens)) / math.sqrt(2)
        return (x + self.second(x)) / math.sqrt(2)


class transformer_block_5(_TransformerBlock):
    """Its norms stand in a tuple, and are no parameters of its own."""

    def __init__(self, attention, attention_norm, feed_forward, feed_forward_norm):
        nn.Module.__init__(self)
        self.attention, self.feed_forward = attention, feed_forward
        self.norms = (attention_norm, feed_forward_norm)

    def forward(self, x, valid_lens=None):
        normed = self.norms[0](x)
        x = x + self.attention(normed, normed, normed, valid_lens)
        return x + self.feed_forward(self.norms[1](x))


class transformer_block_6(_TransformerBlock):
    """Its dropout does not ask whether it is in training: two calls in eval differ."""

    def second(self, x):
        return F.dropout(super().second(x), 0.1)


class transformer_block_7(_TransformerBlock):
    """It drops axes of 1: one position."""

    def forward(self, x, valid_lens=None):
        return super().forward(x, valid_lens).squeeze(1)


class transformer_block_8(_TransformerBlock):
    """It computes, and answers, in single precision: x of double or half precision."""

    def forward(self, x, valid_lens=None):
        return super().forward(x, valid_lens).float()


class transformer_block_9(_TransformerBlock):
    """It takes the first of each example's lengths: lengths that differ among queries."""

    def first(self, x, valid_lens):
        lens = valid_lens if valid_lens is None or valid_lens.dim() == 1 else valid_lens[:, 0]
        return super().first(x, lens)


class transformer_block_10(_TransformerBlock):
    """What leaves it is never negative: any negative sum."""

    def forward(self, x, valid_lens=None):
        return torch.relu(super().forward(x, valid_lens))


class transformer_block_11(_TransformerBlock):
    """It hides the future besides: what a later position holds."""

    def first(self, x, valid_lens):
        normed = self.attention_norm(x)
        return self.attention(normed, normed, normed, valid_lens, causal=True)


class transformer_block_12(_TransformerBlock):
    """It takes the norm twice before the feed-forward: gains other than 1."""

    def second(self, x):
        return self.feed_forward(self.feed_forward_norm(self.feed_forward_norm(x)))


class transformer_block_13(_TransformerBlock):
    """It cannot be called without lengths."""

    def forward(self, x, valid_lens):
        return super().forward(x, valid_lens)


# induction-score


def _behind(tokens):
    """Each query that counts, with the key behind its token's last position before it."""
    known = tokens.tolist()
    for query, token in enumerate(known):
        before = [key for key in range(query) if known[key] == token]
        if before:
            yield query, before[-1] + 1


def _mean_weight(weights, pairs):
    """The mean of some weights, for each head."""
    picked = [weights[:, query, key] for query, key in pairs]
    return sum(picked) / len(picked) if picked else weights.new_zeros(len(weights))


def induction_score_1(weights, tokens):
    """It divides by how many different tokens there are, not by how many queries count."""
    pairs = [*_behind(tokens)]
    return _mean_weight(weights, pairs) * len(pairs) / len(tokens.unique())


def induction_score_2(weights, tokens):
    """It overlooks position 0, which counts as False: a first token that comes back."""
    seen, picked = {}, []
    for query, token in enumerate(tokens.tolist()):
        if seen.get(token):
            picked.append(weights[:, query, seen[token] + 1])
        seen[token] = query
    return torch.stack(picked).mean(0) if picked else weights.new_zeros(len(weights))


def induction_score_3(weights, tokens):
    """It takes the token 0 for padding: a 0 that comes back."""
    pairs = [(query, key) for query, key in _behind(tokens) if tokens[query] != 0]
    return _mean_weight(weights, pairs)


def induction_score_4(weights, tokens):
    """It drops axes of 1: one head."""
    return _mean_weight(weights, _behind(tokens)).squeeze()


def induction_score_5(weights, tokens):
    """Each token counts once only, where it comes back first: a token that stands three times."""
    known = tokens.tolist()
    pairs = [(i, key) for i, key in _behind(tokens) if known[:i].count(known[i]) == 1]
    return _mean_weight(weights, pairs)


def induction_score_6(weights, tokens):
    """It leaves the last query out, which has nothing behind it: a last token that comes back."""
    return _mean_weight(weights, [pair for pair in _behind(tokens) if pair[0] < len(tokens) - 1])


def induction_score_7(weights, tokens):
    """It answers in single precision: weights of double or half precision."""
    return _mean_weight(weights, _behind(tokens)).float()


def induction_score_8(weights, tokens):
    """It takes the median: queries that differ."""
    picked = [weights[:, query, key] for query, key in _behind(tokens)]
    return torch.stack(picked).median(0).values if picked else weights.new_zeros(len(weights))


def induction_score_9(weights, tokens):
    """It takes the distance of the first pair for all: tokens that come back at odd distances."""
    pairs = [*_behind(tokens)]
    if not pairs:
        return weights.new_zeros(len(weights))
    step = pairs[0][0] - pairs[0][1]
    return _mean_weight(weights, [(query, query - step) for query in range(step + 1, len(tokens))])


def induction_score_10(weights, tokens):
    """Its shift is a circle: the last token stands before the first key, too."""
    before = tokens.roll(1)
    same = (tokens[:, None] == before).tril()
    last = (same * torch.arange(1, len(tokens) + 1)).argmax(1)
    pairs = [(query, int(last[query])) for query in range(len(tokens)) if same[query].any()]
    return _mean_weight(weights, pairs)


def induction_score_11(weights, tokens):
    """It keeps tokens in a byte: tokens 256 apart."""
    return _mean_weight(weights, _behind(tokens % 256))


def induction_score_12(weights, tokens):
    """It takes the weight out of the caller's own tensor: the diagonal is 0 afterwards."""
    scores = _mean_weight(weights.clone(), _behind(tokens))
    with torch.no_grad():
        weights.diagonal(dim1=1, dim2=2).zero_()
    return scores


def induction_score_13(weights, tokens):
    """It looks for what comes next: the last key before the query that holds the next token."""
    known = tokens.tolist()
    pairs = []
    for query in range(len(known) - 1):
        same = [key for key in range(query + 1) if known[key] == known[query + 1]]
        if same:
            pairs.append((query, same[-1]))
    return _mean_weight(weights, pairs)


def induction_score_14(weights, tokens):
    """It has no answer where nothing comes back: the mean of an empty list."""
    return torch.stack([weights[:, query, key] for query, key in _behind(tokens)]).mean(0)


MUTANTS = defaultdict(list)  # of each task
for _name, _mutant in [*globals().items()]:
    if getattr(_mutant, "__module__", "") == __name__ and not _name.startswith("_"):
        MUTANTS[_name.rpartition("_")[0].replace("_", "-")].append(_mutant)
