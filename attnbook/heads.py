"""Heads: the features of one vector, split among several attentions, and merged again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnbook.checks import check_axes, check_heads, check_size

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

VECTORS = "(batch, num_positions, num_hiddens)"
HEADS = "(batch, num_heads, num_positions, head_size)"


def split_heads(
    vectors: Float[Tensor, "batch positions hiddens"], num_heads: int
) -> Float[Tensor, "batch heads positions head_size"]:
    """Cut each vector into equal parts, one per head, and put heads before positions.

    Raises:
        TypeError, ValueError: `vectors` has not three axes, or its last one cannot be
            divided by `num_heads`.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    check_axes("vectors", vectors, VECTORS)
    check_size("num_heads", num_heads)
    batch, num_positions, num_hiddens = vectors.shape
    check_heads("num_hiddens", num_hiddens, num_heads)
    parts = vectors.reshape(batch, num_positions, num_heads, num_hiddens // num_heads)
    return parts.transpose(1, 2)


def merge_heads(
    heads: Float[Tensor, "batch heads positions head_size"],
) -> Float[Tensor, "batch positions hiddens"]:
    """Put the heads' parts back into one vector per position: the way back of `split_heads`.

    Raises:
        TypeError, ValueError: `heads` has not four axes.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    check_axes("heads", heads, HEADS)
    parts = heads.transpose(1, 2)
    return parts.flatten(start_dim=2)
