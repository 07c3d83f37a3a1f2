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
from attnbook.figures.shared.axes import axis_of, positions_on, spread_of, widths_for
from attnbook.figures.shared.base import (
    Figure,
    check_count,
    decimals,
    doubles,
    module,
    numbers,
    stylesheet,
)
from attnbook.messages import Messages
from attnbook.pooling import pool
from attnbook.scoring import gaussian_score
from attnbook.weighting import masked_softmax

if TYPE_CHECKING:
    from jaxtyping import Float

TEXT = Messages(__file__)
MOST_LISTED = 4  # keys that the text spells out


class PoolingFigure(Figure):
    """Kernel (Nadaraya-Watson) regression as attention: drag the query, change the width.

    Gaussian scores, softmax and pooling run in the page, in double precision, for the
    query and for the curve of all queries, so the sliders work without a kernel.

    Args:
        keys: `(1, num_keys, 1)`: the positions of the values, 2 to 256 numbers on a line.
        values: `(1, num_keys, 1)`: the values at these positions.
        width: positive; the width of the Gaussian kernel, in the units of the keys.
        query: where to predict; by default in the middle of the keys.
        truth: the curve that made the values, if it is known: a function of a tensor
            shaped like `keys` that returns as many numbers. It is called once.
        key_name, value_name: the names of the numbers, for the axis and the table.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the controls change, and that you can set: `query`, `width`.

    Raises:
        TypeError, ValueError: as `kernel_pool` does, and for other shapes, too few or
            too many keys, or numbers that are not finite.
        traitlets.TraitError: `query` or `width` is set to a number that has no scores.

    Source: Nadaraya (1964) and Watson (1964), with a Gaussian kernel. The number of keys
    that "shared the weight evenly" is two to the power of the weights' entropy in bits.

    Example:
        >>> from attnbook.figures import PoolingFigure
        >>> keys = torch.tensor([0.0, 1.0, 2.0]).reshape(1, 3, 1)
        >>> PoolingFigure(keys, 10 * keys, width=1.0, query=1.0).output.round(decimals=2)
        tensor([[[10.]]], dtype=torch.float64)
    """

    _esm = module("pooling/figure.js")
    _css = stylesheet(
        "shared/theme.css", "shared/style.css", "shared/axes.css", "pooling/style.css"
    )

    # Pairs of a key and its value; "keys" is what ipywidgets calls the names of the traits.
    points: traitlets.List[Any] = traitlets.List().tag(sync=True)
    query = traitlets.Float().tag(sync=True)
    width = traitlets.Float(1.0).tag(sync=True)
    # The ends of the axis and a step of the query's slider; each position of the width's slider.
    axis: traitlets.List[Any] = traitlets.List().tag(sync=True)
    widths: traitlets.List[Any] = traitlets.List().tag(sync=True)
    truth: traitlets.List[Any] = traitlets.List().tag(sync=True)
    key_name = traitlets.Unicode("key").tag(sync=True)
    value_name = traitlets.Unicode("value").tag(sync=True)

    def __init__(  # noqa: PLR0913 - the arguments of kernel_pool, the true curve, and texts
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
        width_number, positions = _to_number("width", width), _list_numbers("keys", keys)
        start = [] if query is None else [_to_number("query", query)]
        axis = axis_of([*positions, *start], spread_of(positions))
        start = start or [_middle(positions, axis)]
        check_width(width_number)  # a tensor's number
        widths = widths_for(positions, width_number)
        _check_scores(start[0], width_number, positions, (axis, widths))
        super().__init__(
            kind="pooling",
            points=[*map(list, zip(positions, _list_numbers("values", values), strict=True))],
            query=start[0],
            width=width_number,
            axis=axis,
            widths=widths,
            truth=[] if truth is None else _sample_truth(truth, keys, axis),
            key_name=key_name,
            value_name=value_name,
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def attention_weights(self) -> Float[Tensor, "1 1 keys"]:
        """The weights shown, in double precision."""
        scores = gaussian_score(_column([self.query]), _column(self._keys()), self.width)
        return masked_softmax(scores)

    @property
    def output(self) -> Float[Tensor, "1 1 1"]:
        """The output shown, in double precision."""
        return pool(self.attention_weights, _column([value for _, value in self.points]))

    def _keys(self) -> list[float]:
        return [key for key, _ in self.points]

    @traitlets.validate("query", "width")
    def _check_trait(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        now = {"query": self.query, "width": self.width, proposal["trait"].name: proposal["value"]}
        if self.points:
            try:
                _check_scores(**now, positions=self._keys(), ends=(self.axis, self.widths))
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
        ranked = sorted(range(len(weights)), key=lambda i: -weights[i])[:MOST_LISTED]
        return [
            TEXT("title", width=_format_width(self.width), query=f"{self.query:.10g}"),
            TEXT("output_and_sharing", output=output, sharing=_describe_sharing(weights)),
            TEXT("heaviest_keys"),
            *(self._describe_key(i, weights[i]) for i in ranked),
        ]

    def _describe_key(self, i: int, weight: float) -> str:
        key, value = self.points[i]
        # One digit more than a step of the query needs.
        position = f"{round(key, 1 - math.floor(math.log10(self.axis[2]))):.15g}"
        text = TEXT(
            "key_in_list",
            name=self.key_name,
            key=position,
            weight=decimals(weight),
            value_name=self.value_name,
            value=f"{value:g}",
        )
        return f"  {text}"


def _check(keys: Tensor, values: Tensor) -> None:
    check_tensor("keys", keys, "(1, num_keys, 1)")
    check_values(values, keys.shape[-2])
    check_pair("values", values, "keys", keys)
    for name, tensor in (("keys", keys), ("values", values)):
        if tensor.dim() != 3 or (tensor.shape[0], tensor.shape[2]) != (1, 1):
            shape = tuple(tensor.shape)
            raise ValueError(f"{name} must have shape (1, num_keys, 1), got {shape}")
    check_count("keys", keys.shape[1], least=2)


def _list_numbers(name: str, tensor: Tensor) -> list[float]:
    return [number for (number,) in numbers(name, tensor)[0]]


def _column(column: list[float]) -> Float[Tensor, "1 rows 1"]:
    return doubles(column).reshape(1, -1, 1)


def _to_number(name: str, number: float | Tensor) -> float:
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
    query: float, width: float, positions: list[float], ends: tuple[list[float], list[float]]
) -> None:
    """Refuse a query or a width if some position of the sliders has no finite scores."""
    axis, widths = ends
    check_width(width)
    if not math.isfinite(query):
        raise ValueError(f"query must be finite, got {query}")
    scores = gaussian_score(_column([query, *axis[:2]]), _column(positions), min(width, *widths))
    if not scores.isfinite().all():
        raise ValueError(
            "scores must be finite at every position of the sliders, "
            f"got query {query:g} and width {width:g}"
        )


def _format_width(width: float) -> str:
    """Write a width with three digits; a learned width has many more."""
    return f"{float(f'{width:.3g}'):.10g}"


def _middle(positions: list[float], axis: list[float]) -> float:
    """Find the position on the axis that is nearest to the middle of the keys."""
    middle = min(positions) / 2 + max(positions) / 2
    return min(positions_on(axis), key=lambda position: abs(position - middle))


def _sample_truth(
    truth: Callable[[Tensor], Tensor], keys: Tensor, axis: list[float]
) -> list[list[float]]:
    """Compute the true curve between the first and the last key; it may be undefined elsewhere."""
    low, high = (end.item() for end in keys.detach().double().aminmax())
    positions = [low, *(x for x in positions_on(axis) if low < x < high), high]
    grid = torch.tensor(positions, dtype=keys.dtype, device=keys.device).reshape(1, -1, 1)
    with torch.no_grad():
        curve = truth(grid)
    if not isinstance(curve, Tensor) or curve.numel() != grid.numel():
        found = tuple(curve.shape) if isinstance(curve, Tensor) else type(curve).__name__
        raise ValueError(f"truth must return one number per key, {len(positions)}, got {found}")
    pairs = torch.cat([grid, curve.reshape(grid.shape)], dim=-1)
    return [list(pair) for pair in numbers("truth", pairs)[0]]


def _describe_sharing(weights: list[float]) -> str:
    """Describe the entropy: the number of keys that would share the weight evenly."""
    bits = -sum(weight * math.log2(weight) for weight in weights if weight)
    count = f"{2**bits:.1f}"
    return TEXT("one_key_has_all") if count == "1.0" else TEXT("keys_share", count=count)
