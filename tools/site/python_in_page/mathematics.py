"""The module `math` of a page's Python: MicroPython's own, and the functions that it lacks.

MicroPython raises a ValueError where a result is too large for a float; here it is an
OverflowError, as in Python. Every public name is exported, as `from math import *` expects.
"""

import math as _math

try:
    from collections.abc import Callable, Iterable
    from typing import Any
except ImportError:
    pass  # in MicroPython

for _name in dir(_math):
    globals()[_name] = getattr(_math, _name)
_TOO_LARGE = "math range error"


def _raising_overflow(function: "Callable[[float], float]") -> "Callable[[float], float]":
    """A function that fails only where its result is too large: it is defined everywhere."""

    def raising(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            raise OverflowError(_TOO_LARGE) from None

    return raising


exp = _raising_overflow(_math.exp)
expm1 = _raising_overflow(_math.expm1)
cosh = _raising_overflow(_math.cosh)
sinh = _raising_overflow(_math.sinh)


def pow(x: float, y: float) -> float:  # noqa: A001 - its name in `math`
    """X to the power of y, as a float."""
    try:
        return _math.pow(x, y)
    except ValueError:
        undefined = (x == 0 and y < 0) or (x < 0 and y != _math.floor(y))
        if undefined:
            raise
        raise OverflowError(_TOO_LARGE) from None


def exp2(x: float) -> float:
    """2 to the power of x."""
    return pow(2.0, x)


def cbrt(x: float) -> float:
    """The cube root, of negative numbers, too."""
    size = abs(float(x))
    if size in (0.0, _math.inf) or _math.isnan(size):
        return float(x)
    root = size ** (1 / 3)
    root -= (root - size / (root * root)) / 3  # the power's last digit may be wrong
    return _math.copysign(root, x)


def log1p(x: float) -> float:
    """The logarithm of 1 + x, exact for small x, too."""
    whole = 1.0 + x
    if whole in (1.0, _math.inf):
        return float(x)
    return _math.log(whole) * (x / (whole - 1.0))


def fsum(numbers: "Iterable[float]") -> float:
    """The exact sum, rounded once (Shewchuk 1997, "Adaptive precision arithmetic")."""
    floats = [float(each) for each in numbers]
    if not all(map(_math.isfinite, floats)):
        return sum(floats)
    parts: list[float] = []  # their sum is exact, and no two overlap
    for x in floats:
        now = x
        partials = []
        for part in parts:
            large, small = (now, part) if abs(now) >= abs(part) else (part, now)
            now = large + small
            rest = small - (now - large)
            if rest:
                partials.append(rest)
        partials.append(now)
        parts = partials
    return _round_sum(parts)


def _round_sum(parts: "list[float]") -> float:
    """The sum of parts that do not overlap, smallest first; a tie goes by the part below it."""
    if not parts:
        return 0.0
    total, rest = parts[-1], 0.0
    i = len(parts) - 2
    while i >= 0 and rest == 0.0:
        before = total
        total = before + parts[i]
        rest = parts[i] - (total - before)
        i -= 1
    if i >= 0 and rest * parts[i] > 0:
        twice = 2 * rest
        if (total + twice) - total == twice:
            total += twice
    return total


def hypot(*components: float) -> float:
    """The length of a vector."""
    sizes = [abs(float(each)) for each in components]
    largest = max(sizes, default=0.0)
    if _math.inf in sizes:
        return _math.inf
    if largest == 0.0 or _math.isnan(largest):
        return largest
    _, exponent = _math.frexp(largest)
    scaled = [_math.ldexp(size, -exponent) for size in sizes]  # no square is too large
    return _math.ldexp(_math.sqrt(fsum([each * each for each in scaled])), exponent)


def dist(p: "Iterable[float]", q: "Iterable[float]") -> float:
    """The distance between two points."""
    one, other = list(p), list(q)
    if len(one) != len(other):
        raise ValueError("both points must have the same number of dimensions")
    return hypot(*[one[i] - other[i] for i in range(len(one))])


def prod(numbers: "Iterable[Any]", *, start: "Any" = 1) -> "Any":
    """The product of all numbers."""
    result = start
    for each in numbers:
        result *= each
    return result


def sumprod(p: "Iterable[Any]", q: "Iterable[Any]") -> "Any":
    """The sum of products: a dot product."""
    one, other = list(p), list(q)
    if len(one) != len(other):
        raise ValueError("Inputs are not the same length")
    products = [one[i] * other[i] for i in range(len(one))]
    return fsum(products) if any(isinstance(each, float) for each in products) else sum(products)


def gcd(*numbers: int) -> int:
    """The greatest common divisor."""
    result = 0
    for each in numbers:
        rest = abs(each)
        while rest:
            result, rest = rest, result % rest
    return result


def lcm(*numbers: int) -> int:
    """The least common multiple."""
    result = 1
    for each in numbers:
        if each == 0:
            return 0
        result = abs(result * each) // gcd(result, each)
    return result


def isqrt(n: int) -> int:
    """The whole part of a square root."""
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = n
    better = (root + 1) // 2
    while better < root:
        root, better = better, (better + n // better) // 2
    return root


def perm(n: int, k: "int | None" = None) -> int:
    """How many ways there are to choose k of n in an order."""
    chosen = n if k is None else k
    if n < 0 or chosen < 0:
        raise ValueError("n and k must be non-negative integers")
    result = 1
    for i in range(chosen):
        result *= n - i
    return result


def comb(n: int, k: int) -> int:
    """How many ways there are to choose k of n without an order."""
    return perm(n, k) // perm(k)
