"""The steps of a trace as data, and which of them hold the same numbers."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnbook.figures.shape.products import Product, Products
from attnbook.messages import Messages

if TYPE_CHECKING:
    from torch import Tensor

    from attnbook.tracing import Step

TEXT = Messages(__file__)
Number = float | str
"""A JSON value; text where JSON or JavaScript would lose the number."""
DIGITS = 9  # of a number in single precision
SAFE = 2**53  # above it, JavaScript's numbers miss some integers
UNREADABLE = "unreadable"


def kind_of(tensor: Tensor | None) -> str:
    """Return "float", "int", "bool", or "unreadable" for a tensor that cannot be drawn."""
    if tensor is None or tensor.is_complex():
        return UNREADABLE
    if tensor.is_floating_point():
        return "float"
    return "int" if str(tensor.dtype) != "torch.bool" else "bool"


def flatten_numbers(tensor: Tensor) -> list[Number]:
    """List a tensor's numbers, each as short as its precision allows; True is 1."""
    exact = tensor.element_size() == 8 or not tensor.is_floating_point()
    return [_short(number, exact) for number in tensor.flatten().tolist()]


def _short(number: float, exact: bool) -> Number:
    if isinstance(number, int):  # a boolean, too
        return int(number) if abs(number) <= SAFE else str(number)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return (number if exact else float(f"{number:.{DIGITS}g}")) + 0.0  # no -0


def to_float(number: Number) -> float:
    """Turn a stored number back into a float that can be compared."""
    return float(number)  # "NaN" and "Infinity" too


def compare_numbers(one: Sequence[Number], other: Sequence[Number], kind: str) -> str:
    """Compare a tensor's numbers with those of an earlier one of the same kind.

    Returns:
        "order" if they are the same in the same order, "moved" if in another, else "".
        Numbers that are all equal, and booleans in another order, prove nothing.
    """
    if len(one) != len(other) or len({*one}) < 2:
        return ""
    if one == other:
        return "order"
    return "moved" if kind != "bool" and _sorted(one) == _sorted(other) else ""


def _sorted(numbers: Sequence[Number]) -> tuple[Number, ...]:
    return tuple(sorted(numbers, key=str))


def find_scales(lists: Sequence[Sequence[Number]]) -> list[float]:
    """Find for each list the size that has the full colour.

    Lists share one scale if one contains all numbers of the other except zeros, so a number
    that is moved or selected keeps its colour.
    """
    sets = [_nonzero(each) for each in lists]
    group = list(range(len(lists)))
    for one, others in enumerate(_find_supersets(sets)):
        for other in others:
            old, new = group[other], group[one]
            if old != new:
                group = [new if each == old else each for each in group]
    largest: dict[int, float] = {}
    for name, numbers in zip(group, sets, strict=True):
        largest[name] = max([largest.get(name, 0.0), *map(abs, numbers)])
    return [largest[name] or 1.0 for name in group]


def _find_supersets(sets: Sequence[set[float]]) -> list[list[int]]:
    """Find for each set the sets that contain it; none for an empty one."""
    # Bit n of a number is set if set n contains it: faster than comparing each pair of sets.
    bits_of: dict[float, int] = {}
    for n, numbers in enumerate(sets):
        for number in numbers:
            bits_of[number] = bits_of.get(number, 0) | 1 << n
    common = [functools.reduce(operator.and_, map(bits_of.__getitem__, it), -1) for it in sets]
    return [
        [n for n in range(len(sets)) if numbers and bits >> n & 1]
        for numbers, bits in zip(sets, common, strict=True)
    ]


def _nonzero(numbers: Sequence[Number]) -> set[float]:
    finite = (to_float(each) for each in numbers)
    return {each for each in finite if math.isfinite(each) and each}


@dataclass(frozen=True)
class StepNumbers:
    """A step and its numbers as the page gets them; None if they cannot be drawn."""

    step: Step
    kind: str
    numbers: list[Number] | None


