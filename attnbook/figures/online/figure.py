"""`OnlineSoftmaxFigure`: one query reads its keys block by block."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import traitlets
from torch import Tensor

from attnbook.checks import check_size
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

if TYPE_CHECKING:
    from jaxtyping import Float

TEXT = Messages(__file__)
MOST = 32  # keys
MOST_NUMBERS = 3  # per value: each has its own bars


class Carried(NamedTuple):
    """The numbers that an online softmax carries from one block of keys to the next.

    Attributes:
        highest: the highest score so far; -inf before the first block.
        needed: e^(old highest - new highest), 0 at the first block.
        correction: the factor of the old sums: `needed`, or 1 without the correction.
        total: the sum of exponentials.
        weighted: the sum of exponentials times values, one number for each number of a value.

    Example:
        >>> from attnbook.figures import OnlineSoftmaxFigure
        >>> scores, values = torch.tensor([0.0, 1.0]), torch.tensor([[2.0], [4.0]])
        >>> before, first, second = OnlineSoftmaxFigure(scores, values).carried(corrected=True)
        >>> first.highest, first.total, second.highest, round(second.correction, 2)
        (0.0, 1.0, 1.0, 0.37)
    """

    highest: float
    needed: float
    correction: float
    total: float
    weighted: list[float]

    @property
    def output(self) -> list[float]:
        """The output so far: 0 before the first block."""
        return [number / (self.total or 1) for number in self.weighted]


class OnlineSoftmaxFigure(Figure):
    """The online softmax of one query, block by block, with and without its correction.

    After each block it shows the highest score so far, the sum of exponentials, their weighted sum
    of values and the output so far, next to a plain softmax over the same keys. When the
    highest score rises, the old sums shrink by e^(old highest - new highest). The page
    computes all numbers in double precision.

    Args:
        scores: `(num_keys,)`, the scores of one query, 1 to 32.
        values: `(num_keys, value_size)`, 1 to 3 numbers each.
        block: how many keys are read at once, from 1 to `num_keys`; the last block may be
            smaller.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the controls change, and that you can set: `step`, how many blocks have been
    read; `corrected`, False to leave the correction out.

    Raises:
        TypeError, ValueError: scores or values of another shape, or not finite; sizes outside
            the above.
        traitlets.TraitError: a trait is set out of its range.

    Source: Milakov and Gimelshein (2018), "Online normalizer calculation for softmax". Our
    highest score and sum of exponentials are its m and d.

    Example:
        >>> from attnbook.figures import OnlineSoftmaxFigure
        >>> scores, values = torch.tensor([1.0, 1.0, 1.0]), torch.tensor([[2.0], [4.0], [9.0]])
        >>> figure = OnlineSoftmaxFigure(scores, values, block=2)
        >>> figure.step = 2
        >>> figure.output.round(decimals=2)
        tensor([5.], dtype=torch.float64)
    """

    _esm = module("online/figure.js")
    _css = stylesheet("shared/theme.css", "shared/style.css", "online/style.css")

    scores: traitlets.List[Any] = traitlets.List().tag(sync=True)
    values: traitlets.List[Any] = traitlets.List().tag(sync=True)  # [key][number]
    block = traitlets.Int(1).tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)
    corrected = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        scores: Float[Tensor, " keys"],
        values: Float[Tensor, "keys value_size"],
        block: int = 1,
        *,
        action: str = "",
        caption: str = "",
    ) -> None:
        _check(scores, values, block)
        super().__init__(
            kind="online",
            scores=numbers("scores", scores),
            values=numbers("values", values),
            block=int(block),
            action=action,
            caption=caption,
        )
        self._write_text(self._lines())

    @property
    def num_steps(self) -> int:
        """The number of blocks."""
        return -(-len(self.scores) // self.block)

    def carried(self, *, corrected: bool) -> list[Carried]:
        """The carried numbers after each step, from step 0 on, in double precision."""
        scores, values = doubles(self.scores), doubles(self.values)
        highest, total = doubles([-math.inf, 0]).unbind()
        weighted = torch.zeros_like(values[0])
        found = [Carried(-math.inf, 1.0, 1.0, 0.0, weighted.tolist())]
        for start in range(0, len(scores), self.block):
            here = slice(start, start + self.block)
            new_highest = torch.maximum(highest, scores[here].max())
            exponentials = torch.exp(scores[here] - new_highest)
            needed = torch.exp(highest - new_highest)
            correction = needed if corrected else torch.ones_like(needed)
            total = correction * total + exponentials.sum()
            weighted = correction * weighted + exponentials @ values[here]
            highest = new_highest
            found.append(
                Carried(
                    highest.item(),
                    needed.item(),
                    correction.item(),
                    total.item(),
                    weighted.tolist(),
                )
            )
        return found

    def plain(self, step: int) -> Float[Tensor, " value_size"]:
        """The output of a plain softmax over the keys of the first steps; 0 before the first."""
        count = step * self.block
        weights = torch.softmax(doubles(self.scores[:count]), dim=-1)
        return weights @ doubles(self.values)[:count]

    @property
    def output(self) -> Float[Tensor, " value_size"]:
        """The output so far that is shown, in double precision."""
        return doubles(self.carried(corrected=self.corrected)[self.step].output)

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        if self.scores and proposal["value"] > self.num_steps:
            raise traitlets.TraitError(
                f"step must lie in [0, blocks={self.num_steps}], got {proposal['value']}"
            )
        return int(proposal["value"])  # True is 1

    def _lines(self) -> list[str]:
        lines = [TEXT("title", count=len(self.scores), block=self.block)]
        for corrected in (True, False):
            lines.append(TEXT("with_correction" if corrected else "without_correction"))
            for step, now in list(enumerate(self.carried(corrected=corrected)))[1:]:
                text = TEXT(
                    "carried_numbers",
                    block=step,
                    highest=decimals(now.highest),
                    correction=decimals(now.correction),
                    total=decimals(now.total),
                    weighted=_format_vector(now.weighted),
                    output=_format_vector(now.output),
                )
                lines.append(f"  {text}")
        plain = self.plain(self.num_steps).tolist()
        error = [
            0.0 if math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) else x - y
            for x, y in zip(now.output, plain, strict=True)
        ]
        last = TEXT(
            "plain_output_and_error", plain=_format_vector(plain), error=_format_vector(error)
        )
        return [*lines, last]


def _format_vector(vector: list[float]) -> str:
    printed = ", ".join(decimals(number) for number in vector)
    return printed if len(vector) == 1 else f"[{printed}]"


def _check(scores: Tensor, values: Tensor, block: int) -> None:
    for name, tensor, axes in (("scores", scores, 1), ("values", values, 2)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a tensor, got {type(tensor).__name__}")
        if not tensor.is_floating_point():
            raise TypeError(f"{name} must hold floating-point numbers, got {tensor.dtype}")
        if tensor.dim() != axes:
            shape = "(num_keys,)" if axes == 1 else "(num_keys, value_size)"
            raise ValueError(f"{name} must have shape {shape}, got {tuple(tensor.shape)}")
    count = len(scores)
    if len(values) != count:
        raise ValueError(
            f"values must have num_keys={count} rows, got {len(values)} "
            f"in shape {tuple(values.shape)}"
        )
    check_count("keys", count, MOST)
    check_count("numbers in a value", values.shape[-1], MOST_NUMBERS)
    check_size("block", block)
    if block > count:
        raise ValueError(f"block must lie in [1, num_keys={count}], got {block}")
    numbers("values", values)  # refuses what is not finite
    numbers("scores", scores)
    # The axis of the bars needs finite ends.
    numbers("sums of the absolute values", values.detach().double().abs().sum(dim=0))
    ends = scores.detach().double().clamp(max=0).min(), scores.detach().double().clamp(min=0).max()
    if not math.isfinite(ends[1] - ends[0]):
        raise ValueError(
            f"scores must lie a finite distance apart, got {ends[0].item()} and {ends[1].item()}"
        )
