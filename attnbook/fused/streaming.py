"""Additive attention of which neither scores nor weights are ever whole.

Where nobody reads the weights and there are many (`choice.streaming_pays`), a block of scores
(see `blocks`) becomes weights and output at once, and memory grows with queries and keys, no
longer with their product. A row of a
block holds all keys that its query sees, so its softmax needs no correction. The backward
pass makes each block, with its weights, again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function

from attnbook.fused.additive import formula as score_formula
from attnbook.fused.blocks import Block, Place, Sums, blocks, flat, like, scores_of, seen_by
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
    """Score projected queries and keys, weigh and pool, keeping no weights."""
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
        q, k, w, v = (flat(tensor) for tensor in inputs[:4])
        mask = _flat_mask(visible, queries)
        output = q.new_zeros(*q.shape[:-1], v.shape[-1])
        for place, block in blocks(q, k, seen_by(visible, queries, keys)):
            output[place.examples, place.rows] = _weights(block, w, mask, place) @ _seen(v, place)
        return output.reshape(*queries.shape[:-1], v.shape[-1]).to(values.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        inputs = ctx.saved_tensors
        if wants_formula(grad):
            return gradients_by_formula(_formula, ctx.needs_input_grad, inputs, grad)
        return *_gradients(grad, *inputs), None


def _gradients(grad: Tensor, *inputs: Any) -> tuple[Tensor, ...]:  # noqa: ANN401
    queries, keys, _, _, visible = inputs
    grad, q, k, w, v = (flat(tensor) for tensor in (grad, *inputs[:4]))
    mask = _flat_mask(visible, queries)
    sums = Sums(torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(w))
    for_v = torch.zeros_like(v)
    for place, block in blocks(q, k, seen_by(visible, queries, keys)):
        weights, g = _weights(block, w, mask, place), grad[place.examples, place.rows]
        for_v[place.examples, : place.seen] += weights.transpose(-2, -1) @ g
        for_weights = g @ _seen(v, place).transpose(-2, -1)
        if mask is not None:
            # Infinite where a padded value is huge; infinity times 0 would be NaN.
            for_weights = torch.where(_part(mask, place), for_weights, 0.0)
        share = (weights * for_weights).sum(dim=-1, keepdim=True)
        sums.add(place, block, weights * (for_weights - share))
    return like((*sums.gradients(w), for_v), inputs[:4])


def _weights(block: Block, w: Tensor, mask: Tensor | None, place: Place) -> Tensor:
    return weigh(scores_of(block, w), None if mask is None else _part(mask, place))


def _flat_mask(visible: Tensor | None, queries: Tensor) -> Tensor | None:
    """Give each head its copy of the mask, as `flat` gives it an example."""
    if visible is None:
        return None
    return visible.expand(*queries.shape[:-2], *visible.shape[-2:]).flatten(0, -3)


def _part(mask: Tensor, place: Place) -> Tensor:
    rows = place.rows if mask.shape[-2] > 1 else slice(None)
    return mask[place.examples, rows, : place.seen]


def _seen(values: Tensor, place: Place) -> Tensor:
    return values[place.examples, : place.seen]
