"""Who may be seen: lengths and order become a mask. In every mask True means visible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

import torch

from attnbook.checks import check_flag
from attnbook.transforms import beneath, has_numbers

if TYPE_CHECKING:
    from jaxtyping import Bool, Shaped
    from torch import Tensor

_check_everywhere: ContextVar[bool] = ContextVar("attnbook_checked", default=False)


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

    Source: Dive into Deep Learning, "Attention Scoring Functions", where these
    lengths are called `valid_lens` too.
    """
    _check_axes(shape)
    check_valid_lens(valid_lens, shape)
    if _may_read(valid_lens):
        _check_lengths_in_range(beneath(valid_lens), shape[-1])
    per_query = valid_lens if valid_lens.dim() == 2 else valid_lens.unsqueeze(1)
    lengths = _comparable(per_query if device is None else per_query.to(device))
    positions = torch.arange(shape[-1], device=lengths.device)
    visible = positions < lengths.unsqueeze(-1)
    return visible if len(shape) == 3 else visible[:, None]


def causal_mask(
    shape: Sequence[int], device: torch.device | str | None = None
) -> Bool[Tensor, "ones *ones queries keys"]:
    """Hide the future: each query sees the keys up to its own position, and none after it.

    Queries stand at the last positions of the keys, so the last query sees every key. With
    as many queries as keys the mask is a triangle; one query of a decoder that has kept the
    keys of all earlier steps sees them all.

    Args:
        shape: the scores' shape, `(batch, [heads,] num_queries, num_keys)`.
        device: where the mask is made; by default on the CPU.

    Returns:
        `(1, [1,] num_queries, num_keys)`, the same for each example.

    Raises:
        ValueError: there are more queries than keys, or no 3 or 4 axes.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    _check_axes(shape)
    num_queries, num_keys = shape[-2:]
    if num_queries > num_keys:
        raise ValueError(
            "causal must have a key for each query, but got "
            f"num_queries={num_queries} and num_keys={num_keys}"
        )
    positions = torch.arange(num_keys, device=device or "cpu")
    visible = positions <= positions[num_keys - num_queries :, None]
    return visible[(None,) * (len(shape) - 2)]


def visible_keys(
    shape: Sequence[int],
    valid_lens: Shaped[Tensor, "batch *queries"] | None,
    causal: bool,
    device: torch.device,
) -> Bool[Tensor, "#batch *ones keys"] | None:
    """Join both rules, lengths and order, in one mask; None where neither hides a key."""
    check_flag("causal", causal)
    visible = None if valid_lens is None else length_mask(valid_lens, shape, device)
    return without_future(visible, shape, device) if causal else visible


def without_future(
    visible: Bool[Tensor, "#batch *ones keys"] | None, shape: Sequence[int], device: torch.device
) -> Bool[Tensor, "#batch *axes keys"]:
    """Hide the future as well, where a mask (None: nothing) hides other keys already."""
    order = causal_mask(shape, device)
    return order if visible is None else visible & order


def seen_keys(visible: Bool[Tensor, "#batch *ones keys"]) -> Shaped[Tensor, "#batch *ones"]:
    """Count the keys that each query sees: the first ones, whatever hides the others."""
    return visible.sum(dim=-1)


@contextmanager
def checked() -> Iterator[None]:
    """Read every `valid_lens` while this is open, on a GPU and in compiled layers too.

    Outside, lengths on a GPU and lengths in a compiled layer are not read, so that
    nothing waits for them. Inside, compiled layers run uncompiled, and a GPU is
    waited for. A program made by `torch.export` has no checks left to run. Open it
    outside compiled code, and once in each thread that is to be checked.

    >>> with checked():
    ...     output = layer(queries, keys, values, valid_lens)  # doctest: +SKIP
    """
    _uncompiled.enter()  # refuses to be opened inside a compiled function
    token = _check_everywhere.set(True)
    try:
        yield
    finally:
        _check_everywhere.reset(token)
        _uncompiled.leave()


class _Uncompiled:
    """Compiled layers run uncompiled from the first `enter` to the last `leave`.

    torch has one stance for all threads. Were each block to restore the one it
    found, two that overlap could leave everything uncompiled for good.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._blocks = 0
        self._stance = ExitStack()

    def enter(self) -> None:
        with self._lock:
            if self._blocks == 0:
                self._stance.enter_context(torch.compiler.set_stance("force_eager"))
            self._blocks += 1

    def leave(self) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0:
                self._stance.close()


_uncompiled = _Uncompiled()


def _check_axes(shape: Sequence[int]) -> None:
    if len(shape) not in (3, 4):
        raise ValueError(
            "shape must be (batch, [heads,] num_queries, num_keys), "
            f"got {len(shape)} axes in {tuple(shape)}"
        )


def check_valid_lens(valid_lens: Tensor, shape: Sequence[int]) -> None:
    """Refuse lengths of the wrong type or shape; no value is read."""
    if not isinstance(valid_lens, torch.Tensor):
        raise TypeError(
            f"valid_lens must be a tensor of whole numbers, got {type(valid_lens).__name__}"
        )
    if valid_lens.dtype == torch.bool or valid_lens.is_complex():
        raise TypeError(f"valid_lens must hold whole numbers, got {valid_lens.dtype}")
    batch, num_queries = shape[0], shape[-2]
    if tuple(valid_lens.shape) not in ((batch,), (batch, num_queries)):
        raise ValueError(
            f"valid_lens must have shape (batch={batch},) or "
            f"(batch={batch}, num_queries={num_queries}), got {tuple(valid_lens.shape)}"
        )


def _may_read(valid_lens: Tensor) -> bool:
    return has_numbers(valid_lens) and (valid_lens.is_cpu or _check_everywhere.get())


def _check_lengths_in_range(valid_lens: Tensor, num_keys: int) -> None:
    few = valid_lens.numel() <= 64 and not valid_lens.is_floating_point()
    numbers = valid_lens.flatten().tolist() if few else [-1]  # faster than two kernels
    if not valid_lens.numel() or (min(numbers) >= 0 and max(numbers) <= num_keys):
        return
    lengths = _comparable(valid_lens)
    lowest, highest = torch.aminmax(lengths)
    # A comparison with NaN is false, so NaN is outside too.
    if not (lowest.item() >= 0 and highest.item() <= num_keys):
        inside = (lengths >= 0) & (lengths <= num_keys)
        _refuse_first(valid_lens, ~inside, f"lie in [0, num_keys={num_keys}]")
    if lengths.is_floating_point() and not torch.equal(lengths, lengths.round()):
        _refuse_first(valid_lens, lengths != lengths.round(), "be whole numbers")


def _refuse_first(valid_lens: Tensor, wrong: Tensor, rule: str) -> NoReturn:
    index = tuple(wrong.nonzero()[0].tolist())
    raise ValueError(f"valid_lens must {rule}, got {valid_lens[index].item()} at index {index}")


def _comparable(lengths: Tensor) -> Tensor:
    # Compared in half precision, positions past 256 would be rounded; unsigned
    # 16 to 64-bit integers cannot be compared with positions at all.
    if not lengths.is_floating_point():
        return lengths.long()
    return lengths.float() if lengths.dtype.itemsize < 4 else lengths
