"""Heads: the features of one vector, split among several attentions, and merged again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

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

    Example:
        >>> split_heads(torch.ones(2, 5, 8), num_heads=4).shape
        torch.Size([2, 4, 5, 2])
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
    """Put the heads' parts back into one vector per position: the inverse of `split_heads`.

    Raises:
        TypeError, ValueError: `heads` has not four axes.

    Source: Vaswani et al. (2017), section 3.2.2.

    Example:
        >>> merge_heads(torch.ones(2, 4, 5, 2)).shape
        torch.Size([2, 5, 8])
    """
    check_axes("heads", heads, HEADS)
    parts = heads.transpose(1, 2)
    return parts.flatten(start_dim=2)


def share_keys(
    heads: Float[Tensor, "batch heads queries size"], num_kv_heads: int
) -> Float[Tensor, "batch kv_heads shared size"]:
    """Put the queries of heads that share their keys one after another, without a copy of keys.

    Head h reads the keys of head h // (num_heads / num_kv_heads): neighbours share.

    Returns:
        `(batch, num_kv_heads, num_heads / num_kv_heads · num_queries, size)`.

    Source: Ainslie et al. (2023), section 2.2; one head of keys for all is Shazeer (2019).

    Example:
        >>> from attnbook.heads import share_keys
        >>> share_keys(torch.ones(2, 8, 3, 4), num_kv_heads=2).shape
        torch.Size([2, 2, 12, 4])
    """
    batch, num_heads, num_queries, size = heads.shape
    return heads.reshape(batch, num_kv_heads, num_heads // num_kv_heads * num_queries, size)


def unshare_keys(
    shared: Float[Tensor, "batch kv_heads shared size"], num_heads: int
) -> Float[Tensor, "batch heads queries size"]:
    """Give each head its own rows again: the inverse of `share_keys`.

    Example:
        >>> from attnbook.heads import unshare_keys
        >>> unshare_keys(torch.ones(2, 2, 12, 4), num_heads=8).shape
        torch.Size([2, 8, 3, 4])
    """
    batch, num_kv_heads, num_rows, size = shared.shape
    return shared.reshape(batch, num_heads, num_rows // (num_heads // num_kv_heads), size)


def shares_keys(queries: Tensor, keys: Tensor) -> bool:
    """Whether several heads of queries are to share one head of keys."""
    if not (isinstance(queries, torch.Tensor) and isinstance(keys, torch.Tensor)):
        return False  # later checks refuse it by its name
    return queries.dim() == keys.dim() == 4 and queries.shape[1] != keys.shape[1]
