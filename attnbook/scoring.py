"""Scoring: how well does each key fit each query? One number per pair.

Every function here takes queries `(batch, [heads,] num_queries, query_size)` and
keys `(batch, [heads,] num_keys, key_size)` and returns scores
`(batch, [heads,] num_queries, num_keys)`. All refuse, with TypeError or ValueError,
tensors of another rank, differing batch or heads, mixed dtypes and integers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from attnbook.checks import (
    check_last_axis,
    check_queries_and_keys,
    check_scale,
    check_weight,
    check_width,
)

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


def dot_score(
    queries: Float[Tensor, "batch *heads queries size"],
    keys: Float[Tensor, "batch *heads keys size"],
) -> Float[Tensor, "batch *heads queries keys"]:
    """Score by the dot product: q · k.

    Raises:
        ValueError: `query_size` and `key_size` differ.

    Source: Luong, Pham and Manning (2015), "dot".

    Example:
        >>> dot_score(torch.ones(1, 1, 4), torch.ones(1, 3, 4))
        tensor([[[4., 4., 4.]]])
    """
    check_queries_and_keys(queries, keys)
    check_last_axis("keys", keys, "query_size", queries.shape[-1])
    return queries @ keys.transpose(-2, -1)


def scaled_dot_score(
    queries: Float[Tensor, "batch *heads queries size"],
    keys: Float[Tensor, "batch *heads keys size"],
    scale: float | None = None,
) -> Float[Tensor, "batch *heads queries keys"]:
    """Score by the scaled dot product: q · k / √d, where d = query_size = key_size.

    Args:
        scale: what to multiply q · k by, instead of 1 / √d; positive and finite.

    Raises:
        TypeError, ValueError: `query_size` and `key_size` differ, or `scale` is not positive.

    Source: Vaswani et al. (2017), equation 1 (our d is their d_k).

    Example:
        >>> queries, keys = torch.ones(1, 1, 4), torch.ones(1, 3, 4)
        >>> scaled_dot_score(queries, keys)
        tensor([[[2., 2., 2.]]])
        >>> scaled_dot_score(queries, keys, scale=1.0)
        tensor([[[4., 4., 4.]]])
    """
    check_queries_and_keys(queries, keys)
    check_last_axis("keys", keys, "query_size", queries.shape[-1])
    if scale is not None:
        check_scale(scale)
    return scaled_products(queries, keys, scale)


def scaled_products(queries: Tensor, keys: Tensor, scale: float | None) -> Tensor:
    """Score as `scaled_dot_score` does what is checked already."""
    # Dividing first avoids overflow in half precision, from 65520 on.
    scaled = queries / math.sqrt(queries.shape[-1]) if scale is None else queries * scale
    return scaled @ keys.transpose(-2, -1)


def bilinear_score(
    queries: Float[Tensor, "batch *heads queries query_size"],
    keys: Float[Tensor, "batch *heads keys key_size"],
    weight: Float[Tensor, "query_size key_size"],
) -> Float[Tensor, "batch *heads queries keys"]:
    """Score by a learned dot product: qᵀ W k. The two sizes may differ.

    Raises:
        ValueError: `weight` is not `(query_size, key_size)`.

    Source: Luong, Pham and Manning (2015), "general" (our W is their W_a).

    Example:
        >>> bilinear_score(torch.ones(1, 1, 2), torch.ones(1, 3, 5), weight=torch.ones(2, 5))
        tensor([[[10., 10., 10.]]])
    """
    check_queries_and_keys(queries, keys)
    expected = (queries.shape[-1], keys.shape[-1])
    check_weight(weight, "(query_size, key_size)", expected, queries)
    return queries @ weight @ keys.transpose(-2, -1)


def additive_score(
    queries: Float[Tensor, "batch *heads queries hiddens"],
    keys: Float[Tensor, "batch *heads keys hiddens"],
    weight: Float[Tensor, " hiddens"],
) -> Float[Tensor, "batch *heads queries keys"]:
    """Score by a small network: wᵀ tanh(q + k), for projected queries and keys.

    Project them first, each with its own matrix: that is how vectors of different
    sizes meet, in `num_hiddens` numbers. `AdditiveAttention` does it.

    Raises:
        ValueError: queries, keys and `weight` do not all have `num_hiddens` numbers.

    Source: Bahdanau, Cho and Bengio (2015), appendix A.1.2 (our weight is their v_a).

    Example:
        >>> queries, keys = torch.zeros(1, 2, 8), torch.zeros(1, 3, 8)
        >>> additive_score(queries, keys, weight=torch.ones(8)).shape
        torch.Size([1, 2, 3])
    """
    check_queries_and_keys(queries, keys)
    check_last_axis("keys", keys, "num_hiddens", queries.shape[-1])
    check_weight(weight, "(num_hiddens,)", (queries.shape[-1],), queries)
    return additive_features(queries, keys) @ weight


def additive_features(
    queries: Float[Tensor, "batch *heads queries hiddens"],
    keys: Float[Tensor, "batch *heads keys hiddens"],
) -> Float[Tensor, "batch *heads queries keys hiddens"]:
    """Compute the hidden units of the additive score for every pair: tanh(q + k).

    Example:
        >>> from attnbook.scoring import additive_features
        >>> additive_features(torch.zeros(1, 2, 8), torch.zeros(1, 3, 8)).shape
        torch.Size([1, 2, 3, 8])
    """
    # (…, queries, 1, hiddens) + (…, 1, keys, hiddens): every pair at once
    return torch.tanh(queries.unsqueeze(-2) + keys.unsqueeze(-3))


def gaussian_score(
    queries: Float[Tensor, "batch *heads queries size"],
    keys: Float[Tensor, "batch *heads keys size"],
    width: float | Float[Tensor, ""] = 1.0,
) -> Float[Tensor, "batch *heads queries keys"]:
    """Score by closeness: -‖q - k‖² / (2 width²), the exponent of a Gaussian kernel.

    Args:
        width: positive; how far a query attends, in the units of queries and keys.
            A tensor, so that it can be learned, is not read.

    Raises:
        ValueError: `query_size` and `key_size` differ, or `width` is not positive.

    Source: Nadaraya (1964) and Watson (1964), with a Gaussian kernel.

    Example:
        >>> gaussian_score(torch.tensor([[[0.0]]]), torch.tensor([[[0.0], [1.0], [2.0]]]))
        tensor([[[-0.0000, -0.5000, -2.0000]]])
    """
    check_queries_and_keys(queries, keys)
    check_last_axis("keys", keys, "query_size", queries.shape[-1])
    check_width(width)
    # (…, queries, 1, size) - (…, 1, keys, size): every pair at once
    distance = (queries.unsqueeze(-2) - keys.unsqueeze(-3)) / width
    return -distance.square().sum(dim=-1) / 2
