"""Additive scores: by `blocks`, or by `kernels` inside a layer that is being compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function

from attnbook.fused.blocks import score_gradients, score_in_blocks
from attnbook.fused.fallback import gradients_by_formula, wants_formula
from attnbook.fused.kernels import compiled_score
from attnbook.masking.padding import zero_hidden
from attnbook.scoring import additive_features

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def fast_additive_score(
    queries: Float[Tensor, "batch *heads queries hiddens"],
    keys: Float[Tensor, "batch *heads keys hiddens"],
    weight: Float[Tensor, " hiddens"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
) -> Float[Tensor, "batch *heads queries keys"]:
    """Score projected queries and keys by wᵀ tanh(q + k), for the keys that are visible.

    The content of padded keys is not used, and their scores mean nothing.
    """
    inputs = queries, keys, weight, visible
    if torch.compiler.is_compiling():
        return compiled_score(*inputs)  # type: ignore[no-any-return]
    return _AdditiveScore.apply(*inputs)  # type: ignore[no-any-return,no-untyped-call]


def formula(queries: Tensor, keys: Tensor, weight: Tensor, visible: Tensor | None) -> Tensor:
    """Score as it is written down; padded keys may hold anything."""
    keys = zero_hidden(keys, visible)
    return additive_features(queries, keys) @ weight


class _AdditiveScore(Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:  # noqa: ANN401
        ctx.save_for_backward(*inputs)
        return score_in_blocks(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        inputs = ctx.saved_tensors
        if wants_formula(grad):
            return gradients_by_formula(formula, ctx.needs_input_grad, inputs, grad)
        return *score_gradients(grad, *inputs), None
