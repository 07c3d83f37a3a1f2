"""Replace one of the three stages of attention in every head of a decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch

from attnbook.checks import describe_value
from attnbook.layers import DotProductAttention
from attnbook.models.checks import check_kind
from attnbook.models.transformer.decoder import Decoder

if TYPE_CHECKING:
    from torch import Tensor

STAGES = ("score", "weigh", "pool")


class ReplacedAttention(DotProductAttention):
    """The attention of a model's heads, with some stages by functions of the caller.

    Args:
        stages: by their names: `score(queries, keys)`, `weigh(scores, visible)`, where `visible`
            is True where a key may be seen, and `pool(weights, values)`.
    """

    def __init__(self, stages: dict[str, Callable[..., Tensor]]) -> None:
        super().__init__()
        self.stages = stages

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Score each pair by the function, or by q · k / √d."""
        return self.stages.get("score", super().score)(queries, keys)

    def _weigh_and_pool(
        self, scores: Tensor, values: Tensor, visible: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        if "weigh" not in self.stages:
            return super()._weigh_and_pool(scores, values, visible, bias)
        seen = torch.ones_like(scores, dtype=torch.bool) if visible is None else visible
        weights = self.stages["weigh"](scores, seen.expand(scores.shape))
        self._keep(weights)
        return self._pool(weights, values, visible)

    def _pool(self, weights: Tensor, values: Tensor, visible: Tensor | None) -> Tensor:
        if "pool" in self.stages:
            return self.stages["pool"](weights, values)
        return super()._pool(weights, values, visible)


@contextmanager
def replace_stage(model: Decoder, name: str, function: Callable[..., Tensor]) -> Iterator[None]:
    """Replace a stage of the attention in all layers and heads of a model.

    Args:
        model: a decoder; unchanged afterwards.
        name: "score", "weigh" or "pool". A second stage can be replaced within the first block.
        function: `score(queries, keys)` returns `(batch, heads, queries, keys)`; `weigh(scores,
            visible)` returns weights of the same shape, `visible` being True where a key may be
            seen; `pool(weights, values)` returns `(batch, heads, queries, value_size)`.

    Raises:
        ValueError: there is no such stage.
        TypeError: `function` cannot be called.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.stages import replace_stage
        >>> from attnbook.models.transformer.stories import make_stories, share_right
        >>> def uniform(scores, visible):
        ...     return visible / visible.sum(-1, keepdim=True)
        >>> model = book_decoder("story")
        >>> with replace_stage(model, "weigh", uniform):
        ...     share = share_right(model, make_stories(50))
        >>> share < 0.5
        True
    """
    check_kind("model", model, Decoder)
    if name not in STAGES:
        raise ValueError(f"name must be one of {', '.join(STAGES)}, got {describe_value(name)}")
    if not callable(function):
        raise TypeError(f"function must be callable, got {describe_value(function)}")
    with ExitStack() as stack:
        for heads in model.attentions:
            before: Any = heads.attention
            stages = before.stages if isinstance(before, ReplacedAttention) else {}
            heads.attention = ReplacedAttention({**stages, name: function}).train(model.training)
            stack.callback(setattr, heads, "attention", before)
        yield
