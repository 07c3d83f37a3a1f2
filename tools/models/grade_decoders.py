"""Grade the book's decoders on unseen lines; `make grade`.

Their accuracy, where each head attends (compared with uniform weights), and the effect of removed
heads; for three seeds, for a single layer, and on a second set of lines.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import torch

from attnbook.models.transformer.checkpoints import book_decoder, decoder_steps
from attnbook.models.transformer.grading import (
    HeadScore,
    ablate_heads,
    accuracy,
    chance,
    score_heads,
)
from attnbook.models.transformer.removal import Head
from attnbook.models.transformer.repeats import Repeat, make_repeats
from tools.models.decoders import lines

SEEDS = ("copying", "copying-1", "copying-2")
ONE_LAYER = "copying-one-layer"
PREDICTED, PREVIOUS, INDUCTION = 0.99, 0.85, 0.75  # the targets of each seed
BROKEN, ALONE = 0.5, 0.7  # below these, removed heads are needed, and one layer is not enough
HARDER = (
    ("phrases of 11 and 12", {"periods": (11, 12)}),
    ("lines of 32", {"length": 32}),
    ("lines of 48", {"length": 48}),
)


class Grades(NamedTuple):
    """The grades of a model on some lines."""

    predicts: float
    scores: list[HeadScore]
    previous: Head  # the head that attends most to the previous symbol
    induction: list[Head]  # the heads that attend after the last occurrence, far above chance
    # Accuracy without each head, and without all induction heads.
    without: dict[tuple[Head, ...], float]


def grade_model(name: str, test: Sequence[Repeat]) -> Grades:
    """Grade a model and its heads."""
    model, by_chance = book_decoder(name), chance(test)
    scores = score_heads(model, test)
    best = max(scores, key=lambda score: score.previous)
    induction = [(s.layer, s.head) for s in scores if s.induction > 5 * by_chance.induction]
    groups = [[(score.layer, score.head)] for score in scores]
    groups += [induction] if induction else []
    without = ablate_heads(model, test, groups)
    return Grades(accuracy(model, test), scores, (best.layer, best.head), induction, without)


def table(name: str, grades: Grades) -> list[str]:
    """The table of one model's heads."""
    rows = [f"  {name}: predicts {grades.predicts:.4f} of what can be predicted"]
    for layer, head, previous, induction in grades.scores:
        accuracy_without = grades.without[(layer, head),]
        rows.append(
            f"    layer {layer}, head {head}: previous {previous:.2f}, "
            f"induction {induction:.2f}; without it {accuracy_without:.3f}"
        )
    if grades.induction:
        together = grades.without[tuple(grades.induction)]
        rows.append(f"    without all {len(grades.induction)} induction heads: {together:.3f}")
    return rows


def targets(grades: Grades) -> dict[str, bool]:
    """Whether a model reaches each target."""
    best = {
        what: max(getattr(s, what) for s in grades.scores) for what in ("previous", "induction")
    }
    together = grades.without.get(tuple(grades.induction), 1.0)
    return {
        f"predicts at least {PREDICTED}": grades.predicts >= PREDICTED,
        f"previous-token score of the best head at least {PREVIOUS}": best["previous"] >= PREVIOUS,
        f"induction score of the best head at least {INDUCTION}": best["induction"] >= INDUCTION,
        f"without the previous-token head below {BROKEN}": grades.without[grades.previous,]
        < BROKEN,
        f"without all induction heads below {BROKEN}": together < BROKEN,
    }


def snapshot_rows(name: str, test: Sequence[Repeat]) -> list[str]:
    """Accuracy and the best scores at each snapshot."""
    rows = []
    for step in decoder_steps(name):
        model = book_decoder(name, step)
        scores = score_heads(model, test)
        previous, induction = (
            max(score.previous for score in scores),
            max(score.induction for score in scores),
        )
        rows.append(
            f"  step {step:>5}: predicts {accuracy(model, test):.3f}, "
            f"best previous {previous:.2f}, best induction {induction:.2f}"
        )
    return rows


def main() -> int:
    """Print the grades; fail if a model misses its targets."""
    torch.set_num_threads(1)
    failed = False
    for part in ("test", "later"):
        test = lines(part)
        by_chance = chance(test)
        print(
            f"Heads on {len(test)} lines {'never seen' if part == 'test' else 'drawn later'}; "
            f"by chance: previous {by_chance.previous:.2f}, induction {by_chance.induction:.2f}"
        )
        for name in SEEDS:
            grades = grade_model(name, test)
            print("\n".join(table(name, grades)))
            for what, so in targets(grades).items():
                print(f"      {what}: {so}")
                failed |= not so
        grades = grade_model(ONE_LAYER, test)
        print("\n".join(table(ONE_LAYER, grades)))
        print(f"      one layer alone stays below {ALONE}: {grades.predicts < ALONE}", end="\n\n")
        failed |= grades.predicts >= ALONE
    print("When the heads appear", *snapshot_rows(SEEDS[0], lines("test")), sep="\n", end="\n\n")
    print("Where it fails")
    for what, kind in HARDER:
        harder = make_repeats(len(lines("test")), seed=4, **kind)
        print(f"  {what}: {accuracy(book_decoder(SEEDS[0]), harder):.3f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
