"""What a story figure shows in a browser, against its Python half."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator

from attnbook.figures import StoryFigure
from attnbook.figures.tokens.packing import decoder_of
from tests.figures.shared.page import reading
from tools.models.stories import unseen_stories

OPENING = [("anna", "kitchen"), ("ben", "garden"), ("anna", "park"), ("carla", "school")]
CLOSE = 1e-9
READ = reading("""
    answer: texts('.story-answer > :not([hidden])').join(' '),
    chosen: where('.story-answer > button', (e) => e.ariaPressed === 'true'),
    sentence: figure.querySelector('.readout > span').textContent,
    spoken: figure.querySelector('.readout > .spoken').textContent.trim(),
    numbers: bodies()[0],
    words: all('.sentence > .token').map((e) => e.value ?? e.textContent).join(' '),
""")
LINES = reading("""
    boxes: all('.sentence > .token, .story-answer > :not([hidden])').map((e) => {
        const { left, top, right, bottom } = e.getBoundingClientRect();
        const origin = figure.querySelector('.story-text').getBoundingClientRect();
        return { left: left - origin.left, top: top - origin.top,
            right: right - origin.left, bottom: bottom - origin.top };
    }),
    paths: all('.token-line').map((e) => [e.getAttribute('d'), e.getAttribute('stroke-width')]),
""")


def make(**changes: Any) -> StoryFigure:
    """The figure of the first page, with some other arguments."""
    return StoryFigure(**({"moves": OPENING, "who": "anna"} | changes))


def random_stories(count: int, sentences: int = 4) -> list[dict[str, Any]]:
    """Stories and chosen words, as values of the figure's traits."""
    rng = Random(7)  # noqa: S311 - no secret
    return [
        {
            "moves": [[*move] for move in story.moves],
            "who": story.who,
            "word": rng.randrange(6),
        }
        for story in unseen_stories(count, (sentences, sentences))
    ]


def weights_by_torch(python: StoryFigure, word: int) -> list[list[float]]:
    """For each word so far: the weight of each head that is drawn, when it writes a word."""
    text = " ".join([python.story.text, *python.answer.split()[:word]])
    (reading,) = decoder_of(python.name).follow([text])
    return torch.stack(
        [reading.weights[layer, head, -1] for layer, head in python.heads], -1
    ).tolist()


def differences(found: dict[str, Any], python: StoryFigure, tolerance: float = CLOSE) -> list[str]:
    """The parts of a page that differ from its Python half."""
    rows = [[*row, sum(row) / len(row)] for row in weights_by_torch(python, python.word)]
    same = {
        "answer": found["answer"] == python.answer,
        "chosen": found["chosen"] == [python.word],
        "sentence": found["sentence"] == str(python).splitlines()[-1],
        "spoken": found["spoken"] == f"Its answer: {python.answer}",
        "words": found["words"] == python.story.text,
        "numbers": found["numbers"] == [pytest.approx(row, abs=tolerance) for row in rows],
    }
    return [name for name, equal in same.items() if not equal]


def disagreements(figure: Locator, python: StoryFigure, tolerance: float = CLOSE) -> list[str]:
    return differences(figure.evaluate(READ), python, tolerance)


def word(figure: Locator, position: int) -> Locator:
    """A word of the answer."""
    return figure.get_by_role("group", name="its answer").get_by_role("button").nth(position)
