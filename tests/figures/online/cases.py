"""Scores and values of several kinds for the online softmax figure, and the chapter's own code."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from attnbook.figures import OnlineSoftmaxFigure
from tools import ROOT

CHAPTER = ROOT / "chapters" / "what-attention-costs.ipynb"


def random(
    num_keys: int, value_size: int, seed: int, dtype=torch.float64, scale: float = 1
) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    scores = scale * torch.randn(num_keys, generator=rng, dtype=torch.float64)
    values = torch.randn(num_keys, value_size, generator=rng, dtype=torch.float64)
    return scores.to(dtype), values.to(dtype)


def by_hand() -> tuple[Tensor, Tensor]:
    """The chapter's numbers: exponentials 2, 6 and 12, with the ratios 1 : 3 : 6."""
    return torch.tensor([2.0, 6.0, 12.0]).log(), torch.tensor([[10.0], [20.0], [30.0]])


CASES: dict[str, Callable[[], tuple[tuple[Tensor, Tensor], int]]] = {
    "the chapter's": lambda: (by_hand(), 1),
    "one block": lambda: (by_hand(), 3),
    "a small last block": lambda: (random(11, 2, 1), 3),
    "one key": lambda: (random(1, 1, 2), 1),
    "the most": lambda: (random(32, 3, 3), 1),
    "huge scores": lambda: (random(7, 2, 4, scale=1000), 2),
    "scores at the end of the numbers": lambda: (
        (torch.tensor([-8e307, 8e307, 0.0], dtype=torch.float64), random(3, 1, 5)[1]),
        1,
    ),
    "equal scores": lambda: ((torch.full((7,), 3.0), random(7, 1, 6, torch.float32)[1]), 2),
    "equal values": lambda: ((random(5, 1, 7)[0], torch.full((5, 1), 2.0).double()), 2),
    "half precision": lambda: (random(5, 2, 8, torch.float16), 2),
    "falling scores": lambda: ((torch.arange(5.0, 0, -1), random(5, 1, 9, torch.float32)[1]), 1),
}


def figure_of(case: str, **options: str) -> OnlineSoftmaxFigure:
    tensors, block = CASES[case]()
    return OnlineSoftmaxFigure(*tensors, block=block, **options)


@cache
def chapters_lines() -> str:
    """The code of `online_attention` in the chapter."""
    cells = json.loads(CHAPTER.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    return next(source for source in sources if source.startswith("def online_attention("))


def chapters_output(scores: Tensor, values: Tensor, block: int, *, corrected: bool) -> Tensor:
    """The output of the chapter's code in float64, with or without the correction."""
    lines, correction = chapters_lines(), "torch.exp(highest - new_highest)"
    assert correction in lines
    names = {"torch": torch, "math": math}
    exec(lines if corrected else lines.replace(correction, "torch.tensor(1.0)"), names)  # noqa: S102 - the book's own
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return names["online_attention"](lambda part: part, scores, values, block)
    finally:
        torch.set_default_dtype(before)


def truth(
    scores: Tensor, values: Tensor, block: int, *, corrected: bool
) -> list[dict[str, Tensor]]:
    """The numbers after each step, each by its definition instead of step by step.

    Without the correction, each exponential is relative to the highest score of its block's step.
    """
    scores, values = scores.double(), values.double()
    found = []
    for count in range(block, len(scores) + block, block):
        seen = scores[:count]
        ends = [min(i // block * block + block, len(scores)) for i in range(len(seen))]
        heights = torch.stack([scores[:end].max() for end in ends])
        exponentials = (seen - (seen.max() if corrected else heights)).exp()
        weighted = (exponentials[:, None] * values[:count]).sum(0)
        found.append(
            {
                "highest": seen.max(),
                "total": exponentials.sum(),
                "weighted": weighted,
                "output": weighted / exponentials.sum(),
                "plain": torch.softmax(seen, 0) @ values[:count],
            }
        )
    return found
