"""`ScalingFigure`: the same queries and keys, scored with and without the division by √d."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
import traitlets

from attnbook.checks import check_last_axis, check_queries_and_keys
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
from attnbook.scoring import dot_score
from attnbook.weighting import masked_softmax

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

TEXT = Messages(__file__)
LARGEST_SIZE = 1024
MOST = 32  # queries, and keys
HEAD_SIZE = 64  # the initial d: the size of one head in the Transformer
DIGITS = 10  # of a stored score


class ScalingFigure(Figure):
    """Why scores are divided by √d: the weights with and without the division as d grows.

    At each d, the first d numbers of every query and key are used. `dot_score` computes
    their dot products once, in double precision; the division, the softmax and the
    measures run in the page, so the slider works without a kernel.

    Args:
        queries: `(1, num_queries, size)`, 1 to 32 queries.
        keys: `(1, num_keys, size)`, 2 to 32 keys. `size` is a power of two from 2 to
            1024, and d takes the values 1, 2, 4 and so on up to it.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the controls change, and that you can set: `d`, one of `sizes`, 64 or the
    largest at first; `query`, the one in focus.

    Raises:
        TypeError, ValueError: as `dot_score` does, and for queries or keys that are not
            finite, four axes, more than one example, or sizes and numbers outside the above.
        traitlets.TraitError: a trait is set out of its range.

    Example:
        >>> from attnbook.figures import ScalingFigure
        >>> figure = ScalingFigure(torch.ones(1, 1, 4), torch.tensor([[[1.0] * 4, [0.0] * 4]]))
        >>> figure.weights(scaled=False).round(decimals=2)
        tensor([[[0.9800, 0.0200]]], dtype=torch.float64)
        >>> figure.weights(scaled=True).round(decimals=2)
        tensor([[[0.8800, 0.1200]]], dtype=torch.float64)
    """

    _esm = module("scaling/figure.js")
    _css = stylesheet(
        "shared/theme.css", "shared/style.css", "shared/axes.css", "scaling/style.css"
    )

    scores: traitlets.List[Any] = traitlets.List().tag(sync=True)  # q · k: [d][query][key]
    sizes = traitlets.List(traitlets.Int()).tag(sync=True)
    d = traitlets.Int(1).tag(sync=True)
    query = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(
        self,
        queries: Float[Tensor, "1 queries size"],
        keys: Float[Tensor, "1 keys size"],
        *,
        action: str = "",
        caption: str = "",
    ) -> None:
        _check(queries, keys)
        sizes = [2**power for power in range(queries.shape[-1].bit_length())]
        super().__init__(
            kind="scaling",
            scores=_dot_products(queries, keys, sizes),
            sizes=sizes,
            d=min(HEAD_SIZE, sizes[-1]),
            action=action,
            caption=caption,
        )
        self._describe()

    def weights(self, *, scaled: bool) -> Float[Tensor, "1 queries keys"]:
        """The weights shown at this d, with or without the division, in double precision."""
        return masked_softmax(self._scores(scaled))

    def measures(self, *, scaled: bool) -> dict[str, float]:
        """Measures of scores and weights at this d, each an average over the queries.

        Returns:
            `variance` of a query's scores, `largest weight`, `entropy` of the weights in
            bits, and `slopes`: the sum of α (1 - α) over the keys.
        """
        scores, weights = self._scores(scaled), self.weights(scaled=scaled)
        each = {
            "variance": scores.var(dim=-1),
            "largest weight": weights.amax(dim=-1),
            "entropy": torch.special.entr(weights).sum(dim=-1) / math.log(2),
            "slopes": (weights * (1 - weights)).sum(dim=-1),
        }
        return {name: measure.mean().item() for name, measure in each.items()}

    def _scores(self, scaled: bool) -> Tensor:
        scores = doubles(self.scores[self.sizes.index(self.d)])
        return scores.unsqueeze(0) / (math.sqrt(self.d) if scaled else 1)

    @traitlets.validate("d")
    def _check_d(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        if self.sizes and proposal["value"] not in self.sizes:
            raise traitlets.TraitError(f"d must be one of {self.sizes}, got {proposal['value']}")
        return int(proposal["value"])  # True is 1

    @traitlets.validate("query")
    def _check_query(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        count = len(self.scores[0]) if self.scores else math.inf
        if proposal["value"] >= count:
            raise traitlets.TraitError(
                f"query must lie in [0, num_queries={count}), got {proposal['value']}"
            )
        return proposal["value"]

    @traitlets.observe("d")
    def _describe(self, _change: object = None) -> None:
        if self.scores and self.sizes:
            self._write_text(self._lines())

    def _lines(self) -> list[str]:
        lines = [TEXT("title", d=self.d)]
        for formula, scaled in (("q · k", False), ("q · k / √d", True)):
            texts = {name: decimals(m) for name, m in self.measures(scaled=scaled).items()}
            lines.append(
                TEXT(
                    "half_measures",
                    formula=formula,
                    variance=texts["variance"],
                    largest=texts["largest weight"],
                    entropy=texts["entropy"],
                    slopes=texts["slopes"],
                )
            )
        return lines


def _check(queries: Tensor, keys: Tensor) -> None:
    check_queries_and_keys(queries, keys)
    if queries.dim() == 4:
        raise ValueError("a figure shows one head, got four axes; pass queries[:, 0] and so on")
    size = queries.shape[-1]
    check_last_axis("keys", keys, "query_size", size)
    check_count("examples", queries.shape[0], 1)
    check_count("queries", queries.shape[1], MOST)
    check_count("keys", keys.shape[1], MOST)
    if keys.shape[1] < 2:
        raise ValueError("a figure needs at least 2 of keys to share the weight, got 1")
    if not 2 <= size <= LARGEST_SIZE or size.bit_count() != 1:
        raise ValueError(f"size must be a power of two from 2 to {LARGEST_SIZE}, got {size}")


def _dot_products(queries: Tensor, keys: Tensor, sizes: list[int]) -> list[Any]:
    q, k = (tensor.detach().cpu().double() for tensor in (queries, keys))
    numbers("queries", q)  # refuses what is not finite
    numbers("keys", k)
    scores = torch.cat([dot_score(q[..., :d], k[..., :d]) for d in sizes])
    return [[[_short(score) for score in row] for row in d] for d in numbers("scores", scores)]


def _short(score: float) -> float:
    return float(f"{score:.{DIGITS}g}")
