"""Naming sizes by products and quotients of the caller's names, which a second run confirms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple

from attnbook.messages import Messages

TEXT = Messages(__file__)
Sizes = Mapping[str, int]
MOST_FACTORS = 3
VARIED = tuple("batch queries keys num_queries num_keys tokens positions steps".split())
"""The usual names of the sizes that no parameter of a layer fixes."""


class UnclearAxisError(ValueError):
    """An input cannot be given another size, for example since several names fit an axis."""


class Expression(NamedTuple):
    """A product of names, or a name divided by another."""

    factors: tuple[str, ...]
    divisor: str | None = None

    def __str__(self) -> str:
        return "*".join(self.factors) + (f"/{self.divisor}" if self.divisor else "")

    def value(self, sizes: Sizes) -> int | None:
        """Work it out; None where the quotient is no whole number."""
        product = math.prod(sizes[name] for name in self.factors)
        quotient, rest = divmod(product, sizes[self.divisor] if self.divisor else 1)
        return None if rest else quotient


def check_sizes(sizes: object) -> dict[str, int]:
    """Refuse sizes that are not distinct whole numbers of at least 1, by name."""
    if not isinstance(sizes, Mapping) or not all(isinstance(name, str) for name in sizes):
        raise TypeError(f"sizes must be a dictionary like {{'batch': 2}}, got {sizes!r}")
    for name, size in sizes.items():
        if not name.strip():
            raise ValueError(f"sizes must have names, got {name!r} for {size!r}")
        if isinstance(size, bool) or not isinstance(size, Integral):
            raise TypeError(f"sizes[{name!r}] must be a whole number, got {size!r}")
        if size < 1:
            raise ValueError(f"sizes[{name!r}] must be at least 1, got {size}")
    for one, other in itertools.combinations(sizes, 2):
        if sizes[one] == sizes[other]:
            pair = f"{one}={sizes[one]} and {other}={sizes[other]}"
            raise ValueError(f"sizes must be distinct, got {pair}")
    return {name: int(size) for name, size in sizes.items()}


def check_names(names: object, argument: str) -> list[str]:
    """Refuse what is neither a name nor several."""
    several = isinstance(names, Iterable) and not isinstance(names, str)
    listed: list[Any] = list(names) if several else [names]  # type: ignore[call-overload]
    if not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{argument} must be a name or several names, got {names!r}")
    return listed


def check_varied(vary: object, sizes: Sizes) -> set[str]:
    """Refuse names of no size; the usual ones need not be there."""
    names = check_names(vary, "vary")
    unknown = [name for name in names if name not in sizes]
    if unknown and vary is not VARIED:
        known = ", ".join(sizes) or "none"
        raise ValueError(f"vary must name sizes, got {unknown[0]!r}; the sizes are {known}")
    return {*names} & {*sizes}


def matching_expressions(size: int, sizes: Sizes) -> list[Expression]:
    """List every product and quotient of names that gives this size.

    Names of size 1 take no part: axes of one come from `unsqueeze` and `keepdim` too.
    """
    return [each for each in _expressions(sizes) if each.value(sizes) == size]


def _expressions(sizes: Sizes) -> Iterator[Expression]:
    names = [name for name in sizes if sizes[name] > 1]
    for count in range(1, MOST_FACTORS + 1):
        yield from map(Expression, itertools.combinations(names, count))
    for one, other in itertools.permutations(names, 2):
        yield Expression((one,), other)


def named_shape(
    shape: tuple[int, ...], other: tuple[int, ...], sizes: Sizes, other_sizes: Sizes
) -> tuple[str, ...]:
    """Write a shape with names where one name alone fits, in both runs; else with numbers."""
    if len(other) != len(shape):
        return tuple(map(str, shape))
    found = [_fit(*pair, sizes, other_sizes) for pair in zip(shape, other, strict=True)]
    fixed = {name for name in sizes if sizes[name] == other_sizes[name]}
    return tuple(
        str(name) if name and _is_sure(name, found, fixed) else str(size)
        for size, name in zip(shape, found, strict=True)
    )


def _fit(size: int, other: int, sizes: Sizes, other_sizes: Sizes) -> Expression | None:
    fits = matching_expressions(size, sizes)
    return fits[0] if len(fits) == 1 and fits[0].value(other_sizes) == other else None


def _is_sure(name: Expression, found: list[Expression | None], fixed: set[str]) -> bool:
    """Whether a name does not fit by chance: with four heads, `4*size` is not `size*heads`.

    A name that neither run changed is a factor or a divisor only where another axis shows
    where it went or came from, as in `(heads, width/heads)` and `(batch*heads, width/heads)`.
    """
    if not name.divisor and len(name.factors) == 1:
        return True
    moved = {name.divisor} if name.divisor else {*name.factors}
    others = [it for it in found if it and it is not name]
    went = {it for it in moved if any(it in other.factors for other in others)}
    came = {it for it in moved if any(it == other.divisor for other in others)}
    return moved & fixed <= (went if name.divisor else came)


def other_sizes(sizes: Sizes, vary: set[str], numbers: Iterable[int] = ()) -> dict[str, int]:
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


def changed_names(shape: Iterable[int], sizes: Sizes, new_sizes: Sizes) -> set[str]:
    """Name the sizes by which a shape becomes larger."""
    fits = [each for size in shape for each in matching_expressions(size, sizes)]
    names = {name for each in fits for name in (*each.factors, each.divisor) if name}
    return {name for name in names if sizes[name] != new_sizes[name]}


def new_size(size: int, sizes: Sizes, new_sizes: Sizes) -> int:
    """Return what a size of an input becomes, or raise an `UnclearAxisError`."""
    if not changed_names([size], sizes, new_sizes):
        return size
    fits = matching_expressions(size, sizes)
    new = fits[0].value(new_sizes)
    if len(fits) > 1 or new is None:
        names = f" {TEXT('or')} ".join(map(str, fits))
        raise UnclearAxisError(TEXT("unclear_axis", size=size, names=names))
    return new
