"""More masks: windows, prefixes, packed documents, left padding.

In every mask True means visible, and masks of several rules are joined by `&`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from attnbook.checks import describe_value, is_whole, see_recipe
from attnbook.masking.lengths import check_whole, lengths_for_queries
from attnbook.masking.masks import (
    causal_mask,
    check_own_keys,
    check_shape,
    check_valid,
    given_positions,
    line_up,
    positions_of_keys,
    query_and_key_positions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Bool, Int, Shaped
    from torch import Tensor

FARTHEST = 2**62  # no position is further away; torch's integers end at twice as much


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

    Example:
        >>> start_mask(torch.tensor([0, 2]), (2, 1, 4)).int().tolist()
        [[[1, 1, 1, 1]], [[0, 0, 1, 1]]]

    Source: PyTorch and Hugging Face, where a batch that generates is padded on this side.
    """
    check_shape(shape)
    lengths = lengths_for_queries("starts", starts, shape, device)
    return positions_of_keys(shape, lengths.device) >= lengths


def window_mask(
    shape: Sequence[int],
    window: int | None,
    ahead: int | None = 0,
    device: torch.device | str | None = None,
    *,
    query_positions: Shaped[Tensor, "... queries"] | None = None,
    key_positions: Shaped[Tensor, "... keys"] | None = None,
) -> Bool[Tensor, "#batch *ones queries keys"]:
    """Show each query the keys near its own position, and none further away.

    By default queries are at the last positions of the keys, as for `causal_mask`.

    Args:
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        window: how many keys up to its own a query sees, its own included; None means all.
        ahead: how many keys after its own; None means all. A window to both sides, two keys
            each, has `window=3` and `ahead=2`.
        device: where the mask is made; by default on the CPU, or where positions are.
        query_positions, key_positions: as for `causal_mask`; `window` and `ahead` count them.

    Returns:
        `(1 or batch, [1,] num_queries, num_keys)`.

    Raises:
        TypeError, ValueError: `window` or `ahead` is neither None nor a whole number, of at
            least 1 and 0, or as for `causal_mask`.

    Example:
        >>> window_mask((1, 4, 4), window=2).int()[0]
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [0, 1, 1, 0],
                [0, 0, 1, 1]], dtype=torch.int32)

    Source: Beltagy, Peters and Cohan (2020), section 3.1.
    """
    window, ahead = read_reach("window", window, 1), read_reach("ahead", ahead)
    queries, keys = query_and_key_positions(
        "a window", shape, device, query_positions, key_positions
    )
    apart = keys - queries
    return (apart > -window) & (apart <= ahead)


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

    Example:
        >>> prefix_mask(torch.tensor([2]), (1, 4, 4)).int()[0]
        tensor([[1, 1, 0, 0],
                [1, 1, 0, 0],
                [1, 1, 1, 0],
                [1, 1, 1, 1]], dtype=torch.int32)

    Source: Raffel et al. (2020), section 3.2.1.
    """
    check_shape(shape)
    prefix = lengths_for_queries("prefix_lens", prefix_lens, shape, device)
    return (positions_of_keys(shape, prefix.device) < prefix) | causal_mask(shape, prefix.device)


def document_mask(
    documents: Int[Tensor, "... keys"],
    shape: Sequence[int],
    device: torch.device | str | None = None,
    *,
    query_documents: Int[Tensor, "... queries"] | None = None,
) -> Bool[Tensor, "#batch *ones queries keys"]:
    """Separate packed documents: each position sees only its own document.

    By default queries are at the last positions of the keys, as for `causal_mask`, and belong
    to the document of the key at their position.

    Args:
        documents: the document that each key belongs to, any whole numbers, shape
            `(num_keys,)` for all examples or `(batch, num_keys)`.
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is made; by default where `documents` are.
        query_documents: the document of each query, `(num_queries,)` or
            `(batch, num_queries)`, where the keys are in any order. Positions cannot replace
            it: those of packed documents begin again in each.

    Returns:
        `(1 or batch, [1,] num_queries, num_keys)`.

    Raises:
        TypeError, ValueError: documents are no tensors of whole numbers or have another
            shape, there are more queries than keys and no documents of queries, or no 3
            or 4 axes.

    Example:
        >>> document_mask(torch.tensor([0, 0, 1]), (1, 3, 3)).int()[0]
        tensor([[1, 1, 0],
                [1, 1, 0],
                [0, 0, 1]], dtype=torch.int32)

    Source: Raffel et al. (2020), section 3.1.2, pack examples so; Krell et al. (2021) hide the
    others.
    """
    check_shape(shape)
    of_keys = _given_documents("documents", documents, shape, -1, device)
    if query_documents is None:
        check_own_keys("documents", shape)
        of_queries = of_keys[..., shape[-1] - shape[-2] :]
    else:
        of_queries = _given_documents("query_documents", query_documents, shape, -2, device)
    queries, keys = line_up(of_queries, of_keys, shape)
    return queries == keys


def position_mask(  # noqa: PLR0913 - one argument for each part of the rule
    query_positions: Shaped[Tensor, "... queries"],
    key_positions: Shaped[Tensor, "... keys"],
    shape: Sequence[int],
    device: torch.device | str | None = None,
    *,
    valid: Bool[Tensor, "... keys"] | None = None,
    query_documents: Int[Tensor, "... queries"] | None = None,
    key_documents: Int[Tensor, "... keys"] | None = None,
    window: int | None = None,
    sinks: int = 0,
) -> Bool[Tensor, "#batch *ones queries keys"]:
    """Join padding, documents, order, a window and sinks in one rule about positions.

    A query sees a key that is no padding, belongs to its document, and is not after it; with a
    window, only if the key is among the last `window` positions up to its own, or among the
    first `sinks`. The index of a key says nothing, so the keys may be in any order: padded on
    the left, packed, or in a cache whose free slots are used again.

    Args:
        query_positions, key_positions: positions in the text, from 0 at its first real token,
            `(num_queries,)` and `(num_keys,)`, or with an axis of the batch before.
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is made; by default where positions are.
        valid: booleans, False for padding and free slots, `(num_keys,)` or
            `(batch, num_keys)`.
        query_documents, key_documents: as for `document_mask`, both or none.
        window: how many positions a query sees, its own included; None means all.
        sinks: how many first positions each query also sees.

    Returns:
        `(1 or batch, [1,] num_queries, num_keys)`.

    Raises:
        TypeError, ValueError: an argument has the wrong type, shape or range.

    Example:
        >>> positions = torch.tensor([0, 0, 1, 2])
        >>> real = torch.tensor([False, True, True, True])
        >>> last, shape = torch.tensor([2]), (1, 1, 4)
        >>> options = {"valid": real, "window": 2}
        >>> mask = position_mask(last, positions, shape, **options)
        >>> mask.int().tolist()
        [[[0, 0, 1, 1]]]

    Source: Beltagy, Peters and Cohan (2020) for windows, Xiao et al. (2024) for sinks.
    """
    queries, keys = query_and_key_positions(
        "positions", shape, device, query_positions, key_positions
    )
    if sinks is None:
        raise TypeError("sinks must be a whole number, got None")
    sinks = read_reach("sinks", sinks)
    if window is not None:
        window = read_reach("window", window, 1)
    if (query_documents is None) != (key_documents is None):
        names = ["query_documents", "key_documents"]
        missing, given = names if query_documents is None else reversed(names)
        raise ValueError(f"{missing} must be given if {given} is given, got None")
    if query_documents is not None and key_documents is not None:
        of_queries = _given_documents("query_documents", query_documents, shape, -2, device)
        of_keys = _given_documents("key_documents", key_documents, shape, -1, device)
        query_documents, key_documents = line_up(of_queries, of_keys, shape)
    if valid is not None:
        of_keys = check_valid("valid", valid, shape, -1, device)
        valid = line_up(of_keys, of_keys, shape)[1]
    return visible_positions(
        queries,
        keys,
        valid=valid,
        query_documents=query_documents,
        key_documents=key_documents,
        window=window,
        sinks=sinks,
    )


def visible_positions(  # noqa: PLR0913 - one argument for each part of the rule
    query_positions: Shaped[Tensor, "_ *ones queries one"],
    key_positions: Shaped[Tensor, "_ *ones one keys"],
    *,
    valid: Bool[Tensor, "_ *ones one keys"] | None,
    query_documents: Int[Tensor, "_ *ones queries one"] | None,
    key_documents: Int[Tensor, "_ *ones one keys"] | None,
    window: int | None,
    sinks: int,
) -> Bool[Tensor, "#batch *ones queries keys"]:
    """Apply the rule of `position_mask` to what is checked, lined up and at most `FARTHEST`."""
    visible = key_positions <= query_positions
    if window is not None:
        near = key_positions > query_positions - window
        visible = visible & (near | (key_positions < sinks))
    if query_documents is not None:
        visible = visible & (query_documents == key_documents)
    return visible if valid is None else visible & valid


def _given_documents(
    name: str, documents: Tensor, shape: Sequence[int], axis: int, device: torch.device | str | None
) -> Tensor:
    check_whole(name, documents)
    if documents.is_floating_point():
        rule = f"hold whole numbers, got {documents.dtype}"
        raise TypeError(f"{name} must {rule}{see_recipe('packed documents')}")
    return given_positions(name, documents, shape, axis, device)


def read_reach(name: str, reach: int | None, least: int = 0) -> int:
    """Refuse what is neither None nor a count of positions; None is `FARTHEST`, the most."""
    if reach is None:
        return FARTHEST
    see = see_recipe("window")
    if not is_whole(reach):
        raise TypeError(f"{name} must be a whole number or None, got {describe_value(reach)}{see}")
    if reach < least:
        raise ValueError(f"{name} must be at least {least}, got {reach}{see}")
    return min(reach, FARTHEST)
