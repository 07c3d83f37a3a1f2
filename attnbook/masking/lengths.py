"""Lengths: whole numbers of visible keys, or of the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import torch

from attnbook.checks import check_dense, check_numbers, see_recipe, see_recipe_of
from attnbook.reading import numbers_to_refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Shaped
    from torch import Tensor


def lengths_for_queries(
    name: str,
    lengths: Shaped[Tensor, " batch"] | Shaped[Tensor, "batch queries"],
    shape: Sequence[int],
    device: torch.device | str | None,
) -> Shaped[Tensor, "batch *ones one"]:
    """Check lengths and line them up with scores: `(batch, [1,] 1 or num_queries, 1)`."""
    check_lengths(name, lengths, shape)
    check_numbers(name, lengths, device)
    if (numbers := numbers_to_refuse(lengths)) is not None:
        _check_in_range(name, numbers, shape[-1])
    per_query = lengths if lengths.dim() == 2 else lengths.unsqueeze(1)
    lined_up = make_comparable(per_query if device is None else per_query.to(device)).unsqueeze(-1)
    return lined_up if len(shape) == 3 else lined_up[:, None]


def check_lengths(name: str, lengths: Tensor, shape: Sequence[int]) -> None:
    """Refuse lengths of the wrong type or shape; no value is read."""
    if isinstance(lengths, torch.Tensor) and lengths.dtype == torch.bool:
        fix = f"booleans are a mask, which layers take as mask={see_recipe('convert a mask')}"
        raise TypeError(f"{name} must hold whole numbers, got {lengths.dtype}: {fix}")
    check_whole(name, lengths)
    batch, num_queries = shape[0], shape[-2]
    # Not `in`, of which torch.compile makes an untrue constant for some open sizes.
    per_example = lengths.dim() == 1 and lengths.shape[0] == batch
    per_query = lengths.dim() == 2 and lengths.shape[0] == batch and lengths.shape[1] == num_queries
    if not (per_example or per_query):
        raise ValueError(
            f"{name} must have shape (batch={batch},) or "
            f"(batch={batch}, num_queries={num_queries}), got {tuple(lengths.shape)}"
            + see_recipe_of(name)
        )


def check_whole(name: str, numbers: Tensor) -> None:
    """Refuse what is no tensor of whole numbers; no value is read."""
    check_dense(name, numbers, "a tensor of whole numbers")
    if numbers.dtype == torch.bool or numbers.is_complex():
        raise TypeError(f"{name} must hold whole numbers, got {numbers.dtype}")


def _check_in_range(name: str, given: Tensor, num_keys: int) -> None:
    few = given.numel() <= 64 and not given.is_floating_point()
    numbers = given.flatten().tolist() if few else [-1]  # faster than two kernels
    if not given.numel() or (min(numbers) >= 0 and max(numbers) <= num_keys):
        return
    lengths = make_comparable(given)
    lowest, highest = torch.aminmax(lengths)
    # A comparison with NaN is false, so NaN is outside too.
    if not (lowest.item() >= 0 and highest.item() <= num_keys):
        inside = (lengths >= 0) & (lengths <= num_keys)
        _refuse_first(name, given, ~inside, f"lie in [0, num_keys={num_keys}]")
    if lengths.is_floating_point() and not torch.equal(lengths, lengths.round()):
        _refuse_first(name, given, lengths != lengths.round(), "be whole numbers")


def _refuse_first(name: str, given: Tensor, wrong: Tensor, rule: str) -> NoReturn:
    index = tuple(wrong.nonzero()[0].tolist())
    raise ValueError(
        f"{name} must {rule}, got {given[index].item()} at index {index}{see_recipe_of(name)}"
    )


def make_comparable(lengths: Tensor) -> Tensor:
    """Give whole numbers a dtype in which they can be compared with positions."""
    # Compared in half precision, positions past 256 would be rounded; unsigned
    # 16 to 64-bit integers cannot be compared with positions at all.
    if not lengths.is_floating_point():
        return lengths.long()
    return lengths.float() if lengths.dtype.itemsize < 4 else lengths
