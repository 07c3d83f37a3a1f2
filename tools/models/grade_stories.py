"""Grade the story models on unseen stories; `make grade`.

Their answers, the heads that find the place, and whether changing the word at the thickest line
changes the answer; for three seeds, and for models that were trained with changed attention.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import torch

from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.transformer.decoder import Decoder
from attnbook.models.transformer.removal import Head
from attnbook.models.transformer.stories import (
    PLACES,
    SENTENCE_LENGTH,
    Story,
    answers,
    share_right,
    window_of,
)
from tools.models.stories import MOST, finding_heads, unseen_stories

SEEDS = ("story", "story-1", "story-2")
CHANGED = {"story-without-attention": 0, "story-near-words": 2}
RIGHT, CAUSAL = 0.995, 0.95  # the targets
PLACE = SENTENCE_LENGTH - 2  # where a sentence has its place


class Lines(NamedTuple):
    """The share of stories in which a changed word changes the answer."""

    thickest: float  # the place with the largest weight
    others: float  # another place


def weight_on_place(model: Decoder, stories: Sequence[Story]) -> torch.Tensor:
    """The mean weight of each head on the right place, where the answer's place is written."""
    total = torch.zeros(model.config.num_layers, model.config.num_heads)
    for story, reading in zip(stories, model.follow(map(before_place, stories)), strict=True):
        total += reading.weights[:, :, -1, place_position(story)]
    return total / len(stories)


def before_place(story: Story) -> str:
    """The text, and the answer up to its place."""
    return f"{story.text} {story.answer.rsplit(' ', 2)[0]}"


def place_position(story: Story) -> int:
    """The position of the place that is the answer."""
    last = max(i for i, (who, _) in enumerate(story.moves) if who == story.who)
    return SENTENCE_LENGTH * last + PLACE


def change(story: Story, sentence: int, rng: random.Random) -> Story:
    """Let the person of a sentence go to a place where nobody goes."""
    used = {place for _, place in story.moves}
    free = [place for place in PLACES if place not in used] or [
        place for place in PLACES if place != story.moves[sentence][1]
    ]
    moves = list(story.moves)
    moves[sentence] = (moves[sentence][0], rng.choice(free))
    return Story(moves, story.who)


def lines_are_causal(model: Decoder, stories: Sequence[Story], heads: Sequence[Head]) -> Lines:
    """Change the place that the heads attend to most, and another one; count changed answers."""
    rng = random.Random(0)  # noqa: S311 - no secret
    at_thickest, elsewhere = [], []
    given = answers(model, stories)
    for story, reading in zip(stories, model.follow(map(before_place, stories)), strict=True):
        weights = torch.stack([reading.weights[layer, head, -1] for layer, head in heads]).mean(0)
        places = slice(PLACE, SENTENCE_LENGTH * len(story.moves), SENTENCE_LENGTH)
        thickest = int(weights[places].argmax())
        others = [i for i in range(len(story.moves)) if i != thickest]
        at_thickest.append(change(story, thickest, rng))
        elsewhere.append(change(story, rng.choice(others), rng))
    changed = [
        fmean(new != old for new, old in zip(answers(model, altered), given, strict=True))
        for altered in (at_thickest, elsewhere)
    ]
    return Lines(*changed)


def main() -> int:
    """Print the grades; fail if a model misses its targets."""
    torch.set_num_threads(1)
    stories, longer = unseen_stories(2000), unseen_stories(500, (MOST + 1, 12))
    some, failed = stories[:500], False
    for name in SEEDS:
        model = book_decoder(name)
        right = share_right(model, stories)
        print(f"{name}: {right:.4f} right, {share_right(model, longer):.3f} with 9 to 12 sentences")
        without, heads = finding_heads(model, some)
        on_place = weight_on_place(model, some)
        for (layer, head), share in without.items():
            print(
                f"  layer {layer}, head {head}: weight on the place "
                f"{on_place[layer, head]:.2f}; without it {share:.3f} right"
            )
        lines = lines_are_causal(model, some, heads)
        print(
            f"  lines of {heads}: a change at the thickest changes {lines.thickest:.3f} of the "
            f"answers, another change {lines.others:.3f}"
        )
        reached = {f"at least {RIGHT} right": right >= RIGHT}
        if name == SEEDS[0]:  # whose lines the book draws
            reached |= {
                f"at least {CAUSAL} follow the line": lines.thickest >= CAUSAL,
                f"at most {1 - CAUSAL:.2f} follow another place": lines.others <= 1 - CAUSAL,
            }
        for what, so in reached.items():
            print(f"      {what}: {so}")
            failed |= not so
    print("With changed attention: with the weights of the first model, and trained so")
    for name, count in CHANGED.items():
        shares = []
        for which in (SEEDS[0], name):
            model = book_decoder(which)
            with window_of(model, count):
                shares.append(share_right(model, some))
        print(f"  {count} positions: {shares[0]:.3f}, {shares[1]:.3f}")
    cheat = share_right(book_decoder("story-without-causal-mask"), some)
    print(f"  trained without a causal mask, and writing: {cheat:.3f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
