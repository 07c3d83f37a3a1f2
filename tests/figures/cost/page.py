"""What the cost figure shows in a browser, against its Python half."""

from __future__ import annotations

import math
from typing import Any

from playwright.sync_api import Locator

from attnbook.costs.counting import Sizes, operations, peak_bytes
from attnbook.costs.predicting import Rates, predict
from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import WAYS, format_bytes, format_seconds
from tests.figures.cost.cases import powers
from tests.figures.shared.page import reading

KINDS = ["product", "multiply-add", "addition", "tanh", "division", "exponential"]
READ = reading("""
    sizes: Object.fromEntries(all('input[type=range]').map(
        (input) => [input.ariaLabel, Number(input.ariaValueText)])),
    chosen: all('input:checked').map((input) => input.value),
    tables: bodies(),
    numbers: texts('.line-key b'),
    verdicts: texts('.verdict'),
    sentence: figure.querySelector('.readout').textContent,
    here: attributes('.here', ['x1', 'y1']),
    dots: all('.ring').length,
""")


def height(kind: str, number: float) -> float:
    """The position of a number in its plot, in percent from the top."""
    low, high, log = (-5, 4.5, math.log10) if kind == "seconds" else (10, 45, math.log2)
    return 100 * (high - log(number)) / (high - low)


def expected(figure: CostFigure) -> dict[str, Any]:
    """The expected result of `READ`, from the Python half."""
    seconds, sizes = ([get(way) for way in WAYS] for get in (figure.seconds, figure.bytes))
    counts = [figure.operations(way) for way in WAYS]
    chosen = [[count.get(kind, 0) for count in counts] for kind in KINDS]
    chosen += [[sum(count.values()) for count in counts], seconds, sizes]
    name = {"additive": "num_hiddens", "dot": "d"}[figure.layer]
    sides = ("batch", "num_queries", "num_keys", name)
    x = 100 * (math.log2(figure.num_queries * figure.num_keys) / 2 - 4) / 8
    heights = [height("seconds", n) for n in seconds] + [height("bytes", n) for n in sizes]
    measured = [figure.points[f"{figure.layer} {way} {figure.mode}"] for way in WAYS]
    dots = [point for way in measured for point in way if point[0] == figure.batch]
    dots = [point for point in dots if point[3] == figure.size]
    # The page shows the comparison of times next to its plot.
    memory, _, time = repr(figure).splitlines()[1].partition(" Predicted time ")
    return {
        "sizes": dict(zip(sides, figure.sizes, strict=True)),
        "chosen": [figure.layer, figure.mode],
        "tables": [chosen, curves(figure), [point[4:] for way in measured for point in way]],
        "numbers": [*map(format_seconds, seconds), *map(format_bytes, sizes)],
        "verdicts": [part.rpartition(": ")[2].rstrip(".") for part in (time, memory)],
        # The page names both programs for newcomers.
        "sentence": memory.replace("the formula", "the plain formula").replace(
            "ours", "this book’s layer"
        ),
        "here": [[x, y] for y in heights],
        "dots": 2 * len(dots),  # of seconds, and of bytes
    }


def curves(figure: CostFigure) -> list[list[float]]:
    """Seconds and bytes of both ways, at as many queries as keys."""
    layer, mode = figure.layer, figure.mode
    rates = [Rates(*figure.rates[f"{layer} {way} {mode}"]) for way in WAYS]
    rows = []
    for side in powers("num_keys"):
        sizes = Sizes(figure.batch, side, side, figure.size)
        counts = [operations(layer, way, sizes, mode) for way in WAYS]
        seconds = [predict(*pair) for pair in zip(counts, rates, strict=True)]
        rows.append([*seconds, *(peak_bytes(layer, way, sizes, mode) for way in WAYS)])
    return rows


def disagreements(figure: Locator, python: CostFigure) -> list[str]:
    """The parts of the figure that differ from Python's."""
    return differences(figure.evaluate(READ), python)


def differences(found: dict[str, Any], python: CostFigure) -> list[str]:
    true = expected(python)
    close = {"tables": 1e-12, "here": 1e-3}
    wrong = [name for name in true if name not in close and found[name] != true[name]]
    for name, tolerance in close.items():
        pairs = zip(flatten(found[name]), flatten(true[name]), strict=True)
        if not all(math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in pairs):
            wrong.append(name)
    return wrong


def flatten(nested: Any) -> list[float]:
    if not isinstance(nested, list):
        return [nested]
    return [number for part in nested for number in flatten(part)]
