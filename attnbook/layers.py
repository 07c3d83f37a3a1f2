"""Attention layers: different scores make different layers."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING

import torch
from torch import nn

from attnbook.attention import Attention
from attnbook.checks import (
    KEYS,
    check_flag,
    check_inputs,
    check_last_axis,
    check_projected,
    check_scale,
    check_scores,
    check_shared_inputs,
    check_sizes,
    check_tensor,
    explained,
    own_score_error,
)
from attnbook.fused.additive import fast_additive_score
from attnbook.fused.choose import (
    blocks_pay,
    has_many_scores,
    kernel_pays,
    kernel_takes,
    looking_pays,
    needs_gradient,
    runs_steps,
    streaming_pays,
)
from attnbook.fused.dot_product import (
    Inputs,
    fast_dot_product_attention,
    run_kernel,
    sharing_keys,
)
from attnbook.fused.fallback import (
    all_finite,
    are_ordinary,
    is_plain,
    stay_finite,
)
from attnbook.fused.on_demand import WeightsOnDemand
from attnbook.fused.streaming import streamed_additive_attention
from attnbook.heads import share_keys, shares_keys, unshare_keys
from attnbook.masking.masks import visible_keys
from attnbook.masking.padding import replace_hidden, zero_hidden
from attnbook.reading import may_choose_by
from attnbook.scoring import additive_features, scaled_dot_score, scaled_products
from attnbook.torch_private import is_untouched
from attnbook.weighting import check_bias, weigh

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Shaped
    from torch import Tensor

    from attnbook.cache import CacheStep, CrossCache


LATER_ORDER = (
    "the order (num_hiddens, dropout) of later d2l editions leaves out the sizes of a key and a "
    "query"
)


AFTER_THE_SCORE = "_weigh_and_pool", "_pool", "_drop"  # steps of a call


class DotProductAttention(Attention):
    """Attention that scores by the scaled dot product: softmax(q · k / √d) averages v.

    Nothing is learned here; queries and keys must have the same size d.

    Args:
        dropout: the share of weights dropped in training, in [0, 1].
        keep_weights: whether `attention_weights` can be read after a call.
        scale: what to multiply q · k by, instead of 1 / √d; positive and finite.

    Source: Vaswani et al. (2017), equation 1 (our d is their d_k).

    Example:
        >>> layer = DotProductAttention(dropout=0.1).eval()
        >>> queries, keys = torch.ones(2, 3, 8), torch.ones(2, 5, 8)
        >>> layer(queries, keys, values=torch.ones(2, 5, 4)).shape
        torch.Size([2, 3, 4])
        >>> layer.attention_weights.shape
        torch.Size([2, 3, 5])
    """

    formula = "q · k / √d"

    @explained()
    def __init__(
        self, dropout: float = 0.0, *, keep_weights: bool = True, scale: float | None = None
    ) -> None:
        super().__init__(dropout, keep_weights=keep_weights)
        if scale is not None:
            check_scale(scale)
            self.formula = f"{scale:g} · q · k"
        self.scale = scale

    def extra_repr(self) -> str:
        """Show the scale, if it is not 1 / √d.

        :meta private:
        """
        return "" if self.scale is None else f"scale={self.scale}"

    def score(
        self,
        queries: Float[Tensor, "batch *heads queries size"],
        keys: Float[Tensor, "batch *heads keys size"],
    ) -> Float[Tensor, "batch *heads queries keys"]:
        """Score each pair by q · k / √d.

        Example:
            >>> queries, keys = torch.ones(1, 1, 4), torch.ones(1, 3, 4)
            >>> DotProductAttention(scale=1.0).score(queries, keys)
            tensor([[[4., 4., 4.]]])
        """
        return scaled_dot_score(queries, keys, self.scale)

    def forward(  # noqa: PLR0913 - a published interface
        self,
        queries: Float[Tensor, "batch *heads queries size"],
        keys: Float[Tensor, "batch *kv_heads keys size"],
        values: Float[Tensor, "batch *kv_heads keys value_size"],
        valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
        *,
        causal: bool = False,
        mask: Bool[Tensor, "*axes queries keys"] | None = None,
        bias: Float[Tensor, "*axes keys"] | None = None,
    ) -> Float[Tensor, "batch *heads queries value_size"]:
        """Attend, as `Attention.forward` does; by torch's own kernel if there are many scores.

        The kernel runs for more than 65,536 scores, and weights are then not stored but computed
        when they are read. Dropout, some biases, and values of another size than queries in a
        small call prevent it. Keys and values may have fewer heads than queries, if their number
        divides that of queries: neighbouring heads of queries share one head of keys.

        Example:
            >>> layer = DotProductAttention()
            >>> queries = torch.ones(2, 8, 3, 4)  # 8 heads
            >>> keys = torch.ones(2, 2, 5, 4)  # 2 heads, which they share
            >>> layer(queries, keys, values=keys).shape
            torch.Size([2, 8, 3, 4])
        """
        shared, fast = shares_keys(queries, keys), self._may_run_kernel(queries, keys)
        if not (shared or fast):
            return super().forward(
                queries, keys, values, valid_lens, causal=causal, mask=mask, bias=bias
            )
        (check_shared_inputs if shared else check_inputs)(queries, keys, values)
        check_last_axis("keys", keys, "query_size", queries.shape[-1])
        if torch.compiler.is_exporting() and shared:
            # torch.export cannot merge an axis of an open size with heads, as `share_keys` does.
            groups = queries.shape[1] // keys.shape[1]
            keys, values = (tensor.repeat_interleave(groups, dim=1) for tensor in (keys, values))
            return self.forward(
                queries, keys, values, valid_lens, causal=causal, mask=mask, bias=bias
            )
        check_flag("causal", causal)
        fast = fast and kernel_pays(queries, keys, values) and kernel_takes(bias, queries)
        shape = (*queries.shape[:-1], keys.shape[-2])
        visible = visible_keys(shape, valid_lens, causal and not fast, keys.device, mask)
        queries, keys = self._clear_for_gradients(queries, keys, visible, mask is None)
        if fast:
            if bias is not None:
                check_bias(bias, shape, queries, visible, causal=causal)
            inputs = Inputs(queries, keys, values, visible, bias, causal, self.scale)
            output = fast_dot_product_attention(inputs, from_first=mask is None)
            self._keep(WeightsOnDemand.of_call(inputs) if self.keep_weights else None)
            return output
        queries = share_keys(queries, keys.shape[1]) if shared else queries
        scores = self.score(queries, keys)
        check_scores(scores, queries, keys)
        scores = unshare_keys(scores, shape[1]) if shared else scores
        return self._weigh_and_pool(scores, values, visible, bias)

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers: nn.Module declares Any

    def _attend_unchecked(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        seen: CacheStep | CrossCache,
    ) -> Tensor:
        """Attend to stored keys, where all inputs have four axes and are known to fit.

        Free slots of a cache are zeros, so nothing needs clearing before the call. Heads that
        share keys become queries of one head, so that each key is read once.
        """
        if needs_gradient(queries, keys, values):
            return self.forward(queries, keys, values, mask=seen.visible)
        num_heads = queries.shape[1]
        rows, weights, drops = share_keys(queries, keys.shape[1]), None, self._drops()
        as_book = self._scores_as(DotProductAttention)
        # A compiled program takes a mask, as numbers of slots would change in each step.
        in_use = seen.in_use if as_book and not torch.compiler.is_compiling() else None
        visible = seen.visible if in_use is None else None
        if visible is not None and visible.shape[2] > 1 and num_heads != keys.shape[1]:
            visible = visible.repeat(1, 1, num_heads // keys.shape[1], 1)
        if as_book and not (self.keep_weights or drops) and kernel_pays(rows, keys, values):
            if in_use is not None:
                keys, values = keys[:, :, in_use], values[:, :, in_use]
            output = run_kernel(Inputs(rows, keys, values, visible, scale=self.scale))
        else:
            if as_book:
                scores = scaled_products(rows, keys, self.scale)
            else:
                scores = self.score(rows, keys)
                check_scores(scores, rows, keys)
            if in_use is not None:
                scores.narrow(-1, 0, in_use.start).fill_(-math.inf)
                if in_use.stop < scores.shape[-1]:
                    scores[..., in_use.stop :] = -math.inf
            weights = weigh(scores, visible)
            output = (self._drop(weights) if drops else weights) @ values
        if not seen.sees_all and may_choose_by(values) and not all_finite(output):
            # This clears what is hidden.
            return self.forward(queries, keys, values, mask=seen.visible)
        if weights is not None:
            weights = unshare_keys(weights, num_heads) if self.keep_weights else None
        self._keep(weights)
        return unshare_keys(output, num_heads)

    def _may_run_kernel(self, queries: Tensor, keys: Tensor) -> bool:
        """Whether torch's kernel gives what this layer does: it drops and stores no weights.

        The weights of many scores are computed when they are read.
        """
        kind = DotProductAttention
        many = not self.keep_weights or has_many_scores(queries, keys)
        # A subclass or a hook might read the weights within the call.
        if not many or (self.keep_weights and not (type(self) is kind and is_untouched(self))):
            return False
        if self._drops():
            return False
        return self._scores_as(kind) and runs_steps(self, kind, *AFTER_THE_SCORE)

    def _pool(self, weights: Tensor, values: Tensor, visible: Tensor | None) -> Tensor:
        return sharing_keys(super()._pool, weights, values, visible)

    def _stays_finite(self, queries: Tensor, keys: Tensor) -> bool:
        grows = self.scale is not None and self.scale > 1  # it may make a query infinite
        return not grows and self._scores_as(DotProductAttention) and stay_finite(queries, keys)


def attends_as_written(layer: nn.Module) -> bool:
    """Whether a call runs what `DotProductAttention` has; the score may be the layer's own."""
    if not isinstance(layer, DotProductAttention) or not is_untouched(layer):
        return False
    return runs_steps(layer, DotProductAttention, "__call__", "forward", *AFTER_THE_SCORE)


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

    Source: Bahdanau, Cho and Bengio (2015), appendix A.1.2 (our W_q, W_k, w_v are their W_a,
    U_a, v_a). The order of arguments is that of Dive into Deep Learning before version 1.0.

    Example:
        >>> layer = AdditiveAttention(2, 20, num_hiddens=8)
        >>> queries, keys = torch.ones(2, 1, 20), torch.ones(2, 10, 2)
        >>> values, valid_lens = torch.ones(2, 10, 4), torch.tensor([2, 6])
        >>> layer(queries, keys, values, valid_lens).shape
        torch.Size([2, 1, 4])
    """

    formula = "w_vᵀ tanh(W_q q + W_k k)"
    _hiddens = "num_hiddens"

    @explained(LATER_ORDER)
    def __init__(
        self,
        key_size: int,
        query_size: int,
        num_hiddens: int,
        dropout: float = 0.0,
        *,
        keep_weights: bool = True,
    ) -> None:
        check_sizes({"key_size": key_size, "query_size": query_size, self._hiddens: num_hiddens})
        super().__init__(dropout, keep_weights=keep_weights)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)

    def score(
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        keys: Float[Tensor, "batch *heads keys key_size"],
    ) -> Float[Tensor, "batch *heads queries keys"]:
        """Score each pair by w_vᵀ tanh(W_q q + W_k k).

        Example:
            >>> queries, keys = torch.ones(1, 5, 3), torch.ones(1, 7, 2)
            >>> AdditiveAttention(2, 3, 8).score(queries, keys).shape
            torch.Size([1, 5, 7])
        """
        features = additive_features(self._project_queries(queries), self.project_keys(keys))
        return self.w_v(features).squeeze(-1)  # type: ignore[no-any-return]

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
        """Attend, as `Attention.forward` does; many scores are computed block by block.

        Example:
            >>> layer = AdditiveAttention(2, 3, num_hiddens=8)
            >>> queries, keys = torch.ones(1, 5, 3), torch.ones(1, 7, 2)
            >>> values, bias = torch.ones(1, 7, 4), torch.zeros(5, 7)
            >>> layer(queries, keys, values, bias=bias).shape
            torch.Size([1, 5, 4])
        """
        visible = self._visible_keys(queries, keys, values, valid_lens, causal, mask)
        # The projection of huge padding can overflow to NaN, and so would its gradient.
        queries, keys = self._clear_for_products(queries, keys, visible, mask is None)
        if self._blocks_pay(queries, keys, values):
            projected = self._project_queries(queries), self.project_keys(keys)
            return self._attend_in_blocks(*projected, values, visible, bias)
        scores = self.score(queries, keys)
        check_scores(scores, queries, keys)
        return self._weigh_and_pool(scores, values, visible, bias)

    def project_keys(
        self, keys: Float[Tensor, "batch *heads keys key_size"]
    ) -> Float[Tensor, "batch *heads keys num_hiddens"]:
        """Project keys once, W_k k, for the many calls of `attend` that a decoder makes.

        Padding must be finite here, as it reaches the gradients of the parameters.

        Raises:
            TypeError, ValueError: `keys` has the wrong rank, size or dtype.

        Example:
            >>> layer = AdditiveAttention(2, 3, num_hiddens=5)
            >>> projected_keys = layer.project_keys(torch.ones(1, 7, 2))
            >>> values = torch.ones(1, 7, 4)
            >>> for state in torch.randn(4, 1, 1, 3):
            ...     output = layer.attend(state, projected_keys, values)
            >>> output.shape
            torch.Size([1, 1, 4])
        """
        check_tensor("keys", keys, KEYS)
        w_k = self.W_k  # once, as modules find their parts slowly
        check_projected("keys", keys, "key_size", w_k)
        return w_k(keys)  # type: ignore[no-any-return]

    def attend(  # noqa: PLR0913 - a published interface
        self,
        queries: Float[Tensor, "batch *heads queries query_size"],
        projected_keys: Float[Tensor, "batch *heads keys num_hiddens"],
        values: Float[Tensor, "batch *heads keys value_size"],
        valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
        *,
        causal: bool = False,
        mask: Bool[Tensor, "*axes queries keys"] | None = None,
        bias: Float[Tensor, "*axes keys"] | None = None,
    ) -> Float[Tensor, "batch *heads queries value_size"]:
        """Attend as a call of the layer does, to keys that `project_keys` has projected.

        It refuses what a call does; and a subclass with a score of its own, by a TypeError.

        Example:
            >>> layer = AdditiveAttention(2, 3, num_hiddens=8)
            >>> projected_keys = layer.project_keys(torch.ones(1, 7, 2))
            >>> query, values = torch.ones(1, 1, 3), torch.ones(1, 7, 4)
            >>> layer.attend(query, projected_keys, values).shape
            torch.Size([1, 1, 4])
        """
        if not self._scores_as(AdditiveAttention):
            raise own_score_error(self)
        given = queries, projected_keys, values, valid_lens, causal, mask
        visible = self._visible_keys(*given, keys_name="projected_keys")
        if type(self.W_k) is nn.Linear:
            check_last_axis("projected_keys", projected_keys, "num_hiddens", self.W_k.out_features)
        queries, keys = self._clear_for_products(queries, projected_keys, visible, mask is None)
        queries = self._project_queries(queries)
        if self._blocks_pay(queries, keys, values):
            return self._attend_in_blocks(queries, keys, values, visible, bias)
        scores = self.w_v(additive_features(queries, keys))
        return self._weigh_and_pool(scores.squeeze(-1), values, visible, bias)

    def _clear_for_products(
        self, queries: Tensor, keys: Tensor, visible: Tensor | None, from_first: bool
    ) -> tuple[Tensor, Tensor]:
        """Replace hidden vectors, unless none is so large that a product may overflow."""
        if visible is None or (looking_pays(keys) and self._never_overflows(queries, keys)):
            return queries, keys
        return replace_hidden(queries, keys, visible, from_first)

    def _never_overflows(self, queries: Tensor, keys: Tensor) -> bool:
        """Whether all that is multiplied is known to be ordinary."""
        parts = self.W_q, self.W_k
        ours = self._scores_as(AdditiveAttention) and all(type(part) is nn.Linear for part in parts)
        return ours and are_ordinary(queries, keys, *(part.weight for part in parts))

    def _project_queries(self, queries: Tensor) -> Tensor:
        w_q = self.W_q
        check_projected("queries", queries, "query_size", w_q)
        return w_q(queries)  # type: ignore[no-any-return]

    def _blocks_pay(self, queries: Tensor, keys: Tensor, values: Tensor) -> bool:
        """Whether the score is the book's, and so large that blocks are faster."""
        w_v = self.w_v
        ours = self._scores_as(AdditiveAttention) and is_plain(w_v)
        # A generator, as listing them would slow down small calls.
        others = chain([values], self.parameters())
        return ours and blocks_pay(queries, keys, w_v.in_features, others)

    def _attend_in_blocks(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        visible: Tensor | None,
        bias: Tensor | None,
    ) -> Tensor:
        weight = self.w_v.weight.squeeze(0)
        whole = self.keep_weights or self._drops() or torch.compiler.is_compiling()
        autocast = values.dtype != queries.dtype
        if whole or bias is not None or autocast or not streaming_pays(queries, keys):
            scores = fast_additive_score(queries, keys, weight, visible)
            return self._weigh_and_pool(scores, values, visible, bias)
        cleared = zero_hidden(values, visible)
        output = streamed_additive_attention(queries, keys, weight, cleared, visible)
        self._keep(None)
        return output


class MLPAttention(AdditiveAttention):
    """`AdditiveAttention` under its older name, where `num_hiddens` was called `units`.

    Example:
        >>> layer = MLPAttention(key_size=2, query_size=20, units=8)
        >>> queries, keys = torch.ones(2, 1, 20), torch.ones(2, 10, 2)
        >>> layer(queries, keys, values=torch.ones(2, 10, 4)).shape
        torch.Size([2, 1, 4])
    """

    _hiddens = "units"

    @explained(LATER_ORDER)
    def __init__(
        self,
        key_size: int,
        query_size: int,
        units: int,
        dropout: float = 0.0,
        *,
        keep_weights: bool = True,
    ) -> None:
        super().__init__(key_size, query_size, units, dropout, keep_weights=keep_weights)
