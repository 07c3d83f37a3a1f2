"""Changed weights, to measure how much the output depends on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnbook.checks import describe_value
from attnbook.models.checks import check_kind, check_list
from attnbook.models.translator.model import BATCH, Translator
from attnbook.models.vocabulary import check_some

if TYPE_CHECKING:
    from attnbook.models.translator.dates import WrittenDate

# Which characters of an ISO date are the digits of each field.
DIGITS = {"year": range(4), "month": range(5, 7), "day": range(8, 10)}
NEXT = {"year": "month", "month": "day", "day": "year"}


class Effect(NamedTuple):
    """Shares of dates, in [0, 1], whose field is written differently with changed weights.

    `removed`: the gold span gets no weight, the rest its share; `kept`: only the
    gold span gets weight, which is the control; `moved`: the weight goes to the gold span
    of another field, evenly.

    Example:
        >>> from attnbook.models.translator.interventions import Effect
        >>> Effect(removed=0.9, kept=0.1, moved=0.8).removed
        0.9
    """

    removed: float
    kept: float
    moved: float


def gold_mask(dates: Sequence[WrittenDate], field: str) -> Tensor:
    """Mark the gold span of a field, `(dates, longest text)`, True inside."""
    if field not in DIGITS:
        raise ValueError(f"field must be one of {', '.join(DIGITS)}, got {describe_value(field)}")
    dates = check_list("dates", dates, "WrittenDate", "spans")
    check_some("dates", dates)
    positions = torch.arange(max(len(date.text) for date in dates), device="cpu")
    spans = torch.tensor([date.spans[field] for date in dates], device="cpu")
    starts, ends = spans.unbind(1)
    return (positions >= starts[:, None]) & (positions < ends[:, None])


def without(weights: Tensor, mask: Tensor) -> Tensor:
    """Take the weight off the marked characters; the others keep their proportions."""
    rest = weights.masked_fill(mask, 0)
    # If all of the weight was on the marked characters, all weights are 0.
    return rest / rest.sum(-1, keepdim=True).clamp_min(torch.finfo(rest.dtype).tiny)


def effects(model: Translator, dates: Sequence[WrittenDate]) -> dict[str, Effect]:
    """Change the weights while a field's digits are written, and measure how the output changes.

    Source: after Jain and Wallace (2019), "Attention is not Explanation", and Wiegreffe and
    Pinter (2019), "Attention is not not Explanation"; the changes here are our own.

    Raises:
        TypeError, ValueError: the model has no attention, or there are no dates.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> from attnbook.models.translator.checkpoints import book_model
        >>> from attnbook.models.translator.interventions import effects
        >>> date = write_date(datetime.date(2024, 5, 3), "en")
        >>> effects(book_model("small"), [date])["year"]
        Effect(removed=1.0, kept=0.0, moved=1.0)
    """
    check_kind("model", model, Translator)
    if model.attention is None:
        raise ValueError("model must have attention, got a Translator without")
    dates = check_list("dates", dates, "WrittenDate", "spans")
    check_some("dates", dates)
    return {field: _measure_effect(model, dates, field) for field in DIGITS}


def _measure_effect(model: Translator, dates: Sequence[WrittenDate], field: str) -> Effect:
    digits = slice(DIGITS[field].start, DIGITS[field].stop)
    counts = [0, 0, 0]
    for start in range(0, len(dates), BATCH):
        some = dates[start : start + BATCH]
        texts = [date.text for date in some]
        before = [found.output[digits] for found in model.translate(texts)]
        for number, change in enumerate(_make_changes(some, field, model.device)):
            after = [found.output[digits] for found in model.translate(texts, change)]
            counts[number] += sum(a != b for a, b in zip(before, after, strict=True))
    return Effect(*(count / len(dates) for count in counts))


def _make_changes(
    dates: Sequence[WrittenDate], field: str, device: torch.device
) -> list[Callable[[Tensor, int], Tensor]]:
    gold, other = (gold_mask(dates, name).to(device) for name in (field, NEXT[field]))
    elsewhere = other / other.sum(-1, keepdim=True)

    def only_here(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
        return lambda weights, step: change(weights) if step in DIGITS[field] else weights

    return [
        only_here(lambda weights: without(weights, gold)),
        only_here(lambda weights: without(weights, ~gold)),
        only_here(lambda weights: elsewhere.to(weights.dtype)),
    ]
