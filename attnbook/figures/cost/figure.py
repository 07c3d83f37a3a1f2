"""`CostFigure`: what attention costs in time and memory, as a formula and as ours."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context
from typing import Any

import traitlets

from attnbook.costs.counting import MODES, PROGRAMS, Sizes, operations, peak_bytes
from attnbook.costs.predicting import Measured, Rates, fit_rates, measured, predict
from attnbook.figures.shared.base import Figure, module, stylesheet
from attnbook.messages import Messages

TEXT = Messages(__file__)
# Powers of two: the first and the last. Both ends were measured, or lie near what was.
RANGES = {
    "batch": (1, 64),
    "num_queries": (16, 4096),
    "num_keys": (16, 4096),
    "size": (16, 1024),
}
LAPTOP = 16 * 2**30  # bytes: most laptops have no more memory
WAYS = ("formula", "ours")


class CostFigure(Figure):
    """What attention costs: time and memory, by the formula as it is written and by our layers.

    Operations and memory are counted in the page, by `operations` and `peak_bytes` of
    `attnbook.costs`; times are predicted from measured points, which are drawn next to
    the curves at the sizes they were measured at. So the sliders work without a kernel.

    Args:
        points: measured points and their machine; by default
            `attnbook.costs.predicting.measured()`.
        batch: a power of two from 1 to 64.
        queries, keys: powers of two from 16 to 4096, for each example.
        size: num_hiddens of additive attention, d of dot products (and of the values):
            a power of two from 16 to 1024.
        layer: "additive" or "dot".
        mode: "inference", or "training" with all gradients.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the reader's controls change, and that can be set: `batch`, `num_queries`,
    `num_keys`, `size`, `layer`, `mode`.

    Raises:
        ValueError: points do not hold two of every layer, way and mode.
        traitlets.TraitError: a size, layer or mode is none of those above.

    Example:
        >>> from attnbook.figures import CostFigure
        >>> figure = CostFigure(batch=1, queries=16, keys=16, size=16, layer="dot")
        >>> figure.bytes("formula"), figure.operations("formula")["exponential"]
        (3072, 256)
    """

    _esm = module("cost/figure.js")
    _css = stylesheet("shared/theme.css", "shared/style.css", "shared/axes.css", "cost/style.css")

    batch = traitlets.Int(4).tag(sync=True)
    num_queries = traitlets.Int(256).tag(sync=True)
    num_keys = traitlets.Int(256).tag(sync=True)
    size = traitlets.Int(64).tag(sync=True)
    layer = traitlets.Unicode("additive").tag(sync=True)
    mode = traitlets.Unicode("inference").tag(sync=True)
    # For each program, such as "dot ours training": seconds of a call, of an operation in a
    # product, of another; and each point as its four sizes, seconds and bytes.
    rates: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    points: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    machine = traitlets.Unicode().tag(sync=True)

    def __init__(  # noqa: PLR0913 - four sizes, two choices, the points and two texts
        self,
        points: Measured | None = None,
        *,
        batch: int = 4,
        queries: int = 256,
        keys: int = 256,
        size: int = 64,
        layer: str = "additive",
        mode: str = "inference",
        action: str = "",
        caption: str = "",
    ) -> None:
        known = measured() if points is None else points
        super().__init__(
            kind="cost",
            batch=batch,
            num_queries=queries,
            num_keys=keys,
            size=size,
            layer=layer,
            mode=mode,
            rates=_rates(known),
            points=_points(known),
            machine=known.machine,
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def sizes(self) -> Sizes:
        """The sizes that the sliders set."""
        return Sizes(self.batch, self.num_queries, self.num_keys, self.size)

    def operations(self, way: str) -> dict[str, int]:
        """The operations shown, by kind; `way` is "formula" or "ours"."""
        return operations(self.layer, way, self.sizes, self.mode)

    def bytes(self, way: str) -> int:
        """The bytes shown at the peak; `way` is "formula" or "ours"."""
        return peak_bytes(self.layer, way, self.sizes, self.mode)

    def seconds(self, way: str) -> float:
        """The seconds predicted; `way` is "formula" or "ours"."""
        rates = Rates(*self.rates[f"{self.layer} {way} {self.mode}"])
        return predict(self.operations(way), rates)

    @traitlets.validate(*RANGES)
    def _check_size(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        name, size = proposal["trait"].name, int(proposal["value"])  # True is 1
        low, high = RANGES[name]
        if not low <= size <= high or size.bit_count() != 1:
            raise traitlets.TraitError(
                f"{name} must be a power of two from {low} to {high}, got {size}"
            )
        return size

    @traitlets.validate("layer", "mode")
    def _check_choice(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        name = proposal["trait"].name
        known = MODES if name == "mode" else ("additive", "dot")
        if proposal["value"] not in known:
            raise traitlets.TraitError(
                f"{name} must be one of {', '.join(known)}, got {proposal['value']!r}"
            )
        return proposal["value"]

    @traitlets.observe(*RANGES, "layer", "mode")
    def _describe(self, _change: object = None) -> None:
        if self.rates:
            self._write_text(self._lines())

    def _lines(self) -> list[str]:
        title = TEXT("title", layer=self.layer, mode=self.mode)
        return [title, self._sentence(), *map(self._describe_way, WAYS)]

    def _sentence(self) -> str:
        memory, time = [[measure(way) for way in WAYS] for measure in (self.bytes, self.seconds)]
        return TEXT(
            "costs_in_text",
            sizes=_format_sizes(self.layer, self.sizes),
            formula=_format_need(memory[0]),
            ours=_format_need(memory[1]),
            memory_compared=_compare(memory, TEXT.group("memory_compared")),
            formula_time=format_seconds(time[0]),
            our_time=format_seconds(time[1]),
            time_compared=_compare(time, TEXT.group("time_compared")),
        )

    def _describe_way(self, way: str) -> str:
        return TEXT.group("costs_of_way")[way].format(
            operations=f"{sum(self.operations(way).values()):,}",
            bytes=f"{self.bytes(way):,}",
            seconds=format_seconds(self.seconds(way)),
        )


def _rates(known: Measured) -> dict[str, list[float]]:
    return {
        f"{layer} {way} {mode}": [
            _round_rate(rate) for rate in fit_rates(layer, way, mode, known.points)
        ]
        for layer, way in PROGRAMS
        for mode in MODES
    }


def _round_rate(rate: float) -> float:
    return float(f"{rate:.3g}")  # a measurement has no more digits


def _points(known: Measured) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {}
    for point in known.points:
        name = f"{point.layer} {point.way} {point.mode}"
        found.setdefault(name, []).append([*point.sizes, point.seconds, point.bytes])
    return found


# counts.js formats numbers in the same way.


def _round(number: float, digits: int = 2) -> str:
    """Format with some digits, halves rounded up as in JavaScript; two for predicted times."""
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(number)
    return f"{float(rounded):.15g}"


def format_bytes(number: float) -> str:
    """Format bytes with three digits."""
    units = [TEXT("bytes"), "KiB", "MiB", "GiB", "TiB"]
    while number >= 1024 and len(units) > 1:
        number, units = number / 1024, units[1:]
    return f"{_round(number, 3)} {units[0]}"


def format_seconds(seconds: float) -> str:
    """Format a time with two digits."""
    if seconds >= 7200:
        return TEXT("hours", number=_round(seconds / 3600))
    if seconds >= 120:
        return TEXT("minutes", number=_round(seconds / 60))
    if seconds >= 1:
        return f"{_round(seconds)} s"
    return f"{_round(seconds * 1e3)} ms" if seconds >= 1e-3 else f"{_round(seconds * 1e6)} µs"


def _format_sizes(layer: str, sizes: Sizes) -> str:
    return TEXT("additive_sizes" if layer == "additive" else "dot_sizes", **sizes._asdict())


def _format_need(number: float) -> str:
    text = format_bytes(number)
    return TEXT("more_than_laptops_have", bytes=text) if number > LAPTOP else text


def _compare(pair: list[float], text: dict[str, str]) -> str:
    first, second = pair
    times = _round(max(pair) / min(pair))
    if times == "1":
        return text["same"]
    return text["less" if second < first else "more"].format(times=times)
