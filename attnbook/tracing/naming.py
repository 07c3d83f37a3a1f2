"""Naming sizes by products and quotients of the caller's names, which a second run confirms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

Shape: TypeAlias = tuple[int, ...]
Sizes: TypeAlias = Mapping[str, int]
USUALLY_FREE = {*"batch queries keys num_queries num_keys tokens positions steps".split()}


class Expression(NamedTuple):
    """A name, a product of two names, or a name divided by another."""

    first: str
    sign: str = ""
    second: str = ""

    def value(self, sizes: Sizes) -> int | None:
        """Work it out; None where the quotient is no whole number."""
        one, other = sizes[self.first], sizes.get(self.second, 1)
        if self.sign == "*":
            return one * other
        return None if one % other else one // other


def check_sizes(sizes: object) -> dict[str, int]:
    """Refuse sizes that are not distinct whole numbers of at least 1, by name."""
    if not isinstance(sizes, Mapping) or not all(isinstance(name, str) for name in sizes):
        raise TypeError(f"sizes must be a dictionary like {{'batch': 2}}, got {sizes!r}")
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, Integral):
            raise TypeError(f"sizes[{name!r}] must be a whole number, got {size!r}")
        if size < 1:
            raise ValueError(f"sizes[{name!r}] must be at least 1, got {size}")
    for one, other in itertools.combinations(sizes, 2):
        if sizes[one] == sizes[other]:
            pair = f"{one}={sizes[one]} and {other}={sizes[other]}"
            raise ValueError(f"sizes must be distinct, got {pair}")
    return {name: int(size) for name, size in sizes.items()}


def list_sizes(sizes: Sizes, names: Iterable[str]) -> str:
    """Write the sizes of some names: "batch=2, heads=4"."""
    return ", ".join(f"{name}={sizes[name]}" for name in names)


def check_names(names: object, argument: str, known: Sizes | None = None) -> list[str]:
    """Refuse what is neither a name nor several, and names of no size."""
    several = isinstance(names, Iterable) and not isinstance(names, str)
    listed: list[Any] = list(names) if several else [names]  # type: ignore[call-overload]
    if not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{argument} must be a name or several names, got {names!r}")
    for name in listed:
        if known is not None and name not in known:
            offered = ", ".join(known) or "none"
            raise ValueError(f"{argument} must name sizes, got {name!r}; the sizes are {offered}")
    return listed


def fit(size: int, sizes: Sizes) -> Expression | None:
    """Find the one name, product or quotient that gives a size; None if there is another.

    Names of size 1 take no part: axes of one come from `unsqueeze` and `keepdim` too.
    """
    names = [name for name in sizes if sizes[name] > 1]
    every = [Expression(name) for name in names]
    every += [Expression(one, "*", other) for one, other in itertools.combinations(names, 2)]
    every += [Expression(one, "/", other) for one, other in itertools.permutations(names, 2)]
    fits = [it for it in every if it.value(sizes) == size]
    return fits[0] if len(fits) == 1 else None


def named_shape(shape: Shape, other: Shape, sizes: Sizes, other_sizes: Sizes) -> tuple[str, ...]:
    """Write a shape with names where one name alone fits, in both runs; else with numbers."""
    if len(other) != len(shape):
        return tuple(map(str, shape))
    fits = [fit(size, sizes) for size in shape]
    found = [
        name if name and name.value(other_sizes) == size else None
        for name, size in zip(fits, other, strict=True)
    ]
    fixed = {name for name in sizes if sizes[name] == other_sizes[name]}
    return tuple(
        "".join(name) if name and _is_sure(name, found, fixed) else str(size)
        for size, name in zip(shape, found, strict=True)
    )


def _is_sure(name: Expression, found: list[Expression | None], fixed: set[str]) -> bool:
    """Whether a name does not fit by chance: with four heads, `4*size` is not `size*heads`.

    A name that neither run changed is a factor or a divisor only where another axis shows
    where it went or came from, as in `(heads, width/heads)` and `(batch*heads, width/heads)`.
    """
    others = [it for it in found if it and it is not name]
    if name.sign == "*":
        divisors = {it.second for it in others if it.sign == "/"}
        return {name.first, name.second} & fixed <= divisors
    factors = {it.first for it in others} | {it.second for it in others if it.sign == "*"}
    return {name.second} & fixed <= factors


def other_sizes(sizes: Sizes, vary: set[str], numbers: Iterable[int]) -> dict[str, int]:
    """Choose other sizes for some names: larger, so that lengths stay valid; primes; all new.

    None of the numbers in the layer's code is chosen: it would be a size by chance.
    """
    taken, chosen = {*sizes.values(), *numbers}, dict(sizes)
    for name in [name for name in sizes if name in vary]:
        larger = itertools.count(sizes[name] + 1)
        primes = (n for n in larger if all(n % d for d in range(2, math.isqrt(n) + 1)))
        chosen[name] = next(n for n in primes if n not in taken)
        taken.add(chosen[name])
    return chosen
