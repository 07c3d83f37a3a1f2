"""Position: attention does not see it by itself, so encodings put it into the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from attnbook.checks import check_dense, check_numbers, check_size, check_vectors

if TYPE_CHECKING:
    from jaxtyping import Float, Shaped
    from torch import Tensor

SLOWEST = 10_000.0
"""The wavelengths grow from 2π positions to this many times as much."""
WITHOUT_FLOAT64 = ("mps",)  # Apple's GPUs


def sinusoidal_encoding(
    positions: int | Shaped[Tensor, " positions"],
    size: int,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "positions size"]:
    """Give each position a vector of sines and cosines, to be added to its token's vector.

    The numbers 2i and 2i + 1 of position p are the sine and the cosine of p / 10000^(2i/size).
    An odd size ends with a sine.

    Args:
        positions: how many, from 0, or the positions themselves, `(num_positions,)`.
        size: of a vector, at least 1.
        device, dtype: of the result; by default torch's own, or the device of given positions.

    Returns:
        `(num_positions, size)`, in [-1, 1].

    Raises:
        TypeError, ValueError: an argument has the wrong type, shape or range.

    Source: Vaswani et al. (2017), section 3.5.
    """
    check_size("size", size)
    dtype = torch.get_default_dtype() if dtype is None else dtype
    _check_float_type(dtype)
    if not isinstance(positions, torch.Tensor):
        check_size("positions", positions)
        device = device or torch.empty(0).device  # torch's default
        positions = torch.arange(positions, device="cpu")
    _check_positions(positions)
    check_numbers("positions", positions, device)
    turns = angles(positions.to(_angle_device(positions.device)), size)
    encoding = torch.stack([turns.sin(), turns.cos()], dim=-1).flatten(-2)
    return encoding[:, :size].to(dtype).to(device or positions.device)


def rotary_encoding(
    vectors: Float[Tensor, "*batch positions size"],
    positions: Shaped[Tensor, " positions"] | None = None,
) -> Float[Tensor, "*batch positions size"]:
    """Turn queries, or keys, by angles that grow with their position.

    The pair of numbers 2i and 2i + 1 at position p is turned by p / 10000^(2i/size). So the
    dot product of a query and a key depends only on how far apart their positions are.
    The last number of an odd size stays as it is.

    Args:
        vectors: `(…, num_positions, size)`; with an axis of heads, split them first.
        positions: the positions of the vectors, `(num_positions,)`; by default 0, 1, 2 and so
            on. Queries that follow cached keys have later positions.

    Returns:
        Vectors of the same shape, dtype and lengths.

    Raises:
        TypeError, ValueError: an argument has the wrong type or shape.

    Source: Su et al. (2021), section 3.2.2.
    """
    check_vectors(vectors)
    num_positions, size = vectors.shape[-2:]
    angle_device = _angle_device(vectors.device)
    if positions is None:
        positions = torch.arange(num_positions, device=angle_device)
    _check_positions(positions, num_positions)
    turns = angles(positions.to(angle_device), size)[..., : size // 2]
    wide = torch.promote_types(vectors.dtype, torch.float32)
    cos, sin = (turn.to(wide).to(vectors.device) for turn in (turns.cos(), turns.sin()))
    paired = size // 2 * 2
    first, second = vectors[..., 0:paired:2].to(wide), vectors[..., 1:paired:2].to(wide)
    turned = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
    return torch.cat([turned.flatten(-2).to(vectors.dtype), vectors[..., paired:]], dim=-1)


def _angle_device(device: torch.device) -> torch.device:
    """The device that computes the angles: the given one, or the CPU if that has no float64."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def angles(positions: Shaped[Tensor, " positions"], size: int) -> Float[Tensor, "positions pairs"]:
    """The angle of each pair of numbers at each position: p / 10000^(2i/size)."""
    # In float32 the angle of position 100,000 would be wrong in its third decimal.
    pairs = torch.arange(0, size, 2, device=positions.device, dtype=torch.float64)
    return positions.double()[:, None] / SLOWEST ** (pairs / size)


def _check_float_type(dtype: torch.dtype) -> None:
    """Refuse a dtype that would round to whole numbers."""
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point type, got {dtype!r}")


def _check_positions(positions: torch.Tensor, num_positions: int | None = None) -> None:
    """Refuse positions that are not one number per vector."""
    check_dense("positions", positions, "a tensor of numbers")
    if positions.dtype == torch.bool or positions.is_complex():
        raise TypeError(f"positions must hold real numbers, got {positions.dtype}")
    count = positions.shape[0] if positions.dim() == 1 and num_positions is None else num_positions
    if tuple(positions.shape) != (count,):
        shape = (
            f"(num_positions={num_positions},)" if num_positions is not None else "(num_positions,)"
        )
        raise ValueError(f"positions must have shape {shape}, got {tuple(positions.shape)}")
