"""What a writing figure shows in a browser."""

from __future__ import annotations

from typing import Any

import pytest

from attnbook.figures.tokens.packing import decoder_of
from attnbook.figures.tokens.writing import Written
from attnbook.models.transformer.stories import Story
from tests.figures.shared.page import LINE, reading

MOVES = [("anna", "park"), ("ben", "school"), ("anna", "kitchen"), ("carla", "library")]
STORY = Story(MOVES, "anna").text
RIGHT = {"all": (1.0, 1.0), "near": (0.125, 0.165), "none": (0.02, 0.04)}
SHOWN = 5  # words
READ = reading(
    f"""
    text: texts('.story span').map((text) => text.trim()),
    written: figure.querySelector('.written').textContent,
    likely: texts('.likely > span:first-child'),
    percent: texts('.likely .percent'),
    bars: all('.likely rect').map((bar) => Number(bar.getAttribute('width'))),
    chosen: texts('.likely.chosen > span:first-child'),
    chances: bodies()[0].map(([chance]) => chance),
    attention: all('[type=radio]:checked').map((input) => input.value),
    label: figure.querySelector('.stepper .setting').textContent,
    line: figure.querySelector('{LINE}').textContent,
"""
)


def differences(
    found: dict[str, Any], truth: Written, step: int, attention: str, tolerance: float = 1e-9
) -> list[str]:
    """The parts of a page that differ from what Python writes."""
    symbols = decoder_of("story").vocabulary.symbols
    chances, word = truth.chances[step].tolist(), truth.answer[step]
    best = sorted(range(len(symbols)), key=lambda i: -chances[i])[:SHOWN]
    percent = [f"{100 * chances[i]:.0f} %" for i in best]
    same = {
        "text": " ".join(found["text"]).split() == truth.words,
        "written": found["written"].split() == truth.answer[: step + 1],
        "likely": found["likely"] == [symbols[i] for i in best],
        "percent": found["percent"] == percent,
        "bars": found["bars"] == pytest.approx([chances[i] for i in best], abs=tolerance),
        "chosen": found["chosen"] == [word],
        "chances": found["chances"] == pytest.approx(chances, abs=tolerance),
        "attention": found["attention"] == [attention],
        "label": found["label"] == f"word = {step + 1} of {len(truth.answer)}: {word}",
        "line": f"“{word}”" in found["line"]
        and percent[best.index(symbols.index(word))] in found["line"],
    }
    return [name for name, equal in same.items() if not equal]
