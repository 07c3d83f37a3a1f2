"""Grade models that the book reports but does not include; writes `other_models.json`.

python -m tools.models.other_models

Translators differ from the book's in their seed only: it sets the initial weights and the order of
the texts. They are trained with the recipes and graded on the same unseen texts. It takes some
minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import babel
import torch

import attnbook.models
from attnbook.models.training import train
from attnbook.models.translator.checkpoints import book_model
from attnbook.models.translator.dates import WrittenDate
from attnbook.models.translator.grading import effects, exact_match, grade, looked
from attnbook.models.translator.model import Translator
from tools.models.checkpoints import RECIPES

FILE = Path(attnbook.models.__file__).with_name("other_models.json")
SEEDS = (1, 2)  # the book's models have seed 0
TRANSLATORS = ("convolutional", "recurrent")
NUM_CHANGED = 500  # dates whose weights are changed
CHANGES = ("removed", "restricted", "moved")


def train_seed(name: str, seed: int) -> Translator:
    """Train a recipe's translator on the recipe's dates, with another seed."""
    recipe = RECIPES[name]
    model = recipe.model()
    model = Translator(model.source, model.target, recipe.config, seed=seed)
    training, validation, _ = recipe.pairs()
    train(model, training, validation, replace(recipe.plan, seed=seed))
    return model


def with_another_digit(date: WrittenDate, position: int) -> tuple[str, str]:
    """Replace a digit of the date's year; gives the text and the new digit."""
    at = date.spans["year"][0] + position
    digit = str((int(date.text[at]) + 5) % 10)
    return date.text[:at] + digit + date.text[at + 1 :], digit


def share_of_new_digits(model: Translator, dates: Iterable[WrittenDate], position: int) -> float:
    """The share of dates whose replaced digit the model writes."""
    texts, digits = zip(*(with_another_digit(date, position) for date in dates), strict=True)
    outputs = model.translate([*texts])
    pairs = zip(outputs, digits, strict=True)
    return fmean(one.output[position : position + 1] == digit for one, digit in pairs)


def grade_translator(model: Translator, dates: list[WrittenDate]) -> dict[str, Any]:
    """A translator's exact match, where it attends, and what changed weights do."""
    model = model.double()
    outputs = model.translate([date.text for date in dates])
    found = grade(dates, looked(outputs)).items()
    changed = effects(model, dates[:NUM_CHANGED]).items()
    return {
        "exact match": exact_match(dates, outputs),
        "weight inside": {field: round(one.weight, 4) for field, one in found},
        "peaks inside": {field: round(one.peak, 4) for field, one in found},
        "new digit": [share_of_new_digits(model, dates, at) for at in range(4)],
        "field changes": {
            field: dict(zip(CHANGES, effect, strict=True)) for field, effect in changed
        },
    }


def main() -> int:
    """Train and grade the models, and write the file."""
    torch.set_num_threads(1)
    translators: dict[str, dict[str, Any]] = {}
    for name in TRANSLATORS:
        dates = RECIPES[name].dates().test
        models = {0: book_model(name), **{seed: train_seed(name, seed) for seed in SEEDS}}
        translators[name] = {str(s): grade_translator(one, dates) for s, one in models.items()}
    write(translators)
    return 0


def write(translators: dict[str, Any]) -> None:
    """Write the grades, with their origin."""
    origin = {
        "command": "python -m tools.models.other_models",
        "torch": str(torch.__version__).partition("+")[0],
        "babel": babel.__version__,
    }
    found = {"origin": origin, "translators by seed": translators}
    FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
