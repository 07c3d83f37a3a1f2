"""Which tensors of a trace are matrix products of others: found by their numbers."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import torch
from torch import Tensor

from attnbook.tracing import Step

RECENT = 24
"""How many different tensors before a step are tried as its factors, and as many weights."""
NAME = re.compile(r"\w+")
CLOSE = 1e-6
"""How far from a sum of products a number may lie, as a share of the products' sizes."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A tensor that may be a factor, in double precision.

    Args:
        step: the latest that made it; `alike`, those before it that hold the same.
    """

    step: Step
    alike: tuple[Step, ...] = ()

    def named_in(self, made: str) -> Step:
        """Choose the step that an expression speaks of; else the latest."""
        words = {*NAME.findall(made)} - {"return"}
        spoken = [it for it in (self.step, *self.alike) if it.name in words]
        return (spoken or [self.step])[0]

    @cached_property
    def numbers(self) -> Tensor:
        """Its numbers; none where some are not finite, which no product can be known by."""
        held = self.step.numbers
        usable = held is not None and held.is_floating_point() and held.dim() > 1 and held.numel()
        finite = usable and held is not None and bool(held.isfinite().all())
        return held.double() if finite and held is not None else torch.empty(0)

    @cached_property
    def sorted(self) -> Tensor:
        """Its numbers in order, to know them again wherever they have moved."""
        return self.numbers.flatten().sort().values

    @cached_property
    def last(self) -> tuple[list[float], list[float]]:
        """The last row and the last column, which show most strangers up."""
        matrix = self.numbers[(-1,) * (self.numbers.dim() - 2)]
        return matrix[-1].tolist(), matrix[:, -1].tolist()

    def same(self, other: Factor) -> bool:
        """Say whether another tensor has the same shape and numbers."""
        return torch.equal(self.numbers, other.numbers)


@dataclass(frozen=True, eq=False)
class Product:
    """A step's tensor is `first @ second`, or `first @ second.mT`, over a root.

    Args:
        turned: whether the second factor's rows are the columns that the first's rows meet.
        divisor: the products' sums are divided by its square root; 1 leaves them as they are.
    """

    first: Step
    second: Step
    turned: bool
    divisor: int

    @property
    def formula(self) -> str:
        """Write the product as Python and a root: "q @ k.mT / √4"."""
        root = f" / √{self.divisor}" if self.divisor > 1 else ""
        return f"{_held(self.first.name)} @ {_held(self.second.name)}{'.mT' * self.turned}{root}"


class Products:
    """The tensors so far, and the weights of the layer, as factors of what comes next."""

    def __init__(self, weights: Sequence[Step]) -> None:
        usable = [it for it in map(Factor, weights) if it.numbers.numel()]
        self.weights = usable[:RECENT]
        self.earlier: list[Factor] = []  # the latest first

    def find(self, step: Step) -> Product | None:
        """Find the latest two factors of a step's tensor, if it is a product of two.

        A tensor that was there before has none: its numbers only came along.
        """
        now = Factor(step)
        if not now.numbers.numel():
            return None
        known = any(torch.equal(it.sorted, now.sorted) for it in self.earlier)
        # Numbers that are all equal could be a product of almost anything.
        equal = bool(now.sorted[0] == now.sorted[-1])
        found = None if known or equal else self._factors(now)
        # Of tensors that hold the same numbers, the latest is used for all.
        others = [it for it in self.earlier if not it.same(now)]
        alike = [step for it in self.earlier if it.same(now) for step in (it.step, *it.alike)]
        self.earlier = [Factor(step, (*alike,)), *others][:RECENT]
        return found

    def _factors(self, made: Factor) -> Product | None:
        for second in [*self.earlier, *self.weights]:
            for turned, column in enumerate(reversed(second.last)):
                columns = second.numbers.mT if turned else second.numbers
                for first in self.earlier:
                    if not _may_be(made, first.last[0], column):
                        continue
                    if divisor := divisor_of(made.numbers, first.numbers, columns):
                        name = made.step.name
                        both = first.named_in(name), second.named_in(name)
                        return Product(*both, bool(turned), divisor)
        return None


def _may_be(made: Factor, row: list[float], column: list[float]) -> bool:
    """Say whether the last number may be a sum of products, over a root or not."""
    if len(row) != len(column):
        return False
    total: float = sum(map(operator.mul, row, column))
    last = made.last[0][-1]
    slack = 1e-3 * (abs(total) + sum(abs(a * b) for a, b in zip(row, column, strict=True)))
    return abs(total - last) <= slack or abs(total - last * math.sqrt(len(row))) <= slack


def divisor_of(made: Tensor, rows: Tensor, columns: Tensor) -> int:
    """Find the number whose root divides `rows @ columns` in `made`: 1, their length, or 0."""
    if _shape(rows, columns) != made.shape:
        return 0
    sums, sizes = rows @ columns, rows.abs() @ columns.abs()
    for divisor in (1, rows.shape[-1]):
        if bool(((made * math.sqrt(divisor) - sums).abs() <= CLOSE * sizes).all()):
            return divisor
    return 0


def _shape(rows: Tensor, columns: Tensor) -> tuple[int, ...]:
    pairs = [*zip_longest(rows.shape[-3::-1], columns.shape[-3::-1], fillvalue=1)]
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        return ()
    return (*(max(pair) for pair in reversed(pairs)), rows.shape[-2], columns.shape[-1])


def _held(name: str) -> str:
    """Put a name in brackets where a sign inside it would take part in the product."""
    depth, bare = 0, ""
    for character in name:
        depth -= character in ")]"
        bare += character if not depth else ""
        depth += character in "(["
    return f"({name})" if " " in bare else name
