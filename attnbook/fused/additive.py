"""Additive scores: which code computes them, and their gradients.

The plain formula for small tensors, `blocks` for larger ones, `kernels` inside a layer
that is being compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from attnbook.fused.blocks import score, score_gradients
from attnbook.fused.kernels import compiled_score
from attnbook.fused.twins import is_untouched, needs_twin, twin_gradients
from attnbook.masking import without_padding
from attnbook.scoring import additive_features

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

# From how many hidden units on blocks win over the plain formula, as `make bench` measured:
# in inference, in training, and in training with one query, where nothing is multiplied up.
SMALLEST, SMALLEST_TRAINING, SMALLEST_OF_ONE = 2**16, 2**18, 2**21


def additive_score(
    queries: Float[Tensor, "batch *heads queries hiddens"],
    keys: Float[Tensor, "batch *heads keys hiddens"],
    weight: Float[Tensor, " hiddens"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
) -> Float[Tensor, "batch *heads queries keys"]:
    """Score projected queries and keys by wᵀ tanh(q + k), for the keys that are visible.

    What a padded key holds is not used; what it scores means nothing.
    """
    inputs = queries, keys, weight, visible
    if is_small(*inputs[:3]) or needs_twin(queries, keys, weight) or torch.compiler.is_exporting():
        return plain_score(*inputs)
    if torch.compiler.is_compiling():
        return compiled_score(*inputs)  # type: ignore[no-any-return]
    return _AdditiveScore.apply(*inputs)  # type: ignore[no-any-return,no-untyped-call]


def is_small(queries: Tensor, keys: Tensor, *others: Tensor) -> bool:
    """Whether the plain formula is faster."""
    smallest = SMALLEST
    if torch.is_grad_enabled() and any(t.requires_grad for t in (queries, keys, *others)):
        smallest = SMALLEST_OF_ONE if queries.shape[-2] == 1 else SMALLEST_TRAINING
    return queries.numel() * keys.shape[-2] < max(smallest, 1)


def is_plain(linear: nn.Module) -> bool:
    """Whether a layer is nothing but the product with its weight."""
    return type(linear) is nn.Linear and linear.bias is None and is_untouched(linear)


def plain_score(queries: Tensor, keys: Tensor, weight: Tensor, visible: Tensor | None) -> Tensor:
    """Score by the formula as it stands; padded keys may hold anything."""
    # What padding scores is masked later; only a gradient could carry it further.
    if visible is not None and torch.is_grad_enabled():
        keys = without_padding(keys, visible)
    return additive_features(queries, keys) @ weight


class _AdditiveScore(Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:  # noqa: ANN401
        ctx.save_for_backward(*inputs)
        return score(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        inputs = ctx.saved_tensors
        if torch.is_grad_enabled():
            return twin_gradients(plain_score, ctx.needs_input_grad, inputs, grad)
        return *score_gradients(grad, *inputs), None
