"""What attention costs in time: rates are fitted to measured points, and `predict` applies them.

How long an operation takes depends on the machine; `measured` has points of some.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from attnbook.costs.counting import Counts, Sizes, operations

ROUNDS = 50  # of a fit; after ten it hardly changes


class Point(NamedTuple):
    """One program at one size, measured: seconds of a call, bytes at its peak.

    Example:
        >>> from attnbook.costs.predicting import measured
        >>> measured().points[0]
        Point(layer='additive', way='formula', mode='inference', sizes=Sizes(...), ...)
    """

    layer: str
    way: str
    mode: str
    sizes: Sizes
    seconds: float
    bytes: int


class Measured(NamedTuple):
    """Measured points, and the machine that they were measured on.

    Example:
        >>> from attnbook.costs.predicting import measured
        >>> machine, points = measured()
        >>> sorted({point.way for point in points})
        ['formula', 'ours']
    """

    machine: str
    points: list[Point]


class Rates(NamedTuple):
    """The seconds of a call, of one operation in a matrix product, and of any other operation.

    Example:
        >>> from attnbook.costs.predicting import Rates
        >>> Rates(call=1e-05, product=1e-10, other=1e-09)
        Rates(call=1e-05, product=1e-10, other=1e-09)
    """

    call: float
    product: float
    other: float


def measured(processor: str | None = None) -> Measured:
    """Load the points that `make bench` measured, with padding as a third of the keys.

    Args:
        processor: the name of one that measured; by default the first that did.

    Raises:
        ValueError: no such processor has measured.

    Example:
        >>> from attnbook.costs.predicting import measured
        >>> sorted({point.layer for point in measured().points})
        ['additive', 'dot']
    """
    known = json.loads(files("attnbook.costs").joinpath("measured.json").read_text("utf-8"))
    by_processor = known["processors"]
    name = next(iter(by_processor)) if processor is None else processor
    if name not in by_processor:
        have = ", ".join(by_processor)
        raise ValueError(f"processor must be one that has measured ({have}), got {processor!r}")
    stored = by_processor[name]
    ways = {"textbook": "formula", "ours": "ours"}
    points = [
        Point(
            *(p["layer"], ways[p["program"]], p["mode"]),
            Sizes(p["batch"], p["queries"], p["keys"], p["size"]),
            *(p["seconds"], p["bytes"]),
        )
        for p in stored["points"]
        if p["program"] in ways
    ]
    about = stored["machine"]
    threads = "one thread" if about["threads"] == 1 else f"{about['threads']} threads"
    return Measured(f"{about['processor']}, {threads}, torch {about['torch']}", points)


def predict(counts: Counts, rates: Rates) -> float:
    """Predict the seconds of a call: a constant, and a time for each operation.

    It leaves out the time to fetch what is not in the cache, which a product with a single query
    mostly spends, and the time to allocate new pages of memory, which can double the time of
    large tensors.

    Example:
        >>> from attnbook.costs.predicting import Rates, predict
        >>> rates = Rates(call=1e-5, product=1e-10, other=1e-9)
        >>> round(predict({"product": 1_000_000, "exponential": 1000}, rates), 6)
        0.000111
    """
    products = counts.get("product", 0)
    others = sum(counts.values()) - products
    return rates.call + rates.product * products + rates.other * others


def fit_rates(layer: str, way: str, mode: str, points: Sequence[Point]) -> Rates:
    """Fit rates to all points of one program, so that ratios of times come out right.

    Dot products give the rate of an operation in a matrix product, and of the few others.
    For additive attention that rate is taken from the formula of dot products, because
    in its own points all operations grow at the same rate.

    Raises:
        ValueError: points of fewer than 2 sizes, or a time that is not positive.

    Example:
        >>> from attnbook.costs.counting import Sizes
        >>> from attnbook.costs.predicting import Point, fit_rates
        >>> small = Point("dot", "ours", "inference", Sizes(1, 64, 64, 8), 1e-5 + 73_728e-9, 0)
        >>> large = Point("dot", "ours", "inference", Sizes(1, 128, 128, 8), 1e-5 + 294_912e-9, 0)
        >>> rates = fit_rates("dot", "ours", "inference", [small, large])
        >>> round(rates.call * 1e6, 1), round(rates.product * 1e9, 1)  # micro- and nanoseconds
        (10.0, 1.0)
    """
    product = 0.0 if layer == "dot" else fit_rates("dot", "formula", mode, points).product
    own = [p for p in points if (p.layer, p.way, p.mode) == (layer, way, mode)]
    times = [point.seconds for point in own]
    counts = [operations(layer, way, point.sizes, mode) for point in own]
    known = [predict(count, Rates(0, product, 0)) for count in counts]
    others = [predict(count, Rates(0, float(layer == "dot"), 1)) for count in counts]
    if len(set(others)) < 2 or not all(0 < time < math.inf for time in times):
        what = f"positive times of {layer} {way} {mode} at 2 sizes or more"
        raise ValueError(f"points must hold {what}, got {times}")
    call, other = _fit(others, known, times)
    return Rates(call, product or other, other)


def _fit(xs: list[float], known: list[float], times: list[float]) -> tuple[float, float]:
    """Fit time = known + a + b x to ratios, with a and b at least 0."""
    guesses, rests = times, [time - part for time, part in zip(times, known, strict=True)]
    for _ in range(ROUNDS):
        # So that twice as long counts as much as half as long: with x = ln(time / guess),
        # the difference times its weight is 2 sinh(x / 2) / guess, nearly the slope of x².
        weights = [t**-0.5 * guess**-1.5 for t, guess in zip(times, guesses, strict=True)]
        a, b = _line(xs, rests, weights)
        lines = [part + a + b * x for part, x in zip(known, xs, strict=True)]
        guesses = [math.sqrt(old * new) for old, new in zip(guesses, lines, strict=True)]
    return a, b


def _line(xs: list[float], ys: list[float], weights: list[float]) -> tuple[float, float]:
    """Fit y = a + b x by weighted least squares, with a and b at least 0."""

    def total(*columns: list[float]) -> float:
        return math.fsum(math.prod(row) for row in zip(weights, *columns, strict=True))

    weight = total()
    x, y = total(xs) / weight, total(ys) / weight
    from_x, from_y = [number - x for number in xs], [number - y for number in ys]
    b = total(from_x, from_y) / total(from_x, from_x)
    a = y - b * x
    if a < 0:
        return 0.0, max(0.0, total(xs, ys) / total(xs, xs))
    return (a, b) if b >= 0 else (y, 0.0)
