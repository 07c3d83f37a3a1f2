"""What every attention layer does: score, weigh, pool. A subclass defines the score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from attnbook.checks import (
    ExplainedModule,
    check_dropout,
    check_flag,
    check_inputs,
    check_scores,
    explained,
    see_recipe,
)
from attnbook.fused.choose import fast_weigh_pays
from attnbook.fused.fallback import all_finite
from attnbook.fused.on_demand import WeightsOnDemand
from attnbook.fused.softmax import fast_weigh
from attnbook.masking.masks import visible_keys
from attnbook.masking.padding import replace_hidden, zero_hidden
from attnbook.pooling import pool
from attnbook.reading import may_choose_by
from attnbook.torch_private import is_mapping, is_recording, is_untouched, unwrap
from attnbook.weighting import add_bias, weigh

if TYPE_CHECKING:
    from typing import Any

    from jaxtyping import Bool, Float, Shaped
    from torch import Tensor


class Attention(ExplainedModule):
    """An attention layer in three stages: scoring, weighting, pooling.

    A subclass that defines `score` is a complete layer.

    Args:
        dropout: the share of weights dropped in training, in [0, 1].
        keep_weights: whether `attention_weights` can be read after a call.

    Example:
        >>> class NearestAttention(Attention):
        ...     def score(self, queries, keys):
        ...         return -(queries.unsqueeze(-2) - keys.unsqueeze(-3)).norm(dim=-1)
        >>> queries, keys = torch.ones(1, 2, 3), torch.ones(1, 5, 3)
        >>> NearestAttention()(queries, keys, values=keys).shape
        torch.Size([1, 2, 3])
    """

    formula = "score(q, k)"
    """How the score is written in figures."""

    @explained()
    def __init__(self, dropout: float = 0.0, *, keep_weights: bool = True) -> None:
        check_dropout(dropout)
        check_flag("keep_weights", keep_weights)
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.keep_weights = keep_weights
        self._attention_weights: Tensor | WeightsOnDemand | None = None

    def score(
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        keys: Float[Tensor, "batch *heads keys key_size"],
    ) -> Float[Tensor, "batch *heads queries keys"]:
        """Score how well each key fits each query. A subclass defines this.

        A score may depend only on its own query and key. Scores of padding are computed too,
        and never used.

        Example:
            >>> queries, keys = torch.ones(1, 5, 3), torch.ones(1, 7, 2)
            >>> AdditiveAttention(2, 3, 8).score(queries, keys).shape
            torch.Size([1, 5, 7])
        """
        raise NotImplementedError(f"{type(self).__name__} must define score(queries, keys)")

    def forward(  # noqa: PLR0913 - a published interface
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        keys: Float[Tensor, "batch *heads keys key_size"],
        values: Float[Tensor, "batch *heads keys value_size"],
        valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
        *,
        causal: bool = False,
        mask: Bool[Tensor, "*axes queries keys"] | None = None,
        bias: Float[Tensor, "*axes keys"] | None = None,
    ) -> Float[Tensor, "batch *heads queries value_size"]:
        """Attend: for each query, the average of the values whose keys fit it.

        Args:
            queries: `(batch, [heads,] num_queries, query_size)`.
            keys: `(batch, [heads,] num_keys, key_size)`.
            values: `(batch, [heads,] num_keys, value_size)`, one per key. What keys and
                values hold that no query may see has no effect, not even NaN.
            valid_lens: how many keys may be seen, `(batch,)` for each example or
                `(batch, num_queries)` for each query; None means all. Not a mask of 0 and 1,
                which would be read as lengths.
            causal: whether to hide keys after the query's own position, as `causal_mask`
                does.
            mask: booleans, True where a key may be seen: `(num_queries, num_keys)`, or with
                all axes of the scores, each but the last that long or 1. Lengths, order
                and mask hold together.
            bias: added to the scores of visible keys, in their dtype and in the shapes of
                `mask`. At -inf the weight is 0, but not all that a query sees may be -inf.

        Returns:
            `(batch, [heads,] num_queries, value_size)`; zeros for a query with
            nothing to attend to.

        Raises:
            TypeError, ValueError: an argument has the wrong rank, size, batch, dtype,
                lengths, mask or bias. A refused call changes nothing.

        Example:
            >>> queries, keys = torch.ones(1, 1, 2), torch.ones(1, 5, 2)
            >>> values = torch.arange(20.0).reshape(1, 5, 4)
            >>> valid_lens = torch.tensor([2])
            >>> DotProductAttention()(queries, keys, values, valid_lens)
            tensor([[[2., 3., 4., 5.]]])
        """
        visible = self._visible_keys(queries, keys, values, valid_lens, causal, mask)
        queries, keys = self._clear_for_gradients(queries, keys, visible, mask is None)
        scores = self.score(queries, keys)
        check_scores(scores, queries, keys)
        return self._weigh_and_pool(scores, values, visible, bias)

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers: nn.Module declares Any

    def _visible_keys(  # noqa: PLR0913, PLR0917 - the arguments of a call, and a name
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None,
        causal: bool,
        mask: Tensor | None,
        keys_name: str = "keys",
    ) -> Tensor | None:
        """Refuse inputs that do not fit together; make the mask of visible keys."""
        check_inputs(queries, keys, values, keys_name)
        shape = (*queries.shape[:-1], keys.shape[-2])
        return visible_keys(shape, valid_lens, causal, keys.device, mask)

    def _clear_for_gradients(
        self, queries: Tensor, keys: Tensor, visible: Tensor | None, from_first: bool
    ) -> tuple[Tensor, Tensor]:
        """Replace hidden vectors: their gradient is 0 times what they hold, and may be NaN."""
        # A program recorded without gradients may compute gradients later.
        learns = torch.is_grad_enabled() or is_recording()
        if visible is None or not learns or self._stays_finite(queries, keys):
            return queries, keys
        return replace_hidden(queries, keys, visible, from_first)

    def _stays_finite(self, queries: Tensor, keys: Tensor) -> bool:  # noqa: ARG002 - a subclass reads them
        """Whether gradients of hidden scores are known to be 0, whatever is hidden."""
        return False

    def _weigh_and_pool(
        self, scores: Tensor, values: Tensor, visible: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        if bias is not None:
            scores = add_bias(scores, bias, visible)
        # Very many scores are weighed in another way: the same weights, in less time.
        if visible is not None and fast_weigh_pays(scores):
            weights = fast_weigh(scores, visible)
        else:
            weights = weigh(scores, visible)
        output = self._pool(self._drop(weights) if self._drops() else weights, values, visible)
        self._keep(weights if self.keep_weights else None)
        return output

    def _pool(self, weights: Tensor, values: Tensor, visible: Tensor | None) -> Tensor:
        """Pool the values, and clear padding where it holds NaN, as 0 times NaN is NaN."""
        if visible is None:
            return pool(weights, values)
        # Checking the output costs less than clearing all padding.
        if may_choose_by(values):
            output = pool(weights, values)
            if all_finite(output):
                return output
        return pool(weights, zero_hidden(values, visible))

    def _drop(self, weights: Tensor) -> Tensor:
        # The stored weights are those before dropout.
        in_place = getattr(self.dropout, "inplace", False)
        return self.dropout(weights.clone() if in_place else weights)  # type: ignore[no-any-return]

    def _drops(self) -> bool:
        dropout = self.dropout
        if type(dropout) is not nn.Dropout or not is_untouched(dropout):
            return True  # it may drop weights
        return dropout.training and dropout.p > 0

    def _scores_as(self, layer: type[Attention]) -> bool:
        """Whether the score is still that of this layer of the book."""
        return type(self).score is layer.score and "score" not in vars(self)

    def _keep(self, weights: Tensor | WeightsOnDemand | None) -> None:
        if weights is None and self._attention_weights is None:
            return  # the usual case without weights; setting an attribute of a module is slow
        # A program made by torch.export has no layer to store weights in.
        if not torch.compiler.is_exporting():
            self._attention_weights = (
                unwrap(weights.detach()) if isinstance(weights, torch.Tensor) else weights
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave the weights of the last call out of copies and saved layers."""
        return self.__dict__ | {"_attention_weights": None}

    @property
    def attention_weights(self) -> Float[Tensor, "batch *heads queries keys"]:
        """The weights of the last call, before dropout, detached.

        Those of a large call of `DotProductAttention` are computed when they are first read, from
        copies of what the call got. Copies of the layer, and saved layers, have no weights.
        A call returns only the output: `output, weights = layer(…)` would split a batch of 2.
        After `torch.func.vmap` they begin with the axes that were mapped over.

        Raises:
            AttributeError: the layer has not been called, or did not store its weights.
            RuntimeError: they are read within `torch.func.vmap`, by one sample, but are those
                of all samples.

        Example:
            >>> layer, x = DotProductAttention(), torch.ones(1, 4, 2)
            >>> output = layer(x, x, x, causal=True)
            >>> layer.attention_weights[0, 1]
            tensor([0.5000, 0.5000, 0.0000, 0.0000])
        """
        if is_mapping():
            raise RuntimeError(
                "attention_weights must be read after torch.func.vmap, got a read within it: "
                "they are those of all samples"
            )
        found = self._attention_weights
        if isinstance(found, WeightsOnDemand):
            weights = found.compute()
            if self._attention_weights is found:  # no other thread has called the layer meanwhile
                self._attention_weights = weights
            return weights
        # A compiled layer stores them wrapped.
        if found is not None and (plain := unwrap(found)) is not None:
            return plain
        # An AttributeError, so that hasattr works; see __getattr__.
        raise AttributeError

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as in nn.Module
        # Python calls this when the property above raises AttributeError.
        if name == "attention_weights":
            raise missing_weights_error(self)
        return super().__getattr__(name)


def missing_weights_error(layer: nn.Module) -> AttributeError:
    """Make the error for a layer without stored weights."""
    why, fix = "holds none yet", "call the layer first"
    if not getattr(layer, "keep_weights", True):
        why, fix = "stores none", "set layer.keep_weights = True and call it again"
    return AttributeError(
        f"attention_weights are not there: this {type(layer).__name__} {why}; {fix}"
        + see_recipe("weights per head")
    )
