"""`PoolingFigure`: kernel regression as attention, moved by a query and a width."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import torch
import traitlets
from torch import Tensor

from attnbook.checks import check_pair, check_tensor, check_values, check_width
from attnbook.figures.shared.axes import axis_of, places_on, spread_of, widths_for
from attnbook.figures.shared.base import (
    Figure,
    check_count,
    decimals,
    doubles,
    module,
    numbers,
    stylesheet,
)
from attnbook.pooling import pool
from attnbook.scoring import gaussian_score
from attnbook.weighting import masked_softmax

if TYPE_CHECKING:
    from jaxtyping import Float

TOLD = 4  # keys that the text spells out


class PoolingFigure(Figure):
    """Kernel (Nadaraya-Watson) regression as attention: drag the query, change the width.

    Gaussian scores, softmax and pooling run in the page, in double precision, for the
    query and for the curve of all queries, so the sliders work without a kernel.

    Args:
        keys: `(1, num_keys, 1)`: where values are known, 2 to 256 numbers on a line.
        values: `(1, num_keys, 1)`: what is known there.
        width: positive; how far the query looks, in the units of the keys.
        query: where to predict; by default in the middle of the keys.
        truth: the curve that made the values, if it is known: a function of a tensor
            shaped like `keys` that returns as many numbers. It is called once.
        key_name, value_name: what the numbers are, for the axis and the table.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that follow the reader's hand, and can be set: `query`, `width`.

    Raises:
        TypeError, ValueError: as `kernel_pool` does, and for other shapes, too few or
            too many keys, or numbers that are not finite.
        traitlets.TraitError: `query` or `width` is set to a number that has no scores.

    Source: Nadaraya (1964) and Watson (1964), with a Gaussian kernel. The number of keys
    that "shared the weight evenly" is two to the power of the weights' entropy in bits.
    """

    _esm = module("pooling/figure.js")
    _css = stylesheet(
        "shared/theme.css", "shared/style.css", "shared/axes.css", "pooling/style.css"
    )

    # Pairs of a key and its value; "keys" is what ipywidgets calls the names of the traits.
    points: traitlets.List[Any] = traitlets.List().tag(sync=True)
    query = traitlets.Float().tag(sync=True)
    width = traitlets.Float(1.0).tag(sync=True)
    # Where the axis begins and ends, and a step of the query's slider; each place of the width's.
    axis: traitlets.List[Any] = traitlets.List().tag(sync=True)
    widths: traitlets.List[Any] = traitlets.List().tag(sync=True)
    truth: traitlets.List[Any] = traitlets.List().tag(sync=True)
    key_name = traitlets.Unicode("key").tag(sync=True)
    value_name = traitlets.Unicode("value").tag(sync=True)

    def __init__(  # noqa: PLR0913 - what kernel_pool takes, the curve behind it, and texts
        self,
        keys: Float[Tensor, "1 keys 1"],
        values: Float[Tensor, "1 keys 1"],
        width: float | Float[Tensor, ""] = 1.0,
        *,
        query: float | Float[Tensor, ""] | None = None,
        truth: Callable[[Tensor], Tensor] | None = None,
        key_name: str = "key",
        value_name: str = "value",
        action: str = "",
        caption: str = "",
    ) -> None:
        _check(keys, values)
        check_width(width)
        looks, places = _number("width", width), _flat("keys", keys)
        start = [] if query is None else [_number("query", query)]
        axis = axis_of([*places, *start], spread_of(places))
        start = start or [_middle(places, axis)]
        check_width(looks)  # what a tensor holds
        widths = widths_for(places, looks)
        _check_scores(start[0], looks, places, (axis, widths))
        super().__init__(
            kind="pooling",
            points=[list(pair) for pair in zip(places, _flat("values", values), strict=True)],
            query=start[0],
            width=looks,
            axis=axis,
            widths=widths,
            truth=[] if truth is None else _curve(truth, keys, axis),
            key_name=key_name,
            value_name=value_name,
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def attention_weights(self) -> Float[Tensor, "1 1 keys"]:
        """The weights shown, in double precision."""
        scores = gaussian_score(_column([self.query]), _column(self._places()), self.width)
        return masked_softmax(scores)

    @property
    def output(self) -> Float[Tensor, "1 1 1"]:
        """The output shown, in double precision."""
        return pool(self.attention_weights, _column([value for _, value in self.points]))

    def _places(self) -> list[float]:
        return [key for key, _ in self.points]

    @traitlets.validate("query", "width")
    def _check_trait(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        now = {"query": self.query, "width": self.width, proposal["trait"].name: proposal["value"]}
        if self.points:
            try:
                _check_scores(**now, places=self._places(), ends=(self.axis, self.widths))
            except ValueError as error:
                raise traitlets.TraitError(str(error)) from error
        return proposal["value"]

    @traitlets.observe("query", "width")
    def _describe(self, _change: object = None) -> None:
        if self.points:
            self._write_text(self._lines())

    def _lines(self) -> list[str]:
        weights = self.attention_weights.flatten().tolist()
        output = decimals(self.output.item())
        ranked = sorted(range(len(weights)), key=lambda i: -weights[i])[:TOLD]
        return [
            f"PoolingFigure: Gaussian scores, width {_brief(self.width)}, query {self.query:.10g}",
            f"output {output}, {_sharing(weights)}",
            "heaviest keys:",
            *(self._line(i, weights[i]) for i in ranked),
        ]

    def _line(self, i: int, weight: float) -> str:
        key, value = self.points[i]
        # One digit more than a step of the query needs.
        place = f"{round(key, 1 - math.floor(math.log10(self.axis[2]))):.15g}"
        return f"  {self.key_name} {place}: weight {decimals(weight)}, {self.value_name} {value:g}"


def _check(keys: Tensor, values: Tensor) -> None:
    check_tensor("keys", keys, "(1, num_keys, 1)")
    check_values(values, keys.shape[-2])
    check_pair("values", values, "keys", keys)
    for name, tensor in (("keys", keys), ("values", values)):
        if tensor.dim() != 3 or (tensor.shape[0], tensor.shape[2]) != (1, 1):
            shape = tuple(tensor.shape)
            raise ValueError(f"{name} must have shape (1, num_keys, 1), got {shape}")
    check_count("keys", keys.shape[1], least=2)


def _flat(name: str, tensor: Tensor) -> list[float]:
    return [number for (number,) in numbers(name, tensor)[0]]


def _column(column: list[float]) -> Float[Tensor, "1 rows 1"]:
    return doubles(column).reshape(1, -1, 1)


def _number(name: str, number: float | Tensor) -> float:
    if isinstance(number, Tensor) and number.dim() == 0:
        exact = numbers(name, number.reshape(1))[0]
        # As few digits as its precision needs: 0.3, not 0.300000012.
        rounded = (float(f"{exact:.{digits}g}") for digits in range(1, 10))
        return next((short for short in rounded if number.new_tensor(short) == number), exact)
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{name} must be one number, got {number!r}")
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return float(number)


def _check_scores(
    query: float, width: float, places: list[float], ends: tuple[list[float], list[float]]
) -> None:
    """Refuse a query or a width with which some place of the sliders has no finite score."""
    axis, widths = ends
    check_width(width)
    if not math.isfinite(query):
        raise ValueError(f"query must be finite, got {query}")
    scores = gaussian_score(_column([query, *axis[:2]]), _column(places), min(width, *widths))
    if not scores.isfinite().all():
        raise ValueError(
            "scores must be finite wherever the sliders stand, "
            f"got query {query:g} and width {width:g}"
        )


def _brief(width: float) -> str:
    """A width in three digits: a learned one has more than anybody reads."""
    return f"{float(f'{width:.3g}'):.10g}"


def _middle(places: list[float], axis: list[float]) -> float:
    """The place on the axis that is nearest to the middle of the keys."""
    middle = min(places) / 2 + max(places) / 2
    return min(places_on(axis), key=lambda place: abs(place - middle))


def _curve(truth: Callable[[Tensor], Tensor], keys: Tensor, axis: list[float]) -> list[list[float]]:
    """The true curve from the first key to the last, beyond which it may have no values."""
    low, high = (end.item() for end in keys.detach().double().aminmax())
    places = [low, *(place for place in places_on(axis) if low < place < high), high]
    grid = torch.tensor(places, dtype=keys.dtype, device=keys.device).reshape(1, -1, 1)
    with torch.no_grad():
        curve = truth(grid)
    if not isinstance(curve, Tensor) or curve.numel() != grid.numel():
        came = tuple(curve.shape) if isinstance(curve, Tensor) else type(curve).__name__
        raise ValueError(f"truth must return one number per key, {len(places)}, got {came}")
    pairs = torch.cat([grid, curve.reshape(grid.shape)], dim=-1)
    return [list(pair) for pair in numbers("truth", pairs)[0]]


def _sharing(weights: list[float]) -> str:
    """Among how many keys the weight would be shared, if it were shared evenly."""
    bits = -sum(weight * math.log2(weight) for weight in weights if weight)
    count = f"{2**bits:.1f}"
    if count == "1.0":
        return "as if one key had all the weight"
    return f"as if {count} keys shared the weight evenly"
