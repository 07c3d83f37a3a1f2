"""More masks: windows, prefixes, packed documents, left padding.

In every mask True means visible, and masks of several rules are joined by `&`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnbook.checks import is_whole
from attnbook.masking.lengths import check_whole, lengths_for_queries, make_comparable
from attnbook.masking.masks import (
    causal_mask,
    check_own_keys,
    check_shape,
    positions_of_keys,
    query_and_key_positions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from jaxtyping import Bool, Int, Shaped
    from torch import Tensor


def start_mask(
    starts: Shaped[Tensor, " batch"] | Shaped[Tensor, "batch queries"],
    shape: Sequence[int],
    device: torch.device | str | None = None,
) -> Bool[Tensor, "batch *ones keys"]:
    """Hide left padding: keys may be seen from a start on, and none before it.

    Args:
        starts: where the valid keys begin, or how many are padding; whole numbers in
            [0, num_keys], shape `(batch,)` or `(batch, num_queries)`.
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is made; by default where `starts` is.

    Returns:
        `(batch, [1,] 1 or num_queries, num_keys)`.

    Raises:
        TypeError, ValueError: as `length_mask` does for lengths.

    Source: PyTorch and Hugging Face, where a batch that generates is padded on this side.
    """
    check_shape(shape)
    lengths = lengths_for_queries("starts", starts, shape, device)
    return positions_of_keys(shape, lengths.device) >= lengths


def window_mask(
    shape: Sequence[int],
    back: int | None,
    ahead: int | None = 0,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "ones *ones queries keys"]:
    """Show each query the keys near its own position, and none further away.

    Queries are at the last positions of the keys, as for `causal_mask`.

    Args:
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        back: how many keys before its own a query sees; None means all. Its own is seen too,
            so the window that other libraries call 3 has `back=2`.
        ahead: how many keys after its own; None means all.
        device: where the mask is made; by default on the CPU.

    Returns:
        `(1, [1,] num_queries, num_keys)`, the same for each example.

    Raises:
        TypeError, ValueError: `back` or `ahead` is neither None nor a whole number of at
            least 0, there are more queries than keys, or no 3 or 4 axes.

    Source: Beltagy, Peters and Cohan (2020), section 3.1.
    """
    _check_reach("back", back)
    _check_reach("ahead", ahead)
    queries, keys = query_and_key_positions("a window", shape, device)
    num_keys = shape[-1]
    near = keys >= queries - (num_keys if back is None else back)
    near = near & (keys <= queries + (num_keys if ahead is None else ahead))
    return near[(None,) * (len(shape) - 2)]


def prefix_mask(
    prefix_lens: Shaped[Tensor, " batch"] | Shaped[Tensor, "batch queries"],
    shape: Sequence[int],
    device: torch.device | str | None = None,
) -> Bool[Tensor, "batch *ones queries keys"]:
    """Show every query a prefix of the keys, and of the others those up to its own position.

    Use it instead of a causal mask, which would hide later positions of the prefix.

    Args:
        prefix_lens: how many keys, from the first, every query sees; whole numbers in
            [0, num_keys], shape `(batch,)` or `(batch, num_queries)`.
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is made; by default where `prefix_lens` is.

    Returns:
        `(batch, [1,] num_queries, num_keys)`.

    Raises:
        TypeError, ValueError: as `length_mask` does for lengths, and `causal_mask`.

    Source: Raffel et al. (2020), section 3.2.1.
    """
    check_shape(shape)
    prefix = lengths_for_queries("prefix_lens", prefix_lens, shape, device)
    return (positions_of_keys(shape, prefix.device) < prefix) | causal_mask(shape, prefix.device)


def document_mask(
    documents: Int[Tensor, " keys"] | Int[Tensor, "batch keys"],
    shape: Sequence[int],
    device: torch.device | str | None = None,
) -> Bool[Tensor, "#batch *ones queries keys"]:
    """Separate packed documents: each position sees only its own document.

    Queries are at the last positions of the keys, as for `causal_mask`, and belong to the
    document of the key at their position.

    Args:
        documents: the document that each key belongs to, any whole numbers, shape
            `(num_keys,)` for all examples or `(batch, num_keys)`.
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is made; by default where `documents` are.

    Returns:
        `(1 or batch, [1,] num_queries, num_keys)`.

    Raises:
        TypeError, ValueError: `documents` are no tensor of whole numbers or have another
            shape, there are more queries than keys, or no 3 or 4 axes.

    Source: Raffel et al. (2020), section 3.5.1 pack examples so; Krell et al. (2021) hide the
    others.
    """
    check_shape(shape)
    check_own_keys("documents", shape)
    check_whole("documents", documents)
    if documents.is_floating_point():
        raise TypeError(f"documents must hold whole numbers, got {documents.dtype}")
    batch, num_queries, num_keys = shape[0], shape[-2], shape[-1]
    if tuple(documents.shape) not in ((num_keys,), (batch, num_keys)):
        raise ValueError(
            f"documents must have shape (num_keys={num_keys},) or "
            f"(batch={batch}, num_keys={num_keys}), got {tuple(documents.shape)}"
        )
    of_keys = make_comparable(documents if device is None else documents.to(device))
    of_keys = of_keys if of_keys.dim() == 2 else of_keys[None]
    same = of_keys[:, num_keys - num_queries :, None] == of_keys[:, None]
    return same if len(shape) == 3 else same[:, None]


def _check_reach(name: str, reach: int | None) -> None:
    if reach is None:
        return
    if not is_whole(reach):
        raise TypeError(f"{name} must be a whole number or None, got {reach!r}")
    if reach < 0:
        raise ValueError(f"{name} must be at least 0, got {reach}")
