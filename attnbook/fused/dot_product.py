"""Dot-product attention by torch's own fused attention, which never stores the scores.

torch's kernel takes a mask, but computes padding too, so a large example is sliced: the kernel
gets its keys up to the length. It has no second derivative; the formula takes its place there.

The kernel masks by adding -inf. At a padded score that has overflowed to inf this is NaN,
and so is its row: then padding is cleared and the kernel called again. The same may happen
to gradients where padded values are huge, so training checks for these. Where numbers are
not read (on a GPU, compiled), padding is always cleared, and keys that are not finite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import pad, scaled_dot_product_attention

from attnbook.fused.choose import needs_gradient, slices_pay
from attnbook.fused.fallback import (
    all_finite,
    gradients_by_formula,
    is_ordinary,
    wants_formula,
    wide_dtype,
)
from attnbook.heads import share_keys, shares_keys, unshare_keys
from attnbook.masking.masks import count_visible, without_future
from attnbook.masking.padding import visible_to_any, zero_hidden
from attnbook.pooling import pool
from attnbook.scoring import scaled_dot_score
from attnbook.weighting import weigh

if TYPE_CHECKING:
    from collections.abc import Callable

# Queries of a block with a causal bias.
ROWS = 256


class Inputs(NamedTuple):
    """What a call computes with, all of it checked; heads of queries may share keys."""

    queries: Tensor
    keys: Tensor
    values: Tensor
    visible: Tensor | None = None
    bias: Tensor | None = None
    causal: bool = False
    scale: float | None = None  # what to multiply q · k by, instead of 1 / √d

    def hide_future(self) -> Inputs:
        """Move `causal` into the mask."""
        if not self.causal:
            return self
        shape = (*self.queries.shape[:-1], self.keys.shape[-2])
        visible = without_future(self.visible, shape, self.keys.device)
        return self._replace(visible=visible, causal=False)

    def clear_hidden(self) -> Inputs:
        """Zero the keys and values that no query sees, and the queries that see nothing."""
        if self.visible is None:
            return self
        keys, values = (zero_hidden(tensor, self.visible) for tensor in (self.keys, self.values))
        queries = torch.where(self.visible.any(dim=-1, keepdim=True), self.queries, 0.0)
        return self._replace(queries=queries, keys=keys, values=values)


def fast_dot_product_attention(inputs: Inputs, *, from_first: bool = True) -> Tensor:
    """Score by q · k / √d, weigh and pool, without storing weights.

    Args:
        inputs: `causal` is a part of its own, so that the kernel can skip the future instead of
            masking it.
        from_first: whether lengths alone say what is visible, so that keys can be cut off.
    """
    queries, keys, values, visible = inputs[:4]
    # What else forbids reading has taken the formula before this call.
    reads = queries.is_cpu and not torch.compiler.is_compiling()
    if reads and needs_gradient(queries, keys, values) and not _tolerates_rounding(inputs):
        return _formula(inputs)
    as_many, biased = _are_as_many(queries, keys), inputs.bias is not None
    by_length = from_first and visible is not None and visible.shape[-2] == 1 and not biased
    run = run_kernel
    if reads and biased and inputs.causal and as_many:
        run = _run_rows
    elif reads and by_length and (as_many or not inputs.causal):
        run = _run_slices if slices_pay(queries, keys, values) else run_kernel
    # The kernel's order has the first query at the first key, and comes with no other mask.
    if run is run_kernel and (biased or visible is not None or not as_many):
        inputs = inputs.hide_future()
    if not reads:
        return _run_unread(inputs.clear_hidden())
    output = run(inputs)
    if not (inputs.causal or biased or (inputs.visible is not None and run is run_kernel)):
        return output  # nothing was computed that is hidden
    if run is run_kernel and inputs.visible is not None and not _is_trusted(output, values):
        inputs = inputs.clear_hidden()
        output = run_kernel(inputs)
    return output if _is_trusted(output, inputs.values) else _formula(inputs)


def _are_as_many(queries: Tensor, keys: Tensor) -> bool:
    """Whether there are as many queries as keys, for whatever sizes a program is called with."""
    # An exported program has dynamic sizes; comparing them would make them constants.
    return not torch.compiler.is_exporting() and queries.shape[-2] == keys.shape[-2]


def formula_weights(inputs: Inputs) -> Tensor:
    """Compute the weights by the formula."""
    queries, keys, _, visible, bias = inputs.hide_future()[:5]
    scores = sharing_keys(scaled_dot_score, queries, keys, inputs.scale)
    return weigh(scores if bias is None else scores + bias, visible)


def sharing_keys(compute: Callable[..., Tensor], rows: Tensor, keys: Tensor, *more: Any) -> Tensor:  # noqa: ANN401
    """Compute something of rows and keys (or values), where heads of rows may share keys."""
    if not shares_keys(rows, keys):
        return compute(rows, keys, *more)
    return unshare_keys(compute(share_keys(rows, keys.shape[1]), keys, *more), rows.shape[1])


def _formula(inputs: Inputs) -> Tensor:
    inputs = inputs.hide_future().clear_hidden()
    return sharing_keys(pool, formula_weights(inputs), inputs.values)


def _run_unread(inputs: Inputs) -> Tensor:
    """Give what the formula gives without reading it: NaN for whom it is NaN, and only for them.

    These are the queries that see a key that is not finite, or a bias of -inf at all keys.
    """
    visible, bias, finite = inputs.visible, inputs.bias, None
    if visible is not None and visible.shape[-2] > 1:
        finite = inputs.keys.isfinite().all(dim=-1, keepdim=True)
        inputs = inputs._replace(keys=torch.where(finite, inputs.keys, 0.0))
    output = run_kernel(inputs)
    if finite is not None and visible is not None:
        wrong = ~finite.transpose(-2, -1)
        if shares_keys(output, wrong):
            wrong = wrong.repeat_interleave(output.shape[1] // wrong.shape[1], dim=1)
        wrong = (visible & wrong).any(dim=-1, keepdim=True)
        output = torch.where(wrong, math.nan, output)
    if bias is not None:
        mask = torch.ones((), dtype=torch.bool, device=bias.device) if visible is None else visible
        nothing = (mask & (bias > -math.inf)).any(dim=-1) < mask.any(dim=-1)
        output = torch.where(nothing[..., None], math.nan, output)
    return output


def _is_trusted(output: Tensor, values: Tensor) -> bool:
    return all_finite(output) and (not output.requires_grad or is_ordinary(values))


def _tolerates_rounding(inputs: Inputs) -> bool:
    """Whether no score is so large, or NaN, that another rounding moves it by 1.

    Keys that no query sees do not count: padding changes nothing, not even the path.
    """
    queries, keys = inputs.queries, inputs.keys
    query_norms, key_norms = (
        torch.linalg.vector_norm(tensor.detach(), dim=-1, dtype=wide_dtype(tensor))
        for tensor in (queries, keys)
    )
    if inputs.visible is not None:
        key_norms = key_norms.masked_fill(~visible_to_any(inputs.visible, keys).squeeze(-1), 0)
    factor = _factor(inputs.scale, queries.shape[-1])
    largest_score = (query_norms.max() * key_norms.max()).item() * factor
    return bool(largest_score * torch.finfo(wide_dtype(queries)).eps <= 1)


def _run_slices(inputs: Inputs) -> Tensor:
    """Call the kernel for each example, with its keys up to the length."""
    lengths = count_visible(inputs.visible).flatten().tolist()  # type: ignore[arg-type]
    if not any(lengths):
        return _formula(inputs)
    # unbind, because every plain slice would get a full-size gradient of its own.
    examples = zip(*(tensor.unbind() for tensor in inputs[:3]), lengths, strict=True)
    one = inputs._replace(visible=None)
    outputs = [
        run_kernel(
            one._replace(
                queries=q[None], keys=k[None, ..., :length, :], values=v[None, ..., :length, :]
            )
        )
        for q, k, v, length in examples
        if length > 0
    ]
    nothing = torch.zeros_like(outputs[0])
    found = iter(outputs)
    return torch.cat([next(found) if length > 0 else nothing for length in lengths])


def _run_rows(inputs: Inputs) -> Tensor:
    """Call the kernel for some queries at a time, with the keys up to them: a causal bias.

    Then no more of the bias is joined with the mask at once than a cache holds.
    """
    outputs = []
    for first in range(0, inputs.queries.shape[-2], ROWS):
        rows = slice(first, first + ROWS)
        queries = inputs.queries[..., rows, :]
        end = first + queries.shape[-2]
        keys, values = (tensor[..., :end, :] for tensor in (inputs.keys, inputs.values))
        visible, bias = (
            it if it is None else it[..., rows if it.shape[-2] > 1 else slice(None), :end]
            for it in (inputs.visible, inputs.bias)
        )
        block = Inputs(queries, keys, values, visible, bias, inputs.causal, inputs.scale)
        outputs.append(run_kernel(block.hide_future()))
    return torch.cat(outputs, dim=-2)


def run_kernel(inputs: Inputs) -> Tensor:
    """Call torch's kernel, which needs an axis of heads and one width for all."""
    q, k, v, visible, bias, causal, scale = inputs
    size, value_size, has_heads = q.shape[-1], v.shape[-1], q.dim() == 4
    mask = visible if bias is None else bias
    if bias is not None and visible is not None:
        mask = torch.where(visible, bias, -math.inf)
    if size != value_size:
        width = max(size, value_size)
        q, k, v = (pad(tensor, (0, width - tensor.shape[-1])) for tensor in (q, k, v))
    if not has_heads:
        q, k, v = (tensor.unsqueeze(1) for tensor in (q, k, v))
        mask = mask.unsqueeze(1) if mask is not None and mask.dim() == 3 else mask
    mask = mask[None, None] if mask is not None and mask.dim() == 2 else mask
    call = q, k, v, mask, causal, _factor(scale, size)
    output: Tensor
    if needs_gradient(q, k, v) and not torch.compiler.is_compiling():
        output = _TwiceDifferentiable.apply(*call)  # type: ignore[no-untyped-call]
    else:
        output = _call(*call)
    output = output if has_heads else output.squeeze(1)
    return output if size <= value_size else output[..., :value_size]


