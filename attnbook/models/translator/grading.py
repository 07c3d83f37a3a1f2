"""Grades for where a model attends: its weights against gold spans.

An ISO date has ten characters, eight of them digits of a field. A digit's weights are graded
by how much of them lies inside the field's gold span, and by whether their peak does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnbook.checks import check_axes, describe_value, is_whole
from attnbook.models.checks import check_as_many, check_list
from attnbook.models.translator.decoding import Translation
from attnbook.models.translator.interventions import (
    DIGITS,
    Effect,
    effects,
    gold_mask,
    without,
)
from attnbook.models.vocabulary import check_some

if TYPE_CHECKING:
    from attnbook.models.translator.dates import WrittenDate

__all__ = [
    "DIGITS",
    "Effect",
    "Grade",
    "Share",
    "diagonal",
    "effects",
    "exact_match",
    "exact_match_by_length",
    "gold_mask",
    "grade",
    "grade_by_locale",
    "looked",
    "uniform",
    "without",
]

LENGTH = len("1987-03-09")
OF_MODEL = "Translation", "output"


class Grade(NamedTuple):
    """Shares in [0, 1], averaged over digits: weight inside the gold span, peaks inside it.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> from attnbook.models.translator.grading import grade, uniform
        >>> dates = [write_date(datetime.date(1987, 3, 9), "de")]
        >>> grade(dates, uniform(dates))["day"].digits
        2
    """

    weight: float
    peak: float
    digits: int


class Share(NamedTuple):
    """The share of dates that are right, in [0, 1], and the number of dates.

    Example:
        >>> from attnbook.models.translator.grading import Share
        >>> Share(right=0.75, dates=4)
        Share(right=0.75, dates=4)
    """

    right: float
    dates: int


def exact_match(dates: Sequence[WrittenDate], translations: Sequence[Translation]) -> float:
    """Give the share of dates whose whole output is right.

    Raises:
        TypeError, ValueError: there are no dates, or not as many translations.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> from attnbook.models.translator.decoding import Translation
        >>> from attnbook.models.translator.grading import exact_match
        >>> date = write_date(datetime.date(1987, 3, 9), "de")
        >>> outputs = "1987-03-09", "1987-03-08"  # the second is wrong
        >>> exact_match([date] * 2, [Translation(date.text, output, None) for output in outputs])
        0.5
    """
    return fmean(
        date.iso == found.output for date, found in _pair_with_translations(dates, translations)
    )


def _pair_with_translations(
    dates: Iterable[WrittenDate], translations: Iterable[Translation]
) -> list[tuple[WrittenDate, Translation]]:
    dates, translations = _check_dates(dates), check_list("translations", translations, *OF_MODEL)
    check_some("dates", dates)
    check_as_many("translations", translations, "dates", dates)
    return list(zip(dates, translations, strict=True))


def _check_dates(dates: Iterable[WrittenDate]) -> list[WrittenDate]:
    return check_list("dates", dates, "WrittenDate", "spans")


def exact_match_by_length(
    dates: Sequence[WrittenDate],
    translations: Sequence[Translation],
    starts: Sequence[int] = (1, 11, 16, 21, 26),
) -> dict[int, Share]:
    """Give the share of dates that is right for texts of each length, in groups.

    Args:
        dates, translations: as many of one as of the other, at least one.
        starts: the shortest length of each group; a group without texts is left out.

    Raises:
        TypeError, ValueError: there are no dates, or not as many translations; or a text is
            shorter than all groups.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> from attnbook.models.translator.decoding import Translation
        >>> from attnbook.models.translator.grading import exact_match_by_length
        >>> date = write_date(datetime.date(1987, 3, 9), "de")  # 12 characters
        >>> exact_match_by_length([date], [Translation(date.text, "1987-03-09", None)])
        {11: Share(right=1.0, dates=1)}
    """
    starts = check_list("starts", starts, "whole numbers")
    if not all(map(is_whole, starts)):
        raise TypeError(f"starts must be a list of whole numbers, got {describe_value(starts)}")
    groups: dict[int, list[bool]] = {}
    for date, found in _pair_with_translations(dates, translations):
        start = _find_group(starts, date.text)
        groups.setdefault(start, []).append(date.iso == found.output)
    return {start: Share(fmean(right), len(right)) for start, right in sorted(groups.items())}


def _find_group(starts: Sequence[int], text: str) -> int:
    below = [start for start in starts if start <= len(text)]
    if not below:
        raise ValueError(
            f"starts must hold one of at most {len(text)}, the length of {text!r}, "
            f"got {describe_value(tuple(starts))}"
        )
    return max(below)


def uniform(dates: Iterable[WrittenDate]) -> list[Tensor]:
    """Make the weights of a model that attends equally to every character.

    Returns:
        `(10, len(text))` for each date, as its ISO form has ten characters.

    Raises:
        TypeError: `dates` is no list of dates.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> from attnbook.models.translator.grading import uniform
        >>> (weights,) = uniform([write_date(datetime.date(1987, 3, 9), "de")])
        >>> weights.shape, weights.sum(dim=-1).round().unique()
        (torch.Size([10, 12]), tensor([1.]))
    """
    sizes = [len(date.text) for date in _check_dates(dates)]
    return [torch.full((LENGTH, size), 1 / size, device="cpu") for size in sizes]


def diagonal(dates: Iterable[WrittenDate]) -> list[Tensor]:
    """Make the weights of a model that attends from left to right as it writes.

    Returns:
        `(10, len(text))` for each date, as its ISO form has ten characters.

    Raises:
        TypeError: `dates` is no list of dates.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> from attnbook.models.translator.grading import diagonal
        >>> (weights,) = diagonal([write_date(datetime.date(1987, 3, 9), "de")])
        >>> weights.shape, weights.argmax(dim=-1)[[0, -1]]
        (torch.Size([10, 12]), tensor([ 0, 11]))
    """
    found = []
    for date in _check_dates(dates):
        weights = torch.zeros(LENGTH, len(date.text), device="cpu")
        steps = torch.arange(LENGTH, device="cpu")
        weights[steps, (steps * 2 + 1) * len(date.text) // (2 * LENGTH)] = 1
        found.append(weights)
    return found


def looked(translations: Iterable[Translation]) -> list[Tensor]:
    """Collect the attention weights of translations.

    Raises:
        TypeError: `translations` is no list of translations.
        ValueError: a model without attention made them, or one that does not store its weights.

    Example:
        >>> from attnbook.models.translator.checkpoints import book_model
        >>> from attnbook.models.translator.grading import looked
        >>> [each.shape for each in looked(book_model("small").translate(["3 May 2024"]))]
        [torch.Size([10, 10])]
    """
    items = check_list("translations", translations, *OF_MODEL)
    weights = [translation.weights for translation in items]
    found = [rows for rows in weights if rows is not None]
    if len(found) != len(weights):
        raise ValueError(
            "translations must hold weights, but their model has no attention, or does not "
            "store its weights"
        )
    return found


def grade(dates: Sequence[WrittenDate], weights: Sequence[Tensor]) -> dict[str, Grade]:
    """Grade each field's attention weights, averaged over its digits in all dates.

    A digit that was never written has no weights; it counts as a miss. Where several
    characters share the peak, each counts for its part.

    Args:
        dates: at least one.
        weights: one `(steps, len(text))` for each date; step t wrote character t.

    Raises:
        TypeError, ValueError: there are no dates, or the weights are not one per character of
            their text.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> from attnbook.models.translator.grading import grade, uniform
        >>> dates = [write_date(datetime.date(1987, 3, 9), "de")]  # four of twelve are the year
        >>> round(grade(dates, uniform(dates))["year"].weight, 2)
        0.33
    """
    return {
        field: _average(
            _grade_digit(date, rows, field, step)
            for date, rows in _pair_with_weights(dates, weights)
            for step in steps
        )
        for field, steps in DIGITS.items()
    }


def grade_by_locale(
    dates: Sequence[WrittenDate], weights: Sequence[Tensor]
) -> dict[str, dict[str, Grade]]:
    """Grade each field, as `grade` does, for each locale on its own.

    Raises:
        TypeError, ValueError: as `grade`.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> from attnbook.models.translator.grading import grade_by_locale, uniform
        >>> dates = [write_date(datetime.date(1987, 3, 9), locale) for locale in ("de", "sv")]
        >>> [*grade_by_locale(dates, uniform(dates))]
        ['de', 'sv']
    """
    groups: dict[str, list[tuple[WrittenDate, Tensor]]] = {}
    for date, rows in _pair_with_weights(dates, weights):
        groups.setdefault(date.locale, []).append((date, rows))
    return {
        locale: grade([date for date, _ in group], [rows for _, rows in group])
        for locale, group in sorted(groups.items())
    }


def _pair_with_weights(
    dates: Sequence[WrittenDate], weights: Sequence[Tensor]
) -> list[tuple[WrittenDate, Tensor]]:
    dates, weights = _check_dates(dates), check_list("weights", weights, "tensors")
    check_some("dates", dates)
    check_as_many("weights", weights, "dates", dates)
    both = list(zip(dates, weights, strict=True))
    for date, rows in both:
        check_axes("weights", rows, f"(steps, {len(date.text)})")
        if rows.shape[1] != len(date.text):
            raise ValueError(
                f"weights must have shape (steps, {len(date.text)}) for {date.text!r}, "
                f"got {tuple(rows.shape)}"
            )
    return both


def _grade_digit(date: WrittenDate, rows: Tensor, field: str, step: int) -> tuple[float, float]:
    """The weight inside the gold span, and the share of the peak that is."""
    if step >= len(rows):
        return 0.0, 0.0
    inside = slice(*date.spans[field])
    peaks = rows[step] == rows[step].max()
    return rows[step, inside].sum().item(), (peaks[inside].sum() / peaks.sum()).item()


def _average(found: Iterable[tuple[float, float]]) -> Grade:
    weight, peak = zip(*found, strict=True)
    return Grade(fmean(weight), fmean(peak), len(peak))
