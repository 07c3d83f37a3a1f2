"""The arithmetic of the pictures, and the format of their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attnbook import masked_softmax


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the dot product of two vectors."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the attention weights of `scores`, computed like in the book."""
    row = torch.tensor(scores, dtype=torch.float64)[None, None]
    return masked_softmax(row)[0, 0].tolist()


def round_numbers(numbers: Sequence[float]) -> list[float]:
    """Round numbers as they are printed, so that a reader's sums are right."""
    return [round(number, 1) for number in numbers]


def format_number(number: float, decimals: int = 1) -> str:
    """Return the text of a number: a real minus sign, and never "-0.0"."""
    return f"{number:z.{decimals}f}".replace("-", "−")


def vector(numbers: Sequence[float]) -> str:
    """Return the text of whole numbers as a vector: "(2, −2)"."""
    return f"({', '.join(format_number(number, 0) for number in numbers)})"


def join(items: Sequence[str | float]) -> str:
    """Return "a, b and c"; numbers have one decimal, as in the pictures."""
    words = [item if isinstance(item, str) else format_number(item) for item in items]
    return ", ".join(words[:-1]) + " and " + words[-1]
