"""Padding: what no query may see is replaced, so that its content has no effect.

A weight of 0 is not enough. In the output and in every gradient padding is multiplied by 0,
and 0 times NaN, or times infinity, is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from torch import Tensor


def zero_hidden(
    vectors: Float[Tensor, "batch *heads keys size"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
) -> Float[Tensor, "batch *heads keys size"]:
    """Zero the vectors that no query may see, whatever they hold; None means that all are seen."""
    if visible is None:
        return vectors
    return torch.where(visible_to_any(visible, vectors), vectors, 0.0)


def replace_hidden(
    queries: Float[Tensor, "batch *heads queries query_size"],
    keys: Float[Tensor, "batch *kv_heads keys key_size"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
    from_first: bool = True,
) -> tuple[Tensor, Tensor]:
    """Replace vectors whose scores are never used by vectors that any score can take.

    The first key that some query sees replaces keys that no query may see: a score that takes
    one key takes it again. (Zeros would not do: the cosine of a zero vector is NaN.) Ones
    replace queries that see nothing, and keys where nothing is seen. Lengths and order leave
    the first of all keys visible, if any (`from_first`); then no search is needed.
    """
    if visible is None:
        return queries, keys
    key_visible = visible_to_any(visible, keys)
    any_visible = visible.any(dim=-1, keepdim=True)
    return torch.where(any_visible, queries, 1.0), torch.where(
        key_visible, keys, _replacement_key(keys, key_visible, from_first)
    )


def _replacement_key(keys: Tensor, visible: Tensor, from_first: bool) -> Tensor:
    if from_first or keys.shape[-2] == 0:
        return torch.where(visible[..., :1, :], keys[..., :1, :], 1.0)
    any_visible, first = visible.byte().max(dim=-2, keepdim=True)  # the first of the largest
    of_numbers = first.expand(*keys.shape[:-2], 1, keys.shape[-1])
    # Not take_along_dim, which makes a constant of a size that a program leaves open.
    chosen = keys.detach().gather(-2, of_numbers)  # the replacement gets no gradient
    return torch.where(any_visible.bool(), chosen, 1.0)


def visible_to_any(
    visible: Bool[Tensor, "#batch *ones keys"], keys: Float[Tensor, "batch *heads keys size"]
) -> Bool[Tensor, "... keys one"]:
    """Return for each key, in a row of its own, whether some query may see it.

    Several heads of queries may share one head of keys.
    """
    if visible.shape[-2] != 1:
        visible = visible.any(dim=-2, keepdim=True)
    if keys.dim() == 4 and visible.shape[1] not in (1, keys.shape[1]):
        grouped = (keys.shape[1], visible.shape[1] // keys.shape[1], *visible.shape[2:])
        visible = visible.reshape(visible.shape[0], *grouped).any(dim=2)
    return visible.transpose(-2, -1)
