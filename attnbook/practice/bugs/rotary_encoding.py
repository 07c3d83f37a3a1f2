"""Known bugs of the task rotary-encoding."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.rotary_encoding import angles_of, task


def _turned(vectors: Tensor, angles: Tensor) -> Tensor:
    """Neighbours turned by given angles."""
    a, b = vectors.double()[..., 0::2], vectors.double()[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return turned.flatten(-2).to(vectors.dtype)


@task.bug(
    symptom="Shuffled words get the same answer.",
    origin="accepted by TorchCode's judge",
    mend="turn each pair by its angle.",
    case="as many positions as heads",
)
def not_turned_at_all(vectors: Tensor, positions: Tensor) -> Tensor:  # noqa: ARG001 - the fault
    """the vectors come back as they are."""
    return vectors.clone()


@task.bug(
    symptom="Positions that are about 6 apart look the same.",
    origin="accepted by TorchCode's judge",
    mend="divide positions by 10000^(2i/size), which grows from pair to pair.",
    case="as many positions as heads",
)
def one_speed_for_all_pairs(vectors: Tensor, positions: Tensor) -> Tensor:
    """all pairs are turned by the position itself, the angle of the first pair."""
    return _turned(vectors, positions.double()[:, None])


@task.bug(
    symptom="It trains well, and weights trained elsewhere give nonsense here.",
    origin="nanochat#264",
    mend="pair neighbours, `vectors[..., 0::2]` and `vectors[..., 1::2]`, as the task says.",
    case="as many positions as heads",
)
def halves_paired(vectors: Tensor, positions: Tensor) -> Tensor:
    """number i is paired with number i + size/2, where neighbours are asked for."""
    a, b = vectors.double().chunk(2, dim=-1)
    angles = angles_of(positions, vectors.shape[-1])
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).to(vectors.dtype)


@task.bug(
    symptom="Vectors change their lengths, and equal distances give unequal scores.",
    origin="how-to-train-your-gpt#6",
    mend="let the signs go with the angles: -b, a, -d, c for neighbours.",
    case="as many positions as heads",
)
def halves_turned_by_the_angles_of_neighbours(vectors: Tensor, positions: Tensor) -> Tensor:
    """the angles are laid out for neighbours, and the quarter turn is taken between halves."""
    angles = angles_of(positions, vectors.shape[-1]).repeat_interleave(2, dim=-1)
    first, second = vectors.double().chunk(2, dim=-1)
    ahead = torch.cat([-second, first], dim=-1)
    return (vectors * angles.cos() + ahead * angles.sin()).to(vectors.dtype)


@task.bug(
    symptom="Queries and keys turned by two libraries do not meet.",
    origin="a common slip",
    mend="make a · cos t - b · sin t of the first, and a · sin t + b · cos t of the second.",
    case="as many positions as heads",
)
def turned_the_other_way(vectors: Tensor, positions: Tensor) -> Tensor:
    """the signs of the sines are exchanged, and every pair is turned the other way."""
    return _turned(vectors, -angles_of(positions, vectors.shape[-1]))


@task.bug(
    symptom="Vectors change their lengths a little.",
    origin="a common slip",
    mend="keep both old numbers until both new ones are made.",
    case="as many positions as heads",
)
def the_first_overwritten_too_soon(vectors: Tensor, positions: Tensor) -> Tensor:
    """the first of each pair is overwritten before the second is computed from it."""
    angles, turned = angles_of(positions, vectors.shape[-1]), vectors.double()
    b, cos, sin = turned[..., 1::2], angles.cos(), angles.sin()
    a = turned[..., 0::2] * cos - b * sin
    return torch.stack([a, a * sin + b * cos], dim=-1).flatten(-2).to(vectors.dtype)


@task.bug(
    symptom="Position 0, where nothing should turn, is turned by a quarter.",
    origin="a common slip",
    mend="multiply each number's own part by the cosine, and the other one's by the sine.",
    case="as many positions as heads",
)
def sine_and_cosine_exchanged(vectors: Tensor, positions: Tensor) -> Tensor:
    """the sine stands where the cosine should, and the cosine where the sine should."""
    angles = angles_of(positions, vectors.shape[-1])
    a, b = vectors.double()[..., 0::2], vectors.double()[..., 1::2]
    cos, sin = angles.sin(), angles.cos()
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2).to(vectors.dtype)


@task.bug(
    symptom="It trains well, and writes nonsense as soon as a cache is used.",
    origin="a common slip",
    mend="use the positions that are given; queries after a cache do not begin at 0.",
    case="positions out of order, one of them twice",
)
def counted_from_zero(vectors: Tensor, positions: Tensor) -> Tensor:
    """the given positions are not used: the vectors are taken to stand at 0, 1, 2 and so on."""
    return _turned(vectors, angles_of(torch.arange(len(positions)), vectors.shape[-1]))


@task.bug(
    symptom="Scores depend on where a pair of words stands, not only on how far apart.",
    origin="a common slip",
    mend="multiply: a rotary encoding turns vectors, and adds nothing to them.",
    case="as many positions as heads",
)
def added(vectors: Tensor, positions: Tensor) -> Tensor:
    """sines and cosines are added to the vectors, as a sinusoidal encoding is."""
    angles = angles_of(positions, vectors.shape[-1])
    encoding = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return vectors + encoding.to(vectors.dtype)


@task.bug(
    symptom="Heads are told apart, and positions are not.",
    origin="a common slip: code for (batch, num_positions, num_heads, size)",
    mend="let the angles stand along axis 2, that of positions.",
    case="as many positions as heads",
)
def turned_along_the_heads(vectors: Tensor, positions: Tensor) -> Tensor:
    """the angles are laid along the axis of heads, as if positions stood there."""
    return _turned(vectors, angles_of(positions, vectors.shape[-1])[:, None])


@task.bug(
    symptom="With a model in half precision, queries and values no longer have one dtype.",
    origin="a common slip",
    mend="end with `.to(vectors.dtype)`: cosines and sines are wider than the vectors.",
    case="half precision",
)
def left_in_single_precision(vectors: Tensor, positions: Tensor) -> Tensor:
    """half-precision vectors come back in single precision, that of the sines and cosines."""
    wide = torch.promote_types(vectors.dtype, torch.float32)
    return _turned(vectors.to(wide), angles_of(positions, vectors.shape[-1]))


@task.bug(
    symptom="Far from the beginning, equal distances give unequal scores.",
    origin="a common slip",
    mend="use `.double()` for positions and speeds, and narrow only cosines and sines.",
    case="positions around 100,000",
)
def angles_in_single_precision(vectors: Tensor, positions: Tensor) -> Tensor:
    """the angles are computed in single precision, which has seven digits for all their turns."""
    speeds = 10000 ** -(torch.arange(0, vectors.shape[-1], 2) / vectors.shape[-1])
    return _turned(vectors, positions[:, None] * speeds)
