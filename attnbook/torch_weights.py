"""Copies of weights from and to torch's layers, and what cannot be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from attnbook.checks import describe_value
from attnbook.layers import DotProductAttention
from attnbook.torch_private import is_untouched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor


# A `MultiHeadAttention`, whose module imports this one.
Layer = Any


def check_from_torch(name: str, module: nn.Module, kind: type[nn.Module], *steps: str) -> None:
    """Refuse what does not compute what this kind of torch's layers does, by these methods."""
    if not isinstance(module, kind):
        raise TypeError(f"{name} must be an nn.{kind.__name__}, got {type(module).__name__}")
    for step in ("forward", *steps):
        # Where torch has no such step, it has others, and a subclass may define them.
        if getattr(type(module), step, type(module)) is not getattr(kind, step, kind):
            raise TypeError(
                f"{name} must compute what nn.{kind.__name__} does, got a "
                f"{type(module).__name__}, which has a {step} of its own"
            )
    _check_unchanged(name, module)


def check_to_torch(layer: Layer) -> None:
    """Refuse a `MultiHeadAttention` that computes what torch's layer cannot."""
    projections = {name: getattr(layer, name) for name in ("W_q", "W_k", "W_v", "W_o")}
    for name, projection in projections.items():
        check_part(name, projection, nn.Linear)
    check_part("attention", layer.attention, DotProductAttention)
    check_part("attention.dropout", layer.attention.dropout, nn.Dropout)
    if layer.rotary is not None:
        raise ValueError(
            f"rotary must be None in torch's layer, got {describe_value(layer.rotary)}"
        )
    if layer.num_kv_heads != layer.num_heads:
        raise ValueError(
            f"num_kv_heads must be num_heads={layer.num_heads} in torch's layer, "
            f"got {layer.num_kv_heads}"
        )
    if layer.attention.scale is not None:
        raise ValueError(f"scale must be None in torch's layer, got {layer.attention.scale}")
    _check_unchanged("the layer", layer)
    query_size, num_hiddens = layer.W_q.in_features, layer.W_q.out_features
    if query_size != num_hiddens:
        rule = f"num_hiddens={num_hiddens} in torch's layer"
        raise ValueError(f"query_size must be {rule}, got {query_size}")
    has_bias = layer.W_q.bias is not None
    for name, projection in projections.items():
        inputs = projection.in_features if name in ("W_k", "W_v") else num_hiddens
        if projection.weight.shape != (num_hiddens, inputs):
            raise ValueError(
                f"{name}.weight must have shape {(num_hiddens, inputs)} in torch's layer, "
                f"got {tuple(projection.weight.shape)}"
            )
        if (projection.bias is not None) != has_bias:
            rule = f"must have {'a' if has_bias else 'no'} bias in torch's layer, as W_q has"
            raise ValueError(f"{name} {rule}, got {'none' if has_bias else 'one'}")


def check_part(name: str, part: nn.Module, kind: type[nn.Module]) -> None:
    """Refuse to copy a part that replaces a layer's own, or that has hooks."""
    if type(part) is not kind:
        shown = f"an nn.{kind.__name__}" if kind.__module__.startswith("torch") else kind.__name__
        raise TypeError(f"{name} must be {shown} to be copied, got {type(part).__name__}")
    _check_unchanged(name, part)


def _check_unchanged(name: str, part: nn.Module) -> None:
    if not is_untouched(part, global_hooks=False):
        raise TypeError(
            f"{name} must have no hooks and no forward of its own to be copied, got a "
            f"{type(part).__name__} with one"
        )


@torch.no_grad()
def copy_weights(layer: Layer, module: nn.MultiheadAttention, *, to_torch: bool) -> None:
    """Copy the weights of a `MultiHeadAttention` to torch's layer, or back; frozen ones stay so."""
    for ours, theirs in _pairs(layer, module):
        if to_torch:
            theirs.copy_(torch.cat(ours)).requires_grad_(any(mine.requires_grad for mine in ours))
            continue
        for mine, part in zip(ours, theirs.chunk(len(ours)), strict=True):
            mine.copy_(part).requires_grad_(theirs.requires_grad)


def _pairs(
    layer: Layer, module: nn.MultiheadAttention
) -> Iterator[tuple[tuple[Tensor, ...], Tensor]]:
    """Pair our parameters with those of torch that contain them."""
    inputs = (layer.W_q, layer.W_k, layer.W_v)
    yield (layer.W_o.weight,), module.out_proj.weight
    # torch has the three projections in one matrix where all sizes agree.
    if module.in_proj_weight is not None:
        yield tuple(linear.weight for linear in inputs), module.in_proj_weight
    else:
        theirs = module.q_proj_weight, module.k_proj_weight, module.v_proj_weight
        for mine, its in zip(inputs, theirs, strict=True):
            yield (mine.weight,), its
    if module.in_proj_bias is not None:
        yield tuple(linear.bias for linear in inputs), module.in_proj_bias
        yield (layer.W_o.bias,), module.out_proj.bias
