"""Weights of many heads, copied between a layer of ours and torch's `nn.MultiheadAttention`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn


@torch.no_grad()
def copy_weights(layer: Any, module: nn.MultiheadAttention, *, to_torch: bool) -> None:  # noqa: ANN401 - it stands above
    """Copy the weights of a `MultiHeadAttention` to torch's layer, or back; frozen ones stay so."""
    for ours, theirs in _pairs(layer, module):
        if to_torch:
            theirs.copy_(torch.cat(ours)).requires_grad_(any(it.requires_grad for it in ours))
            continue
        for mine, part in zip(ours, theirs.chunk(len(ours)), strict=True):
            mine.copy_(part).requires_grad_(theirs.requires_grad)


def _pairs(
    layer: Any,  # noqa: ANN401
    module: nn.MultiheadAttention,
) -> Iterator[tuple[tuple[Tensor, ...], Tensor]]:
    """Say which of our parameters make up which of torch's."""
    inputs = (layer.W_q, layer.W_k, layer.W_v)
    yield (layer.W_o.weight,), module.out_proj.weight
    # torch keeps the three projections in one matrix where all sizes agree.
    if module.in_proj_weight is not None:
        yield tuple(it.weight for it in inputs), module.in_proj_weight
    else:
        theirs = module.q_proj_weight, module.k_proj_weight, module.v_proj_weight
        for mine, its in zip(inputs, theirs, strict=True):
            yield (mine.weight,), its
    if module.in_proj_bias is not None:
        yield tuple(it.bias for it in inputs), module.in_proj_bias
        yield (layer.W_o.bias,), module.out_proj.bias
