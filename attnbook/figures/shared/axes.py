"""Axes of numbers: where they begin and end, and the steps of the sliders below them."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right

STEPS = 320  # along an axis, at most
# Round steps of a slider of widths, from one power of ten to the next.
DECADE = (1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9)


def axis_of(numbers: list[float], spread: float) -> list[float]:
    """Where an axis of these numbers begins and ends, and a round step between its positions.

    Args:
        spread: the least range that it must show; a tenth is added.

    Raises:
        ValueError: the numbers are so far apart that their distance is not finite.
    """
    low, high = min(numbers), max(numbers)
    middle, reach = low / 2 + high / 2, 1.1 * max(high - low, spread)
    if not math.isfinite(reach):
        raise ValueError(f"keys and query must lie a finite distance apart, got {low} and {high}")
    step = round_up(reach / STEPS)
    first = math.floor(clean((middle - reach / 2) / step))
    last = math.ceil(clean((middle + reach / 2) / step))
    return [clean(first * step), clean(last * step), step]


def positions_on(axis: list[float]) -> list[float]:
    """Each position that a slider below the axis can have."""
    low, high, step = axis
    first = round(low / step)
    return [clean((first + i) * step) for i in range(round((high - low) / step) + 1)]


def spread_of(numbers: list[float]) -> float:
    """The range of the numbers; their size if all are equal, so that an axis can show them."""
    low, high = min(numbers), max(numbers)
    size = max(abs(low), abs(high))
    return high - low if high - low > 1e-9 * size else size or 1.0


def widths_for(numbers: list[float], width: float) -> list[float]:
    """Round widths for a slider, from where the curve is a staircase to the numbers' range."""
    spread, gaps = spread_of(numbers), max(1, len(set(numbers)) - 1)
    low, high = min(spread / gaps / 20, width), max(spread, width)
    tens = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 2)
    ladder = [clean(digit * 10.0**ten) for ten in tens for digit in DECADE]
    last = bisect_left(ladder, high)
    return ladder[bisect_right(ladder, low) - 1 : last + 1]


def round_up(number: float) -> float:
    """The least of 1, 2, 5, 10, 20, 50 and so on, up and down, that is not below a number."""
    ten = 10.0 ** math.floor(math.log10(number))
    return clean(next(digit * ten for digit in (1, 2, 5, 10) if digit * ten >= number))


def clean(number: float) -> float:
    """Round to 12 digits, because 3 × 0.1 is not 0.3."""
    return float(f"{number:.12g}")
