"""Position figures of several sizes, and what attnbook says of each in double precision."""

from __future__ import annotations

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
    "one hand": lambda: PositionFigure(2, positions=7),
    "the largest": lambda: PositionFigure(16, positions=1024),
    "one place": lambda: PositionFigure(6, positions=1),
    "rotary, one arrow": lambda: PositionFigure.rotary(*random(2, torch.float64), positions=11),
    "rotary, half precision": lambda: PositionFigure.rotary(*random(14, torch.float16)),
    "rotary, zeros": lambda: PositionFigure.rotary(torch.zeros(4), torch.zeros(4)),
    "rotary, huge": lambda: PositionFigure.rotary(*(1e6 * v for v in random(6))),
}


def places(start: int, distance: int) -> list[int]:
    """The positions p and q: the earlier one at the start."""
    return [start + distance, start] if distance > 0 else [start, start - distance]


def truth(state: dict[str, Any], start: int, distance: int) -> dict[str, Tensor]:
    """What is shown at one place of the sliders, by the package's own functions in float64."""
    at = torch.tensor(places(start, distance))
    if state["query"]:
        pair = torch.tensor([state["query"], state["key"]], dtype=torch.float64)
        vectors = rotary_encoding(pair, at)
    else:
        vectors = sinusoidal_encoding(at, state["size"], dtype=torch.float64)
    numbers = vectors[0] * vectors[1]
    return {
        "places": at,
        "vectors": vectors,
        "products": numbers[0::2] + numbers[1::2],
        "dot": vectors[0] @ vectors[1],
    }


def along(state: dict[str, Any], start: int) -> Tensor:
    """The dot product at each distance."""
    reach = state["reach"]
    return torch.stack([truth(state, start, d)["dot"] for d in range(-reach, reach + 1)])
