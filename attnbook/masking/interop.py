"""One mask for each library: whether True hides, where order begins, whether a mask is added.

`MaskRules` holds the rules of one example; each `for_…` makes the arguments of a library, and
each `from_…` (in `conversion`) turns a mask that you have for a library into one of this book.

Sources: the documentation of what each docstring names, in torch 2.13 and transformers 5.23.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from attnbook.checks import check_size, check_whole_number, describe_value, is_whole
from attnbook.masking.conversion import (
    from_attention_mask,
    from_attn_mask,
    from_key_padding_mask,
)
from attnbook.masking.masks import causal_mask, check_mask, length_mask
from attnbook.masking.rules import (
    FARTHEST,
    document_mask,
    prefix_mask,
    start_mask,
    window_mask,
)

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

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
Predicate = Callable[[Tensor, Tensor, Tensor], Tensor]

PADDING = ("valid_len", "start")  # the rules that are the same for every query
FOUR_AXES = "pass a mask of four axes, 0 and -inf; booleans would be added as 0 and 1"
# What the attention_mask of `transformers` cannot express, and what its models take instead.
OTHER_ARGUMENTS = {
    "back": "set a model's sliding_window, 3 for back=2 if the model is causal",
    "ahead": "set a model's sliding_window, 2 for back=ahead=2 if it is not causal",
    "documents": "pass position_ids that begin again at 0, with use_cache=False and no mask",
    "prefix": FOUR_AXES,
    "table": FOUR_AXES,
}

CPU = torch.device("cpu")
on_cpu = partial(torch.tensor, device=CPU)


@dataclass(frozen=True)
class MaskRules:
    """Which positions may attend to which in one example. All rules hold together.

    The queries are at the last positions of the keys, as for `causal_mask`.

    Args:
        num_queries, num_keys: how many, at least 1 each.
        valid_len: how many keys, from the first, may be seen: right padding.
        start: the first key that may be seen: left padding.
        causal: "last" hides the future, as `causal_mask` does. "first" lets query i see the
            keys up to key i, as if queries were at the first positions.
        back, ahead: how many keys before and after its own a query sees, as for
            `window_mask`; a side that is None has no limit.
        documents: the document that each key belongs to, num_keys numbers.
        prefix: how many keys, from the first, all queries see; the others are seen causally.
        table: any mask, num_queries rows of num_keys booleans, True = visible.

    Raises:
        TypeError, ValueError: as the mask of each rule, and for `causal` next to a prefix.

    Example:
        >>> from attnbook.masking.interop import MaskRules
        >>> rules = MaskRules(4, 4, valid_len=3, causal="last", back=1)
        >>> rules.visible().int()
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [0, 1, 1, 0],
                [0, 0, 1, 0]], dtype=torch.int32)
    """

    num_queries: int
    num_keys: int
    valid_len: int | None = None
    start: int | None = None
    causal: Literal["last", "first"] | None = None
    back: int | None = None
    ahead: int | None = None
    documents: tuple[int, ...] | None = None
    prefix: int | None = None
    table: tuple[tuple[bool, ...], ...] | None = None

    def __post_init__(self) -> None:
        check_size("num_queries", self.num_queries)
        check_size("num_keys", self.num_keys)
        if self.causal is not None and (
            not isinstance(self.causal, str) or self.causal not in ("last", "first")
        ):
            raise ValueError(
                f"causal must be 'last', 'first' or None, got {describe_value(self.causal)}"
            )
        for name in ("valid_len", "start", "prefix"):
            if (number := getattr(self, name)) is None:
                continue
            check_whole_number(name, number, "a whole number or None")
            if not 0 <= number <= self.num_keys:
                rule = f"lie in [0, num_keys={self.num_keys}]"
                raise ValueError(f"{name} must {rule}, got {number}")
        if self.causal and self.prefix is not None:
            rule = "be None with a prefix, which sets the order itself"
            raise ValueError(f"causal must {rule}, got {self.causal!r}, prefix={self.prefix}")
        self._check_documents()
        self._check_table()
        self.masks()  # refuses what a rule cannot be

    def _check_documents(self) -> None:
        given = self.documents
        if given is None:
            return
        rule = f"documents must be num_keys={self.num_keys} whole numbers"
        if not isinstance(given, tuple | list) or not all(map(is_whole, given)):
            raise TypeError(f"{rule}, got {describe_value(given)}")
        if len(given) != self.num_keys:
            raise ValueError(f"{rule}, got {len(given)}")

    def _check_table(self) -> None:
        given = self.table
        if given is None:
            return
        rule = f"table must be {self.num_queries} or 1 rows of {self.num_keys} booleans"
        rows = given if isinstance(given, tuple | list) else [given]
        if not all(isinstance(row, tuple | list) and {*map(type, row)} <= {bool} for row in rows):
            raise TypeError(f"{rule}, got {describe_value(given)}")
        if len(rows) not in (1, self.num_queries) or {*map(len, rows)} != {self.num_keys}:
            raise ValueError(f"{rule}, got {describe_value(given)}")

    def masks(self) -> dict[str, Bool[Tensor, "#queries keys"]]:
        """Give the mask of each rule under its name, True = visible; a window's is `back`.

        Example:
            >>> from attnbook.masking.interop import MaskRules
            >>> masks = MaskRules(2, 4, valid_len=3, causal="last").masks()
            >>> {name: mask.int().tolist() for name, mask in masks.items()}
            {'valid_len': [[1, 1, 1, 0]], 'causal': [[1, 1, 1, 0], [1, 1, 1, 1]]}
        """
        shape = (1, self.num_queries, self.num_keys)
        masks = {}
        if self.valid_len is not None:
            masks["valid_len"] = length_mask(on_cpu([self.valid_len]), shape)
        if self.start is not None:
            masks["start"] = start_mask(on_cpu([self.start]), shape)
        if self.causal == "last":
            masks["causal"] = causal_mask(shape)
        if self.causal == "first":
            masks["causal"] = torch.ones(shape, dtype=torch.bool, device=CPU).tril()
        if self.back is not None or self.ahead is not None:
            masks["back"] = window_mask(shape, self.back, self.ahead)
        if self.documents is not None:
            masks["documents"] = document_mask(on_cpu(self.documents), shape)
        if self.prefix is not None:
            masks["prefix"] = prefix_mask(on_cpu([self.prefix]), shape)
        if self.table is not None:
            masks["table"] = check_mask(on_cpu(self.table), shape, CPU)
        return {name: mask[0] for name, mask in masks.items()}

    def visible(self) -> Bool[Tensor, "queries keys"]:
        """Join all rules in one mask, True = visible: `(num_queries, num_keys)`.

        Example:
            >>> from attnbook.masking.interop import MaskRules
            >>> rules = MaskRules(2, 4, valid_len=3, causal="last")
            >>> rules.visible().int().tolist()
            [[1, 1, 1, 0], [1, 1, 1, 0]]
        """
        return join_masks(self.masks()).expand(self.num_queries, self.num_keys)

    def positions(self) -> Int[Tensor, " keys"]:
        """Count each key's position in its own text, `(num_keys,)`: what `position_ids` are.

        They are counted from 0 at the first key after left padding, and again in each document.
        Left padding has 0. The mask does not depend on them: it compares indexes of keys.

        Example:
            >>> from attnbook.masking.interop import MaskRules
            >>> rules = MaskRules(1, 6, start=1, documents=(0, 0, 0, 1, 1, 1))
            >>> rules.positions().tolist()
            [0, 0, 1, 0, 1, 2]
        """
        first, documents = self.start or 0, self.documents or (0,) * self.num_keys
        counters = {document: count() for document in documents}
        positions = [
            next(counters[document]) if key >= first else 0
            for key, document in enumerate(documents)
        ]
        return on_cpu(positions)


def join_masks(masks: dict[str, Tensor]) -> Tensor:
    """Hide what any of them hides; without masks nothing, by one True to be expanded."""
    everything = torch.ones(1, 1, dtype=torch.bool, device=CPU)
    return reduce(torch.logical_and, masks.values(), everything)


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
        arguments["valid_lens"] = on_cpu([rules.valid_len])
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
    padding = {name: masks.pop(name) for name in PADDING if name in masks}
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
        >>> rules = interop.MaskRules(1, 6, causal="last", back=2)
        >>> mask_mod = interop.for_flex_attention(rules)
        >>> keys = torch.arange(6)
        >>> mask_mod(0, 0, torch.tensor(0), keys).int().tolist()
        [0, 0, 0, 1, 1, 1]
    """
    shift = rules.num_keys - rules.num_queries
    predicates = tuple(_predicates(rules, device))

    def mask_mod(_b: Tensor, _h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        visible = kv_idx >= 0
        for sees in predicates:
            visible = visible & sees(q_idx, q_idx + shift, kv_idx)
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
    for name, instead in OTHER_ARGUMENTS.items():
        if (rule := getattr(rules, name)) is not None:
            same = "for an attention_mask of two axes, which is the same for every query"
            raise ValueError(f"{name} must be None {same}, got {describe_value(rule)}: {instead}")
    if rules.causal == "first" and rules.num_queries != rules.num_keys:
        sizes = f"num_queries={rules.num_queries} and num_keys={rules.num_keys}"
        raise ValueError(f"causal must be 'last', as in models, if {sizes} differ, got 'first'")
    masks.pop("causal", None)
    return {"attention_mask": join_masks(masks).expand(1, rules.num_keys).long()}


def _predicates(rules: MaskRules, device: torch.device | str) -> Iterator[Predicate]:
    """Give each rule as a function of a query's index, its position, and a key's position."""
    if (length := rules.valid_len) is not None:
        yield lambda _query, _position, key: key < length
    if (start := rules.start) is not None:
        yield lambda _query, _position, key: key >= start
    if rules.causal == "last":
        yield lambda _query, position, key: key <= position
    if rules.causal == "first":
        yield lambda query, _position, key: key <= query
    if rules.back is not None:
        back = min(rules.back, FARTHEST)
        yield lambda _query, position, key: key >= position - back
    if rules.ahead is not None:
        ahead = min(rules.ahead, FARTHEST)
        yield lambda _query, position, key: key <= position + ahead
    if rules.documents is not None:
        documents = torch.tensor(rules.documents, device=device)
        yield lambda _query, position, key: documents[position] == documents[key]
    if (prefix := rules.prefix) is not None:
        yield lambda _query, position, key: (key < prefix) | (key <= position)
    if rules.table is not None:
        table = torch.tensor(rules.table, device=device).expand(rules.num_queries, -1)
        yield lambda query, _position, key: table[query, key]
