"""Rules of one example, said once: who may see whom."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from attnbook.checks import check_size, is_whole
from attnbook.masking import causal_mask, given_mask, length_mask
from attnbook.rules import document_mask, prefix_mask, start_mask, window_mask

if TYPE_CHECKING:
    from jaxtyping import Bool

CPU = torch.device("cpu")
on_cpu = partial(torch.tensor, device=CPU)


@dataclass(frozen=True)
class MaskRules:
    """Who may see whom in one example, said once. All rules hold together.

    The queries are at the last positions of the keys, as for `causal_mask`.

    Args:
        num_queries, num_keys: how many, at least 1 each.
        valid_len: how many keys, from the first, may be seen: right padding.
        start: the first key that may be seen: left padding.
        causal: "last" hides the future, as `causal_mask` does. "first" lets query i see the
            keys up to key i, as if queries stood at the first positions.
        back, ahead: how many keys before and after its own a query sees, as `window_mask`
            says; a side that is None has no limit.
        documents: the document that each key belongs to, num_keys numbers.
        prefix: how many keys, from the first, all queries see; the others are seen causally.
        table: any mask, num_queries rows of num_keys booleans, True = visible.

    Raises:
        TypeError, ValueError: as the mask of each rule, and for `causal` beside a prefix.
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
            raise ValueError(f"causal must be 'last', 'first' or None, got {self.causal!r}")
        if self.causal and self.prefix is not None:
            rule = "be None beside a prefix, which says the order itself"
            raise ValueError(f"causal must {rule}, got {self.causal!r}, prefix={self.prefix}")
        for name in ("valid_len", "start", "prefix"):
            if (number := getattr(self, name)) is not None and not is_whole(number):
                raise TypeError(f"{name} must be a whole number or None, got {number!r}")
            if number is not None and not 0 <= number <= self.num_keys:
                rule = f"lie in [0, num_keys={self.num_keys}]"
                raise ValueError(f"{name} must {rule}, got {number}")
        self._check_documents()
        self._check_table()
        self.masks()  # refuses what a rule cannot be

    def _check_documents(self) -> None:
        given = self.documents
        if given is None:
            return
        rule = f"documents must be num_keys={self.num_keys} whole numbers"
        if not isinstance(given, tuple | list) or not all(map(is_whole, given)):
            raise TypeError(f"{rule}, got {reprlib.repr(given)}")
        if len(given) != self.num_keys:
            raise ValueError(f"{rule}, got {len(given)}")

    def _check_table(self) -> None:
        given = self.table
        if given is None:
            return
        rule = f"table must be {self.num_queries} or 1 rows of {self.num_keys} booleans"
        rows = given if isinstance(given, tuple | list) else [given]
        if not all(isinstance(row, tuple | list) and {*map(type, row)} <= {bool} for row in rows):
            raise TypeError(f"{rule}, got {reprlib.repr(given)}")
        if len(rows) not in (1, self.num_queries) or {*map(len, rows)} != {self.num_keys}:
            raise ValueError(f"{rule}, got {reprlib.repr(given)}")

    def masks(self) -> dict[str, Bool[Tensor, "#queries keys"]]:
        """Give the mask of each rule under its name, True = visible; a window's is `back`."""
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
            masks["table"] = given_mask(on_cpu(self.table), shape, CPU)
        return {name: mask[0] for name, mask in masks.items()}

    def visible(self) -> Bool[Tensor, "queries keys"]:
        """Join all rules in one mask, True = visible: `(num_queries, num_keys)`."""
        return all_of(self.masks()).expand(self.num_queries, self.num_keys)


def all_of(masks: dict[str, Tensor]) -> Tensor:
    """Hide what any of them hides; without masks nothing, by one True to be expanded."""
    everything = torch.ones(1, 1, dtype=torch.bool, device=CPU)
    return reduce(torch.logical_and, masks.values(), everything)
