"""Attention that is not called with queries, keys and values alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.conventions.caller import HEADS_FIRST, TENSORS, Caller, Function, name_of
from attnbook.heads import merge_heads, split_heads
from attnbook.multihead import MultiHeadAttention


def torch_layer(layer: nn.MultiheadAttention, device: torch.device | str) -> Caller:
    """Torch's layer, of any size, with projections that change nothing."""

    @cache
    def make(heads: int, size: int, dtype: torch.dtype, dropout: float) -> nn.Module:
        width = heads * size
        made = type(layer)(width, heads, dropout, batch_first=True, device=device, dtype=dtype)
        state = {
            "in_proj_weight": torch.eye(width).repeat(3, 1),
            "in_proj_bias": torch.zeros(3 * width),
            "out_proj.weight": torch.eye(width),
            "out_proj.bias": torch.zeros(width),
        }
        made.load_state_dict(state)
        return made.train(dropout > 0)

    def attend(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:  # noqa: ANN401
        heads, size = query.shape[1], query.shape[-1]
        drops = options.pop("dropout", 0.0)
        for name, mask in options.items():
            if name == "attn_mask":
                options[name] = mask.expand(-1, heads, -1, -1).flatten(0, 1)
        called = make(heads, size, query.dtype, drops)
        inputs = map(merge_heads, (query, key, value))
        output: Tensor = called(*inputs, **options)[0]
        return split_heads(output, heads)

    names = {"mask": "attn_mask", "padding": "key_padding_mask", "dropout": "dropout"}
    shown = "nn.MultiheadAttention(…)(query, key, value, key_padding_mask, attn_mask)"
    return Caller(attend, HEADS_FIRST, names, shown, device=device)


def own_layer(layer: MultiHeadAttention, device: torch.device | str) -> Caller:
    """This package's layer, of any size, with projections that change nothing."""

    @cache
    def make(heads: int, kv_heads: int, size: int, dtype: torch.dtype, dropout: float) -> nn.Module:
        width, kv_width = heads * size, kv_heads * size
        made = type(layer)(
            kv_width, width, kv_width, width, heads, dropout, num_kv_heads=kv_heads, head_size=size
        )
        for projection in (made.W_q, made.W_k, made.W_v, made.W_o):
            nn.init.eye_(projection.weight)
        return made.to(device, dtype).train(dropout > 0)

    def attend(queries: Tensor, keys: Tensor, values: Tensor, **options: Any) -> Tensor:  # noqa: ANN401
        heads, kv_heads, size = queries.shape[1], keys.shape[1], queries.shape[-1]
        called = make(heads, kv_heads, size, queries.dtype, options.pop("dropout", 0.0))
        inputs = map(merge_heads, (queries, keys, values))
        return split_heads(called(*inputs, **options), heads)

    names = {
        "mask": "mask",
        "bias": "bias",
        "lengths": "valid_lens",
        "causal": "causal",
        "dropout": "dropout",
    }
    shown = "MultiHeadAttention(…)(queries, keys, values, valid_lens, causal, mask, bias)"
    return Caller(attend, HEADS_FIRST, names, shown, device=device)


class _Layer(nn.Module):
    """What attention functions of `transformers` read from the layer that calls them."""

    def __init__(self, size: int, groups: int, causal: bool, training: bool) -> None:
        super().__init__()
        self.head_dim = size
        self.num_key_value_groups = groups
        self.is_causal = causal
        self.train(training)


def transformers_interface(function: Function, parameters: dict[str, bool]) -> Caller:
    """An attention function of `transformers`: of a layer, queries, keys, values and a mask."""

    def attend(*tensors: Tensor, **options: Any) -> Tensor:  # noqa: ANN401
        queries, keys, _values = tensors
        drops = options.get("dropout", 0.0)
        causal = options.get("is_causal", False)
        layer = _Layer(queries.shape[-1], queries.shape[1] // keys.shape[1], causal, drops > 0)
        mask = options.pop("attention_mask", None)
        output: Tensor = function(layer, *tensors, mask, **options)[0]
        return output.transpose(1, 2)

    names = {"mask": "attention_mask", "causal": "is_causal", "dropout": "dropout"}
    names = {option: name for option, name in names.items() if name in parameters}
    scale = {"scaling": 1.0} if parameters.get("scaling") else {}
    shown = f"{name_of(function)}({', '.join(parameters)})"
    return Caller(attend, HEADS_FIRST, names, shown, scale, takes_scale="scaling" if scale else "")


def flex(function: Function) -> Caller:
    """`flex_attention`: a rule shows pairs, and another one changes scores."""

    def attend(*tensors: Tensor, **options: Any) -> Tensor:  # noqa: ANN401
        from torch.nn.attention.flex_attention import create_block_mask  # noqa: PLC0415 - slow

        queries, keys, _values = tensors
        mask = options.pop("mask", None)
        if mask is not None and mask.dtype == torch.bool:
            options["block_mask"] = create_block_mask(
                lambda b, h, q, k: mask[b, h, q, k],
                queries.shape[0],
                queries.shape[1],
                queries.shape[2],
                keys.shape[2],
                device=queries.device.type,
            )
        elif mask is not None:
            options["score_mod"] = lambda score, b, h, q, k: score + mask[b, h, q, k]
        output: Tensor = function(*tensors, **options)
        return output

    names = {"mask": "mask", "grouped": "enable_gqa"}
    shown = f"{name_of(function)}({', '.join(TENSORS)}, score_mod, block_mask)"
    return Caller(attend, HEADS_FIRST, names, shown)
