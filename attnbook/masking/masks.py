"""Which positions may attend to which: masks from lengths and order. True means visible.

Other rules are in `rules`. Masks are joined by `&`: what one of them hides is hidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from attnbook.checks import (
    check_broadcasts,
    check_dense,
    check_device,
    check_flag,
    check_numbers,
    check_positions,
    describe_value,
    is_whole,
    see_recipe_of,
)
from attnbook.masking.lengths import lengths_for_queries, make_comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Bool, Int, Shaped
    from torch import Tensor


def length_mask(
    valid_lens: Shaped[Tensor, " batch"] | Shaped[Tensor, "batch queries"],
    shape: Sequence[int],
    device: torch.device | str | None = None,
) -> Bool[Tensor, "batch *ones keys"]:
    """Turn valid lengths into a mask over keys: True = visible, False = padding.

    The mask broadcasts against scores and is never larger than it must be: lengths
    `(batch,)` give one row per example, lengths `(batch, num_queries)` one per query.

    Args:
        valid_lens: how many keys, from the first, may be seen; whole numbers in
            [0, num_keys], shape `(batch,)` or `(batch, num_queries)`. A mask of zeros
            and ones is none: with as many queries as keys it would be read as lengths.
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is made; by default where `valid_lens` is.

    Returns:
        `(batch, [1,] 1 or num_queries, num_keys)`.

    Raises:
        TypeError: `valid_lens` is no tensor of whole numbers.
        ValueError: its shape fits neither form, or a length lies outside
            [0, num_keys] or is fractional. Lengths are read if they are on the CPU
            and nothing is being compiled or exported, or inside `checked()`.
            Unread lengths follow `position < length`: past the end means all
            keys; negative and NaN mean none.

    Example:
        >>> length_mask(torch.tensor([2, 3]), (2, 1, 4)).int().tolist()
        [[[1, 1, 0, 0]], [[1, 1, 1, 0]]]

    Source: Dive into Deep Learning, "Attention Scoring Functions", where these
    lengths are called `valid_lens` too.
    """
    check_shape(shape)
    lengths = lengths_for_queries("valid_lens", valid_lens, shape, device)
    return positions_of_keys(shape, lengths.device) < lengths


def causal_mask(
    shape: Sequence[int],
    device: torch.device | str | None = None,
    *,
    query_positions: Shaped[Tensor, "... queries"] | None = None,
    key_positions: Shaped[Tensor, "... keys"] | None = None,
) -> Bool[Tensor, "#batch *ones queries keys"]:
    """Hide the future: each query sees the keys up to its own position, and none after it.

    By default queries are at the last positions of the keys, so the last query sees every key.
    With as many queries as keys the mask is a triangle; one query of a decoder that has cached
    the keys of all earlier steps sees them all. With left padding, packed documents or a cache
    with free slots the index of a key is not its position: then pass the positions.

    Args:
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is made; by default on the CPU, or where positions are.
        query_positions, key_positions: the positions of queries and of keys, both or none,
            `(num_queries,)` and `(num_keys,)`, or with an axis of the batch before; not in half
            precision, which rounds them. Nothing else says then what comes first.

    Returns:
        `(1 or batch, [1,] num_queries, num_keys)`.

    Raises:
        TypeError, ValueError: positions have another type or shape; without them there are more
            queries than keys; no 3 or 4 axes.

    Example:
        >>> # Two queries, at the last two of three keys:
        >>> causal_mask((1, 2, 3)).int().tolist()
        [[[1, 1, 0], [1, 1, 1]]]

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    queries, keys = query_and_key_positions("causal", shape, device, query_positions, key_positions)
    return keys <= queries


