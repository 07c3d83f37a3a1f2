"""`CostFigure`: the products and bytes of prefill and of one decode step, and the KV cache."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context
from typing import Any

import traitlets

from attnbook.costs import generation
from attnbook.costs.generation import LLAMA_3_8B, ModelSizes, Pass, count_pass
from attnbook.figures.shared.base import Figure, module, stylesheet
from attnbook.messages import Messages

TEXT = Messages(__file__)
# What each slider can be: powers of two, and any number of layers.
VALUES = {
    "length": [2**power for power in range(4, 18)],
    "batch": [2**power for power in range(9)],
    "num_heads": [2**power for power in range(7)],
    "num_kv_heads": [2**power for power in range(7)],
    "head_size": [2**power for power in range(4, 9)],
    "num_layers": [*range(1, 129)],
    "bytes_each": [1, 2, 4],
}
OF_MODEL = ("num_layers", "num_heads", "num_kv_heads", "head_size")
PASSES = ("prefill", "decode")


class CostFigure(Figure):
    """What generation costs: products and bytes of prefill and of one decode step, and the cache.

    The page counts like `count_pass` and `cache_bytes` of `attnbook.costs.generation`, so the
    sliders work without a kernel.

    Args:
        model: its sizes, without windows and with one feed-forward network in each layer.
        length: tokens of each text, a power of two from 16 to 131,072.
        batch: how many texts, a power of two up to 256.
        bytes_each: of a number: 4, 2 or 1.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the reader's controls change, and that can be set: `length`, `batch`, `num_heads`,
    `num_kv_heads`, `head_size`, `num_layers`, `bytes_each`.

    Raises:
        ValueError: the model has windows or experts.
        traitlets.TraitError: a size is not on its slider, or the heads do not share evenly.

    Example:
        >>> from attnbook.figures import CostFigure
        >>> figure = CostFigure(length=8192)
        >>> round(figure.count("decode").total.products_per_byte, 2), figure.cache_bytes
        (0.6, 1073741824)
    """

    _esm = module("cost/figure.js")
    _css = stylesheet("shared/theme.css", "shared/style.css", "shared/axes.css", "cost/style.css")

    length = traitlets.Int(8192).tag(sync=True)
    batch = traitlets.Int(1).tag(sync=True)
    num_heads = traitlets.Int(32).tag(sync=True)
    num_kv_heads = traitlets.Int(8).tag(sync=True)
    head_size = traitlets.Int(128).tag(sync=True)
    num_layers = traitlets.Int(32).tag(sync=True)
    bytes_each = traitlets.Int(2).tag(sync=True)
    # The sizes of the model that have no slider.
    rest: traitlets.Dict[str, int] = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        model: ModelSizes = LLAMA_3_8B,
        *,
        length: int = 8192,
        batch: int = 1,
        bytes_each: int = 2,
        action: str = "",
        caption: str = "",
    ) -> None:
        if model.window is not None or model.experts > 1:
            raise ValueError(f"model must have no window and no experts, got {model}")
        super().__init__(
            kind="cost",
            length=length,
            batch=batch,
            bytes_each=bytes_each,
            **{name: getattr(model, name) for name in OF_MODEL},
            rest={
                "num_hiddens": model.num_hiddens,
                "ffn_hiddens": model.ffn_hiddens,
                "ffn_matrices": 3 if model.gated else 2,
                "vocabulary": model.vocabulary,
            },
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def model(self) -> ModelSizes:
        """The model whose costs are shown."""
        rest = dict(self.rest)
        gated = rest.pop("ffn_matrices") == 3
        return ModelSizes(**{name: getattr(self, name) for name in OF_MODEL}, **rest, gated=gated)

    @property
    def cache_bytes(self) -> int:
        """The bytes of the keys and values of all texts."""
        return generation.cache_bytes(self.model, self.length, **self._inputs())

    def count(self, name: str) -> Pass:
        """The work shown of a pass; `name` is "prefill" or "decode"."""
        tokens = {"prefill": self.length, "decode": 1}[name]
        return count_pass(self.model, self.length, tokens, **self._inputs())

    def _inputs(self) -> dict[str, int]:
        return {"batch": self.batch, "bytes_each": self.bytes_each}

    @traitlets.validate(*VALUES)
    def _check_size(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        name, size = proposal["trait"].name, int(proposal["value"])  # True is 1
        known = VALUES[name]
        if not known[0] <= size <= known[-1]:
            raise traitlets.TraitError(f"{name} must lie in [{known[0]}, {known[-1]}], got {size}")
        if size not in known:
            raise traitlets.TraitError(f"{name} must be a power of two, got {size}")
        now = {"num_heads": self.num_heads, "num_kv_heads": self.num_kv_heads} | {name: size}
        if now["num_kv_heads"] > now["num_heads"]:
            raise traitlets.TraitError(
                f"num_kv_heads must be at most num_heads={now['num_heads']}, "
                f"got {now['num_kv_heads']}"
            )
        return size

    @traitlets.observe(*VALUES)
    def _describe(self, _change: object = None) -> None:
        if self.rest:
            self._write_text(self._lines())

    def _lines(self) -> list[str]:
        sizes = {name: getattr(self, name) for name in VALUES}
        lines = [TEXT("title", **sizes), TEXT("inputs", **sizes)]
        lines += [self._describe_pass(name) for name in PASSES]
        stored = {
            "cache": format_bytes(self.cache_bytes),
            "each": format_bytes(self.cache_bytes / (self.batch * self.length)),
            "weights": format_bytes(self.count("decode").matrices.bytes),
        }
        return [*lines, TEXT("cache_holds", **stored)]

    def _describe_pass(self, name: str) -> str:
        attention, matrices = self.count(name)
        total = self.count(name).total
        return TEXT(
            "pass_in_text",
            name=TEXT.group("passes")[name],
            products=format_count(total.products),
            weights=format_bytes(matrices.bytes),
            cache=format_bytes(attention.bytes),
            ratio=format_ratio(total.products_per_byte),
        )


# counts.js formats numbers in the same way.


def _round(number: float) -> float:
    """Round to three digits, halves up as in JavaScript."""
    return float(Context(prec=3, rounding=ROUND_HALF_UP).create_decimal_from_float(number))


def _scale(number: float, step: int, units: dict[str, str]) -> str:
    unit = 0
    while number >= step and unit < len(units) - 1:
        number, unit = number / step, unit + 1
    return units[str(unit)].format(number=f"{_round(number):,.15g}")


def format_count(number: float) -> str:
    """Format products with three digits."""
    return _scale(number, 1000, TEXT.group("number_units"))


def format_bytes(number: float) -> str:
    """Format bytes with three digits."""
    return _scale(number, 1024, TEXT.group("byte_units"))


def format_ratio(ratio: float) -> str:
    """Format products per byte with three digits, or with all before the point."""
    return f"{_round(ratio):.15g}" if ratio < 100 else f"{int(ratio + 0.5):,}"
