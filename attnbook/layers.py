"""Attention layers: score, weigh, pool. Different scores make different layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from attnbook.checks import (
    check_dropout,
    check_dtype,
    check_last_axis,
    check_pair,
    check_queries_and_keys,
    check_scores,
    check_size,
    check_values,
)
from attnbook.masking import length_mask, without_padding
from attnbook.pooling import pool
from attnbook.scoring import additive_features, scaled_dot_score
from attnbook.weighting import masked_softmax

if TYPE_CHECKING:
    from typing import Any

    from jaxtyping import Float, Shaped
    from torch import Tensor

# Stands for an argument that was not given, where Python's own message would not
# tell the reader that another book orders the arguments differently.
_MISSING: Any = None


class Attention(nn.Module):
    """An attention layer in three stages: scoring, weighting, pooling.

    A subclass that says how to score is a complete layer:

    >>> class NearestAttention(Attention):
    ...     def score(self, queries, keys):
    ...         return -torch.cdist(queries, keys)

    Args:
        dropout: the share of weights dropped in training, in [0, 1].
        keep_weights: whether `attention_weights` can be read after a call.
    """

    formula = "score(q, k)"
    """How the score is written in figures."""

    def __init__(self, dropout: float = 0.0, *, keep_weights: bool = True) -> None:
        check_dropout(dropout)
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.keep_weights = keep_weights
        self._attention_weights: Tensor | None = None

    def score(
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        keys: Float[Tensor, "batch *heads keys key_size"],
    ) -> Float[Tensor, "batch *heads queries keys"]:
        """Say how well each key fits each query: what a subclass defines."""
        raise NotImplementedError(f"{type(self).__name__} must define score(queries, keys)")

    def forward(
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        keys: Float[Tensor, "batch *heads keys key_size"],
        values: Float[Tensor, "batch *heads keys value_size"],
        valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
    ) -> Float[Tensor, "batch *heads queries value_size"]:
        """Attend: for each query, the average of the values whose keys fit it.

        Args:
            queries: `(batch, [heads,] num_queries, query_size)`.
            keys: `(batch, [heads,] num_keys, key_size)`.
            values: `(batch, [heads,] num_keys, value_size)`, one per key.
            valid_lens: how many keys may be seen, `(batch,)` for each example or
                `(batch, num_queries)` for each query; None means all.

        Returns:
            `(batch, [heads,] num_queries, value_size)`; zeros for a query with
            nothing to attend to.

        Raises:
            TypeError, ValueError: an argument has the wrong rank, size, batch, dtype
                or lengths. A refused call changes nothing.
        """
        check_queries_and_keys(queries, keys)
        check_values(values, keys.shape[-2])
        check_pair("values", values, "keys", keys)
        scores = self.score(queries, keys)
        check_scores(scores, queries, keys)
        weights = masked_softmax(scores, valid_lens)
        output = pool(self.dropout(weights), values)
        # A program made by torch.export has no layer to keep anything in.
        if not torch.compiler.is_exporting():
            self._attention_weights = weights.detach() if self.keep_weights else None
        return output

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers, to whom nn.Module says Any

    @property
    def attention_weights(self) -> Float[Tensor, "batch *heads queries keys"]:
        """The weights of the last call, before dropout, detached.

        Raises:
            AttributeError: the layer has not been called, or did not keep its weights.
        """
        if self._attention_weights is not None:
            return self._attention_weights
        # An AttributeError, so that hasattr works; see __getattr__.
        raise AttributeError

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as in nn.Module
        # Python comes here when the property above has nothing to give.
        if name == "attention_weights":
            raise AttributeError(
                f"attention_weights are not there: this {type(self).__name__} has kept none; "
                "call it with keep_weights=True first"
            )
        return super().__getattr__(name)


class DotProductAttention(Attention):
    """Attention that scores by the scaled dot product: softmax(q · k / √d) averages v.

    Nothing is learned here; queries and keys must have the same size d.

    Args:
        dropout: the share of weights dropped in training, in [0, 1].
        keep_weights: whether `attention_weights` can be read after a call.

    Source: Vaswani et al. (2017), equation 1 (our d is their d_k).
    """

    formula = "q · k / √d"

    def score(
        self,
        queries: Float[Tensor, "batch *heads queries size"],
        keys: Float[Tensor, "batch *heads keys size"],
    ) -> Float[Tensor, "batch *heads queries keys"]:
        """Score each pair by q · k / √d."""
        return scaled_dot_score(queries, keys)


class AdditiveAttention(Attention):
    """Attention that scores by a small network: w_vᵀ tanh(W_q q + W_k k).

    Queries and keys may have different sizes: both are projected to `num_hiddens`.

    Args:
        key_size, query_size: sizes of a key and of a query, at least 1.
        num_hiddens: hidden units of the score network, at least 1.
        dropout: the share of weights dropped in training, in [0, 1].
        keep_weights: whether `attention_weights` can be read after a call.

    Raises:
        TypeError, ValueError: an argument is missing, or out of its range.

    Source: Bahdanau, Cho and Bengio (2015), appendix A.1.2 (our W_q, W_k, w_v are
    their W_a, U_a, v_a). The order of arguments is that of Dive into Deep Learning
    before version 1.0.
    """

    formula = "w_vᵀ tanh(W_q q + W_k k)"
    _hiddens = "num_hiddens"

    def __init__(
        self,
        key_size: int = _MISSING,
        query_size: int = _MISSING,
        num_hiddens: int = _MISSING,
        dropout: float = 0.0,
        *,
        keep_weights: bool = True,
    ) -> None:
        if any(size is _MISSING for size in (key_size, query_size, num_hiddens)):
            raise TypeError(
                f"{type(self).__name__} takes (key_size, query_size, {self._hiddens}, dropout); "
                "the order (num_hiddens, dropout) of later d2l editions does not say "
                "how large a key and a query are"
            )
        for name, size in (
            ("key_size", key_size),
            ("query_size", query_size),
            (self._hiddens, num_hiddens),
        ):
            check_size(name, size)
        super().__init__(dropout, keep_weights=keep_weights)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)

    def score(
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        keys: Float[Tensor, "batch *heads keys key_size"],
    ) -> Float[Tensor, "batch *heads queries keys"]:
        """Score each pair by w_vᵀ tanh(W_q q + W_k k)."""
        check_last_axis("queries", queries, "query_size", self.W_q.in_features)
        check_last_axis("keys", keys, "key_size", self.W_k.in_features)
        check_dtype("queries", queries, "the layer's weights", self.W_q.weight)
        features = additive_features(self.W_q(queries), self.W_k(keys))
        return self.w_v(features).squeeze(-1)  # type: ignore[no-any-return]

    def forward(
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        keys: Float[Tensor, "batch *heads keys key_size"],
        values: Float[Tensor, "batch *heads keys value_size"],
        valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
    ) -> Float[Tensor, "batch *heads queries value_size"]:
        """Attend, as `Attention.forward` says."""
        check_queries_and_keys(queries, keys)
        if valid_lens is not None:
            # The projection of huge padding can overflow to NaN, and so would its gradient.
            shape = (*queries.shape[:-1], keys.shape[-2])
            keys = without_padding(keys, length_mask(valid_lens, shape, keys.device))
        return super().forward(queries, keys, values, valid_lens)


class MLPAttention(AdditiveAttention):
    """`AdditiveAttention` under its older name, where `num_hiddens` was called `units`."""

    _hiddens = "units"

    def __init__(
        self,
        key_size: int = _MISSING,
        query_size: int = _MISSING,
        units: int = _MISSING,
        dropout: float = 0.0,
        *,
        keep_weights: bool = True,
    ) -> None:
        super().__init__(key_size, query_size, units, dropout, keep_weights=keep_weights)
