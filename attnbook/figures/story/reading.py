"""A story as its figure tells it: its sentences, its stored answer, and where the model looked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from attnbook.figures.shared.base import SHARED, percent
from attnbook.figures.tokens.figure import round_all
from attnbook.figures.tokens.writing import write
from attnbook.messages import Messages
from attnbook.models.transformer.stories import SENTENCE_LENGTH, Story

TEXT = Messages(__file__)
EXACT = 7  # digits: fewer could round a percentage to another one than the page's
NAMED, LEAST = 3, 0.03  # words that a sentence names, and the least weight of all but the first


def sentences_of(story: Story) -> list[list[str]]:
    """The words of each sentence, and then of the question."""
    words = story.text.split()
    starts = [*range(0, len(story.moves) * SENTENCE_LENGTH + 1, SENTENCE_LENGTH), len(words)]
    return [words[start:end] for start, end in pairwise(starts)]


def compute_stored(name: str, heads: Sequence[Sequence[int]], story: Story) -> dict[str, Any]:
    """What a page shows until its model is there.

    `weights` has a list for each word of the answer: those of each head at the position that
    wrote it.
    """
    written = write(name, story.text)
    count = len(written.words)
    return {
        "moves": [[*move] for move in story.moves],
        "who": story.who,
        "answer": written.answer,
        "chances": round_all(written.chances.amax(-1).tolist(), EXACT),
        "weights": [
            [
                round_all(written.weights[layer, head, end - 1, :end].tolist(), EXACT)
                for layer, head in heads
            ]
            for end in range(count, count + len(written.answer))
        ],
    }


def describe(story: Story, shown: dict[str, Any], word: int) -> str:
    """Which words the model looked at to write one word of its answer, as the page says it."""
    at = min(word, len(shown["answer"]) - 1)
    rows = shown["weights"][at]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    order = sorted(range(len(mean)), key=lambda key: -mean[key])[:NAMED]
    named = [key for i, key in enumerate(order) if i == 0 or mean[key] >= LEAST]
    parts = [_name_word(story, shown["answer"], key, mean[key]) for key in named]
    *others, last = parts
    words = SHARED("joined_with_and", others=", ".join(others), last=last) if others else last
    sure = percent(shown["chances"][at])
    return TEXT("looked", word=shown["answer"][at], percent=sure, words=words)


def _name_word(story: Story, answer: Sequence[str], key: int, weight: float) -> str:
    words, sentence = [*story.text.split(), *answer], key // SENTENCE_LENGTH
    in_story, in_question = sentence < len(story.moves), key < len(words) - len(answer)
    part = "sentence" if in_story else "question" if in_question else "answer"
    fields = {"word": words[key], "number": sentence + 1, "percent": percent(weight)}
    return TEXT.group("looked_at")[part].format(**fields)
