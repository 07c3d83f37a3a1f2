"""The steps of a trace as data, and which of them hold the same numbers: to follow by eye."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from attnbook.tracing import Step

Number = float | str
"""As JSON knows it; text stands for what JSON or JavaScript would lose."""
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
        "order" if they stand in the same order, "moved" if in another, else "". Numbers
        that are all equal, and booleans in another order, are no sign of anything.
    """
    if len(one) != len(other) or len({*one}) < 2:
        return ""
    if one == other:
        return "order"
    moved = kind != "bool" and sorted(map(str, one)) == sorted(map(str, other))
    return "moved" if moved else ""


def scales(lists: Sequence[Sequence[Number]]) -> list[float]:
    """Find for each list the size that has the full colour.

    Lists share one scale where all that one holds, zeros aside, is in the other: a number
    that only moves, or is picked out, keeps its colour.
    """
    held = [_nonzero(each) for each in lists]
    group = list(range(len(lists)))
    for one, other in itertools.combinations(range(len(lists)), 2):
        if held[one] and held[other] and (held[one] <= held[other] or held[other] <= held[one]):
            old, new = group[other], group[one]
            group = [new if each == old else each for each in group]
    largest: dict[int, float] = {}
    for place, numbers in zip(group, held, strict=True):
        largest[place] = max([largest.get(place, 0.0), *map(abs, numbers)])
    return [largest[place] or 1.0 for place in group]


def _nonzero(numbers: Sequence[Number]) -> set[float]:
    finite = (value(each) for each in numbers)
    return {each for each in finite if math.isfinite(each) and each}


@dataclass(frozen=True)
class Seen:
    """A step, and its numbers as the page will have them; None where there are none to read."""

    step: Step
    kind: str
    numbers: list[Number] | None


def told(made: Sequence[Step]) -> tuple[list[dict[str, Any]], list[list[Number]]]:
    """Tell each step as data, and list all numbers once: to cut differently moves none."""
    seen = [_seen(step) for step in made]
    unique: list[tuple[str, list[Number]]] = []
    for each in seen:
        if each.numbers is not None and (each.kind, each.numbers) not in unique:
            unique.append((each.kind, each.numbers))
    lists = [numbers for _, numbers in unique]
    largest = _largest(unique)
    steps = []
    for place, each in enumerate(seen):
        held = -1 if each.numbers is None else unique.index((each.kind, each.numbers))
        before, note = _origin(seen[:place], each)
        scale = 1.0 if held < 0 else largest[held]
        found = {"numbers": held, "scale": scale, "before": before, "note": note}
        steps.append(_data(each) | found)
    return steps, lists


def _largest(unique: list[tuple[str, list[Number]]]) -> list[float]:
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


def _origin(earlier: Sequence[Seen], now: Seen) -> tuple[int, str]:
    """Find the step that these numbers come from; -1 if there is nothing to compare.

    It is the latest one in the same function, so that a call shows all that it did; then
    the latest one elsewhere.
    """
    if now.numbers is None:
        return -1, "Its numbers cannot be drawn."
    nearest = reversed([*enumerate(earlier)])
    for place, other in sorted(nearest, key=lambda it: it[1].step.section != now.step.section):
        how = _relation(now, other)
        if how == "order" and other.step.shape == now.step.shape:
            return -1, f"The same as {_called(other.step)}."
        if how:
            where = "in the same order, cut in another way" if how == "order" else "moved"
            count = f"The same {len(now.numbers)} numbers as in {_called(other.step)}"
            return place, f"{count}, {where}: none is changed."
    return -1, ""


def _relation(now: Seen, other: Seen) -> str:
    if now.kind != other.kind or now.numbers is None or other.numbers is None:
        return ""
    return relation(now.numbers, other.numbers, now.kind)


def _called(step: Step) -> str:
    return f"the return of {step.title.split(',')[0]}" if step.name == "return" else step.name
