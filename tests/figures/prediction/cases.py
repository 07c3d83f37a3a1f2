"""Predictions for the tests."""

from __future__ import annotations

from attnbook.figures import Prediction

HALF = "That shares evenly: one score is higher."


def numbers() -> Prediction:
    """A row of two numbers, with one wrong answer."""
    return Prediction(
        "The weights:", [2 / 3, 1 / 3], {HALF: [0.5, 0.5]}, labels=["first", "second"]
    )


def number() -> Prediction:
    """One large number without a label, with a large tolerance."""
    return Prediction("How many?", 1024, {"That forgets the batch.": 64}, within=10)


def choice() -> Prediction:
    """A shape among three."""
    wrong_answers = {"`num_keys` is summed over.": (1, 7, 3), "Values have size 3.": (1, 5, 7)}
    evidence = {"input": "`(1, 5, 7)`", "got": "(1, 7, 3)"}
    return Prediction(
        "The shape of `output`:", (1, 5, 3), wrong_answers, evidence=evidence, caption="A caption."
    )


CASES = {"numbers": numbers, "number": number, "choice": choice}
