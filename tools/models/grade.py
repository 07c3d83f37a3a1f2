"""Grade the book's trained models on dates that they have never seen; `make grade`.

Exact match, where they look (against looking everywhere alike, and along the diagonal),
and what happens when they are made to look elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.models.translator.checkpoints import FOLDER, book_model, read_notes
from attnbook.models.translator.dates import WrittenDate
from attnbook.models.translator.decoding import Translation
from attnbook.models.translator.grading import (
    diagonal,
    effects,
    exact_match,
    exact_match_by_length,
    grade,
    grade_by_locale,
    looked,
    uniform,
)
from attnbook.models.translator.model import Translator
from tools.models.checkpoints import RECIPES, Recipe, right

MAIN = "convolutional"
ALIKE = (MAIN, "recurrent", "recurrent-without-attention")  # graded on the same dates
JOINED = ("joined", "joined-without-attention")
EXACT, PEAK = 0.99, 0.97  # what the book's model must reach
LATER = 2000  # strings


def row(name: str, cells: Sequence[object]) -> str:
    """Lay out one line of a table."""
    shown = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells)
    return f"  {name:28}" + "".join(f"{cell:>9}" for cell in shown)


def graded(name: str, dates: Sequence[WrittenDate], weights: Sequence[Tensor]) -> list[str]:
    """Show one way to look: weight and peak inside each field's gold span."""
    found = grade(dates, weights).values()
    return [row(name, [number for one in found for number in (one.weight, one.peak)])]


def trained(name: str) -> str:
    """Say how long a model learned."""
    return f"{read_notes(FOLDER / f'{name}.safetensors')['seconds']:.0f} s"


def matched(name: str, dates: Sequence[WrittenDate], found: Sequence[Translation]) -> str:
    """Show one model's exact match: all dates, by length, and how long it learned."""
    by_length = [share.right for share in exact_match_by_length(dates, found).values()]
    return row(name, [exact_match(dates, found), *by_length, trained(name)])


def matches(dates: Sequence[WrittenDate], found: dict[str, list[Translation]]) -> list[str]:
    """Show all models' exact match."""
    starts = exact_match_by_length(dates, found[MAIN])
    head = [f"from {start}" for start in starts]
    counts = [share.dates for share in starts.values()]
    return [
        f"Exact match on {len(dates)} unseen strings; by length; processor time of training",
        row("", ["all", *head, "training"]),
        row("strings", [len(dates), *counts, ""]),
        *(matched(name, dates, one) for name, one in found.items()),
    ]


def bottleneck() -> list[str]:
    """Show how the exact match falls with the number of dates in a text."""
    pairs = RECIPES[JOINED[0]].pairs()[2]
    groups = [[pair for pair in pairs if pair[1].count(";") == n] for n in range(3)]
    return [
        f"Exact match on {len(pairs)} unseen strings of 1, 2 and 3 dates",
        row("", ["1 date", "2 dates", "3 dates", "training"]),
        row("strings", [*map(len, groups), ""]),
        *(
            row(name, [*(right(book_model(name), group) for group in groups), trained(name)])
            for name in JOINED
        ),
    ]


def looks(dates: Sequence[WrittenDate], found: dict[str, list[Translation]]) -> list[str]:
    """Show where those models look that attend, and two that look without reading."""
    ways = {name: looked(one) for name, one in found.items() if one[0].weights is not None}
    ways |= {"uniform": uniform(dates), "diagonal": diagonal(dates)}
    return [
        "Weight and peaks inside the gold span",
        row("", ["year", "peaks", "month", "peaks", "day", "peaks"]),
        *(line for name, weights in ways.items() for line in graded(name, dates, weights)),
        f"Peaks of {MAIN} by locale",
        row("", ["year", "month", "day"]),
        *(
            row(locale, [one.peak for one in fields.values()])
            for locale, fields in grade_by_locale(dates, ways[MAIN]).items()
        ),
    ]


def changes(dates: Sequence[WrittenDate], model: Translator) -> list[str]:
    """Show what happens when the weights are changed."""
    found = effects(model, dates)
    return [
        f"Share of dates whose field changes when the weights of {MAIN} are",
        row("", ["removed", "kept", "moved"]),
        *(row(field, effect) for field, effect in found.items()),
    ]


def targets(dates: Sequence[WrittenDate], found: Sequence[Translation]) -> list[str]:
    """Say whether the book's model is as good as it must be."""
    peaks = {field: one.peak for field, one in grade(dates, looked(found)).items()}
    reached = {f"exact match at least {EXACT}": exact_match(dates, found) >= EXACT}
    reached |= {f"peaks of {field} at least {PEAK}": peak >= PEAK for field, peak in peaks.items()}
    return [f"  {what}: {so}" for what, so in reached.items()]


def drawn_later(recipe: Recipe) -> list[WrittenDate]:
    """Make dates that come after the recipe's own: nobody had seen them when it was chosen."""
    return recipe._replace(test=recipe.test + LATER).dates().test[recipe.test :]


def main() -> int:
    """Print the grades; fail if the book's model misses its targets."""
    torch.set_num_threads(1)
    dates = RECIPES[MAIN].dates().test
    models = {name: book_model(name) for name in ALIKE}
    texts = [date.text for date in dates]
    found = {name: model.translate(texts) for name, model in models.items()}
    later = drawn_later(RECIPES[MAIN])
    verdict = [
        f"Targets on these {len(dates)} strings",
        *targets(dates, found[MAIN]),
        f"Targets on {len(later)} strings that were drawn after the model had been chosen",
        *targets(later, models[MAIN].translate([date.text for date in later])),
    ]
    parts = matches(dates, found), bottleneck(), looks(dates, found), changes(dates, models[MAIN])
    for part in parts:
        print("\n".join(part), end="\n\n")
    print("\n".join(verdict))
    return int(any(line.endswith("False") for line in verdict))


if __name__ == "__main__":
    sys.exit(main())
