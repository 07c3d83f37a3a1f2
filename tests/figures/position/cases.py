"""Position figures of several sizes, and their numbers by attnbook in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnbook import rotary_encoding, sinusoidal_encoding
from attnbook.figures import PositionFigure

CLOSE = 1e-12  # 1e-9 is promised


def random(size: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(size)
    query, key = torch.randn(2, size, generator=rng).to(dtype)
    return query, key


CASES = {
    "sinusoidal": lambda: PositionFigure(8, caption="A caption."),
    "rotary": lambda: PositionFigure.rotary(*random(8), caption="A caption."),
    "one pair": lambda: PositionFigure(2, positions=7),
    "the largest": lambda: PositionFigure(16, positions=1024),
    "one position": lambda: PositionFigure(6, positions=1),
    "rotary, one arrow": lambda: PositionFigure.rotary(*random(2, torch.float64), positions=11),
    "rotary, half precision": lambda: PositionFigure.rotary(*random(14, torch.float16)),
    "rotary, zeros": lambda: PositionFigure.rotary(torch.zeros(4), torch.zeros(4)),
    "rotary, huge": lambda: PositionFigure.rotary(*(1e6 * v for v in random(6))),
}


def positions(start: int, distance: int) -> list[int]:
    """The positions p and q: the earlier one is at the start."""
    return [start + distance, start] if distance > 0 else [start, start - distance]


def truth(state: dict[str, Any], sliders: Sequence[tuple[int, int]]) -> dict[str, Tensor]:
    """The numbers for each start and distance, by the package's own functions in float64."""
    at = torch.tensor([positions(*pair) for pair in sliders])
    if state["query"]:
        pair = torch.tensor([state["query"], state["key"]], dtype=torch.float64)
        vectors = rotary_encoding(pair.repeat(len(at), 1), at.flatten())
    else:
        vectors = sinusoidal_encoding(at.flatten(), state["size"], dtype=torch.float64)
    vectors = vectors.reshape(len(at), 2, -1)
    numbers = vectors.prod(dim=1)
    return {
        "positions": at,
        "vectors": vectors,
        "products": numbers.unflatten(1, (-1, 2)).sum(dim=-1),
        "dot": numbers.sum(dim=-1),
    }


def along(state: dict[str, Any], start: int) -> Tensor:
    """The dot product at each distance."""
    reach = state["reach"]
    return truth(state, [(start, d) for d in range(-reach, reach + 1)])["dot"]
