"""Which tensors of a trace are matrix products of others, found by comparing numbers."""

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
"""How many earlier tensors, and how many weights, are tried as factors of a step's tensor."""
NAME = re.compile(r"\w+")
CLOSE = 1e-6
"""How far a number may be from a sum of products, as a share of the products' sizes."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A tensor that may be a factor, in double precision.

    Args:
        step: the latest step that made it.
        duplicates: earlier steps with the same tensor.
    """

    step: Step
    duplicates: tuple[Step, ...] = ()

    def named_in(self, made: str) -> Step:
        """Choose the step whose name occurs in an expression, else the latest."""
        names = {*NAME.findall(made)} - {"return"}
        named = [it for it in (self.step, *self.duplicates) if it.name in names]
        return (named or [self.step])[0]

    @cached_property
    def numbers(self) -> Tensor:
        """Its numbers; empty if some are not finite, because then no product can be found."""
        numbers = self.step.numbers
        usable = (
            numbers is not None
            and numbers.is_floating_point()
            and numbers.dim() > 1
            and numbers.numel()
        )
        finite = usable and numbers is not None and bool(numbers.isfinite().all())
        return numbers.double() if finite and numbers is not None else torch.empty(0)

    @cached_property
    def sorted(self) -> Tensor:
        """Its numbers in ascending order, to recognize them after they have moved."""
        return self.numbers.flatten().sort().values

    @cached_property
    def last(self) -> tuple[list[float], list[float]]:
        """The last row and the last column, which rule out most other tensors."""
        matrix = self.numbers[(-1,) * (self.numbers.dim() - 2)]
        return matrix[-1].tolist(), matrix[:, -1].tolist()

    def equals(self, other: Factor) -> bool:
        """Return whether another tensor has the same shape and numbers."""
        return torch.equal(self.numbers, other.numbers)


@dataclass(frozen=True, eq=False)
class Product:
    """A step's tensor is `first @ second`, or `first @ second.mT`, over a root.

    Args:
        turned: whether the second factor is transposed.
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
        first, second = _add_brackets(self.first.name), _add_brackets(self.second.name)
        return f"{first} @ {second}{'.mT' * self.turned}{root}"


class Products:
    """The tensors so far, and the weights of the layer, as factors of what comes next."""

    def __init__(self, weights: Sequence[Step]) -> None:
        usable = [it for it in map(Factor, weights) if it.numbers.numel()]
        self.weights = usable[:RECENT]
        self.earlier: list[Factor] = []  # the latest first

    def find(self, step: Step) -> Product | None:
        """Find the latest two factors of a step's tensor, if it is a product of two.

        A tensor whose numbers occurred before has none: it was only moved.
        """
        now = Factor(step)
        if not now.numbers.numel():
            return None
        known = any(torch.equal(it.sorted, now.sorted) for it in self.earlier)
        # Numbers that are all equal could be a product of almost anything.
        equal = bool(now.sorted[0] == now.sorted[-1])
        found = None if known or equal else self._factors(now)
        # The latest of equal tensors represents all of them.
        others = [it for it in self.earlier if not it.equals(now)]
        duplicates = [
            step for it in self.earlier if it.equals(now) for step in (it.step, *it.duplicates)
        ]
        self.earlier = [Factor(step, (*duplicates,)), *others][:RECENT]
        return found

    def _factors(self, made: Factor) -> Product | None:
        for second in [*self.earlier, *self.weights]:
            for turned, column in enumerate(reversed(second.last)):
                columns = second.numbers.mT if turned else second.numbers
                for first in self.earlier:
                    if not _may_be_product(made, first.last[0], column):
                        continue
                    if divisor := divisor_of(made.numbers, first.numbers, columns):
                        name = made.step.name
                        both = first.named_in(name), second.named_in(name)
                        return Product(*both, bool(turned), divisor)
        return None


def _may_be_product(made: Factor, row: list[float], column: list[float]) -> bool:
    """Return whether the last number may be a sum of products, over a root or not."""
    if len(row) != len(column):
        return False
    total: float = sum(map(operator.mul, row, column))
    last = made.last[0][-1]
    slack = 1e-3 * (abs(total) + sum(abs(a * b) for a, b in zip(row, column, strict=True)))
    return abs(total - last) <= slack or abs(total - last * math.sqrt(len(row))) <= slack


def divisor_of(made: Tensor, rows: Tensor, columns: Tensor) -> int:
    """Find the divisor in `made = rows @ columns / √divisor`: 1, their length, or 0 for none."""
    if _product_shape(rows, columns) != made.shape:
        return 0
    sums, sizes = rows @ columns, rows.abs() @ columns.abs()
    for divisor in (1, rows.shape[-1]):
        if bool(((made * math.sqrt(divisor) - sums).abs() <= CLOSE * sizes).all()):
            return divisor
    return 0


def _product_shape(rows: Tensor, columns: Tensor) -> tuple[int, ...]:
    pairs = [*zip_longest(rows.shape[-3::-1], columns.shape[-3::-1], fillvalue=1)]
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        return ()
    return (*(max(pair) for pair in reversed(pairs)), rows.shape[-2], columns.shape[-1])


def _add_brackets(name: str) -> str:
    """Put a name in brackets if it contains an operator outside of brackets."""
    depth, bare = 0, ""
    for character in name:
        depth -= character in ")]"
        bare += character if not depth else ""
        depth += character in "(["
    return f"({name})" if " " in bare else name
