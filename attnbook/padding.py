"""Padding: what no query may see is put aside, so that it never matters what it holds.

A weight of 0 is not enough. In the output and in every gradient padding is multiplied by 0,
and 0 times NaN, or times infinity, is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from torch import Tensor


def without_padding(
    vectors: Float[Tensor, "batch *heads keys size"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
) -> Float[Tensor, "batch *heads keys size"]:
    """Zero the vectors that no query may see, whatever they hold; None means that all are seen."""
    if visible is None:
        return vectors
    return torch.where(_seen_by_any(visible), vectors, 0.0)


def without_unseen(
    queries: Float[Tensor, "batch *heads queries query_size"],
    keys: Float[Tensor, "batch *heads keys key_size"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
) -> tuple[Tensor, Tensor]:
    """Put aside what makes scores that are never used, so that any score can take the rest.

    The first key stands in for keys that no query may see: it is seen if any is, and what
    fits one key fits any score. (Zeros do not: the cosine of a zero is no number.) Ones
    stand in for queries that see nothing, and for keys where nothing is seen.
    """
    if visible is None:
        return queries, keys
    seen = _seen_by_any(visible)
    first = torch.where(seen[..., :1, :], keys[..., :1, :], 1.0)
    sees = visible.any(dim=-1, keepdim=True)
    return torch.where(sees, queries, 1.0), torch.where(seen, keys, first)


def _seen_by_any(visible: Tensor) -> Tensor:
    """Say for each key, in a row of its own, whether some query may see it."""
    seen = visible if visible.shape[-2] == 1 else visible.any(dim=-2, keepdim=True)
    return seen.transpose(-2, -1)