def steps_as_data(
    made: Sequence[Step], weights: Sequence[Step] = ()
) -> tuple[list[dict[str, Any]], list[list[Number]]]:
    """Return each step as data, and each list of numbers once.

    A step that is a product of two earlier tensors, or of one and a weight of the layer,
    has both factors under "product".
    """
    seen = [_read_step(step) for step in made]
    origins, products = Origins(), Products(weights)
    found = [(*origins.find(each), products.find(each.step)) for each in seen]
    factors = [_read_step(it) for _, _, made in found if made for it in (made.first, made.second)]
    lists = [*dict.fromkeys(_key(it) for it in [*seen, *factors] if it.numbers is not None)]
    stored = dict(zip(lists, enumerate(_find_all_scales(lists)), strict=True))

    def data(each: StepNumbers) -> dict[str, Any]:
        index, scale = (-1, 1.0) if each.numbers is None else stored[_key(each)]
        return _data(each) | {"numbers": index, "scale": scale}

    def product(made: Product | None) -> dict[str, Any] | None:
        if made is None:
            return None
        first, second = data(_read_step(made.first)), data(_read_step(made.second))
        traits = {"turned": made.turned, "divisor": made.divisor, "formula": made.formula}
        return {"first": first, "second": second} | traits

    steps = [
        data(each)
        | {"before": before, "note": note or _product_note(made), "product": product(made)}
        for each, (before, note, made) in zip(seen, found, strict=True)
    ]
    return steps, [[*numbers] for _, numbers in lists]


def _product_note(made: Product | None) -> str:
    return TEXT("matrix_product", formula=made.formula) if made else ""


def _find_all_scales(unique: list[tuple[str, tuple[Number, ...]]]) -> list[float]:
    """Find the scales of all lists; integers and floats share none."""
    found = [1.0] * len(unique)
    for wanted in ("float", "int"):
        indices = [index for index, (kind, _) in enumerate(unique) if kind == wanted]
        for index, scale in zip(indices, find_scales([unique[n][1] for n in indices]), strict=True):
            found[index] = scale
    return found


def _read_step(step: Step) -> StepNumbers:
    kind = kind_of(step.numbers)
    readable = step.numbers is not None and kind != UNREADABLE
    return StepNumbers(
        step, kind, flatten_numbers(step.numbers) if readable and step.numbers is not None else None
    )


def _data(each: StepNumbers) -> dict[str, Any]:
    step = each.step
    return {
        "section": step.section,
        "line": step.line,
        "name": step.name,
        "shape": [*step.shape],
        "symbols": [*step.symbols],
        "part": step.part,
        "kind": each.kind,
    }


class Origins:
    """Finds where numbers come from: the steps so far, by their numbers."""

    def __init__(self) -> None:
        self.earlier: list[StepNumbers] = []
        self.by_numbers: dict[object, list[int]] = {}

    def find(self, now: StepNumbers) -> tuple[int, str]:
        """Find the step that a step's numbers come from, or -1, and a note; then store the step."""
        self.earlier.append(now)
        if now.numbers is None:
            return -1, TEXT("cannot_be_drawn")
        # Booleans in another order prove nothing.
        key = _key(now) if now.kind == "bool" else (now.kind, _sorted(now.numbers))
        candidates = self.by_numbers.setdefault(key, [])
        found = self._choose_origin(now, candidates) if candidates else (-1, "")
        candidates.append(len(self.earlier) - 1)
        return found

    def _choose_origin(self, now: StepNumbers, candidates: list[int]) -> tuple[int, str]:
        """Choose the latest step in the same function, else the latest of all."""
        section = now.step.section
        here = [it for it in candidates if self.earlier[it].step.section == section]
        index = (here or candidates)[-1]
        other = self.earlier[index]
        how = _compare_steps(now, other)
        if how == "order" and other.step.shape == now.step.shape:
            return -1, TEXT("same_as", tensor=_describe_step(other.step))
        if not how:
            return -1, ""
        return index, TEXT(
            "same_order" if how == "order" else "other_order",
            count=len(now.numbers or []),
            tensor=_describe_step(other.step),
        )


def _key(each: StepNumbers) -> tuple[str, tuple[Number, ...]]:
    return each.kind, tuple(each.numbers or ())


def _compare_steps(now: StepNumbers, other: StepNumbers) -> str:
    if now.numbers is None or other.numbers is None:
        return ""
    return compare_numbers(now.numbers, other.numbers, now.kind)


def _describe_step(step: Step) -> str:
    if step.name != "return":
        return step.name
    return TEXT("return_of", function=step.title.split(",")[0])
