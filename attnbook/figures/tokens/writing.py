"""What one of the book's decoders writes after a text, in double precision, as in the page."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from attnbook.figures.tokens.packing import decoder_of
from attnbook.models.transformer.stories import ANSWER_LENGTH, window_of

if TYPE_CHECKING:
    from torch import Tensor


class Written(NamedTuple):
    """An answer, and how it came about.

    Args:
        words: the text.
        answer: what was written.
        chances: `(num_answer_words, num_symbols)`, of each symbol to be the answer's next.
        weights: `(num_layers, num_heads, num_positions, num_positions)` of the text and the
            answer but its end.

    Example:
        >>> from attnbook.figures.tokens.writing import write
        >>> write("story", "anna goes to the park . where is anna ?").answer
        ['anna', 'is', 'in', 'the', 'park', '.']
    """

    words: list[str]
    answer: list[str]
    chances: Tensor
    weights: Tensor


def write(name: str, text: str, window: int | None = None) -> Written:
    """Let one of the book's story models answer: the likeliest word each time, to the full stop.

    Args:
        name: of the model.
        text: what it reads.
        window: how many positions each one attends to, itself first; None means all.
    """
    model = decoder_of(name)
    split, join = model.vocabulary.split, model.vocabulary.join
    words = split(text)
    with nullcontext() if window is None else window_of(model, window):
        # `window_of` refuses a cache.
        (whole,) = model.generate(
            [text], ANSWER_LENGTH, cache=False, stop=".", report=lambda _share: None
        )
        answer = split(whole)[len(words) :]
        (reading,) = model.follow([join([*words, *answer[:-1]])])
    return Written(words, answer, reading.probabilities[len(words) - 1 :], reading.weights)
