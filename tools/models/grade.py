"""Grade the book's trained models on unseen dates; `make grade`.

Exact match, where they attend (compared with uniform and diagonal weights), and the effect of
changed weights.
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
SAME_DATES = (MAIN, "recurrent", "recurrent-without-attention")  # graded on the same dates
JOINED = ("joined", "joined-without-attention")
EXACT, PEAK = 0.99, 0.97  # the targets of the book's model
LATER = 2000  # strings


def row(name: str, cells: Sequence[object]) -> str:
    """Lay out one line of a table."""
    texts = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells)
    return f"  {name:28}" + "".join(f"{cell:>9}" for cell in texts)


def grade_row(name: str, dates: Sequence[WrittenDate], weights: Sequence[Tensor]) -> list[str]:
    """One model's weight and peak inside the gold span of each field."""
    outputs = grade(dates, weights).values()
    return [row(name, [number for one in outputs for number in (one.weight, one.peak)])]


def training_time(name: str) -> str:
    """The time of a model's training."""
    return f"{read_notes(FOLDER / f'{name}.safetensors')['seconds']:.0f} s"


def match_row(name: str, dates: Sequence[WrittenDate], outputs: Sequence[Translation]) -> str:
    """One model's exact match on all dates and by length, and its training time."""
    by_length = [share.right for share in exact_match_by_length(dates, outputs).values()]
    return row(name, [exact_match(dates, outputs), *by_length, training_time(name)])


def matches(dates: Sequence[WrittenDate], outputs: dict[str, list[Translation]]) -> list[str]:
    """The exact match of all models."""
    starts = exact_match_by_length(dates, outputs[MAIN])
    head = [f"from {start}" for start in starts]
    counts = [share.dates for share in starts.values()]
    return [
        f"Exact match on {len(dates)} unseen strings; by length; processor time of training",
        row("", ["all", *head, "training"]),
        row("strings", [len(dates), *counts, ""]),
        *(match_row(name, dates, one) for name, one in outputs.items()),
    ]


def bottleneck() -> list[str]:
    """The exact match by the number of dates in a text."""
    pairs = RECIPES[JOINED[0]].pairs()[2]
    groups = [[pair for pair in pairs if pair[1].count(";") == n] for n in range(3)]
    return [
        f"Exact match on {len(pairs)} unseen strings of 1, 2 and 3 dates",
        row("", ["1 date", "2 dates", "3 dates", "training"]),
        row("strings", [*map(len, groups), ""]),
        *(
            row(name, [*(right(book_model(name), group) for group in groups), training_time(name)])
            for name in JOINED
        ),
    ]


def attention_table(
    dates: Sequence[WrittenDate], outputs: dict[str, list[Translation]]
) -> list[str]:
    """Where models attend, compared with two that do not read the text."""
    weights_of = {name: looked(one) for name, one in outputs.items() if one[0].weights is not None}
    weights_of |= {"uniform": uniform(dates), "diagonal": diagonal(dates)}
    return [
        "Weight and peaks inside the gold span",
        row("", ["year", "peaks", "month", "peaks", "day", "peaks"]),
        *(line for name, weights in weights_of.items() for line in grade_row(name, dates, weights)),
        f"Peaks of {MAIN} by locale",
        row("", ["year", "month", "day"]),
        *(
            row(locale, [one.peak for one in fields.values()])
            for locale, fields in grade_by_locale(dates, weights_of[MAIN]).items()
        ),
    ]


def changes(dates: Sequence[WrittenDate], model: Translator) -> list[str]:
    """The effect of changed weights."""
    outputs = effects(model, dates)
    return [
        f"Share of dates whose field changes when the weights of {MAIN} are",
        row("", ["removed", "kept", "moved"]),
        *(row(field, effect) for field, effect in outputs.items()),
    ]


def targets(dates: Sequence[WrittenDate], outputs: Sequence[Translation]) -> list[str]:
    """Whether the book's model reaches its targets."""
    peaks = {field: one.peak for field, one in grade(dates, looked(outputs)).items()}
    reached = {f"exact match at least {EXACT}": exact_match(dates, outputs) >= EXACT}
    reached |= {f"peaks of {field} at least {PEAK}": peak >= PEAK for field, peak in peaks.items()}
    return [f"  {what}: {so}" for what, so in reached.items()]


def make_later_dates(recipe: Recipe) -> list[WrittenDate]:
    """Make dates after those of the recipe, which were unseen when it was chosen."""
    return recipe._replace(test=recipe.test + LATER).dates().test[recipe.test :]


def main() -> int:
    """Print the grades; fail if the book's model misses its targets."""
    torch.set_num_threads(1)
    dates = RECIPES[MAIN].dates().test
    models = {name: book_model(name) for name in SAME_DATES}
    texts = [date.text for date in dates]
    outputs = {name: model.translate(texts) for name, model in models.items()}
    later = make_later_dates(RECIPES[MAIN])
    verdict = [
        f"Targets on these {len(dates)} strings",
        *targets(dates, outputs[MAIN]),
        f"Targets on {len(later)} strings that were made after the model had been chosen",
        *targets(later, models[MAIN].translate([date.text for date in later])),
    ]
    parts = (
        matches(dates, outputs),
        bottleneck(),
        attention_table(dates, outputs),
        changes(dates, models[MAIN]),
    )
    for part in parts:
        print("\n".join(part), end="\n\n")
    print("\n".join(verdict))
    return int(any(line.endswith("False") for line in verdict))


if __name__ == "__main__":
    sys.exit(main())
