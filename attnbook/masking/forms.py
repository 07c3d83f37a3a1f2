"""The forms of a mask: the fields of `MaskRules`, and for each form what it refuses and shows.

A new form is a field of `MaskRules` and a record in `FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from attnbook.checks import check_size, check_whole_number, describe_value, is_whole
from attnbook.masking.masks import check_own_keys
from attnbook.masking.rules import read_reach

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

CPU = torch.device("cpu")
Device = torch.device | str
# Whether a key is visible: a function of the query's index i, its position q, and the key k.
Predicate = Callable[[Tensor, Tensor, Tensor], Tensor]


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
        window, ahead: how many keys a query sees up to its own, which is counted, and after
            it, as for `window_mask`; a side that is None has no limit.
        documents: the document that each key belongs to, num_keys numbers.
        prefix: how many keys, from the first, all queries see; the others are seen causally.
        table: any mask, num_queries rows of num_keys booleans, True = visible.

    Raises:
        TypeError, ValueError: as the mask of each rule, and for `causal` next to a prefix.

    Example:
        >>> from attnbook.masking.interop import MaskRules
        >>> rules = MaskRules(4, 4, valid_len=3, causal="last", window=2)
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
    window: int | None = None
    ahead: int | None = None
    documents: tuple[int, ...] | None = None
    prefix: int | None = None
    table: tuple[tuple[bool, ...], ...] | None = None

    def __post_init__(self) -> None:
        check_size("num_queries", self.num_queries)
        check_size("num_keys", self.num_keys)
        predicates_of(self, CPU)  # refuses what a rule cannot be

    def masks(self) -> dict[str, Bool[Tensor, "#queries keys"]]:
        """Give the mask of each rule under its name, True = visible; `window` includes `ahead`.

        Example:
            >>> from attnbook.masking.interop import MaskRules
            >>> masks = MaskRules(2, 4, valid_len=3, causal="last").masks()
            >>> {name: mask.int().tolist() for name, mask in masks.items()}
            {'valid_len': [[1, 1, 1, 0]], 'causal': [[1, 1, 1, 0], [1, 1, 1, 1]]}
        """
        keys = torch.arange(self.num_keys, device=CPU)[None]
        queries = torch.arange(self.num_queries, device=CPU)[:, None]
        positions = queries + self.num_keys - self.num_queries
        return {name: it(queries, positions, keys) for name, it in predicates_of(self, CPU).items()}

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
        return torch.tensor(positions, device=CPU)


def join_masks(masks: dict[str, Tensor]) -> Tensor:
    """Hide what any of them hides; without masks nothing, by one True to be expanded."""
    everything = torch.ones(1, 1, dtype=torch.bool, device=CPU)
    return reduce(torch.logical_and, masks.values(), everything)


@dataclass(frozen=True)
class Form:
    """One form of a mask, under the name of its first field."""

    read: Callable[[str, MaskRules, Device], Any]  # refuses what its fields cannot be
    is_visible: Callable[[Any, Tensor, Tensor, Tensor], Tensor]  # the predicate of what was read
    # What models of `transformers` take for fields that their attention_mask cannot express.
    instead: dict[str, str] = field(default_factory=dict)
    is_padding: bool = False  # the same for every query


def predicates_of(rules: MaskRules, device: Device) -> dict[str, Predicate]:
    """Give the predicate of each form of which a field is set."""
    return {
        name: partial(form.is_visible, form.read(name, rules, device))
        for name, form in FORMS.items()
        if any(getattr(rules, each) is not None for each in (name, *form.instead))
    }


def _read_count(name: str, rules: MaskRules, _device: Device) -> int:
    number: int = getattr(rules, name)
    check_whole_number(name, number, "a whole number or None")
    if not 0 <= number <= rules.num_keys:
        raise ValueError(f"{name} must lie in [0, num_keys={rules.num_keys}], got {number}")
    return number


def _read_causal(_name: str, rules: MaskRules, _device: Device) -> str:
    causal = rules.causal
    if not isinstance(causal, str) or causal not in ("last", "first"):
        raise ValueError(f"causal must be 'last', 'first' or None, got {describe_value(causal)}")
    if causal == "last":
        check_own_keys("causal", (rules.num_queries, rules.num_keys))
    return causal


def _read_window(_name: str, rules: MaskRules, _device: Device) -> tuple[int, int]:
    reach = read_reach("window", rules.window, 1), read_reach("ahead", rules.ahead)
    check_own_keys("a window", (rules.num_queries, rules.num_keys))
    return reach


def _read_documents(_name: str, rules: MaskRules, device: Device) -> Tensor:
    given, rule = rules.documents, f"documents must be num_keys={rules.num_keys} whole numbers"
    if not isinstance(given, tuple | list) or not all(map(is_whole, given)):
        raise TypeError(f"{rule}, got {describe_value(given)}")
    if len(given) != rules.num_keys:
        raise ValueError(f"{rule}, got {len(given)}")
    check_own_keys("documents", (rules.num_queries, rules.num_keys))
    return torch.tensor(given, device=device)


def _read_prefix(name: str, rules: MaskRules, device: Device) -> int:
    prefix = _read_count(name, rules, device)
    if rules.causal is not None:
        rule = "be None with a prefix, which sets the order itself"
        raise ValueError(f"causal must {rule}, got {rules.causal!r}, prefix={prefix}")
    check_own_keys("causal", (rules.num_queries, rules.num_keys))
    return prefix


def _read_table(_name: str, rules: MaskRules, device: Device) -> Tensor:
    given: Any = rules.table
    rule = f"table must be {rules.num_queries} or 1 rows of {rules.num_keys} booleans"
    rows = given if isinstance(given, tuple | list) else [given]
    if not all(isinstance(row, tuple | list) and {*map(type, row)} <= {bool} for row in rows):
        raise TypeError(f"{rule}, got {describe_value(given)}")
    if len(rows) not in (1, rules.num_queries) or {*map(len, rows)} != {rules.num_keys}:
        raise ValueError(f"{rule}, got {describe_value(given)}")
    return torch.tensor(rows, device=device)


FOUR_AXES = "pass a mask of four axes, 0 and -inf; booleans would be added as 0 and 1"
FORMS = {
    "valid_len": Form(_read_count, lambda length, _i, _q, k: k < length, is_padding=True),
    "start": Form(_read_count, lambda start, _i, _q, k: k >= start, is_padding=True),
    "causal": Form(_read_causal, lambda end, i, q, k: k <= (q if end == "last" else i)),
    "window": Form(
        _read_window,
        lambda reach, _i, q, k: (k > q - reach[0]) & (k <= q + reach[1]),
        {
            "window": "set a model's sliding_window, the same number if the model is causal",
            "ahead": "set a model's sliding_window, 2 for window=3, ahead=2 if it is not causal",
        },
    ),
    "documents": Form(
        _read_documents,
        lambda documents, _i, q, k: documents[q] == documents[k],
        {"documents": "pass position_ids that begin again at 0, with use_cache=False and no mask"},
    ),
    "prefix": Form(_read_prefix, lambda n, _i, q, k: (k < n) | (k <= q), {"prefix": FOUR_AXES}),
    "table": Form(
        _read_table, lambda rows, i, _q, k: rows[i if len(rows) > 1 else 0, k], {"table": FOUR_AXES}
    ),
}
