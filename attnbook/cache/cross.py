"""The keys and values of a text that is complete, for cross-attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from attnbook.cache.layer import HEADS
from attnbook.checks import check_axes
from attnbook.masking.masks import check_valid

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from torch import Tensor


class CrossCache:
    """The keys and values of a text that is complete, such as an encoder's output.

    `MultiHeadAttention.project_keys` makes it, and `MultiHeadAttention.attend` takes it.

    Args:
        keys: `(batch, num_kv_heads, num_keys, key_size)`, projected.
        values: `(batch, num_kv_heads, num_keys, value_size)`, projected.
        valid: booleans, False for padding, `(num_keys,)` or `(batch, num_keys)`; None means that
            there is none.

    Raises:
        TypeError, ValueError: an argument has another type or shape.

    Source: Vaswani et al. (2017), section 3.2.3, where a decoder attends to an encoder's output.

    Example:
        >>> attention = MultiHeadAttention(8, 8, 8, num_hiddens=8, num_heads=2).eval()
        >>> memory = torch.ones(1, 5, 8)
        >>> cache = attention.project_keys(memory, memory)
        >>> cache.keys.shape, attention.attend(torch.ones(1, 1, 8), cache).shape
        (torch.Size([1, 2, 5, 4]), torch.Size([1, 1, 8]))
    """

    sees_all, in_use = False, None  # as of a `CacheStep`

    def __init__(
        self,
        keys: Float[Tensor, "batch kv_heads keys key_size"],
        values: Float[Tensor, "batch kv_heads keys value_size"],
        valid: Bool[Tensor, "... keys"] | None = None,
    ) -> None:
        axes = HEADS.replace("tokens", "keys")
        check_axes("keys", keys, axes)
        check_axes("values", values, axes)
        if keys.shape[:3] != values.shape[:3]:
            raise ValueError(
                f"values must be as many as keys, {tuple(keys.shape[:3])}, got "
                f"{tuple(values.shape[:3])} in shape {tuple(values.shape)}"
            )
        self.keys, self.values = keys, values
        self.visible: Tensor | None = None  # (1 or batch, 1, 1, keys)
        if valid is not None:
            batch, _, num_keys, _ = keys.shape
            real = check_valid("valid", valid, (batch, 1, num_keys), -1, keys.device)
            real = real if real.dim() == 2 else real[None]
            self.visible = real[:, None, None]
            # Padding may hold anything.
            self.keys, self.values = (
                torch.where(real[:, None, :, None], tensor, 0.0) for tensor in (keys, values)
            )
