"""Make the trained models that the book uses, each from its recipe and seed.

python -m tools.models.checkpoints                 all of them (some minutes); or `make checkpoints`
python -m tools.models.checkpoints convolutional   one

The same recipe gives the same dates, characters, initial weights and order of training on every
machine. The trained weights are equal, bit for bit, only with the same version of torch on the same
kind of processor with one thread: elsewhere sums have another order, and training increases such
a difference. The outputs of the models hardly differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import babel
import torch

from attnbook.models.training import Pair, Plan, Report, train
from attnbook.models.transformer.checkpoints import FOLDER as DECODER_FOLDER
from attnbook.models.translator.checkpoints import FOLDER, save_checkpoint
from attnbook.models.translator.config import Config
from attnbook.models.translator.dates import LOCALES, Dates, joined_pairs, make_dates
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import Vocabulary
from tools import interrupts
from tools.models.decoders import DECODERS, DecoderRecipe
from tools.models.stories import STORIES, StoryRecipe
from tools.models.unfinished import Progress, saving_best_epoch

SMALL_LOCALES = ("de", "en", "fr", "ru")


class Recipe(NamedTuple):
    """The recipe of a checkpoint."""

    config: Config
    plan: Plan
    locales: Sequence[str] = LOCALES
    train: int = 8000
    validation: int = 500
    test: int = 1000
    seed: int = 0
    most: int = 1  # dates in a text

    def dates(self) -> Dates:
        """Make the dates for training, validation and test."""
        counts = self.train, self.validation, self.test
        return make_dates(*counts, locales=self.locales, seed=self.seed)

    def pairs(self) -> list[list[Pair]]:
        """Make the pairs for training, validation and test."""
        return [joined_pairs(part, self.most, self.seed) for part in self.dates()]

    def write(self, path: Path) -> dict[str, Any]:
        """Train a model and write its file; gives its notes."""
        model, progress = self.model(), Progress()
        with saving_best_epoch(
            path, progress, lambda at, so_far: save_checkpoint(at, model, so_far)
        ):
            _, notes = make(self, progress, model)
            save_checkpoint(path, model, notes)
        return notes

    def model(self) -> Translator:
        """Make the untrained model."""
        # From all dates, so that the vocabulary does not depend on the number of training dates.
        pairs = [pair for part in self.pairs() for pair in part]
        source, target = (Vocabulary.of(texts) for texts in zip(*pairs, strict=True))
        return Translator(source, target, self.config, seed=self.seed)


def recipe_of_joined_dates(*, attention: bool, epochs: int) -> Recipe:
    """Up to three dates in a text: more than one state can hold."""
    config = Config(encoder="recurrent", attention=attention, max_steps=36)
    counts = {"train": 12000, "validation": 1000, "test": 2000}
    return Recipe(config, Plan(epochs, batch_size=64), locales=SMALL_LOCALES, **counts, most=3)


RECURRENT = Config(encoder="recurrent")
RECIPES = {
    "convolutional": Recipe(Config(), Plan(epochs=10)),
    "recurrent": Recipe(RECURRENT, Plan(epochs=10)),
    "recurrent-without-attention": Recipe(replace(RECURRENT, attention=False), Plan(epochs=10)),
    "joined": recipe_of_joined_dates(attention=True, epochs=10),
    # Trains three times as long, so that its training is not too short.
    "joined-without-attention": recipe_of_joined_dates(attention=False, epochs=30),
    "small": Recipe(
        Config(), Plan(epochs=6), locales=SMALL_LOCALES, train=3000, validation=300, test=500
    ),
}


def make(
    recipe: Recipe, report: Report | None = None, model: Translator | None = None
) -> tuple[Translator, dict[str, Any]]:
    """Train a model, by default a new one; gives the model and its notes."""
    model, (training, validation, test) = model or recipe.model(), recipe.pairs()
    start = time.process_time()
    history = train(model, training, validation, recipe.plan, report)
    seconds = time.process_time() - start
    return model, {
        "torch": str(torch.__version__).partition("+")[0],
        "babel": babel.__version__,
        "locales": list(recipe.locales),
        "seed": recipe.seed,
        "epochs": len(history),
        "seconds": round(seconds, 1),
        "exact match": right(model, test),
    }


def right(model: Translator, pairs: Sequence[Pair]) -> float:
    """The share of pairs whose whole output is right."""
    outputs = model.translate([text for text, _ in pairs])
    return fmean(one.output == target for one, (_, target) in zip(outputs, pairs, strict=True))


@interrupts.listening()
def main(words: Sequence[str] | None = None, folder: Path | None = None) -> int:
    """Make the checkpoints of the command line, or all.

    They are written to a folder, by default attnbook's. After Ctrl-C and SIGTERM, the best epoch so
    far is in a separate file.
    """
    recipes: dict[str, Recipe | DecoderRecipe | StoryRecipe] = {**RECIPES, **DECODERS, **STORIES}
    parser = argparse.ArgumentParser(description="Make the book's trained models.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(recipes))
    names = parser.parse_args(words).names or list(recipes)
    unknown = [name for name in names if name not in recipes]
    if unknown:
        parser.error(f"no recipe named {unknown[0]}; there are: {', '.join(recipes)}")
    torch.set_num_threads(1)
    for name in names:
        path = (folder or (FOLDER if name in RECIPES else DECODER_FOLDER)) / f"{name}.safetensors"
        try:
            notes = recipes[name].write(path)
        except KeyboardInterrupt as interrupt:
            return interrupts.status(interrupt)
        print(f"{name}: {path.stat().st_size // 1024} KB, {notes}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
