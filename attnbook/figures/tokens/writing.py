"""What one of the book's decoders writes after a text, in double precision, as in the page."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from attnbook.figures.tokens.packing import decoder_of
from attnbook.models.transformer.stories import window_of

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
        >>> write("story", "anna goes to the park . where is anna ?", ".", most=6).answer
        ['anna', 'is', 'in', 'the', 'park', '.']
    """

    words: list[str]
    answer: list[str]
    chances: Tensor
    weights: Tensor


def write(name: str, text: str, end: str, most: int, window: int | None = None) -> Written:
    """Continue a text with the likeliest symbol each time, up to an end or a number of symbols.

    Args:
        name: one of the book's decoders.
        text: what it reads.
        end: the symbol that ends the answer.
        most: symbols of an answer, at most.
        window: how many positions each one attends to, itself first; None means all.
    """
    model = decoder_of(name)
    vocabulary, answer = model.vocabulary, list[str]()
    words = vocabulary.split(text)
    with ExitStack() as stack:
        if window is not None:
            stack.enter_context(window_of(model, window))
        while True:
            (reading,) = model.follow([vocabulary.join([*words, *answer])])
            answer.append(vocabulary.symbols[int(reading.probabilities[-1].argmax())])
            if answer[-1] == end or len(answer) == most:
                break
    return Written(words, answer, reading.probabilities[len(words) - 1 :], reading.weights)
