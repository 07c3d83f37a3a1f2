"""One mask for each library: whether True hides, where order begins, whether a mask is added.

`MaskRules` holds the rules of one example; each `for_…` makes the arguments of a library, and
each `from_…` (in `conversion`) turns a mask that you have for a library into one of this book.

Sources: the documentation of what each docstring names, in torch 2.13 and transformers 5.23.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.checks import describe_value
from attnbook.masking.conversion import from_attention_mask, from_attn_mask, from_key_padding_mask
from attnbook.masking.forms import CPU, FORMS, MaskRules, join_masks, predicates_of

__all__ = [
    "MaskMod",
    "MaskRules",
    "for_attnbook",
    "for_encoder_layer",
    "for_flex_attention",
    "for_multihead_attention",
    "for_sdpa",
    "for_sdpa_float",
    "for_transformers",
    "from_attention_mask",
    "from_attn_mask",
    "from_key_padding_mask",
]

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def for_attnbook(rules: MaskRules) -> dict[str, Any]:
    """Make the arguments of a layer of this book, `layer(queries, keys, values, **arguments)`.

    Those needed of `valid_lens` `(1,)`, `causal=True` and `mask` `(num_queries or 1, num_keys)`,
    True = visible. A row that sees nothing gives zeros.

    Example:
        >>> from attnbook.masking.interop import MaskRules, for_attnbook
        >>> for_attnbook(MaskRules(2, 4, valid_len=3, causal="last"))
        {'valid_lens': tensor([3]), 'causal': True}
    """
    masks = rules.masks()
    arguments: dict[str, Any] = {}
    if masks.pop("valid_len", None) is not None:
        arguments["valid_lens"] = torch.tensor([rules.valid_len], device=CPU)
    if rules.causal == "last":
        del masks["causal"]
        arguments["causal"] = True
    return arguments | ({"mask": join_masks(masks)} if masks else {})


def for_sdpa(rules: MaskRules) -> dict[str, Any]:
    """Make arguments: `scaled_dot_product_attention(queries, keys, values, **arguments)`.

    `attn_mask` `(num_queries, num_keys)`, True = visible; or nothing where nothing is hidden;
    or `is_causal=True` where that is the same: it counts from the first key, and one query
    of six keys would see key 0 only.

    Example:
        >>> from attnbook.masking.interop import MaskRules, for_sdpa
        >>> for_sdpa(MaskRules(4, 4, causal="last"))
        {'is_causal': True}
        >>> for_sdpa(MaskRules(1, 4, valid_len=3, causal="last"))
        {'attn_mask': tensor([[ True,  True,  True, False]])}
    """
    visible = rules.visible()
    if visible.all():
        return {}
    first = torch.equal(visible, torch.ones_like(visible).tril())
    return {"is_causal": True} if first else {"attn_mask": visible}


def for_sdpa_float(rules: MaskRules) -> dict[str, Any]:
    """Make the mask for torch's `scaled_dot_product_attention` that is added to the scores.

    `attn_mask` `(num_queries, num_keys)`: 0 = visible, -inf = hidden. Zeros and ones would hide
    nothing. It is float32, which queries of float32, bfloat16 and float16 take. Convert it for
    float64 queries: torch 2.13 takes it there as it is, and on a CPU gives wrong numbers from 8
    or 16 keys on, as many as a register of the processor holds.

    Example:
        >>> from attnbook.masking.interop import MaskRules, for_sdpa_float
        >>> for_sdpa_float(MaskRules(1, 4, valid_len=3))
        {'attn_mask': tensor([[0., 0., 0., -inf]])}
    """
    added = torch.zeros(rules.num_queries, rules.num_keys, dtype=torch.float32, device=CPU)
    return {"attn_mask": added.masked_fill(~rules.visible(), -math.inf)}


def for_multihead_attention(rules: MaskRules) -> dict[str, Any]:
    """Make the arguments of torch's `nn.MultiheadAttention`, where True *hides*.

    `key_padding_mask` `(1, num_keys)` for padding on either side, and `attn_mask` `(num_queries,
    num_keys)` for all other rules; those that are needed. A mask for each example would be
    `(batch * num_heads, num_queries, num_keys)`, all heads of an example side by side.

    Example:
        >>> from attnbook.masking import interop
        >>> rules = interop.MaskRules(2, 3, valid_len=2, causal="last")
        >>> interop.for_multihead_attention(rules)
        {'key_padding_mask': tensor([[False, False,  True]]),
         'attn_mask': tensor([[False, False,  True],
                [False, False, False]])}
    """
    masks = rules.masks()
    padding = {name: masks.pop(name) for name in [*masks] if FORMS[name].is_padding}
    arguments = {"key_padding_mask": ~join_masks(padding)} if padding else {}
    if masks:
        arguments["attn_mask"] = ~join_masks(masks).expand(rules.num_queries, rules.num_keys)
    return arguments


def for_encoder_layer(rules: MaskRules) -> dict[str, Any]:
    """Make the arguments of torch's `nn.TransformerEncoderLayer`, where True *hides*.

    `src_key_padding_mask` `(1, num_keys)` and `src_mask` `(num_queries, num_keys)`.

    Raises:
        ValueError: there are not as many queries as keys.

    Example:
        >>> from attnbook.masking import interop
        >>> rules = interop.MaskRules(3, 3, valid_len=2)
        >>> interop.for_encoder_layer(rules)
        {'src_key_padding_mask': tensor([[False, False,  True]])}
    """
    if rules.num_queries != rules.num_keys:
        rule = f"num_keys={rules.num_keys} in an encoder, where each token is a query and a key"
        raise ValueError(f"num_queries must be {rule}, got {rules.num_queries}")
    arguments = for_multihead_attention(rules)
    return {"src_" + name.removeprefix("attn_"): mask for name, mask in arguments.items()}


def for_flex_attention(rules: MaskRules, device: torch.device | str = CPU) -> MaskMod:
    """Make a function for the `create_block_mask` of torch's `flex_attention`.

    `mask_mod(b, h, q_idx, kv_idx)`, True = visible. `q_idx` counts from the first query,
    whatever its position. Rules are joined by `&`, as all pairs are computed at once and
    Python's `and` takes one boolean. Its tensors are on `device`.

    Example:
        >>> from attnbook.masking import interop
        >>> rules = interop.MaskRules(1, 6, causal="last", window=3)
        >>> mask_mod = interop.for_flex_attention(rules)
        >>> keys = torch.arange(6)
        >>> mask_mod(0, 0, torch.tensor(0), keys).int().tolist()
        [0, 0, 0, 1, 1, 1]
    """
    shift = rules.num_keys - rules.num_queries
    predicates = [*predicates_of(rules, device).values()]

    def mask_mod(_b: Tensor, _h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        visible = kv_idx >= 0
        for is_visible in predicates:
            visible = visible & is_visible(q_idx, q_idx + shift, kv_idx)
        return visible

    return mask_mod


def for_transformers(rules: MaskRules) -> dict[str, Any]:
    """Make the argument of a model of Hugging Face's `transformers`, which adds the order itself.

    `attention_mask` `(1, num_keys)`, 1 = visible. With causal="last" for a decoder such as
    GPT-2 or Llama, whose cache holds the keys before the queries; without, for an encoder such
    as BERT. Where positions are learned, left padding needs `position_ids` too: the
    `positions` of the rules, of the queries only.

    Raises:
        ValueError: a rule differs from query to query.

    Example:
        >>> from attnbook.masking import interop
        >>> rules = interop.MaskRules(4, 4, start=2, causal="last")
        >>> interop.for_transformers(rules)
        {'attention_mask': tensor([[0, 0, 1, 1]])}
    """
    masks = rules.masks()
    for name, instead in [each for form in FORMS.values() for each in form.instead.items()]:
        if (rule := getattr(rules, name)) is not None:
            same = "for an attention_mask of two axes, which is the same for every query"
            raise ValueError(f"{name} must be None {same}, got {describe_value(rule)}: {instead}")
    if rules.causal == "first" and rules.num_queries != rules.num_keys:
        sizes = f"num_queries={rules.num_queries} and num_keys={rules.num_keys}"
        raise ValueError(f"causal must be 'last', as in models, if {sizes} differ, got 'first'")
    masks.pop("causal", None)
    return {"attention_mask": join_masks(masks).expand(1, rules.num_keys).long()}
