"""What the reader can drag in an attention figure: vectors, or the scores."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from attnbook.figures.shared.base import check_count, doubles, numbers
from attnbook.layers import AdditiveAttention, DotProductAttention
from attnbook.messages import Messages
from attnbook.scoring import (
    additive_score,
    bilinear_score,
    dot_score,
    gaussian_score,
    scaled_dot_score,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

TEXT = Messages(__file__)
MOST_MOVED = 8  # keys, each in a colour of its own
MOVABLE = ("vectors", "scores")
MARGIN = 1.25  # the reach of a drag, relative to the largest number at first


def _additive(queries: Tensor, keys: Tensor, first: Tensor, second: Tensor, w_v: Tensor) -> Tensor:
    return additive_score(queries @ first.T, keys @ second.T, w_v[0])


def _gaussian(queries: Tensor, keys: Tensor, width: Tensor) -> Tensor:
    return gaussian_score(queries, keys, width[0, 0])


# The formulas of formulas.js, by their names there; each takes its vectors and then matrices.
FORMULAS: dict[str, Callable[..., Tensor]] = {
    "dot": dot_score,
    "scaled dot": scaled_dot_score,
    "gaussian": _gaussian,
    "bilinear": bilinear_score,
    "additive": _additive,
}
IDENTITY = torch.eye(2, device="cpu")
# Each score function, its formula, and the formula's matrices: from a layer, or from the keyword
# arguments of `functools.partial`.
SCORERS: list[tuple[Any, str, Callable[..., tuple[Any, ...]]]] = [
    # With a scale of its own a score does not agree with the formula, and cannot be dragged.
    (DotProductAttention.score, "scaled dot", lambda _: ()),
    (AdditiveAttention.score, "additive", lambda a: (a.W_q.weight, a.W_k.weight, a.w_v.weight)),
    (dot_score, "dot", lambda _: ()),
    (scaled_dot_score, "scaled dot", lambda _, **_scale: ()),
    (gaussian_score, "gaussian", lambda _, width=1.0: (width,)),
    (bilinear_score, "bilinear", lambda _, weight: (weight,)),
    (additive_score, "additive", lambda _, weight: (IDENTITY, IDENTITY, weight)),
]


def check_movable(movable: str, queries: Tensor, keys: Tensor, written: str) -> None:
    """Refuse what cannot be dragged.

    Raises:
        ValueError: `movable` is not an option, the reader's function sets the scores already,
            there are too many keys, or vectors do not have exactly two components.
    """
    if movable not in MOVABLE:
        raise ValueError(f"movable must be 'vectors' or 'scores', got {movable!r}")
    if written:
        raise ValueError(f"movable must be '' where something is written, got {movable!r}")
    check_count("keys that move", keys.shape[1], MOST_MOVED)
    sizes = queries.shape[-1], keys.shape[-1]
    if movable == "vectors" and sizes != (2, 2):
        raise ValueError(f"vectors that move must have 2 numbers, got {sizes[0]} and {sizes[1]}")


def drag_settings(
    movable: str,
    layer: Any,  # noqa: ANN401 - a layer or a function
    queries: Tensor,
    keys: Tensor,
    scores: Tensor,
) -> dict[str, Any]:
    """Return what the page needs to let the reader drag the vectors, or the scores."""
    if movable == "scores":
        first = numbers("scores", scores)
        return {"what": movable, **reach_and_step([scores]), "start": {"scores": first}}
    vectors = {
        "query_vectors": numbers("queries", queries),
        "key_vectors": numbers("keys", keys),
    }
    settings = {"what": movable, **reach_and_step([queries, keys])}
    rule = rule_of(layer)
    if rule is None or not _agrees(score_by(rule, *vectors.values()), scores):
        return settings | {"why": TEXT("vectors_stay")}
    return settings | {"start": vectors, "rule": rule}


def reach_and_step(tensors: Sequence[Tensor]) -> dict[str, float]:
    """Return how far the reader may drag to each side of zero, and by which steps."""
    most = max(float(tensor.detach().abs().max()) for tensor in tensors) or 1.0
    unit = 10.0 ** math.floor(math.log10(most))
    reach = math.ceil(MARGIN * most / unit) * unit
    return {"reach": float(f"{reach:.6g}"), "step": float(f"{unit / 10:.6g}")}


def check_in_reach(name: str, moved: Any, first: list[Any], reach: float) -> None:  # noqa: ANN401 - any value of a trait
    """Refuse what the page could not have sent.

    Raises:
        TypeError, ValueError: `moved` has no numbers, has another shape, or is out of reach.
    """
    now, shape = doubles(moved), doubles(first).shape
    if now.shape != shape:
        raise ValueError(f"{name} must keep its shape {tuple(shape)}, got {tuple(now.shape)}")
    wrong = ~(now.abs() <= reach)
    if wrong.any():
        raise ValueError(f"{name} must lie in [-{reach:g}, {reach:g}], got {now[wrong][0]:g}")


def rule_of(layer: Any) -> dict[str, Any] | None:  # noqa: ANN401 - a layer or a function
    """Return the formula of a score, if the page has it."""
    score: Any = getattr(layer, "score", layer)
    keywords: dict[str, Any] = {}
    if isinstance(score, partial) and not score.args:
        keywords, score = score.keywords, score.func
    function = getattr(score, "__func__", score)
    for scorer, name, takes in SCORERS:
        if function is scorer:
            tensors = [torch.as_tensor(value, device="cpu") for value in takes(layer, **keywords)]
            matrices = [each if each.dim() == 2 else each.reshape(1, -1) for each in tensors]
            return {"name": name, "takes": [numbers("weights", each) for each in matrices]}
    return None


def score_by(rule: dict[str, Any], queries: Sequence[Any], keys: Sequence[Any]) -> Tensor:
    """Score by the rule's formula, in double precision."""
    takes = [doubles(each) for each in rule["takes"]]
    return FORMULAS[rule["name"]](doubles(queries), doubles(keys), *takes)


def _agrees(ours: Tensor, theirs: Tensor) -> bool:
    """Whether the formula agrees with the layer, in the layer's precision.

    A layer can use the book's `score` and still compute something else.
    """
    near = torch.finfo(theirs.dtype).eps ** 0.5
    return torch.allclose(ours, theirs.detach().cpu().double(), rtol=near, atol=near)
