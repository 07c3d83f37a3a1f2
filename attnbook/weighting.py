"""Weighting: scores become attention weights; padding and empty rows get exactly zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from attnbook.checks import (
    SCORES,
    check_broadcasts,
    check_dense,
    check_device,
    check_dtype,
    check_tensor,
    see_recipe,
)
from attnbook.masking.masks import visible_keys, without_future
from attnbook.reading import numbers_to_refuse
from attnbook.torch_private import is_transformed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Bool, Float, Shaped
    from torch import Tensor


def masked_softmax(
    scores: Float[Tensor, "batch *heads queries keys"],
    valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
    *,
    causal: bool = False,
    mask: Bool[Tensor, "*axes queries keys"] | None = None,
) -> Float[Tensor, "batch *heads queries keys"]:
    """Turn scores into attention weights, giving padding exactly zero.

    Each row sums to one; the row of a query with nothing to attend to is all
    zeros, so what it pools is zero too. `scores` is left untouched, and no
    gradient reaches padding.

    Args:
        scores: any finite numbers, `(batch, [heads,] num_queries, num_keys)`.
            At padding they may be infinite or NaN: they are never used. A visible
            -inf gets weight 0; a row with a visible inf or NaN is NaN, and so is
            one that sees keys, and -inf at all of them.
        valid_lens: how many keys may be seen, `(batch,)` for each example or
            `(batch, num_queries)` for each query; None means all. Not a mask of 0 and 1,
            which would be read as lengths.
        causal: whether a query sees no key after its own position, as `causal_mask`
            says.
        mask: booleans, True where a key may be seen, `(num_queries, num_keys)` or with all
            axes of the scores, each but the last that long or 1. Lengths, order and mask
            hold together.

    Returns:
        Weights in [0, 1], of the scores' shape and dtype.

    Raises:
        TypeError, ValueError: `scores` is not a floating-point tensor of 3 or 4
            axes, or lengths, order or mask do not fit it.

    Source: Dive into Deep Learning, "Attention Scoring Functions" (where an
    empty row gets uniform weights instead).

    Example:
        >>> masked_softmax(torch.zeros(2, 1, 4), valid_lens=torch.tensor([2, 0]))
        tensor([[[0.5000, 0.5000, 0.0000, 0.0000]],
                [[0.0000, 0.0000, 0.0000, 0.0000]]])
    """
    check_tensor("scores", scores, SCORES)
    return weigh(scores, visible_keys(scores.shape, valid_lens, causal, scores.device, mask))


def weigh(
    scores: Float[Tensor, "batch *heads queries keys"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
) -> Float[Tensor, "batch *heads queries keys"]:
    """Turn scores into weights, where the mask says which keys are visible; None means all.

    Example:
        >>> from attnbook.weighting import weigh
        >>> weigh(torch.zeros(1, 1, 4), visible=torch.tensor([[[True, False, True, False]]]))
        tensor([[[0.5000, 0.0000, 0.5000, 0.0000]]])
    """
    if visible is None:
        return torch.softmax(scores, dim=-1)
    # -inf lies below every finite score, in every dtype. A row of nothing
    # else would be NaN, so an empty row holds zeros until it is cleared.
    has_keys = visible.any(dim=-1, keepdim=True)
    padding_score = torch.where(has_keys, -math.inf, 0.0).to(scores.dtype)
    filled = torch.where(visible, scores, padding_score)
    weights = torch.softmax(filled, dim=-1)
    # Clears empty rows. In others it changes no weight, but it stops what
    # flows back from padding values: infinity times 0 would be NaN.
    return torch.where(visible, weights, 0.0)


def add_bias(
    scores: Float[Tensor, "batch *heads queries keys"],
    bias: Float[Tensor, "*axes keys"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
) -> Float[Tensor, "batch *heads queries keys"]:
    """Add a bias to the scores, as `Attention.forward` takes it. Numbers at padding are not used.

    In float16 the largest sum of each row is subtracted from the row, which changes no weight.

    Raises:
        TypeError, ValueError: `bias` does not fit the scores; or it is NaN or inf at a visible
            key, or -inf at all of a query's. Its numbers are read where lengths are read, except
            within `torch.func` transforms.

    Example:
        >>> from attnbook.weighting import add_bias
        >>> add_bias(torch.ones(1, 2, 2), torch.tensor([[0.0, -1.0], [2.0, 0.0]]), visible=None)
        tensor([[[1., 0.], [3., 1.]]])
    """
    check_bias(bias, scores.shape, scores, visible)
    if scores.dtype == bias.dtype == torch.float16 and scores.shape[-1] > 0:
        return _add_in_float32(scores, bias, visible).to(scores.dtype)
    return scores + bias


def check_bias(
    bias: Tensor,
    shape: Sequence[int],
    like: Tensor,
    visible: Tensor | None,
    *,
    causal: bool = False,
) -> None:
    """Refuse a bias that does not fit scores of this shape, of the dtype and device of a tensor."""
    check_dense("bias", bias)
    if not bias.is_floating_point():
        raise TypeError(
            f"bias must hold floating-point numbers, which are added to the scores, got "
            f"{bias.dtype}; booleans are a mask=" + see_recipe("bias")
        )
    check_broadcasts("bias", bias, shape)
    check_device("bias", bias, "scores", like)
    check_dtype("bias", bias, "scores", like)
    readable = not is_transformed() and numbers_to_refuse(bias) is not None
    # Almost always all numbers are finite, and their sum tells it quickly.
    if readable and math.prod(shape) > 0 and not math.isfinite(bias.sum().item()):
        seen = without_future(visible, shape, bias.device) if causal else visible
        _check_rows(bias.detach(), seen)


def _add_in_float32(scores: Tensor, bias: Tensor, visible: Tensor | None) -> Tensor:
    """Add numbers whose sum may be too large for float16, such as its lowest number and -20."""
    added = scores.float() + bias
    seen = added if visible is None else torch.where(visible, added, -math.inf)
    return added - seen.detach().amax(dim=-1, keepdim=True)


def _check_rows(bias: Tensor, visible: Tensor | None) -> None:
    """Refuse a row that would be NaN: each query that sees keys needs a finite bias at one."""
    seen = bias if visible is None else torch.where(visible, bias, -math.inf)
    largest = seen.amax(dim=-1)
    wrong = ~largest.isfinite()
    if visible is not None:
        wrong = wrong & visible.any(dim=-1)
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(
            "bias must be finite or -inf, and finite for one of the keys that a query sees, got "
            f"a largest number of {largest[index].item()} at index {index}" + see_recipe("bias")
        )
