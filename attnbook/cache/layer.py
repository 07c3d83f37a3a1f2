"""What one layer needs of a cache: its keys and values, and the step that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from attnbook.checks import autocast_is_on, check_tensor, see_recipe

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from torch import Tensor


HEADS = "(batch, num_kv_heads, num_tokens, size)"


class CacheStep:
    """What the layers need to know of a step: where its tokens are stored, and what they see.

    Args:
        slots: where each token is stored, `(batch, num_tokens)`.
        real: booleans of the same shape, False for padding.
        positions: of the tokens, of the same shape.
        visible: which slots each token sees, booleans, `(batch, 1, num_tokens, num_slots)`.

    Example:
        >>> cache = KeyValueCache(1, batch=2, num_kv_heads=1, key_size=4, value_size=4)
        >>> with cache.step(3) as step:
        ...     _ = cache.layer(0).append(torch.ones(2, 1, 3, 4), torch.ones(2, 1, 3, 4))
        >>> step.positions
        tensor([[0, 1, 2],
                [0, 1, 2]])
    """

    first: int | None = None  # slot, where all rows store consecutive tokens
    sees_all = False  # whether each token sees all that its row has stored
    in_use: slice | None = None  # the slots that all tokens see, where these have no mask

    def __init__(
        self,
        slots: Int[Tensor, "batch tokens"],
        real: Bool[Tensor, "batch tokens"],
        positions: Int[Tensor, "batch tokens"],
        visible: Bool[Tensor, "batch one tokens slots"],
    ) -> None:
        self.slots, self.real, self.positions, self.visible = slots, real, positions, visible
        self.shape, self.num_slots = tuple(slots.shape), visible.shape[-1]


class LayerCache:
    """The keys and values of one layer, to be given to `MultiHeadAttention` as its `cache`.

    `KeyValueCache.layer` returns it. Keys are stored as they are compared with queries: after
    rotary encoding.

    Args:
        keys: `(batch, num_kv_heads, slots, key_size)`, where they are stored.
        values: `(batch, num_kv_heads, slots, value_size)`.
        step: the step that is open, if there is one.

    Source: as `KeyValueCache`.

    Example:
        >>> attention = MultiHeadAttention(8, 8, 8, num_hiddens=8, num_heads=2).eval()
        >>> cache = KeyValueCache(1, batch=1, num_kv_heads=2, key_size=4, value_size=4)
        >>> x = torch.ones(1, 3, 8)
        >>> with torch.no_grad(), cache.step(3):
        ...     attention(x, x, x, cache=cache.layer(0)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        keys: Float[Tensor, "batch kv_heads slots key_size"],
        values: Float[Tensor, "batch kv_heads slots value_size"],
        step: CacheStep | None = None,
    ) -> None:
        self.keys, self.values = keys, values
        self.open_step = step
        self.has_appended = False

    @property
    def step(self) -> CacheStep:
        """The open step.

        Raises:
            RuntimeError: there is none.
        """
        if self.open_step is None:
            raise RuntimeError(
                "a layer's cache must be used within `with cache.step(…)`, got no open step"
                + see_recipe("cache")
            )
        return self.open_step

    def append(
        self,
        keys: Float[Tensor, "batch kv_heads tokens key_size"],
        values: Float[Tensor, "batch kv_heads tokens value_size"],
    ) -> tuple[
        Float[Tensor, "batch kv_heads slots key_size"],
        Float[Tensor, "batch kv_heads slots value_size"],
    ]:
        """Store the keys and values of the step's tokens, and return those of all slots.

        Under autocast, whose dtype the cache need not have, they get that of the cache.

        Raises:
            TypeError, ValueError: another shape, dtype or device than the cache has, or tensors
                that need gradients, which a cache does not compute.
            RuntimeError: no step is open, or this layer has already appended in it.
        """
        step = self.step
        if self.has_appended:
            raise RuntimeError("each layer must append once in a step, got a second append")
        for name, new, stored in (("keys", keys, self.keys), ("values", values, self.values)):
            _check_new(name, new, stored, step.shape[1])
        first = None if torch.compiler.is_compiling() else step.first
        for new, stored in ((keys, self.keys), (values, self.values)):
            if first is not None:
                stored[:, :, first : first + new.shape[2]] = new
                continue
            at = step.slots[:, None, :, None].expand_as(new)
            real = step.real[:, None, :, None]
            stored.scatter_(2, at, torch.where(real, new, 0.0).to(stored.dtype))
        self.has_appended = True
        return self.keys[:, :, : step.num_slots], self.values[:, :, : step.num_slots]

    def clear(self, slots: Bool[Tensor, "batch slots"]) -> None:
        """Set the vectors in these slots to zero."""
        rows, columns = slots.nonzero(as_tuple=True)
        for stored in (self.keys, self.values):
            stored[rows, :, columns] = 0.0


def _check_new(name: str, new: Tensor, stored: Tensor, num_tokens: int) -> None:
    """Refuse keys or values that a cache cannot store for so many tokens."""
    expected = (*stored.shape[:2], num_tokens, stored.shape[3])
    is_dense = isinstance(new, torch.Tensor) and new.layout == torch.strided
    if not is_dense or tuple(new.shape) != expected:
        check_tensor(name, new, HEADS)
        raise ValueError(f"{name} must have shape {HEADS} = {expected}, got {tuple(new.shape)}")
    if new.dtype != stored.dtype and not _autocasts(new, stored):
        raise TypeError(f"{name} must have the cache's dtype, {stored.dtype}, got {new.dtype}")
    if new.device != stored.device:
        raise ValueError(f"{name} must be on the cache's device, {stored.device}, got {new.device}")
    if torch.is_grad_enabled() and new.requires_grad:
        raise ValueError(
            f"{name} must not require grad, as a cache stores only numbers, got "
            "requires_grad=True: generate within torch.no_grad()"
        )


def _autocasts(*tensors: Tensor) -> bool:
    """Whether autocast mixes the dtypes of these tensors; it leaves float64 as it is."""
    has_doubles = any(tensor.dtype == torch.float64 for tensor in tensors)
    return not has_doubles and autocast_is_on(tensors[0].device.type)
