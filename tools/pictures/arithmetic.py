"""The arithmetic of the still pictures, and how they print numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attnbook import masked_softmax


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the dot product of two vectors."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the attention weights of `scores`, as the book computes them."""
    row = torch.tensor(scores, dtype=torch.float64)[None, None]
    return masked_softmax(row)[0, 0].tolist()


def rounded(numbers: Sequence[float]) -> list[float]:
    """Round as numbers are printed, so that a reader's own sums come out right."""
    return [round(number, 1) for number in numbers]


def printed(number: float, decimals: int = 1) -> str:
    """Return the text of a number: a real minus sign, and never "-0.0"."""
    return f"{number:z.{decimals}f}".replace("-", "−")


def vector(numbers: Sequence[float]) -> str:
    """Return the text of whole numbers as a vector: "(2, −2)"."""
    return f"({', '.join(printed(number, 0) for number in numbers)})"


def listed(items: Sequence[str | float]) -> str:
    """Return "a, b and c"; numbers with one decimal, as the pictures print them."""
    words = [item if isinstance(item, str) else printed(item) for item in items]
    return ", ".join(words[:-1]) + " and " + words[-1]
