"""Recipes of the decoders that the book opens; `tools.models.checkpoints` makes them.

All of them are trained on the same lines; seeds differ in the initial weights and the order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attnbook.models.training import Bar, Plan, Report, fit
from attnbook.models.transformer.checkpoints import Snapshots, save_decoder
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.decoder import Decoder, make_lines
from attnbook.models.transformer.grading import accuracy
from attnbook.models.transformer.repeats import SYMBOLS, Repeat, make_repeats
from attnbook.models.vocabulary import Vocabulary
from tools.models.unfinished import Progress, saving_best_epoch

SEEDS = {"learned": 0, "judged": 1, "test": 2, "later": 3}
PLAN = Plan(epochs=10, batch_size=64, learning_rate=1.5e-2, patience=10)
COUNTS = {"learned": 19_200, "judged": 500, "test": 1000, "later": 1000}


def lines(part: str) -> list[Repeat]:
    """Make the lines for training ("learned"), validation ("judged") or test, or later ones.

    "later" was made for the first time after all models had been chosen.
    """
    return make_repeats(COUNTS[part], seed=SEEDS[part])


class DecoderRecipe(NamedTuple):
    """The recipe of a decoder's checkpoint."""

    config: DecoderConfig = DecoderConfig()
    plan: Plan = PLAN
    steps: Sequence[int] = ()  # training steps of the stored snapshots, in addition to the last one

    def model(self) -> Decoder:
        """Make the untrained model."""
        return Decoder(Vocabulary(SYMBOLS), self.config, seed=self.plan.seed)

    @property
    def steps_of_an_epoch(self) -> int:
        """The number of batches in an epoch."""
        return -(-COUNTS["learned"] // self.plan.batch_size)

    def make(
        self, report: Report | None = None, model: Decoder | None = None
    ) -> tuple[Decoder, Snapshots, dict[str, Any]]:
        """Train a model, by default a new one; gives the model, its snapshots and its notes."""
        model = model or self.model()
        training, validation = (
            make_lines(model, [line.text for line in lines(part)]) for part in ("learned", "judged")
        )
        total = self.plan.epochs * self.steps_of_an_epoch
        snapshots, bar = Snapshots(model, self.steps, total), report or Bar()

        def report_all(share: float, history: list[Any]) -> None:
            snapshots(share, history)
            bar(share, history)

        start = time.process_time()
        fit(model, training, validation, self.plan, report_all)
        return (
            model,
            snapshots,
            {
                "torch": str(torch.__version__).partition("+")[0],
                "seed": self.plan.seed,
                "seconds": round(time.process_time() - start, 1),
                "accuracy": accuracy(model, lines("test")),
            },
        )

    def write(self, path: Path) -> dict[str, Any]:
        """Train a model and write its file; gives its notes."""
        model, progress = self.model(), Progress()

        def save(unfinished: Path, so_far: dict[str, Any]) -> None:
            step = so_far["epoch"] * self.steps_of_an_epoch
            save_decoder(unfinished, model, {step: model.state_dict()}, so_far)

        with saving_best_epoch(path, progress, save):
            _, snapshots, notes = self.make(progress, model)
            save_decoder(path, model, snapshots.kept, notes)
        return notes


DECODERS = {
    "copying": DecoderRecipe(steps=(0, 300, 400, 450, 500, 1000)),
    "copying-1": DecoderRecipe(plan=replace(PLAN, seed=1)),
    "copying-2": DecoderRecipe(plan=replace(PLAN, seed=2)),
    "copying-one-layer": DecoderRecipe(config=DecoderConfig(num_layers=1)),
}
