"""`PositionFigure`: the encodings of two positions, and their dot product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
import traitlets

from attnbook.checks import check_dtype, check_size
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
from attnbook.position import rotary_encoding, sinusoidal_encoding

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

TEXT = Messages(__file__)
LARGEST_SIZE = 16
MOST = 1024  # positions
REACH = 24  # the largest distance
START, DISTANCE = 3, 5  # initial values of the sliders, if there are enough positions
MOST_LISTED = 8  # distances to each side in the text


class PositionFigure(Figure):
    """The vectors of two positions p and q as rotating pairs, and the dot product at each distance.

    One slider moves both positions along the text, the other changes their distance p - q.
    Each pair of numbers is an arrow in its own circle. The page computes vectors and dot
    products in double precision, so the sliders work without a kernel.

    `PositionFigure(size)` shows the vectors of `sinusoidal_encoding`;
    `PositionFigure.rotary(query, key)` a query at p and a key at q, turned by `rotary_encoding`.

    Args:
        size: the size of a vector, even, 2 to 16.
        positions: how many positions the earlier one can have, counted from 0; at most 1024.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the controls change, and that you can set: `start`, the earlier of the two
    positions, from 0 to `positions` - 1; `distance`, from -24 to 24.

    Raises:
        TypeError, ValueError: an argument has the wrong type, shape, size or number.
        traitlets.TraitError: a trait is set out of its range.

    Source: Vaswani et al. (2017), section 3.5; Su et al. (2021), section 3.2.2.

    Example:
        >>> from attnbook.figures import PositionFigure
        >>> figure = PositionFigure(size=4)
        >>> figure.start, figure.distance = 2, 1
        >>> figure.vectors.shape, figure.dot_products.round(decimals=2)
        (torch.Size([2, 4]), tensor([0.5400, 1.0000], dtype=torch.float64))
    """

    _esm = module("position/figure.js")
    _css = stylesheet(
        "shared/theme.css", "shared/style.css", "shared/axes.css", "position/style.css"
    )

    size = traitlets.Int(2).tag(sync=True)
    positions = traitlets.Int(1).tag(sync=True)
    reach = traitlets.Int(REACH).tag(sync=True)
    # The vectors to rotate; without them the encodings of the positions are shown.
    query: traitlets.List[Any] = traitlets.List().tag(sync=True)
    key: traitlets.List[Any] = traitlets.List().tag(sync=True)
    start = traitlets.Int(0).tag(sync=True)
    distance = traitlets.Int(0).tag(sync=True)

    def __init__(
        self, size: int, *, positions: int = 101, action: str = "", caption: str = ""
    ) -> None:
        _check_size(size)
        check_size("positions", positions)
        check_count("positions", positions, MOST)
        super().__init__(
            kind="position",
            size=int(size),
            positions=int(positions),
            start=min(START, positions - 1),
            distance=DISTANCE,
            action=action,
            caption=caption,
        )
        self._describe()

    @classmethod
    def rotary(
        cls,
        query: Float[Tensor, " size"],
        key: Float[Tensor, " size"],
        *,
        positions: int = 101,
        action: str = "",
        caption: str = "",
    ) -> PositionFigure:
        """Rotate one query and one key, each of shape `(size,)`, by their positions."""
        for name, vector in (("query", query), ("key", key)):
            _check_vector(name, vector)
        if query.shape != key.shape:
            raise ValueError(f"key must have the size of query, {len(query)}, got {len(key)}")
        check_dtype("key", key, "query", query)
        parsed = numbers("query", query), numbers("key", key)
        most = (doubles(parsed[0]).norm() * doubles(parsed[1]).norm()).item()
        if not math.isfinite(most):
            raise ValueError(f"dot products must be finite, got up to {most}")
        figure = cls(len(query), positions=positions, action=action, caption=caption)
        figure.query, figure.key = parsed
        figure._describe()
        return figure

    @property
    def vectors(self) -> Float[Tensor, "2 size"]:
        """The vectors shown, of p and q or of query and key, in double precision."""
        p, q = _find_positions(self.start, self.distance)
        return self._vectors([p, q])

    @property
    def dot_products(self) -> Float[Tensor, " pairs"]:
        """What each pair of numbers adds to the dot product shown, in double precision."""
        return self.vectors.prod(dim=0).reshape(-1, 2).sum(dim=-1)

    def _vectors(self, positions: list[int]) -> Tensor:
        at = torch.tensor(positions, device="cpu")
        if not self.query:
            return sinusoidal_encoding(at, self.size, device="cpu", dtype=torch.float64)
        return rotary_encoding(doubles([self.query, self.key]), at)

    @traitlets.validate("start", "distance")
    def _check_trait(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        name, value = proposal["trait"].name, int(proposal["value"])  # True is 1
        low, high = (0, self.positions - 1) if name == "start" else (-self.reach, self.reach)
        if not low <= value <= high:
            raise traitlets.TraitError(f"{name} must lie in [{low}, {high}], got {value}")
        return value

    @traitlets.observe("start", "distance")
    def _describe(self, _change: object = None) -> None:
        self._write_text(self._lines())

    def _lines(self) -> list[str]:
        p, q = _find_positions(self.start, self.distance)
        first, second = (TEXT("query"), TEXT("key")) if self.query else ("p", "q")
        vectors, products = self.vectors.tolist(), self.dot_products
        distances = range(-MOST_LISTED if self.query else 0, MOST_LISTED + 1)
        along = [
            self._vectors([*_find_positions(self.start, d)]).prod(dim=0).sum().item()
            for d in distances
        ]
        return [
            TEXT("title_rotary" if self.query else "title_sinusoidal", size=self.size, p=p, q=q),
            f"{first}: {_format_row(vectors[0])}",
            f"{second}: {_format_row(vectors[1])}",
            TEXT(
                "dot_product_and_pairs",
                dot=decimals(products.sum().item()),
                pairs=_format_row(products.tolist()),
            ),
            TEXT("at_distances", low=distances[0], high=MOST_LISTED, dots=_format_row(along)),
        ]


def _find_positions(start: int, distance: int) -> tuple[int, int]:
    """Return the positions p and q: the earlier one is at the start."""
    return start + max(distance, 0), start + max(-distance, 0)


def _format_row(row: list[float]) -> str:
    return f"[{', '.join(map(decimals, row))}]"


def _check_size(size: int) -> None:
    check_size("size", size)
    if size % 2:
        raise ValueError(f"size must be even, two numbers for each pair, got {size}")
    check_count("numbers in a vector", size, LARGEST_SIZE)


def _check_vector(name: str, vector: Tensor) -> None:
    if not isinstance(vector, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(vector).__name__}")
    if not vector.is_floating_point():
        raise TypeError(f"{name} must hold floating-point numbers, got {vector.dtype}")
    if vector.dim() != 1:
        raise ValueError(f"{name} must have shape (size,), got {tuple(vector.shape)}")
    _check_size(len(vector))
