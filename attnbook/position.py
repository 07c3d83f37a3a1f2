"""Position: attention does not see it by itself, so encodings put it into the vectors."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Literal

import torch

from attnbook.checks import (
    check_dense,
    check_heads,
    check_numbers,
    check_positions,
    check_size,
    check_vectors,
    describe_value,
)

if TYPE_CHECKING:
    from jaxtyping import Float, Shaped
    from torch import Tensor

BASE = 10_000.0
"""The wavelengths grow from 2π positions to nearly this many times as much, in long vectors."""
WITHOUT_FLOAT64 = ("mps",)  # Apple's GPUs
LAYOUTS, SCALINGS = ("adjacent", "halves"), ("linear", "llama3", "yarn")
# From how many turns in the original length on a pair keeps its speed.
FAST_TURNS = {"llama3": 4.0, "yarn": 32.0}


def sinusoidal_encoding(
    positions: int | Shaped[Tensor, "*batch positions"],
    size: int,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "*batch positions size"]:
    """Give each position a vector of sines and cosines, to be added to its token's vector.

    The numbers 2i and 2i + 1 of position p are the sine and the cosine of p / 10000^(2i/size).
    An odd size ends with a sine.

    Args:
        positions: how many, from 0, or the positions themselves, `(num_positions,)`, or
            `(batch, num_positions)` where examples have different ones; not in half precision.
        size: of a vector, at least 1.
        device, dtype: of the result; by default torch's own, or the device of given positions.

    Returns:
        `(num_positions, size)` or `(batch, num_positions, size)`, in [-1, 1].

    Raises:
        TypeError, ValueError: an argument has the wrong type, shape or range.

    Source: Vaswani et al. (2017), section 3.5.

    Example:
        >>> sinusoidal_encoding(positions=3, size=4).round(decimals=2)
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [ 0.8400,  0.5400,  0.0100,  1.0000],
                [ 0.9100, -0.4200,  0.0200,  1.0000]])
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
    return encoding[..., :size].to(dtype).to(device or positions.device)


