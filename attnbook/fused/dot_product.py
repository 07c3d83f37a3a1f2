"""Dot-product attention without stored weights, by torch's own fused attention.

torch's kernel never stores the scores. It takes a mask, but computes padding too,
so a large example is sliced: the kernel gets its keys up to the length.

The kernel masks by adding -inf. At a padded score that has overflowed to inf this is NaN,
and so is its row: then padding is cleared and the kernel called again. The same may happen
to gradients where padded values are huge, so training checks for these. Where numbers are
not read (on a GPU, compiled), padding is always cleared.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from attnbook.fused.fallback import all_finite, wide_dtype
from attnbook.fused.when_faster import needs_gradient, slices_pay
from attnbook.heads import share_keys, shares_keys, unshare_keys
from attnbook.masking.masks import count_visible, without_future
from attnbook.masking.padding import seen_by_any, zero_hidden
from attnbook.pooling import pool
from attnbook.scoring import scaled_dot_score
from attnbook.weighting import weigh

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

# Values of a larger norm are huge: their products with gradients might overflow.
ORDINARY = 1e9


def fast_dot_product_attention(  # noqa: PLR0913 - what a call and its layer say
    queries: Float[Tensor, "batch *heads queries size"],
    keys: Float[Tensor, "batch *kv_heads keys size"],
    values: Float[Tensor, "batch *kv_heads keys value_size"],
    visible: Bool[Tensor, "#batch *ones keys"] | None,
    *,
    causal: bool = False,
    from_first: bool = True,
    scale: float | None = None,
) -> Float[Tensor, "batch *heads queries value_size"]:
    """Score by q · k / √d, weigh and pool, without storing weights.

    torch's kernel has no second derivative; with `keep_weights=True` the layer has one.

    Args:
        visible: what lengths and a mask leave visible; `causal` is passed on its own, so that
            the kernel can skip the future instead of masking it.
        from_first: whether lengths alone say what is visible, so that keys can be cut off.
        scale: what to multiply q · k by, instead of 1 / √d.
    """
    reads = queries.device.type == "cpu" and not torch.compiler.is_compiling()
    if (
        reads
        and needs_gradient(queries, keys, values)
        and not _tolerates_rounding(queries, keys, visible, scale)
    ):
        return _formula(queries, keys, values, visible, scale, causal=causal)
    per_example = from_first and visible is not None and visible.shape[-2] == 1
    sliced = reads and per_example and slices_pay(queries, keys, values)
    # The kernel's causal mask has the first query at the first key.
    if causal and _are_as_many(queries, keys) and (visible is None or sliced):
        return _causal(queries, keys, values, visible, scale)
    if causal:
        visible = without_future(visible, _shape(queries, keys), keys.device)
    if visible is None or not reads:
        return _unread(queries, keys, values, visible, scale)
    if sliced and not causal:
        return _sliced(queries, keys, values, visible, scale)
    return _masked(queries, keys, values, visible, scale)


def _are_as_many(queries: Tensor, keys: Tensor) -> bool:
    """Whether there are as many queries as keys, for whatever sizes a program is called with."""
    # An exported program has dynamic sizes; comparing them would make them constants.
    return not torch.compiler.is_exporting() and queries.shape[-2] == keys.shape[-2]


def _shape(queries: Tensor, keys: Tensor) -> tuple[int, ...]:
    """Give the scores' shape."""
    return *queries.shape[:-1], keys.shape[-2]


def _formula(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    visible: Tensor | None,
    scale: float | None,
    *,
    causal: bool = False,
) -> Tensor:
    if causal:
        visible = without_future(visible, _shape(queries, keys), keys.device)
    keys, values = zero_hidden(keys, visible), zero_hidden(values, visible)
    if not shares_keys(queries, keys):
        return pool(weigh(scaled_dot_score(queries, keys, scale), visible), values)
    num_heads, num_kv_heads = queries.shape[1], keys.shape[1]
    scores = scaled_dot_score(share_keys(queries, num_kv_heads), keys, scale)
    weights = weigh(unshare_keys(scores, num_heads), visible)
    return unshare_keys(pool(share_keys(weights, num_kv_heads), values), num_heads)


