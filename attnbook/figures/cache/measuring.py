"""What a cache with a bug does to many texts: right copies, and answers of another user."""

from __future__ import annotations

import random
from typing import NamedTuple

import torch

from attnbook.figures.cache.bugs import STAYS, Settings
from attnbook.figures.cache.reading import cut
from attnbook.figures.cache.writing import NOTHING, write
from attnbook.figures.tokens.packing import decoder_of
from attnbook.models.transformer.repeats import make_repeats
from attnbook.models.transformer.stories import (
    ANSWER_LENGTH,
    NAMES,
    PLACES,
    Move,
    Story,
    draw_moves,
)

PROMPT = 12  # tokens of a sequence; the model writes as many
SHARED = 1  # sentence that the stories of two users have in common


def make_sequences(count: int, seed: int = 99) -> list[str]:
    """Draw sequences of 24 tokens whose second half can be predicted from the first.

    Example:
        >>> from attnbook.figures.cache.measuring import make_sequences
        >>> make_sequences(1)
        ['fobgjhafcdgjhafcdgjhafcd']
    """
    lines = make_repeats(20 * count, length=2 * PROMPT, seed=seed)
    return [line.text for line in lines if line.copied.start <= PROMPT][:count]


def share_right(sequences: list[str], bug: str = "", settings: Settings = NOTHING) -> float:
    """The share of tokens that the copying decoder writes right from a cache.

    Args:
        sequences: as `make_sequences` draws them.
        bug: a name in `BUGS`; "" for none.
        settings: how it reads.

    Example:
        >>> from attnbook.figures.cache.measuring import make_sequences, share_right
        >>> share_right(make_sequences(8))
        1.0
    """
    model = decoder_of("copying")
    tokens = torch.tensor([model.vocabulary.encode(text) for text in sequences])
    written, _ = write(model, tokens[:, :PROMPT], tokens.shape[1] - PROMPT, settings, bug)
    return float((written == tokens[:, PROMPT:]).double().mean())


class Pair(NamedTuple):
    """The stories of two users, which begin alike.

    Example:
        >>> from attnbook.figures.cache.measuring import make_pairs
        >>> [pair] = make_pairs(1)
        >>> pair.first.moves[:1] == pair.second.moves[:1]
        True
    """

    first: Story
    second: Story

    @property
    def texts(self) -> list[str]:
        """Both texts."""
        return [story.text for story in self]

    @property
    def leak(self) -> str:
        """The answer that is true of the first story and not of the second; "" if there is none."""
        who = self.second.who
        own = [place for name, place in self.first.moves[SHARED:] if name == who]
        answer = Story(self.first.moves, who).answer if own else ""
        return "" if answer == self.second.answer else answer


def make_pairs(count: int, seed: int = 0) -> list[Pair]:
    """Draw pairs of stories of three sentences, which share the first one and not the next word.

    Example:
        >>> from attnbook.figures.cache.measuring import make_pairs
        >>> make_pairs(1)[0].second.answer
        'carla is in the kitchen .'
    """
    rng = random.Random(seed)  # noqa: S311 - no secret
    pairs = []
    for _ in range(count):
        shared = draw_moves(rng, SHARED)
        stories = []
        for name in rng.sample(NAMES, 2):
            moves: list[Move] = [*shared]
            for who in (name, rng.choice(NAMES)):
                at = dict(moves).get(who)
                moves.append((who, rng.choice([place for place in PLACES if place != at])))
            stories.append(Story(moves, rng.choice(moves)[0]))
        pairs.append(Pair(*stories))
    return pairs


def second_answers(pairs: list[Pair], bug: str = STAYS) -> list[str]:
    """What the story model answers to the second user of each pair, from the first one's cache.

    Args:
        pairs: as `make_pairs` draws them.
        bug: "" for a cache that frees the slots of the first user.

    Example:
        >>> from attnbook.figures.cache.measuring import make_pairs, second_answers
        >>> second_answers(make_pairs(1), bug="")
        ['carla is in the kitchen .']
    """
    model = decoder_of("story")
    first, second = (
        torch.tensor([model.vocabulary.encode(text) for text in texts])
        for texts in zip(*(pair.texts for pair in pairs), strict=True)
    )
    tokens, _ = write(model, second, ANSWER_LENGTH, bug=bug, first=first)
    words = (model.vocabulary.decode(row).split() for row in tokens.tolist())
    return [" ".join(cut(answer)) for answer in words]