def check_mask(
    mask: Bool[Tensor, "*axes queries keys"],
    shape: Sequence[int],
    device: torch.device,
    num_heads: int | None = None,
) -> Bool[Tensor, "#batch *ones keys"]:
    """Refuse a mask that does not fit the scores; give it as many axes as they have.

    Args:
        mask: True = visible; `(num_queries, num_keys)`, or with all axes of the scores. All
            but the last may be 1.
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is needed.
        num_heads: if given, the shape has three axes, and the mask may have one of heads, too.

    Raises:
        TypeError: it holds no booleans.
        ValueError: it does not broadcast to the shape, or has three axes where scores have four.
    """
    check_shape(shape)
    check_dense("mask", mask, "a tensor of booleans")
    check_numbers("mask", mask, device)
    if mask.dtype != torch.bool:
        rule = f"hold booleans, True where a key may be seen, got {mask.dtype}"
        raise TypeError(f"mask must {rule}: {explain_numbers()}{see_recipe_of('mask')}")
    check_broadcasts("mask", mask, shape, num_heads)
    return mask.to(device)[(None,) * (len(shape) - mask.dim())]


def explain_numbers(mask: str = "mask") -> str:
    """Say what to pass instead of a mask of numbers, for each meaning that they can have."""
    return (
        f"pass {mask} == 1 as mask= if 1 means visible and 0 hidden; {mask} == 0 if 0 means "
        f"visible and the rest hidden; {mask} as bias= if it is added to scores and hides nothing"
    )


def visible_keys(
    shape: Sequence[int],
    valid_lens: Shaped[Tensor, "batch *queries"] | None,
    causal: bool,
    device: torch.device,
    mask: Bool[Tensor, "*axes queries keys"] | None = None,
) -> Bool[Tensor, "#batch *ones keys"] | None:
    """Join lengths, order and a mask of the caller's in one; None where nothing is hidden."""
    check_flag("causal", causal)
    visible = None if valid_lens is None else length_mask(valid_lens, shape, device)
    if causal:
        visible = without_future(visible, shape, device)
    return visible if mask is None else intersect(visible, check_mask(mask, shape, device))


def intersect(
    visible: Bool[Tensor, "#batch *ones keys"] | None, other: Bool[Tensor, "#batch *axes keys"]
) -> Bool[Tensor, "#batch *axes keys"]:
    """Hide what either of two masks hides; None hides nothing."""
    return other if visible is None else visible & other


def without_future(
    visible: Bool[Tensor, "#batch *ones keys"] | None, shape: Sequence[int], device: torch.device
) -> Bool[Tensor, "#batch *axes keys"]:
    """Hide the future as well, where a mask (None: nothing) hides other keys already."""
    return intersect(visible, causal_mask(shape, device))


def count_visible(visible: Bool[Tensor, "#batch *ones keys"]) -> Int[Tensor, "#batch *ones"]:
    """Count the keys that each query sees."""
    return visible.sum(dim=-1)


def last_visible(visible: Bool[Tensor, "#batch *ones keys"]) -> Int[Tensor, "#batch *ones"]:
    """Count the keys up to the last one that each query sees: those after it can be left out."""
    if visible.shape[-1] == 0:
        return count_visible(visible)
    ends = torch.arange(1, visible.shape[-1] + 1, dtype=torch.int32, device=visible.device)
    return (visible * ends).amax(dim=-1)


def positions_of_keys(shape: Sequence[int], device: torch.device | str) -> Int[Tensor, " keys"]:
    """Return the positions of all keys."""
    return torch.arange(shape[-1], device=device)


def query_and_key_positions(
    rule: str,
    shape: Sequence[int],
    device: torch.device | str | None,
    query_positions: Shaped[Tensor, "... queries"] | None = None,
    key_positions: Shaped[Tensor, "... keys"] | None = None,
) -> tuple[Shaped[Tensor, "_ *ones queries one"], Shaped[Tensor, "_ *ones one keys"]]:
    """Line up the positions of queries and of keys; by default the last query is at the last key.

    Compared with each other they have the axes of the scores.
    """
    check_shape(shape)
    if (query_positions is None) != (key_positions is None):
        names = ["query_positions", "key_positions"]
        missing, given = names if query_positions is None else reversed(names)
        raise ValueError(f"{missing} must be given if {given} is given, got None")
    if query_positions is None or key_positions is None:
        check_own_keys(rule, shape)
        of_keys = positions_of_keys(shape, device or "cpu")
        of_queries = of_keys[shape[-1] - shape[-2] :]
    else:
        of_queries = given_positions("query_positions", query_positions, shape, -2, device)
        of_keys = given_positions("key_positions", key_positions, shape, -1, device)
        check_device("key_positions", of_keys, "query_positions", of_queries)
    return line_up(of_queries, of_keys, shape)