def rotary_encoding(
    vectors: Float[Tensor, "*batch positions size"],
    positions: Shaped[Tensor, "*rows positions"] | None = None,
    *,
    base: float = BASE,
    layout: Literal["adjacent", "halves"] = "adjacent",
    size: int | None = None,
    frequencies: Float[Tensor, " pairs"] | None = None,
) -> Float[Tensor, "*batch positions size"]:
    """Turn queries, or keys, by angles that grow with their position.

    Pair i at position p is turned by p / base^(2i/size). So the dot product of a query and a
    key depends only on the difference of their positions, its sign included. What is in no
    pair stays as it is.

    Args:
        vectors: `(…, num_positions, vector_size)`; with an axis of heads, split them first.
        positions: the positions of the vectors, `(num_positions,)`, or `(batch, num_positions)`
            for vectors whose first axis is the batch; by default 0, 1, 2 and so on. Queries
            that follow cached keys have later positions.
        base: above 1; the last pair turns base^(1 - 2/size) times more slowly than the first.
        layout: which components are a pair: "adjacent" ones, 2i and 2i + 1, or those at the
            same index of the two "halves", i and i + size/2. A model's weights fit one of
            them only; `convert_layout` reorders the weights.
        size: how many components are turned, from the first; by default all.
        frequencies: the angle of each pair at position 1, for instance from
            `rotary_frequencies`, instead of `base` and `size`.

    Returns:
        Vectors of the same shape, dtype and lengths.

    Raises:
        TypeError, ValueError: an argument has the wrong type, shape or range.

    Source: Su et al. (2021), section 3.2.2, with adjacent pairs; halves as in GPT-NeoX and Llama
    of the library transformers.

    Example:
        >>> vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
        >>> rotary_encoding(vectors).round(decimals=2)
        tensor([[ 1.0000,  0.0000],
                [ 0.5400,  0.8400],
                [-0.4200,  0.9100]])
    """
    check_vectors(vectors)
    _check_layout("layout", layout)
    angle_device = _angle_device(vectors.device)
    if positions is None:
        positions = torch.arange(vectors.shape[-2], device=angle_device)
    _check_positions(positions, vectors)
    size = _rotated_size(vectors, base, size, frequencies)
    turns = angles(positions.to(angle_device), size, base, frequencies)[..., : size // 2]
    if positions.dim() == 2:  # the same in each head
        turns = turns[(slice(None), *(None,) * (vectors.dim() - 3))]
    wide = torch.promote_types(vectors.dtype, torch.float32)
    cos, sin = (turn.to(wide).to(vectors.device) for turn in (turns.cos(), turns.sin()))
    rotated, rest = vectors[..., : size // 2 * 2], vectors[..., size // 2 * 2 :]
    first, second = _split_pairs(rotated.to(wide), layout)
    turned = first * cos - second * sin, first * sin + second * cos
    return torch.cat([_join_pairs(*turned, layout).to(vectors.dtype), rest], dim=-1)


def _split_pairs(vectors: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    if layout == "adjacent":
        return vectors[..., 0::2], vectors[..., 1::2]
    half = vectors.shape[-1] // 2
    return vectors[..., :half], vectors[..., half:]


def _join_pairs(first: Tensor, second: Tensor, layout: str) -> Tensor:
    if layout == "adjacent":
        return torch.stack([first, second], dim=-1).flatten(-2)
    return torch.cat([first, second], dim=-1)


def angles(
    positions: Shaped[Tensor, "*batch positions"],
    size: int,
    base: float = BASE,
    frequencies: Float[Tensor, " pairs"] | None = None,
) -> Float[Tensor, "*batch positions pairs"]:
    """The angle of each pair of numbers at each position: p / base^(2i/size)."""
    # In float32 the angle of position 100,000 would be wrong in its third decimal.
    if frequencies is None:
        pairs = torch.arange(0, size, 2, device=positions.device, dtype=torch.float64)
        return positions.double()[..., None] / base ** (pairs / size)
    return positions.double()[..., None] * frequencies.to(positions.device).double()


def rotary_frequencies(  # noqa: PLR0913 - each scaling has its own numbers
    size: int,
    base: float = BASE,
    *,
    scaling: Literal["linear", "llama3", "yarn"] | None = None,
    factor: float = 1.0,
    original_length: int | None = None,
    slow_turns: float = 1.0,
    fast_turns: float | None = None,
) -> Float[Tensor, " pairs"]:
    """Give the angle of each pair at position 1, slowed down for texts `factor` times as long.

    Without scaling, pair i has base^(-2i/size). A model that was trained on texts of
    `original_length` positions can read longer ones, if its slow pairs, which have not made a
    whole turn in training, do not reach new angles:

    - "linear": all pairs are `factor` times as slow.
    - "llama3": pairs with at most `slow_turns` turns in the original length are `factor` times
      as slow, those with at least `fast_turns` (4) unchanged. Between them, the unchanged
      share grows evenly with the number of turns.
    - "yarn": the same with 32 fast turns, but the unchanged share falls evenly with the index
      of a pair, as in the code of the paper. There, queries and keys are also multiplied by
      0.1 ln(factor) + 1; this function does not do it.

    Args:
        size: how many components are turned, an even number.
        base: as in `rotary_encoding`.
        scaling: None or one of the names above.
        factor: how many times as long the texts are, at least 1.
        original_length: of the texts in training, for "llama3" and "yarn".
        slow_turns, fast_turns: positive numbers, the second larger.

    Returns:
        `(size / 2,)`, in float64.

    Raises:
        TypeError, ValueError: an argument has the wrong type or range.

    Source: Chen et al. (2023) for "linear", Peng et al. (2023), sections 3.2 to 3.4, for the
    others; "llama3" is the rule of Llama 3.1.

    Example:
        >>> rotary_frequencies(4)
        tensor([1.0000, 0.0100], dtype=torch.float64)
        >>> rotary_frequencies(4, scaling="linear", factor=4.0)
        tensor([0.2500, 0.0025], dtype=torch.float64)
    """
    _check_even("size", size)
    check_above("base", base, 1.0)
    plain = angles(torch.ones(1, device="cpu"), size, base)[0]
    if scaling is None:
        return plain
    if not isinstance(scaling, str) or scaling not in SCALINGS:
        raise ValueError(
            f"scaling must be None or one of {SCALINGS}, got {describe_value(scaling)}"
        )
    check_above("factor", factor, 1.0, or_equal=True)
    if scaling == "linear":
        return plain / factor
    if original_length is None:
        raise ValueError(f"original_length must be given for scaling={scaling!r}, got None")
    check_size("original_length", original_length)
    fast_turns = FAST_TURNS[scaling] if fast_turns is None else fast_turns
    check_above("slow_turns", slow_turns, 0.0)
    check_above("fast_turns", fast_turns, slow_turns)
    if scaling == "llama3":
        turns = original_length * plain / (2 * math.pi)
        unchanged = (turns - slow_turns) / (fast_turns - slow_turns)
    else:
        first, last = (
            size / 2 * math.log(original_length / (2 * math.pi * turns)) / math.log(base)
            for turns in (fast_turns, slow_turns)
        )
        first, last = max(math.floor(first), 0), min(math.ceil(last), size - 1)
        indices = torch.arange(size // 2, dtype=torch.float64)
        unchanged = 1 - (indices - first) / max(last - first, 0.001)
    unchanged = unchanged.clamp(0, 1)
    return plain * (unchanged + (1 - unchanged) / factor)


def convert_layout(
    weights: Float[Tensor, "hiddens *inputs"],
    num_heads: int,
    to: Literal["adjacent", "halves"],
    *,
    size: int | None = None,
) -> Float[Tensor, "hiddens *inputs"]:
    """Reorder the weights of a projection, so that its vectors have the other layout.

    Do it to W_q and to W_k (with its own number of heads): the scores stay equal.

    Args:
        weights: `(num_heads · head_size, input_size)` of `nn.Linear`, or its bias.
        num_heads: of these rows.
        to: the layout that the vectors get; they had the other.
        size: how many components of a head are turned, an even number; by default all.

    Returns:
        A copy with the same rows in another order.

    Raises:
        TypeError, ValueError: an argument has the wrong type, shape or range.

    Source: the library transformers, which converts Llama's weights to halves so.

    Example:
        >>> weights = torch.arange(4.0)[:, None]  # of one head; its pairs are (0, 1) and (2, 3)
        >>> convert_layout(weights, num_heads=1, to="halves").flatten()
        tensor([0., 2., 1., 3.])
    """
    check_dense("weights", weights)
    if weights.dim() not in (1, 2):
        raise ValueError(
            f"weights must have shape (hiddens, inputs) or (hiddens,), got {tuple(weights.shape)}"
        )
    check_size("num_heads", num_heads)
    check_heads("the rows of weights", weights.shape[0], num_heads)
    _check_layout("to", to)
    head_size = weights.shape[0] // num_heads
    size = head_size if size is None else size
    _check_even("size", size, most=head_size)
    order = torch.arange(head_size, device=weights.device)
    had = "halves" if to == "adjacent" else "adjacent"
    order[:size] = _join_pairs(*_split_pairs(order[:size], had), to)
    heads = weights.reshape(num_heads, head_size, *weights.shape[1:])
    return heads[:, order].flatten(0, 1)


def _angle_device(device: torch.device) -> torch.device:
    """The device that computes the angles: the given one, or the CPU if that has no float64."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def _rotated_size(
    vectors: Tensor, base: float, size: int | None, frequencies: Tensor | None
) -> int:
    """Check how many components are turned, and how fast."""
    most = vectors.shape[-1]
    if frequencies is not None:
        check_dense("frequencies", frequencies)
        if size is not None or base != BASE:
            raise ValueError("frequencies must be given without base and size, got both")
        if frequencies.dim() != 1 or not frequencies.is_floating_point():
            raise ValueError(
                "frequencies must be one floating-point number per pair, "
                f"got shape {tuple(frequencies.shape)} of {frequencies.dtype}"
            )
        size = 2 * frequencies.shape[0]
        if size > most:
            raise ValueError(
                f"frequencies must be of at most {most // 2} pairs, as vectors have {most} "
                f"components, got {size // 2}"
            )
        return size
    check_above("base", base, 1.0)
    if size is None:
        return most
    _check_even("size", size, most)
    return size


def _check_layout(name: str, layout: str) -> None:
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise ValueError(f"{name} must be 'adjacent' or 'halves', got {describe_value(layout)}")


def _check_even(name: str, size: int, most: int | None = None) -> None:
    check_size(name, size)
    if size % 2:
        raise ValueError(f"{name} must be even, as components are turned in pairs, got {size}")
    if most is not None and size > most:
        raise ValueError(f"{name} must be at most {most}, the size of a vector, got {size}")


def check_above(name: str, number: float, bound: float, *, or_equal: bool = False) -> None:
    """Refuse what is no number above a bound, or is infinite."""
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{name} must be a number, got {describe_value(number)}")
    if not (bound < number < math.inf or (or_equal and number == bound)):
        rule = f"at least {bound:g}" if or_equal else f"above {bound:g}"
        raise ValueError(f"{name} must be {rule} and finite, got {number}")


def _check_float_type(dtype: torch.dtype) -> None:
    """Refuse a dtype that would round to whole numbers."""
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point type, got {describe_value(dtype)}")


def _check_positions(positions: Tensor, vectors: Tensor | None = None) -> None:
    """Refuse positions that are not one number per vector, for all examples or for each."""
    check_positions("positions", positions)
    if vectors is None:
        if positions.dim() not in (1, 2):
            shapes = "(num_positions,) or (batch, num_positions)"
            raise ValueError(f"positions must have shape {shapes}, got {tuple(positions.shape)}")
        return
    count = vectors.shape[-2]
    for_all = positions.dim() == 1 and positions.shape[0] == count
    per_example = positions.dim() == 2 < vectors.dim() and positions.shape[0] == vectors.shape[0]
    if not (for_all or (per_example and positions.shape[1] == count)):
        shapes = f"(num_positions={count},)"
        if vectors.dim() > 2:
            shapes += f" or (batch={vectors.shape[0]}, num_positions={count})"
        raise ValueError(f"positions must have shape {shapes}, got {tuple(positions.shape)}")
