"""What a translator figure shows in a browser, against its Python half, and its controls."""

from __future__ import annotations

import math
from typing import Any

import pytest
from playwright.sync_api import Locator

from attnbook.figures import TranslatorFigure
from attnbook.figures.translator.reading import Reading, certainty, objection, verdict
from tests.figures.shared.trained import Room
from tests.figures.tokens.page import KEYS, misdrawn, token_reading

CLOSE = 1e-9  # both in double precision; the contract asks for 1e-5
MONTH = [3, 4, 5, 6]
TEXT = "9. März 1987"
HEBREW = "24 באפריל 2053"
NO_DATE = "31. Februar 2023"
LONG = "keskiviikkona 9. syyskuuta 1987 ja 10. maaliskuuta 2011"
READ = token_reading(
    """
    text: texts(`${keys} bdi`),
    output: texts('.queries button bdi').join(''),
    before: texts('.queries .above').join(''),
    answer: figure.querySelector('.answer').textContent.trim(),
    percents: texts('.queries .percent').map(parseFloat),
    probabilities: bodies()[1].flat(),
    hidden: where(`${keys} > .token`, (e) => e.ariaPressed === 'true'),
    numbers: bodies()[0].slice(0, -1),
    map: shaded(),
    mark: Number(figure.querySelector('.heat-focus').style.getPropertyValue('--at')),
"""
)


def disagreements(figure: Locator, python: TranslatorFigure, tolerance: float = CLOSE) -> list[str]:
    """The parts of the page that differ from its Python half."""
    whole = python.shown["whole"]
    found = figure.evaluate(READ)
    return differences(found, python.reading, whole, python.hidden, python.step, tolerance)


def differences(
    found: dict[str, Any],
    truth: Reading,
    whole: str,
    hidden: list[int],
    step: int,
    tolerance: float = CLOSE,
) -> list[str]:
    weights = truth.weights[step].tolist()
    rounded = [int(100 * weight + 0.5) for row in truth.weights.tolist() for weight in row]
    probabilities = truth.probabilities.tolist()
    peak = weights.index(max(weights)) if any(weights) else -1
    answer = verdict(truth.text, hidden, truth.output, whole)
    expected = {
        "text": ["␣" if c.isspace() else c for c in truth.text],
        "output": truth.output,
        "before": whole if whole != truth.output else "",
        "answer": f"{answer} {certainty(probabilities)} {objection(truth.output)}".rstrip(),
        "percents": pytest.approx([100 * p for p in probabilities[: len(truth.output)]], abs=0.51),
        "probabilities": pytest.approx([*probabilities, math.prod(probabilities)], abs=tolerance),
        "chosen": [step],
        "hidden": hidden,
        "numbers": [
            pytest.approx(pair, rel=tolerance, abs=tolerance)
            for pair in zip(truth.scores[step].tolist(), weights, strict=True)
        ],
        "map": pytest.approx(sum(rounded), abs=1e4 * tolerance),
        "mark": step,
    }
    wrong = [name for name, value in expected.items() if found[name] != value]
    wrong += ["lines"] * misdrawn(found["lines"], found["leftOut"], weights)
    part = f"“{expected['text'][peak]}” at {peak} (" if peak >= 0 else "its context is 0."
    for key in found["pointed"]:
        part = f"“{expected['text'][key]}” at position {key} "
        part += "is hidden: its weight is 0." if key in hidden else "has the score "
    return wrong + ["sentence"] * (part not in found["sentence"])


def field(figure: Locator) -> Locator:
    return figure.get_by_role("textbox", name="your date")


def get_status(figure: Locator) -> Locator:
    return figure.locator(".token-status [role=status]")


def _hide(figure: Locator) -> dict[str, Any]:
    figure.locator(f"{KEYS} .token").nth(3).click()
    return {"hidden": [3]}


ROOM = Room(
    make=TranslatorFigure,
    field=field,
    message=get_status,
    disagreements=disagreements,
    read=READ,
    rough=1e-3,
    typed="10 mai 2001",
    characters=f"{KEYS} .token",
    move=_hide,
    refused={
        "": "Type a date, as people write it.",
        "9! März": "The model does not know “!”: no date that it learned from contains that.",
        "1" * 65: "The figure takes at most 64 characters, but there are 65.",
    },
    still=TEXT,
    ink=".verdict",
    changed={"hidden": MONTH},
    cases={
        "first": {"examples": [TEXT, HEBREW, TEXT]},
        "hidden": {"hidden": MONTH},
        "nothing left": {"hidden": [*range(12)]},
        "right to left": {"text": HEBREW, "hidden": [3]},
        "long": {"text": LONG, "hidden": [*range(13)]},
        "one character": {"text": "9"},
        "no date": {"text": NO_DATE},
        "other model": {"name": "small"},
    },
)