def _unread(
    queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor | None, scale: float | None
) -> Tensor:
    keys, values = zero_hidden(keys, visible), zero_hidden(values, visible)
    return run_kernel(queries, keys, values, visible, scale=scale)


def _masked(
    queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, scale: float | None
) -> Tensor:
    """Trust the kernel if its output is finite; else clear padding; else take the formula."""
    for path in (run_kernel, _unread):
        output = path(queries, keys, values, visible, scale=scale)
        if path is _unread and output.requires_grad:
            values = zero_hidden(values, visible)
        if _is_trusted(output, values):
            return output
    return _formula(queries, keys, values, visible, scale)


def _is_trusted(output: Tensor, values: Tensor) -> bool:
    return all_finite(output) and (not output.requires_grad or _is_ordinary(values))


def _tolerates_rounding(
    queries: Tensor, keys: Tensor, visible: Tensor | None, scale: float | None
) -> bool:
    """Whether no score is so large, or NaN, that another rounding moves it by 1.

    Keys that no query sees do not count: padding changes nothing, not even the path.
    """
    of_queries, of_keys = (
        torch.linalg.vector_norm(tensor.detach(), dim=-1, dtype=wide_dtype(tensor))
        for tensor in (queries, keys)
    )
    if visible is not None:
        of_keys = of_keys.masked_fill(~seen_by_any(visible, keys).squeeze(-1), 0)
    largest_score = (of_queries.max() * of_keys.max()).item() * _factor(scale, queries.shape[-1])
    return bool(largest_score * torch.finfo(wide_dtype(queries)).eps <= 1)


def _is_ordinary(tensor: Tensor) -> bool:
    """Whether products with ordinary gradients stay far from overflow; NaN is not ordinary."""
    return bool(torch.linalg.vector_norm(tensor, dtype=wide_dtype(tensor)).item() <= ORDINARY)


def _causal(
    queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor | None, scale: float | None
) -> Tensor:
    if visible is None:
        output = run_kernel(queries, keys, values, None, causal=True, scale=scale)
    else:
        output = _sliced(queries, keys, values, visible, scale, causal=True)
    # Future keys may overflow, like padding.
    may_read = queries.device.type == "cpu" and not torch.compiler.is_compiling()
    if may_read and not _is_trusted(output, values):
        return _formula(queries, keys, values, visible, scale, causal=True)
    return output


def _sliced(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    visible: Tensor,
    scale: float | None,
    *,
    causal: bool = False,
) -> Tensor:
    seen = count_visible(visible).flatten().tolist()
    if not any(seen):
        return _formula(queries, keys, values, visible, scale)
    # unbind, because every plain slice would get a full-size gradient of its own.
    examples = zip(queries.unbind(), keys.unbind(), values.unbind(), seen, strict=True)
    kernel = partial(run_kernel, visible=None, causal=causal, scale=scale)
    outputs = [
        kernel(q[None], k[None, ..., :length, :], v[None, ..., :length, :])
        for q, k, v, length in examples
        if length > 0
    ]
    nothing = torch.zeros_like(outputs[0])
    found = iter(outputs)
    return torch.cat([next(found) if length > 0 else nothing for length in seen])


def run_kernel(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    visible: Tensor | None,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Call torch's kernel, which needs an axis of heads and one width for all."""
    size, value_size = queries.shape[-1], values.shape[-1]
    width = max(size, value_size)
    q, k, v = (_widened(tensor, width) for tensor in (queries, keys, values))
    if queries.dim() == 3:
        q, k, v = (tensor.unsqueeze(1) for tensor in (q, k, v))
        visible = None if visible is None else visible.unsqueeze(1)
    output = scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=visible,
        is_causal=causal,
        scale=_factor(scale, size),
        enable_gqa=q.shape[1] != k.shape[1],
    )
    output = output.squeeze(1) if queries.dim() == 3 else output
    return output if value_size == width else output[..., :value_size]


def _factor(scale: float | None, size: int) -> float:
    return 1 / math.sqrt(size) if scale is None else scale


def _widened(tensor: Tensor, width: int) -> Tensor:
    missing = width - tensor.shape[-1]
    return pad(tensor, (0, missing)) if missing else tensor