def line_up(
    of_queries: Shaped[Tensor, "... queries"],
    of_keys: Shaped[Tensor, "... keys"],
    shape: Sequence[int],
) -> tuple[Shaped[Tensor, "_ *ones queries one"], Shaped[Tensor, "_ *ones one keys"]]:
    """Give numbers of queries and of keys the axes of the scores, so that they can be compared."""
    queries, keys = (it if it.dim() == 2 else it[None] for it in (of_queries, of_keys))
    heads = (None,) * (len(shape) - 3)
    return queries[(slice(None), *heads, slice(None), None)], keys[(slice(None), *heads, None)]


def given_positions(
    name: str,
    positions: Shaped[Tensor, "... positions"],
    shape: Sequence[int],
    axis: int,
    device: torch.device | str | None,
) -> Shaped[Tensor, "... positions"]:
    """Refuse what is not one position for each query (axis -2) or key (axis -1)."""
    check_positions(name, positions)
    return make_comparable(_one_for_each(name, positions, shape, axis, device))


def _one_for_each(
    name: str,
    positions: Tensor,
    shape: Sequence[int],
    axis: int,
    device: torch.device | str | None,
) -> Tensor:
    """Refuse what is not one for each query or key, of all examples or of each."""
    check_numbers(name, positions, device)
    batch, count = shape[0], shape[axis]
    # Not `in`, of which torch.compile makes an untrue constant for some open sizes.
    for_all = positions.dim() == 1 and positions.shape[0] == count
    per_example = positions.dim() == 2 and positions.shape[0] == batch
    if not (for_all or (per_example and positions.shape[1] == count)):
        counted = f"{'num_queries' if axis == -2 else 'num_keys'}={count}"
        raise ValueError(
            f"{name} must have shape ({counted},) or (batch={batch}, {counted}), "
            f"got {tuple(positions.shape)}"
        )
    return positions if device is None else positions.to(device)


def check_valid(
    name: str,
    valid: Bool[Tensor, "... positions"],
    shape: Sequence[int],
    axis: int,
    device: torch.device | str | None,
) -> Bool[Tensor, "... positions"]:
    """Refuse what is not one boolean for each query (axis -2) or key (axis -1)."""
    check_dense(name, valid, "a tensor of booleans")
    if valid.dtype != torch.bool:
        raise TypeError(f"{name} must hold booleans, False for padding, got {valid.dtype}")
    return _one_for_each(name, valid, shape, axis, device)


def check_own_keys(rule: str, shape: Sequence[int]) -> None:
    """Refuse more queries than keys, where each query is at the position of a key."""
    num_queries, num_keys = shape[-2:]
    if num_queries > num_keys:
        raise ValueError(
            f"{rule} must have a key for each query, but got "
            f"num_queries={num_queries} and num_keys={num_keys}{see_recipe_of(rule)}"
        )


def check_shape(shape: Sequence[int]) -> None:
    """Refuse what is not a shape of scores."""
    rule = "shape must be (batch, [heads,] num_queries, num_keys)"
    if not isinstance(shape, tuple | list) or not all(map(is_whole, shape)):
        raise TypeError(f"{rule}, whole numbers, got {describe_value(shape)}")
    if len(shape) not in (3, 4):
        raise ValueError(f"{rule}, got {len(shape)} axes in {tuple(shape)}")
    if min(shape) < 0:
        raise ValueError(f"{rule}, each at least 0, got {tuple(shape)}")
