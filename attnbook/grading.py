"""Grades for where a model looks: its weights against gold spans.

An ISO date has ten characters, eight of them digits of a field. A digit's weights are graded
by how much of them lies inside the field's gold span, and by whether their peak does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnbook.seq2seq import BATCH, Translation, Translator

if TYPE_CHECKING:
    from attnbook.data import WrittenDate

LENGTH = len("1987-03-09")
DIGITS = {"year": range(4), "month": range(5, 7), "day": range(8, 10)}
NEXT = {"year": "month", "month": "day", "day": "year"}


class Grade(NamedTuple):
    """Shares in [0, 1], averaged over digits: weight inside the gold span, peaks inside it."""

    weight: float
    peak: float
    digits: int


class Share(NamedTuple):
    """How many of some dates came out right, in [0, 1], and how many there were."""

    right: float
    dates: int


class Effect(NamedTuple):
    """Shares of dates, in [0, 1], whose field comes out otherwise once its weights are changed.

    `removed`: the gold span gets no weight, the rest its share; `kept`: nothing but the
    gold span gets weight, which is the control; `moved`: the weight goes to the gold span
    of another field, evenly.
    """

    removed: float
    kept: float
    moved: float


def exact_match(dates: Sequence[WrittenDate], translations: Sequence[Translation]) -> float:
    """Give the share of dates whose whole output is right."""
    pairs = zip(dates, translations, strict=True)
    return fmean(date.iso == found.output for date, found in pairs)


def exact_match_by_length(
    dates: Sequence[WrittenDate],
    translations: Sequence[Translation],
    starts: Sequence[int] = (1, 11, 16, 21, 26),
) -> dict[int, Share]:
    """Give the share that is right for texts of each length, in groups.

    Args:
        dates, translations: as many of one as of the other.
        starts: the shortest length of each group, rising; a group without texts is left out.
    """
    groups: dict[int, list[bool]] = {}
    for date, found in zip(dates, translations, strict=True):
        start = max(start for start in starts if start <= len(date.text))
        groups.setdefault(start, []).append(date.iso == found.output)
    return {start: Share(fmean(right), len(right)) for start, right in sorted(groups.items())}


def uniform(dates: Iterable[WrittenDate]) -> list[Tensor]:
    """Make the weights of a model that looks everywhere alike."""
    return [torch.full((LENGTH, len(date.text)), 1 / len(date.text)) for date in dates]


def diagonal(dates: Iterable[WrittenDate]) -> list[Tensor]:
    """Make the weights of a model that reads on as steadily as it writes."""
    found = []
    for date in dates:
        weights = torch.zeros(LENGTH, len(date.text))
        steps = torch.arange(LENGTH)
        weights[steps, (steps * 2 + 1) * len(date.text) // (2 * LENGTH)] = 1
        found.append(weights)
    return found


def looked(translations: Iterable[Translation]) -> list[Tensor]:
    """Take the weights of translations.

    Raises:
        ValueError: a model without attention made them.
    """
    weights = [translation.weights for translation in translations]
    found = [rows for rows in weights if rows is not None]
    if len(found) != len(weights):
        raise ValueError("translations must hold weights, but their model has no attention")
    return found


def grade(dates: Sequence[WrittenDate], weights: Sequence[Tensor]) -> dict[str, Grade]:
    """Grade each field's weights, averaged over its digits in all dates.

    A digit that was never written has no weights; it counts as a miss. Where several
    characters share the peak, each counts for its part.

    Args:
        dates: at least one.
        weights: one `(steps, len(text))` for each date; step t wrote character t.

    Raises:
        ValueError: the weights are not one per character of their text.
    """
    return {
        field: _mean(
            _digit(date, rows, field, step)
            for date, rows in _both(dates, weights)
            for step in steps
        )
        for field, steps in DIGITS.items()
    }


def grade_by_locale(
    dates: Sequence[WrittenDate], weights: Sequence[Tensor]
) -> dict[str, dict[str, Grade]]:
    """Grade each field, as `grade` does, for each locale on its own."""
    groups: dict[str, list[tuple[WrittenDate, Tensor]]] = {}
    for date, rows in _both(dates, weights):
        groups.setdefault(date.locale, []).append((date, rows))
    return {
        locale: grade([date for date, _ in group], [rows for _, rows in group])
        for locale, group in sorted(groups.items())
    }


def _both(
    dates: Sequence[WrittenDate], weights: Sequence[Tensor]
) -> list[tuple[WrittenDate, Tensor]]:
    both = list(zip(dates, weights, strict=True))
    for date, rows in both:
        if rows.dim() != 2 or rows.shape[1] != len(date.text):
            raise ValueError(
                f"weights must have shape (steps, {len(date.text)}) for {date.text!r}, "
                f"got {tuple(rows.shape)}"
            )
    return both


def _digit(date: WrittenDate, rows: Tensor, field: str, step: int) -> tuple[float, float]:
    """The weight inside the gold span, and the share of the peak that is."""
    if step >= len(rows):
        return 0.0, 0.0
    inside = slice(*date.spans[field])
    peaks = rows[step] == rows[step].max()
    return rows[step, inside].sum().item(), (peaks[inside].sum() / peaks.sum()).item()


def _mean(found: Iterable[tuple[float, float]]) -> Grade:
    weight, peak = zip(*found, strict=True)
    return Grade(fmean(weight), fmean(peak), len(peak))


def gold_mask(dates: Sequence[WrittenDate], field: str) -> Tensor:
    """Mark the gold span of a field, `(dates, longest text)`, True inside."""
    positions = torch.arange(max(len(date.text) for date in dates))
    starts, ends = torch.tensor([date.spans[field] for date in dates]).unbind(1)
    return (positions >= starts[:, None]) & (positions < ends[:, None])


def without(weights: Tensor, mask: Tensor) -> Tensor:
    """Take the weight off the marked characters; the others keep their proportions."""
    rest = weights.masked_fill(mask, 0)
    # All of the weight may have been on the marked ones; nothing is left then.
    return rest / rest.sum(-1, keepdim=True).clamp_min(torch.finfo(rest.dtype).tiny)


def effects(model: Translator, dates: Sequence[WrittenDate]) -> dict[str, Effect]:
    """Change the weights while a field's digits are written, and see what is written then.

    Source: after Jain and Wallace (2019), "Attention is not Explanation", and Wiegreffe and
    Pinter (2019), "Attention is not not Explanation"; the changes here are our own.

    Raises:
        ValueError: the model has no attention.
    """
    return {field: _effect(model, dates, field) for field in DIGITS}


def _effect(model: Translator, dates: Sequence[WrittenDate], field: str) -> Effect:
    place = slice(DIGITS[field].start, DIGITS[field].stop)
    counts = [0, 0, 0]
    for start in range(0, len(dates), BATCH):
        some = dates[start : start + BATCH]
        texts = [date.text for date in some]
        before = [found.output[place] for found in model.translate(texts)]
        for number, change in enumerate(_changes(some, field, model.device)):
            after = [found.output[place] for found in model.translate(texts, change)]
            counts[number] += sum(a != b for a, b in zip(before, after, strict=True))
    return Effect(*(count / len(dates) for count in counts))


def _changes(
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


@torch.no_grad()
def reach(model: Translator, text: str, place: int, other: str) -> Tensor:
    """Say how far one character is heard: how much each key changes when it is replaced.

    Args:
        model: any translator.
        text: what is read.
        place: index of the character that is replaced, in [0, len(text)).
        other: the character that takes its place.

    Returns:
        `(len(text),)`, the size of each key's change in units of the key's own size.

    Raises:
        ValueError: `place` lies outside of the text, or the model cannot read a character.
    """
    if not 0 <= place < len(text):
        raise ValueError(f"place must lie in [0, len(text)={len(text)}), got {place}")
    numbers, valid_lens = model.read([text, text[:place] + other + text[place + 1 :]])
    keys, changed = model.encoder(numbers, valid_lens)[0]
    tiny = torch.finfo(keys.dtype).tiny
    change: Tensor = (changed - keys).norm(dim=-1) / keys.norm(dim=-1).clamp_min(tiny)
    return change.cpu()
