"""Sizes, points and figures for the cost room and its figure."""

from __future__ import annotations

from random import Random
from typing import Any

from attnbook.costs.counting import MODES, PROGRAMS, Sizes, operations, peak_bytes
from attnbook.costs.predicting import Measured, Point, Rates, predict
from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import RANGES

TRUE = {"dot": Rates(2e-5, 3e-11, 3e-11), "additive": Rates(3e-4, 3e-11, 2e-9)}
SWEEP = [Sizes(4, side, side, 64) for side in (16, 64, 256, 1024)]
DEFAULTS = {"batch": 4, "num_queries": 256, "num_keys": 256, "size": 64}


def exact(machine: str = "a machine of the tests") -> Measured:
    """Points of a machine whose calls take exactly the predicted time."""
    return Measured(
        machine,
        [
            Point(
                *(layer, way, mode, sizes),
                predict(operations(layer, way, sizes, mode), TRUE[layer]),
                peak_bytes(layer, way, sizes, mode),
            )
            for layer, way in PROGRAMS
            for mode in MODES
            for sizes in SWEEP
        ],
    )


def powers(name: str) -> list[int]:
    """All values of a slider."""
    low, high = RANGES[name]
    return [2**power for power in range(low.bit_length() - 1, high.bit_length())]


def make_settings() -> list[dict[str, Any]]:
    """All values of each slider with defaults elsewhere, in every layer and mode; 200 at random."""
    rng = Random(1)  # noqa: S311 - numbers to test with, no secrets
    settings = [
        DEFAULTS | {name: size, "layer": layer, "mode": mode}
        for layer in ("additive", "dot")
        for mode in MODES
        for name in RANGES
        for size in powers(name)
    ]
    return settings + [
        {name: rng.choice(powers(name)) for name in RANGES}
        | {"layer": rng.choice(["additive", "dot"]), "mode": rng.choice(MODES)}
        for _ in range(200)
    ]


def set_all(figure: CostFigure, setting: dict[str, Any]) -> CostFigure:
    """Move the figure's sliders and choices."""
    for name, value in setting.items():
        setattr(figure, name, value)
    return figure
