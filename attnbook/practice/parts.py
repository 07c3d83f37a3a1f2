"""The parts of attention on plain lists, as the book writes them.

Each is also a task. Where a reader has not solved it, a page runs the source below.
"""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path
from typing import Any

from attnbook.practice.task import Function

# By chapter: what its cells ask for, in order. `make notebooks` writes the file.
CHAPTERS: dict[str, list[list[str]]] = json.loads(
    Path(__file__).with_name("chapters.json").read_text("utf-8")
)


def score(query: list[float], key: list[float]) -> float:
    """Score by closeness: minus half the squared distance."""
    return -sum((q - k) ** 2 for q, k in zip(query, key, strict=False)) / 2


def scaled_score(query: list[float], key: list[float]) -> float:
    """Score by the dot product, divided by the root of the size."""
    return sum(q * k for q, k in zip(query, key, strict=False)) / math.sqrt(len(query))


def masked_softmax(scores: list[float], valid_len: int) -> list[float]:
    """Turn the first `valid_len` scores into weights that sum to 1; all others weigh 0."""
    visible = scores[:valid_len]
    exponentials = [math.exp(each - max(visible)) for each in visible]
    padding = [0.0] * (len(scores) - len(visible))
    return [each / sum(exponentials) for each in exponentials] + padding


def pool(weights: list[float], values: list[list[float]]) -> list[float]:
    """Sum the values, each multiplied by its weight."""
    output = [0.0] * len(values[0])
    for weight, value in zip(weights, values, strict=False):
        output = [o + weight * v for o, v in zip(output, value, strict=False)]
    return output


def attention(
    query: list[float], keys: list[list[float]], values: list[list[float]], valid_len: int
) -> list[float]:
    """Join the parts: score each key, turn the scores into weights, and pool the values."""
    scores = [score(query, key) for key in keys]
    weights = masked_softmax(scores, valid_len)
    return pool(weights, values)


# By the name of the task: the book's function.
PARTS: dict[str, Function] = {
    "score-by-hand": score,
    "masked-softmax-by-hand": masked_softmax,
    "pool-by-hand": pool,
    "scaled-score-by-hand": scaled_score,
    "attention-from-parts": attention,
}
STAGES = ("score-by-hand", "masked-softmax-by-hand", "pool-by-hand")  # that `attention` joins


def part_of(name: str) -> dict[str, Any]:
    """Give the name, the source and the chapter of the part that a task asks for."""
    function = PARTS[name]
    [chapter] = [it for it, asks in CHAPTERS.items() if ["check", name] in asks]
    code = f"import math\n\n{inspect.getsource(function)}"
    return {"called": function.__name__, "code": code, "chapter": chapter}