def _call(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float
) -> Tensor:
    groups = q.shape[1] != k.shape[1]
    return scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=groups
    )


def _call_by_formula(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float
) -> Tensor:
    if causal:  # as the kernel counts, from the first key
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()[
            None, None
        ]
    if mask is None or mask.dtype == torch.bool:
        return _formula(Inputs(q, k, v, mask, scale=scale))
    return _formula(Inputs(q, k, v, mask > -math.inf, mask, scale=scale))


class _TwiceDifferentiable(Function):
    """torch's kernel with its own gradient, and the formula's where that is differentiated."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:  # noqa: ANN401
        *tensors, mask, ctx.causal, ctx.scale = inputs
        with torch.enable_grad():
            needs = zip(tensors, ctx.needs_input_grad, strict=False)
            copies = [tensor.detach().requires_grad_(needed) for tensor, needed in needs]
            call: tuple[Any, ...] = *copies, mask, ctx.causal, ctx.scale
            output = _call(*call)
        # With the graph from the copies to the output, which is freed as any other is.
        ctx.save_for_backward(*tensors, mask, *copies, output)
        return output.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        *saved, output = ctx.saved_tensors
        inputs, copies, needed = saved[:4], saved[4:], ctx.needs_input_grad
        if wants_formula(grad):
            call = *inputs, ctx.causal, ctx.scale
            return gradients_by_formula(_call_by_formula, needed, call, grad)
        wanted = [copy for copy, wants in zip(copies, needed, strict=False) if wants]
        found = iter(torch.autograd.grad(output, wanted, grad, retain_graph=True))
        return tuple(next(found) if wants else None for wants in needed)


def _factor(scale: float | None, size: int) -> float:
    return 1 / math.sqrt(size) if scale is None else scale
