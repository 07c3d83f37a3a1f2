"""Additive attention without a tensor of all scores or all weights.

If weights are not stored and there are many (`choose.streaming_pays`), a block of scores
(see `blocks`) becomes weights and output at once, and memory grows with queries and keys, not
with their product. A row of a block holds all keys that its query sees, so its softmax needs no
correction. The backward pass recomputes each block with its weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function

from attnbook.fused.additive import formula as score_formula
from attnbook.fused.blocks import (
    Block,
    Region,
    Sums,
    block_scores,
    blocks,
    flatten_heads,
    keys_to_score,
    match_inputs,
)
from attnbook.fused.fallback import gradients_by_formula, wants_formula
from attnbook.pooling import pool
from attnbook.weighting import weigh

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def streamed_additive_attention(
    queries: Float[Tensor, "batch *heads queries hiddens"],
    keys: Float[Tensor, "batch *heads keys hiddens"],
    weight: Float[Tensor, " hiddens"],
    values: Float[Tensor, "batch *heads keys value_size"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
) -> Float[Tensor, "batch *heads queries value_size"]:
    """Score projected queries and keys, weigh and pool, without storing weights."""
    inputs = queries, keys, weight, values, visible
    return _AdditiveAttention.apply(*inputs)  # type: ignore[no-any-return,no-untyped-call]


def _formula(
    queries: Tensor, keys: Tensor, weight: Tensor, values: Tensor, visible: Tensor | None
) -> Tensor:
    return pool(weigh(score_formula(queries, keys, weight, visible), visible), values)


class _AdditiveAttention(Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:  # noqa: ANN401
        ctx.save_for_backward(*inputs)
        queries, keys, _, values, visible = inputs
        q, k, w, v = (flatten_heads(tensor) for tensor in inputs[:4])
        mask = _flat_mask(visible, queries)
        output = q.new_zeros(*q.shape[:-1], v.shape[-1])
        for region, block in blocks(q, k, keys_to_score(visible, queries, keys)):
            output[region.examples, region.rows] = _weights(block, w, mask, region) @ _seen(
                v, region
            )
        return output.reshape(*queries.shape[:-1], v.shape[-1]).to(values.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        inputs = ctx.saved_tensors
        if wants_formula(grad):
            return gradients_by_formula(_formula, ctx.needs_input_grad, inputs, grad)
        return *_gradients(grad, *inputs), None


def _gradients(grad: Tensor, *inputs: Any) -> tuple[Tensor, ...]:  # noqa: ANN401
    queries, keys, _, _, visible = inputs
    grad, q, k, w, v = (flatten_heads(tensor) for tensor in (grad, *inputs[:4]))
    mask = _flat_mask(visible, queries)
    sums, for_v = Sums(*map(torch.zeros_like, (q, k, w))), torch.zeros_like(v)
    for region, block in blocks(q, k, keys_to_score(visible, queries, keys)):
        weights, g = _weights(block, w, mask, region), grad[region.examples, region.rows]
        for_v[region.examples, region.keys] += weights.transpose(-2, -1) @ g
        for_weights = g @ _seen(v, region).transpose(-2, -1)
        if mask is not None:
            # `for_weights` is infinite where a padded value is huge; infinity times 0 is NaN.
            for_weights = torch.where(_part(mask, region), for_weights, 0.0)
        share = (weights * for_weights).sum(dim=-1, keepdim=True)
        sums.add(region, block, weights * (for_weights - share))
    return match_inputs((*sums.gradients(w), for_v), inputs[:4])


def _weights(block: Block, w: Tensor, mask: Tensor | None, region: Region) -> Tensor:
    return weigh(block_scores(block, w), None if mask is None else _part(mask, region))


def _flat_mask(visible: Tensor | None, queries: Tensor) -> Tensor | None:
    """Repeat the mask for each head, as `flatten_heads` makes an example of each head."""
    if visible is None:
        return None
    return visible.expand(*queries.shape[:-2], *visible.shape[-2:]).flatten(0, -3)


def _part(mask: Tensor, region: Region) -> Tensor:
    rows = region.rows if mask.shape[-2] > 1 else slice(None)
    return mask[region.examples, rows, region.keys]


def _seen(values: Tensor, region: Region) -> Tensor:
    return values[region.examples, region.keys]
