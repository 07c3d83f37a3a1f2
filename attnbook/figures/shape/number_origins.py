"""The steps of a trace as data, and which of them hold the same numbers: to follow by eye."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnbook.figures.shape.products import Product, Products

if TYPE_CHECKING:
    from torch import Tensor

    from attnbook.tracing import Step

Number = float | str
"""As JSON knows it; text for what JSON or JavaScript would lose."""
DIGITS = 9  # of a number in single precision
SAFE = 2**53  # above it, JavaScript's numbers miss some integers
UNREADABLE = "unreadable"


def kind_of(tensor: Tensor | None) -> str:
    """Say what a tensor holds: "float", "int", "bool", or what cannot be drawn."""
    if tensor is None or tensor.is_complex():
        return UNREADABLE
    if tensor.is_floating_point():
        return "float"
    return "int" if str(tensor.dtype) != "torch.bool" else "bool"


def flat(tensor: Tensor) -> list[Number]:
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


def value(number: Number) -> float:
    """Turn a number back into one that can be compared."""
    return float(number)  # "NaN" and "Infinity" too


def relation(one: Sequence[Number], other: Sequence[Number], kind: str) -> str:
    """Say how a tensor's numbers are those of an earlier one, of the same kind.

    Returns:
        "order" if they are in the same order, "moved" if in another, else "". Numbers
        that are all equal, and booleans in another order, are no sign of anything.
    """
    if len(one) != len(other) or len({*one}) < 2:
        return ""
    if one == other:
        return "order"
    return "moved" if kind != "bool" and _sorted(one) == _sorted(other) else ""


def _sorted(numbers: Sequence[Number]) -> tuple[Number, ...]:
    return tuple(sorted(numbers, key=str))


def scales(lists: Sequence[Sequence[Number]]) -> list[float]:
    """Find for each list the size that has the full colour.

    Lists share one scale where all that one holds, zeros aside, is in the other: a number
    that only moves, or is picked out, keeps its colour.
    """
    held = [_nonzero(each) for each in lists]
    group = list(range(len(lists)))
    for one, others in enumerate(_holders(held)):
        for other in others:
            old, new = group[other], group[one]
            if old != new:
                group = [new if each == old else each for each in group]
    largest: dict[int, float] = {}
    for place, numbers in zip(group, held, strict=True):
        largest[place] = max([largest.get(place, 0.0), *map(abs, numbers)])
    return [largest[place] or 1.0 for place in group]


def _holders(held: Sequence[set[float]]) -> list[list[int]]:
    """Say for each set which sets hold all of it; for an empty one, none."""
    # Bit n of a number's places: set n holds it. Cheaper than to compare each pair.
    places: dict[float, int] = {}
    for place, numbers in enumerate(held):
        for number in numbers:
            places[number] = places.get(number, 0) | 1 << place
    common = [functools.reduce(operator.and_, map(places.__getitem__, it), -1) for it in held]
    return [
        [place for place in range(len(held)) if numbers and bits >> place & 1]
        for numbers, bits in zip(held, common, strict=True)
    ]


def _nonzero(numbers: Sequence[Number]) -> set[float]:
    finite = (value(each) for each in numbers)
    return {each for each in finite if math.isfinite(each) and each}


@dataclass(frozen=True)
class Seen:
    """A step, and its numbers as the page will have them; None where there are none to read."""

    step: Step
    kind: str
    numbers: list[Number] | None


def steps_as_data(
    made: Sequence[Step], weights: Sequence[Step] = ()
) -> tuple[list[dict[str, Any]], list[list[Number]]]:
    """Each step as data, and all numbers once: to cut differently moves none.

    A step that is a product of tensors before it, or of one and the layer's weights, holds
    both of them under "product".
    """
    seen = [_seen(step) for step in made]
    places, products = Origins(), Products(weights)
    found = [(*places.find(each), products.find(each.step)) for each in seen]
    factors = [_seen(it) for _, _, made in found if made for it in (made.first, made.second)]
    lists = [*dict.fromkeys(_key(it) for it in [*seen, *factors] if it.numbers is not None)]
    held = dict(zip(lists, enumerate(_largest(lists)), strict=True))

    def data(each: Seen) -> dict[str, Any]:
        place, scale = (-1, 1.0) if each.numbers is None else held[_key(each)]
        return _data(each) | {"numbers": place, "scale": scale}

    def product(made: Product | None) -> dict[str, Any] | None:
        if made is None:
            return None
        first, second = data(_seen(made.first)), data(_seen(made.second))
        traits = {"turned": made.turned, "divisor": made.divisor, "formula": made.formula}
        return {"first": first, "second": second} | traits

    steps = [
        data(each)
        | {"before": before, "note": note or _product_note(made), "product": product(made)}
        for each, (before, note, made) in zip(seen, found, strict=True)
    ]
    return steps, [[*numbers] for _, numbers in lists]


def _product_note(made: Product | None) -> str:
    return f"A matrix product: {made.formula}." if made else ""


def _largest(unique: list[tuple[str, tuple[Number, ...]]]) -> list[float]:
    """Find the scales of all lists; integers share none with other numbers."""
    found = [1.0] * len(unique)
    for wanted in ("float", "int"):
        places = [place for place, (kind, _) in enumerate(unique) if kind == wanted]
        for place, scale in zip(places, scales([unique[n][1] for n in places]), strict=True):
            found[place] = scale
    return found


def _seen(step: Step) -> Seen:
    kind = kind_of(step.numbers)
    readable = step.numbers is not None and kind != UNREADABLE
    return Seen(step, kind, flat(step.numbers) if readable and step.numbers is not None else None)


def _data(each: Seen) -> dict[str, Any]:
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
    """Where numbers come from: the steps so far, by the numbers that they hold."""

    def __init__(self) -> None:
        self.earlier: list[Seen] = []
        self.holding: dict[object, list[int]] = {}

    def find(self, now: Seen) -> tuple[int, str]:
        """Find the step that a step's numbers come from, and take it in; -1 if there is none."""
        place = len(self.earlier)
        self.earlier.append(now)
        if now.numbers is None:
            return -1, "Its numbers cannot be drawn."
        key = _key(now)
        # Booleans in another order are no sign of anything.
        alike = key if now.kind == "bool" else (now.kind, _sorted(now.numbers))
        several = self.holding.setdefault(alike, [])
        found = self._tell(now, several) if several else (-1, "")
        several.append(place)
        return found

    def _tell(self, now: Seen, several: list[int]) -> tuple[int, str]:
        """Choose the latest in the same function, so that a call shows all that it did."""
        section = now.step.section
        here = [it for it in several if self.earlier[it].step.section == section]
        place = (here or several)[-1]
        other = self.earlier[place]
        how = _relation(now, other)
        if how == "order" and other.step.shape == now.step.shape:
            return -1, f"The same as {_called(other.step)}."
        if not how:
            return -1, ""
        where = "in the same order, cut in another way" if how == "order" else "moved"
        count = f"The same {len(now.numbers or [])} numbers as in {_called(other.step)}"
        return place, f"{count}, {where}: none is changed."


def _key(each: Seen) -> tuple[str, tuple[Number, ...]]:
    return each.kind, tuple(each.numbers or ())


def _relation(now: Seen, other: Seen) -> str:
    if now.numbers is None or other.numbers is None:
        return ""
    return relation(now.numbers, other.numbers, now.kind)


def _called(step: Step) -> str:
    return f"the return of {step.title.split(',')[0]}" if step.name == "return" else step.name
