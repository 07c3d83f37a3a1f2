"""Multi-head attention: several attentions in parallel, each on its own share of the features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from attnbook.attention import missing_weights_error
from attnbook.cache import CrossCache, LayerCache
from attnbook.checks import (
    ExplainedModule,
    check_axes,
    check_flag,
    check_heads,
    check_inputs,
    check_last_axis,
    check_projected,
    check_shared_inputs,
    check_sizes,
    check_values,
    describe_value,
    explained,
    see_recipe,
)
from attnbook.fused.fallback import is_plain
from attnbook.heads import merge_heads, split_heads
from attnbook.layers import DotProductAttention, attends_as_written
from attnbook.masking.masks import (
    causal_mask,
    check_mask,
    check_own_keys,
    check_valid,
    given_positions,
    positions_of_keys,
    visible_keys,
)
from attnbook.masking.padding import replace_hidden, zero_hidden
from attnbook.torch_weights import check_from_torch, check_to_torch, copy_weights

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jaxtyping import Bool, Float, Shaped
    from torch import Tensor

    from attnbook.cache import CacheStep


class MultiHeadAttention(ExplainedModule):
    """Several scaled dot-product attentions at once, on learned projections.

    W_q, W_k and W_v project queries, keys and values to the features of all heads. Each head
    attends with its own share of these, and W_o mixes what the heads have pooled.

    Args:
        key_size, query_size, value_size: sizes of a key, a query and a value, at least 1.
        num_hiddens: the size of an output; without `head_size` also of all heads together.
        num_heads: how many heads; it must divide `num_hiddens` if there is no `head_size`.
        dropout: the share of weights dropped in training, in [0, 1].
        bias: whether the four projections add a learned bias.
        keep_weights: whether `attention_weights` can be read after a call.
        num_kv_heads: how many heads keys and values have; it must divide `num_heads`. Head h
            of the queries reads head h // (num_heads / num_kv_heads). By default `num_heads`.
        head_size: the size of a head, by default `num_hiddens / num_heads`.
        rotary: turns queries and keys after the split, by their positions: `rotary_encoding`,
            or `partial(rotary_encoding, base=…, layout=…)`. By default nothing is turned.
        scale: what to multiply q · k by in each head, instead of 1 / √head_size.

    Raises:
        TypeError, ValueError: an argument is missing, or out of its range.

    Source: Vaswani et al. (2017), section 3.2.2 (our W_q holds the W_i^Q of all heads); Ainslie
    et al. (2023) for shared keys, Su et al. (2021) for rotary positions. The order of arguments
    is that of Dive into Deep Learning before version 1.0.

    Example:
        >>> sizes = 16, 16, 16, 16  # of keys, queries, values, num_hiddens
        >>> layer = MultiHeadAttention(*sizes, num_heads=4, num_kv_heads=2)
        >>> x = torch.ones(2, 5, 16)
        >>> layer(x, x, x, causal=True).shape
        torch.Size([2, 5, 16])
        >>> layer.attention_weights.shape
        torch.Size([2, 4, 5, 5])
    """

    @explained(
        "the order (num_hiddens, num_heads, dropout) of later d2l editions leaves out the sizes of "
        "a key, a query and a value; torch's nn.MultiheadAttention takes (embed_dim, num_heads)"
        + see_recipe("replace nn.MultiheadAttention")
    )
    def __init__(  # noqa: PLR0913, PLR0917 - a published interface
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = False,
        *,
        keep_weights: bool = True,
        num_kv_heads: int | None = None,
        head_size: int | None = None,
        rotary: Callable[[Tensor, Tensor], Tensor] | None = None,
        scale: float | None = None,
    ) -> None:
        sizes = {
            "key_size": key_size,
            "query_size": query_size,
            "value_size": value_size,
            "num_hiddens": num_hiddens,
            "num_heads": num_heads,
        }
        check_sizes(sizes)
        if head_size is None:
            check_heads("num_hiddens", num_hiddens, num_heads)
            head_size = num_hiddens // num_heads
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_sizes({"head_size": head_size, "num_kv_heads": num_kv_heads})
        if num_heads % num_kv_heads != 0:
            raise ValueError(
                f"num_kv_heads must divide num_heads={num_heads}, so that each head of keys is "
                f"shared by as many heads of queries, got {num_kv_heads}"
                + see_recipe("shared keys")
            )
        if rotary is not None and not callable(rotary):
            raise TypeError(
                f"rotary must be a function such as rotary_encoding, got {describe_value(rotary)}"
            )
        check_flag("bias", bias)
        super().__init__()
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.rotary = rotary
        self.attention = DotProductAttention(dropout, keep_weights=keep_weights, scale=scale)
        self.W_q = nn.Linear(query_size, num_heads * head_size, bias=bias)
        self.W_k = nn.Linear(key_size, num_kv_heads * head_size, bias=bias)
        self.W_v = nn.Linear(value_size, num_kv_heads * head_size, bias=bias)
        self.W_o = nn.Linear(num_heads * head_size, num_hiddens, bias=bias)

    def forward(  # noqa: PLR0913 - a published interface
        self,
        queries: Float[Tensor, "batch queries query_size"],
        keys: Float[Tensor, "batch keys key_size"],
        values: Float[Tensor, "batch keys value_size"],
        valid_lens: Shaped[Tensor, "batch *queries"] | None = None,
        *,
        causal: bool = False,
        mask: Bool[Tensor, "*axes queries keys"] | None = None,
        positions: Shaped[Tensor, "... queries"] | None = None,
        key_positions: Shaped[Tensor, "... keys"] | None = None,
        cache: LayerCache | None = None,
        bias: Float[Tensor, "*axes keys"] | None = None,
    ) -> Float[Tensor, "batch queries hiddens"]:
        """Attend with every head, and mix what they found.

        Args:
            queries: `(batch, num_queries, query_size)`.
            keys: `(batch, num_keys, key_size)`.
            values: `(batch, num_keys, value_size)`, one per key.
            valid_lens: how many keys may be seen, by every head: `(batch,)` for each
                example or `(batch, num_queries)` for each query; None means all. Not a mask of
                0 and 1, which would be read as lengths.
            causal: whether to hide keys after the query's own position.
            mask: booleans, True where a key may be seen: `(num_queries, num_keys)` or
                `(batch, num_queries, num_keys)` for every head, or `(batch, num_heads,
                num_queries, num_keys)`; each axis but the last may be 1.
            positions: of the queries, `(num_queries,)` or `(batch, num_queries)`, for `causal`
                and `rotary`. By default the queries are at the last positions of the keys.
            key_positions: of the keys, in the same way; by default those of the queries, where
                they are as many.
            cache: of the keys and values before: `keys` and `values` are then those of the new
                tokens, and the step that is open says where they are and what they see (always
                causal).
            bias: added to the scaled scores of visible keys, in their dtype: `(num_queries,
                num_keys)`, or `(batch, num_heads, num_queries, num_keys)`, each axis but the
                last that long or 1. At -inf the weight is 0, but not all that a query sees may
                be -inf. A bias that depends on the distance, as ALiBi's, goes here.

        Returns:
            `(batch, num_queries, num_hiddens)`; zeros for a query with nothing to attend to. No
            weights: read `attention_weights` after the call.

        Raises:
            TypeError, ValueError: as `Attention.forward`, and `LayerCache.append`.
            RuntimeError: a cache is used outside its step, or twice in it.

        Example:
            >>> layer = MultiHeadAttention(8, 8, 8, num_hiddens=8, num_heads=2)
            >>> x, valid_lens = torch.ones(3, 4, 8), torch.tensor([4, 2, 0])
            >>> distance = torch.arange(4)[:, None] - torch.arange(4)
            >>> slopes = torch.tensor([0.5, 0.25])[None, :, None, None]
            >>> alibi = -slopes * distance
            >>> layer(x, x, x, valid_lens, causal=True, bias=alibi).shape
            torch.Size([3, 4, 8])
        """
        if cache is not None:
            _check_left_to_cache(bias, valid_lens, mask, positions, key_positions)
            return self._attend_cached(queries, keys, values, cache, causal)
        self._check(queries, keys, values)
        shape = (*queries.shape[:-1], keys.shape[-2])
        check_flag("causal", causal)
        at = self._positions(positions, key_positions, shape, keys.device)
        if causal and positions is not None and at is not None:
            causal, mask = False, self._join_order(mask, shape, at)
        seen = self._seen_by_any_head(mask, shape)
        in_order = causal and not (mask is None and _order_alone_hides_nothing(shape, valid_lens))
        visible = visible_keys(shape, valid_lens, in_order, keys.device, seen)
        # The projection of huge padding may overflow.
        queries, keys = replace_hidden(queries, keys, visible, mask is None)
        values = zero_hidden(values, visible)
        q = split_heads(self.W_q(queries), self.num_heads)
        k = split_heads(self.W_k(keys), self.num_kv_heads)
        v = split_heads(self.W_v(values), self.num_kv_heads)
        if self.rotary is not None and at is not None:
            q, k = self.rotary(q, at[0]), self.rotary(k, at[1])
        for_heads = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        heads = self.attention(q, k, v, valid_lens, causal=causal, mask=for_heads, bias=bias)
        output = self.W_o(merge_heads(heads))
        return self._zero_if_empty(output, visible, num_keys=shape[-1])

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers: nn.Module declares Any

    def _attend_cached(
        self, queries: Tensor, keys: Tensor, values: Tensor, cache: LayerCache, causal: bool
    ) -> Tensor:
        """Project the new tokens only, and attend to all that are stored."""
        check_flag("causal", causal)
        if not isinstance(cache, LayerCache):
            raise TypeError(
                "cache must be a LayerCache, such as KeyValueCache.layer(0), got "
                f"{type(cache).__name__}"
            )
        w_q, w_k, w_v = self._check(queries, keys, values)
        step = cache.step
        _check_tokens("queries", queries, step)
        if keys is not queries:
            _check_tokens("keys", keys, step)
        # As `split_heads` does, whose checks these pass.
        shape = *step.shape, self.num_kv_heads, -1
        q = w_q(queries).reshape(*shape[:2], self.num_heads, -1).transpose(1, 2)
        k = w_k(keys).reshape(shape).transpose(1, 2)
        v = w_v(values).reshape(shape).transpose(1, 2)
        if self.rotary is not None:
            # Together, because a step has few numbers: what costs time is the call.
            turned = self.rotary(torch.cat([q, k], dim=1), step.positions)
            q, k = turned[:, : self.num_heads], turned[:, self.num_heads :]
        stored = cache.append(k, v)
        return self._attend_to_stored(q, *stored, step)

    def _attend_to_stored(
        self, q: Tensor, keys: Tensor, values: Tensor, cache: CacheStep | CrossCache
    ) -> Tensor:
        attention = self.attention
        if attends_as_written(attention):
            heads = attention._attend_unchecked(q, keys, values, cache)
        else:
            heads = attention(q, keys, values, mask=cache.visible)
        output: Tensor = self.W_o(heads.transpose(1, 2).flatten(2))  # as `merge_heads` does
        if cache.sees_all:
            return output
        sees = None if cache.visible is None else cache.visible[:, 0]
        return self._zero_if_empty(output, sees, num_keys=keys.shape[-2])

    def project_keys(
        self,
        keys: Float[Tensor, "batch keys key_size"],
        values: Float[Tensor, "batch keys value_size"],
        valid: Bool[Tensor, "... keys"] | None = None,
    ) -> CrossCache:
        """Project the keys and values of a complete text, for the many calls of `attend`.

        Args:
            keys, values: as in `forward`.
            valid: booleans, False for padding, `(num_keys,)` or `(batch, num_keys)`.

        Raises:
            TypeError, ValueError: an argument has the wrong type or shape; or the layer has
                rotary positions, which order a single text.

        Example:
            >>> layer = MultiHeadAttention(6, 8, 6, num_hiddens=8, num_heads=2)
            >>> keys = torch.ones(3, 5, 6)
            >>> layer.project_keys(keys, values=keys).keys.shape
            torch.Size([3, 2, 5, 4])
        """
        if self.rotary is not None:
            raise ValueError(
                f"rotary must be None for keys of another text, got {describe_value(self.rotary)}"
            )
        check_axes("keys", keys, "(batch, num_keys, key_size)")
        check_values(values, keys.shape[-2])
        check_projected("keys", keys, "key_size", self.W_k)
        check_projected("values", values, "value_size", self.W_v)
        if valid is not None:
            shape = (keys.shape[0], 1, keys.shape[1])
            visible = check_valid("valid", valid, shape, -1, keys.device).unsqueeze(-2)
            # As in `forward`: 0 times NaN would be NaN in the gradients of the projections.
            _, keys = replace_hidden(keys, keys, visible, from_first=False)
            values = zero_hidden(values, visible)
        k = split_heads(self.W_k(keys), self.num_kv_heads)
        v = split_heads(self.W_v(values), self.num_kv_heads)
        return CrossCache(k, v, valid)

    def attend(
        self, queries: Float[Tensor, "batch queries query_size"], cache: CrossCache
    ) -> Float[Tensor, "batch queries hiddens"]:
        """Attend as a call of the layer does, to keys that `project_keys` has projected.

        Raises:
            TypeError, ValueError: `cache` is no `CrossCache`, or does not fit the queries.

        Example:
            >>> layer = MultiHeadAttention(6, 8, 6, num_hiddens=8, num_heads=2)
            >>> keys = torch.ones(3, 5, 6)
            >>> cache = layer.project_keys(keys, values=keys)
            >>> layer.attend(torch.ones(3, 1, 8), cache).shape
            torch.Size([3, 1, 8])
        """
        if not isinstance(cache, CrossCache):
            raise TypeError(
                "cache must be a CrossCache, as project_keys returns it, got "
                f"{type(cache).__name__}"
            )
        check_axes("queries", queries, "(batch, num_queries, query_size)")
        check_projected("queries", queries, "query_size", self.W_q)
        if cache.visible is not None:  # queries of a text that is all padding may hold anything
            queries = torch.where(cache.visible[:, 0].any(dim=-1, keepdim=True), queries, 1.0)
        q = split_heads(self.W_q(queries), self.num_heads)
        check_shared_inputs(q, cache.keys, cache.values)
        check_last_axis("keys", cache.keys, "query_size", q.shape[-1])
        return self._attend_to_stored(q, cache.keys, cache.values, cache)

    def _check(
        self, queries: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[nn.Module, nn.Module, nn.Module]:
        """Refuse what the projections cannot take, and return them."""
        check_axes("queries", queries, "(batch, num_queries, query_size)")
        if not (keys is queries and values is queries and queries.is_floating_point()):
            check_inputs(queries, keys, values)
        projections = self.W_q, self.W_k, self.W_v
        check_projected("queries", queries, "query_size", projections[0])
        check_projected("keys", keys, "key_size", projections[1])
        check_projected("values", values, "value_size", projections[2])
        return projections

    def _positions(
        self,
        positions: Tensor | None,
        key_positions: Tensor | None,
        shape: tuple[int, ...],
        device: torch.device,
    ) -> tuple[Tensor, Tensor] | None:
        """Return the positions of queries and keys, if they are needed: given, or counted."""
        if positions is None and key_positions is None:
            if self.rotary is None:
                return None
            check_own_keys("rotary", shape)
            counted = positions_of_keys(shape, device)
            return counted[shape[-1] - shape[-2] :], counted
        if positions is None:
            raise ValueError("positions must be given where key_positions are, got None")
        if key_positions is None:
            if shape[-2] != shape[-1]:
                raise ValueError(
                    "key_positions must be given where keys are not as many as queries, got None "
                    f"with num_queries={shape[-2]} and num_keys={shape[-1]}"
                )
            key_positions = positions
        return (
            given_positions("positions", positions, shape, -2, device),
            given_positions("key_positions", key_positions, shape, -1, device),
        )

    def _join_order(
        self, mask: Tensor | None, shape: tuple[int, ...], at: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Hide later positions as well, where a mask (None: nothing) hides other keys already."""
        order = causal_mask(shape, query_positions=at[0], key_positions=at[1])
        if mask is None:
            return order
        mask = check_mask(mask, shape, order.device, self.num_heads)
        return mask & (order[:, None] if mask.dim() == 4 else order)

    def _seen_by_any_head(self, mask: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
        if not isinstance(mask, torch.Tensor):
            return mask
        mask = check_mask(mask, shape, mask.device, self.num_heads)
        return mask.any(dim=1) if mask.dim() == 4 else mask

    def _zero_if_empty(self, output: Tensor, visible: Tensor | None, num_keys: int) -> Tensor:
        """Remove W_o's bias from the output of a query with nothing to attend to."""
        if is_plain(self.W_o) or (visible is None and num_keys > 0):
            return output
        sees = False if visible is None else visible.any(dim=-1, keepdim=True)
        return torch.where(torch.as_tensor(sees, device=output.device), output, 0.0)

    @property
    def keep_weights(self) -> bool:
        """Whether `attention_weights` can be read after a call; it can be set.

        Example:
            >>> layer = MultiHeadAttention(8, 8, 8, num_hiddens=8, num_heads=2)
            >>> layer.keep_weights = False
            >>> layer.attention.keep_weights
            False
        """
        return self.attention.keep_weights

    @keep_weights.setter
    def keep_weights(self, keep: bool) -> None:
        self.attention.keep_weights = keep

    @property
    def attention_weights(self) -> Float[Tensor, "batch heads queries keys"]:
        """The weights of each head in the last call, before dropout, detached.

        A call returns only the output: `output, weights = layer(…)` would split a batch of 2.

        Raises:
            AttributeError: the layer has not been called, or did not store its weights.

        Example:
            >>> layer = MultiHeadAttention(8, 8, 8, num_hiddens=8, num_heads=2)
            >>> output = layer(*torch.ones(3, 3, 4, 8))
            >>> layer.attention_weights.shape
            torch.Size([3, 2, 4, 4])
        """
        return self.attention.attention_weights

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as in nn.Module
        # Python calls this when the property above raises AttributeError.
        if name == "attention_weights":
            raise missing_weights_error(self)
        return super().__getattr__(name)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> MultiHeadAttention:
        """Make a layer with a copy of the weights of torch's `nn.MultiheadAttention`.

        It computes what `module` does, and what is frozen there is frozen here; but batches
        come first, whatever `module.batch_first` is, and a row with nothing to attend to
        is zero, not NaN.

        Raises:
            TypeError: `module` is no `nn.MultiheadAttention`, or computes something else: by a
                forward of its own, or by hooks.
            ValueError: it adds keys of its own (`add_bias_kv`, `add_zero_attn`).

        Example:
            >>> theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
            >>> x = torch.ones(3, 4, 8)
            >>> expected, _ = theirs(x, x, x)
            >>> ours = MultiHeadAttention.from_torch(theirs)
            >>> torch.allclose(ours(x, x, x), expected, atol=1e-5)
            True
        """
        check_from_torch("module", module, nn.MultiheadAttention)
        if module.bias_k is not None or module.add_zero_attn:
            raise ValueError("module must add no keys, got add_bias_kv or add_zero_attn")
        weight, size = module.out_proj.weight, module.embed_dim
        sizes = module.kdim, size, module.vdim, size, module.num_heads
        with weight.device:  # whatever torch's default device is
            layer = cls(*sizes, module.dropout, bias=module.in_proj_bias is not None)
        layer.to(weight).train(module.training)
        copy_weights(layer, module, to_torch=False)
        return layer

    def to_torch(self) -> nn.MultiheadAttention:
        """Make torch's `nn.MultiheadAttention(batch_first=True)` with a copy of the weights.

        Its masks are inverted: True hides. What is frozen stays frozen; where it
        joins three of ours in one, all three must be.

        Raises:
            TypeError: a projection or the attention has been replaced, or has hooks.
            ValueError: queries are not as large as outputs, as torch requires, or some
                projections have a bias and others none.

        Example:
            >>> layer = MultiHeadAttention(8, 8, 8, 8, num_heads=2, bias=True)
            >>> type(layer.to_torch()).__name__
            'MultiheadAttention'
        """
        check_to_torch(self)
        num_hiddens = self.W_q.out_features
        module = nn.MultiheadAttention(
            num_hiddens,
            self.num_heads,
            self.attention.dropout.p,
            bias=self.W_q.bias is not None,
            kdim=self.W_k.in_features,
            vdim=self.W_v.in_features,
            batch_first=True,
            device=self.W_o.weight.device,
            dtype=self.W_o.weight.dtype,
        )
        module.train(self.training)
        copy_weights(self, module, to_torch=True)
        return module


def _order_alone_hides_nothing(shape: tuple[int, ...], valid_lens: Tensor | None) -> bool:
    """Whether order leaves each key to a query and each query a key, as the last one sees all."""
    if torch.compiler.is_exporting() or shape[-2] > shape[-1]:
        return False
    return valid_lens is None or (isinstance(valid_lens, torch.Tensor) and valid_lens.dim() == 1)


def _check_left_to_cache(bias: Tensor | None, *others: Tensor | None) -> None:
    """Refuse what a step of a cache says already, and a bias: a slot's index is no position."""
    for other in others:
        if other is not None:
            raise ValueError(
                "valid_lens, mask, positions and key_positions must be left out with a cache, "
                "whose step says where the tokens are and what they see, got one of them"
            )
    if bias is not None:
        raise ValueError(
            "bias must be left out with a cache, whose keys are in the order of its slots, not "
            f"of positions, got {type(bias).__name__}: leave out the cache, and pass the keys and "
            "values of all tokens so far with the new queries"
        )


def _check_tokens(name: str, new: Tensor, step: CacheStep) -> None:
    """Refuse other vectors than one for each token of a step."""
    if new.shape[:2] != step.shape:
        raise ValueError(
            f"{name} must be of the tokens of the step, (batch, num_tokens) = "
            f"{step.shape}, got {tuple(new.shape[:2])} in shape {tuple(new.shape)}"
        )
