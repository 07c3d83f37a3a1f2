"""Replace one of the three stages of attention in every head of a decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from attnbook.checks import describe_value
from attnbook.layers import DotProductAttention
from attnbook.masking.masks import visible_keys
from attnbook.models.checks import check_kind
from attnbook.models.transformer.decoder import Decoder

if TYPE_CHECKING:
    from torch import Tensor


def score_lists(score: Callable[..., Any], queries: Tensor, keys: Tensor) -> Tensor:
    """Score each pair by a function of two lists."""
    pairs = zip(queries.flatten(0, 1).tolist(), keys.flatten(0, 1).tolist(), strict=True)
    scores = [[[score(query, key) for key in head] for query in rows] for rows, head in pairs]
    return as_tensor(scores, queries, (*queries.shape[:-1], keys.shape[-2]))


def weigh_lists(weigh: Callable[..., Any], scores: Tensor, visible: Tensor) -> Tensor:
    """Turn each row of scores into weights by a function of a list and a length."""
    lengths = lengths_of(visible).flatten().tolist()
    rows = zip(scores.flatten(0, 2).tolist(), lengths, strict=True)
    weights = [weigh(row, length) for row, length in rows]
    return as_tensor(weights, scores, scores.shape)


def lengths_of(visible: Tensor) -> Tensor:
    """How many keys each query may see, if these come first."""
    lengths = visible.sum(-1)
    first = torch.arange(visible.shape[-1], device=visible.device) < lengths[..., None]
    if not torch.equal(first, visible):
        raise ValueError("functions on lists take a length, so visible keys must come first")
    return lengths


def pool_lists(pool: Callable[..., Any], weights: Tensor, values: Tensor) -> Tensor:
    """Pool the values for each row of weights by a function of lists."""
    pairs = zip(weights.flatten(0, 1).tolist(), values.flatten(0, 1).tolist(), strict=True)
    pooled = [[pool(row, vectors) for row in rows] for rows, vectors in pairs]
    return as_tensor(pooled, weights, (*weights.shape[:-1], values.shape[-1]))


def attend_lists(attention: Callable[..., Any], *tensors: Tensor) -> Tensor:
    """Attend by a function of a query, keys, values and a length, all as lists."""
    queries, keys, values, visible = tensors
    lists = [it.flatten(0, 1).tolist() for it in (queries, keys, values, lengths_of(visible))]
    outputs = [
        [attention(query, k, v, length) for query, length in zip(q, lengths, strict=True)]
        for q, k, v, lengths in zip(*lists, strict=True)
    ]
    return as_tensor(outputs, queries, (*queries.shape[:-1], values.shape[-1]))


def as_tensor(nested: list[Any], like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """What a function on lists returned, like a tensor."""
    return torch.tensor(nested, dtype=like.dtype, device=like.device).reshape(shape)


STAGES: dict[str, Callable[..., Tensor]] = {
    "score": score_lists,
    "weigh": weigh_lists,
    "pool": pool_lists,
    "attention": attend_lists,
}


def run_stage(
    name: str, function: Callable[..., Any], inputs: tuple[Tensor, ...], shape: tuple[int, ...]
) -> Tensor:
    """Call a stage with tensors; if it returns none of this shape, with lists.

    Raises:
        TypeError: it takes neither.
    """
    refusals = []
    for call in (function, partial(STAGES[name], function)):
        try:
            returned = call(*inputs)
        except Exception as error:
            refusals.append(f"{type(error).__name__}: {error}")
        else:
            if isinstance(returned, torch.Tensor) and returned.shape == shape:
                return returned
            refusals.append(f"it does not return a tensor of shape {tuple(shape)}")
    tensors, lists = refusals
    both = lists if lists == tensors else f"with tensors: {tensors}; with lists: {lists}"
    raise TypeError(f"{name} must take tensors, or the lists of one query; {both}")


class ReplacedAttention(DotProductAttention):
    """The attention of a model's heads, with some stages by functions of the caller.

    Args:
        stages: by their names: `score(queries, keys)`, `weigh(scores, visible)`, where `visible`
            is True where a key may be seen, and `pool(weights, values)`.
    """

    def __init__(self, stages: dict[str, Callable[..., Tensor]]) -> None:
        super().__init__()
        self.stages = stages

    def _run(self, name: str, shape: tuple[int, ...], *inputs: Tensor) -> Tensor:
        return run_stage(name, self.stages[name], inputs, shape)

    def forward(  # noqa: PLR0913 - as every layer
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        causal: bool = False,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Attend by the caller's function, if there is one for all stages."""
        if "attention" not in self.stages:
            return super().forward(
                queries, keys, values, valid_lens, causal=causal, mask=mask, bias=bias
            )
        shape = (*queries.shape[:-1], keys.shape[-2])
        visible = visible_keys(shape, valid_lens, causal, keys.device, mask)
        seen = torch.ones(shape, dtype=torch.bool) if visible is None else visible.expand(shape)
        output = (*shape[:-1], values.shape[-1])
        return self._run("attention", output, queries, keys, values, seen)

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Score each pair by the function, or by q · k / √d."""
        if "score" not in self.stages:
            return super().score(queries, keys)
        return self._run("score", (*queries.shape[:-1], keys.shape[-2]), queries, keys)

    def _weigh_and_pool(
        self, scores: Tensor, values: Tensor, visible: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        if "weigh" not in self.stages:
            return super()._weigh_and_pool(scores, values, visible, bias)
        seen = torch.ones_like(scores, dtype=torch.bool) if visible is None else visible
        weights = self._run("weigh", scores.shape, scores, seen.expand(scores.shape))
        self._keep(weights)
        return self._pool(weights, values, visible)

    def _pool(self, weights: Tensor, values: Tensor, visible: Tensor | None) -> Tensor:
        if "pool" in self.stages:
            shape = (*weights.shape[:-1], values.shape[-1])
            return self._run("pool", shape, weights, values)
        return super()._pool(weights, values, visible)


@contextmanager
def replace_stage(model: Decoder, name: str, function: Callable[..., Tensor]) -> Iterator[None]:
    """Replace a stage of the attention in all layers and heads of a model.

    Args:
        model: a decoder; unchanged afterwards.
        name: "score", "weigh" or "pool", or "attention" for all of them. A second stage can be
            replaced within the first block.
        function: `score(queries, keys)` returns `(batch, heads, queries, keys)`; `weigh(scores,
            visible)` returns weights of the same shape, `visible` being True where a key may be
            seen; `pool(weights, values)` returns `(batch, heads, queries, value_size)`. Or on
            plain lists, for one query: `score(query, key)` returns a number, `weigh(scores,
            valid_len)` a list of weights, `pool(weights, values)` a list, and `attention(query,
            keys, values, valid_len)`, too.

    Raises:
        ValueError: there is no such stage.
        TypeError: `function` cannot be called, or a function on lists returns something else.

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
