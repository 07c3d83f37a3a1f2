"""What an attention figure is given: refused, or made ready to be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from attnbook.checks import check_pair, check_queries_and_keys, check_scores, check_values
from attnbook.figures.shared.base import check_count, numbers
from attnbook.masking.masks import given_mask, seen_keys, visible_keys
from attnbook.practice.registry import find_list_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

CPU = torch.device("cpu")
MOST_EXAMPLES = 8


def check_shown(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    """Refuse what does not belong together, and what is too much to be drawn."""
    check_queries_and_keys(queries, keys)
    check_values(values, keys.shape[-2])
    check_pair("values", values, "keys", keys)
    if queries.dim() == 4:
        raise ValueError("a figure shows one head, got four axes; pass queries[:, 0] and so on")
    check_count("examples", queries.shape[0], MOST_EXAMPLES)
    check_count("queries", queries.shape[1])
    check_count("keys", keys.shape[1])
    check_count("value_size", values.shape[2])


def first_lengths(valid_lens: Tensor | None, shape: Sequence[int], causal: bool) -> Tensor:
    """Give what the sliders show at first, and refuse what none can show."""
    if valid_lens is None:
        valid_lens = torch.full((shape[0],), shape[-1], device="cpu")
    if isinstance(valid_lens, torch.Tensor):
        valid_lens = valid_lens.cpu()
    visible = visible_keys(shape, valid_lens, causal, CPU)
    return valid_lens if visible is None or not causal else seen_keys(visible)


def seen_in(mask: Tensor | None, shape: Sequence[int]) -> list[list[list[bool]]]:
    """Give what a mask lets be seen, for each pair of each example; nothing without one."""
    if mask is None:
        return []
    told: list[list[list[bool]]] = given_mask(mask, shape, CPU).expand(*shape).tolist()
    return told


def word_for(masked: bool, causal: bool) -> str:
    """Say what hidden keys are called."""
    return "hidden" if masked else "future" if causal else "padding"


def asked_of(
    name: str, queries: Tensor, keys: Tensor, written_with: Sequence[Tensor]
) -> dict[str, Any]:
    """Give what the page needs to call the reader's function."""
    task = find_list_task(name)
    if not task.draws:
        raise ValueError(f"written must be a task whose answer can be drawn, got {name!r}")
    scores = task.draws == "score"
    return {
        "task": name,
        "draws": task.draws,
        "queries": numbers("queries", queries) if scores else [],
        "keys": numbers("keys", keys) if scores else [],
        "more": [numbers("written_with", each) for each in written_with],
    }


def score_of(layer: Any, queries: Tensor, keys: Tensor) -> Tensor:  # noqa: ANN401 - see the figure
    """Score by a layer, or by a function."""
    with torch.no_grad():
        scores: Tensor = getattr(layer, "score", layer)(queries, keys)
    check_scores(scores, queries, keys)
    return scores
