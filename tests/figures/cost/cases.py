"""Settings of the cost figure, and what its page counts at them."""

from __future__ import annotations

from random import Random

from attnbook.costs.generation import QWEN3_8B, ModelSizes
from attnbook.figures import CostFigure
from attnbook.figures.cost.figure import VALUES

SMALL = ModelSizes(3, 4, 2, 32, 7, 11, 13, gated=False)
MAKERS = {
    "Llama 3 8B": CostFigure,
    "small": lambda: CostFigure(SMALL, length=32, batch=2, bytes_each=4),
    "Qwen3 8B": lambda: CostFigure(QWEN3_8B, length=131_072),
}


def settings_at_random(count: int = 60) -> list[dict[str, int]]:
    """Settings of all sliders, with query heads for each KV head."""
    rng = Random(1)  # noqa: S311 - numbers to test with, no secrets
    found = [{name: rng.choice(values) for name, values in VALUES.items()} for _ in range(count)]
    for setting in found:
        setting["num_kv_heads"] = min(setting["num_kv_heads"], setting["num_heads"])
    return found


def set_all(figure: CostFigure, setting: dict[str, int]) -> CostFigure:
    """Move the figure's sliders together, as the page does."""
    with figure.hold_trait_notifications():
        for name, value in setting.items():
            setattr(figure, name, value)
    return figure


def counts_of(figure: CostFigure) -> list[list[float]]:
    """Products, bytes and their ratio of both parts of both passes."""
    parts = [part for name in ("prefill", "decode") for part in reversed(figure.count(name))]
    return [[part.products, part.bytes, part.products_per_byte] for part in parts]


def sizes_of(figure: CostFigure) -> dict[str, object]:
    """The traits that the page counts with."""
    return {name: getattr(figure, name) for name in (*VALUES, "rest")}
