"""A function that is asked, with what was found so far, and calls whose scores are known.

The first component of a query and of a key is made so that their score is known, and all others
are 0. Values are unit vectors, so that the output is the weights. There are as many queries as
keys, and the last query is read, because some functions hide the future always.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.conventions.caller import Caller, RefusedError
from attnbook.messages import Messages

TEXT = Messages(__file__)
UNDECIDED = "undecided"
NO_ARGUMENT = "no_argument"
SCORE = 3.0  # of keys that are alike: not 0, so that a fill of 0 can be distinguished
LENGTHS = ("first_keys", "last_keys", "one_key_too_many", "one_key_too_few")
LARGEST = {torch.float64: 1e300, torch.float32: 1e37, torch.bfloat16: 1e37}


class Sizes(NamedTuple):
    """The sizes of a call from which a scale is measured."""

    size: int
    num_keys: int = 2
    value_size: int = 0  # 0: that of keys
    heads: int = 1

    def describe(self) -> str:
        """Name the size, and what is not as in the first call."""
        others = {"keys": self.num_keys, "value_size": self.value_size, "heads": self.heads}
        usual = dict(zip(others, Sizes(0)[1:], strict=True))
        named = [f"{name} {it}" for name, it in others.items() if it != usual[name]]
        return ", ".join([f"size {self.size}", *named])


SCALES: dict[str, Callable[[Sizes], float]] = {
    "none": lambda _: 1.0,
    "one_over_root_of_size": lambda sizes: sizes.size**-0.5,
    "one_over_size": lambda sizes: 1 / sizes.size,
    "root_of_size": lambda sizes: sizes.size**0.5,
    "one_over_root_of_value_size": lambda sizes: (sizes.value_size or sizes.size) ** -0.5,
    "one_over_root_of_width": lambda sizes: (sizes.size * sizes.heads) ** -0.5,
    "one_over_root_of_keys": lambda sizes: sizes.num_keys**-0.5,
}


@dataclass(frozen=True)
class Finding:
    """What was found about one property.

    Attributes:
        answer: a code, such as "from_last_key"; "undecided" if the numbers do not decide.
        evidence: the numbers that were put in and came out, or why there is no answer.
        value: the number that belongs to the answer, such as a soft-cap's.

    Example:
        >>> from attnbook import DotProductAttention, fingerprint
        >>> fingerprint(DotProductAttention()).findings["lengths"].evidence
        'length 2 of four keys: 1100'
    """

    answer: str
    evidence: str
    value: float | None = None


@dataclass
class Subject:
    """A function, and what was found about it so far."""

    caller: Caller
    findings: dict[str, Finding] = field(default_factory=dict)

    def scale(self, size: int, num_keys: int = 4) -> float:
        """What scores of vectors of this size are multiplied by; 1 if that was not found."""
        finding = self.findings.get("scale")
        if finding is None:
            return 1.0
        if finding.answer in SCALES:
            return SCALES[finding.answer](Sizes(size, num_keys))
        return finding.value or 1.0

    def answer(self, name: str) -> str:
        """The answer to an earlier question; "" without one."""
        return self.findings[name].answer if name in self.findings else ""

    def weigh(self, scores: Iterable[float], num_queries: int = 0, **options: Any) -> Tensor:  # noqa: ANN401
        """The weights that all queries give to keys of these scores, `(n, m)`, in float64."""
        row = torch.tensor([*scores], dtype=torch.float64)
        size = self.caller.sizes[0]
        queries = torch.zeros(1, 1, num_queries or len(row), size, dtype=torch.float64)
        keys = torch.zeros(1, 1, len(row), size, dtype=torch.float64)
        largest = max(float(row.abs().max()), 1.0) ** 0.5  # no factor is too large for its dtype
        queries[..., 0] = largest
        keys[..., 0] = row / largest / self.scale(size, len(row))
        return self.read_weights(queries, keys, **options)[0, 0]

    def read_weights(
        self,
        queries: Tensor,
        keys: Tensor,
        value_size: int = 0,
        **options: Any,  # noqa: ANN401
    ) -> Tensor:
        """The weights, `(batch, heads, n, m)`, in float64: the pooled unit vectors."""
        num_keys = keys.shape[-2]
        values = torch.eye(num_keys, value_size or keys.shape[-1]).expand(*keys.shape[:2], -1, -1)
        tensors = [it.to(self.caller.device, self.caller.dtype) for it in (queries, keys, values)]
        with torch.no_grad():
            weights = self.caller(*tensors, **options)[..., :num_keys]
        return weights.double().cpu()

    @property
    def hidden(self) -> int:
        """Which of four keys `hide_one` hides: the last, or the first if lengths keep the last."""
        return 0 if self.answer("lengths") == "last_keys" else 3

    def hide_one(self) -> dict[str, Any]:
        """The options that hide one of four keys from all queries."""
        return self.hide([key != self.hidden for key in range(4)])

    def hide(self, visible: list[bool]) -> dict[str, Any]:
        """The options that hide keys from as many queries.

        Raises:
            RefusedError: nothing was found that hides these keys.
        """
        shown = torch.tensor(visible, device=self.caller.device)
        full = shown.expand(1, 1, len(visible), -1)
        booleans, padding = self.answer("boolean_mask"), self.answer("key_padding_mask")
        numbers = self.answer("float_mask")
        length = sum(visible) + {"one_key_too_many": -1, "one_key_too_few": 1}.get(
            self.answer("lengths"), 0
        )
        if booleans in ("true_keeps", "true_hides"):
            return {"mask": full if booleans == "true_keeps" else ~full}
        if padding in ("true_keeps", "true_hides"):
            return {"padding": (shown if padding == "true_keeps" else ~shown)[None]}
        if self.answer("lengths") in LENGTHS and length >= 0:
            return {"lengths": torch.tensor([length], device=self.caller.device)}
        if numbers in ("read_as_boolean", "one_hides"):
            zero_or_one = full if numbers == "read_as_boolean" else ~full
            return {self.caller.adds_by: zero_or_one.to(self.caller.dtype)}
        if numbers.startswith("added"):
            added = torch.zeros(full.shape, dtype=self.caller.dtype, device=shown.device)
            return {self.caller.adds_by: added.masked_fill(~full, -math.inf)}
        raise RefusedError(TEXT("nothing_hides"))


def undecided(reason: object) -> Finding:
    """The finding that there is none."""
    return Finding(UNDECIDED, str(reason))


def rounded(number: float) -> float:
    """A number with three digits."""
    return float(f"{number:.3g}")


def show(numbers: Iterable[float]) -> str:
    """Numbers with three digits."""
    return ", ".join(f"{number:.3g}" for number in numbers)


def log_ratio(weights: Tensor, one: int, other: int) -> float:
    """By how much the score of one key is above that of another, for the last query."""
    return float(weights[-1, one].log() - weights[-1, other].log())
