"""Recipes of the story models; `tools.models.checkpoints` makes them.

A decoder learns to answer questions about stories, one sentence more whenever it has mastered
the last: without such a curriculum it learns nothing. A row of training holds one story and up to
three questions with their answers. The loss is that of the answers: 1 for the place, less for
the other words.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.models.progress_bar import LateBar
from attnbook.models.transformer.checkpoints import save_decoder
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.decoder import Decoder
from attnbook.models.transformer.removal import Head, without_heads
from attnbook.models.transformer.stories import (
    WORDS,
    Story,
    answer,
    ask,
    changing_calls,
    draw_moves,
    make_stories,
    share_right,
    tell,
    window_of,
)
from attnbook.models.vocabulary import WordVocabulary
from tools.models.unfinished import saving_unfinished

CONFIG = DecoderConfig(
    num_hiddens=32,
    num_heads=4,
    num_layers=2,
    feed_forward="swiglu",
    ffn_hiddens=64,
    norm="rms",
    positions="rotary",
    rotary_base=100.0,
)
FEWEST, MOST = 2, 8  # sentences in training
MASTERED = 0.93  # the running share of right places at which a sentence is added
MEMORY = 0.95  # of the running share: what a batch leaves of it
OTHER_WORDS = 0.2  # the loss of an answer's words other than the place
QUESTIONS = 3  # about a story, from three sentences on
TEST_SEED = 1_000_000
LONGER_KEYS = 2.0  # a power of 2, so that numbers of float16 stay such
POLISHED = 0.1  # weight decay in the last phase
NEEDED = 0.98  # a head without which fewer answers are right finds the place


class Rows(NamedTuple):
    """A batch: tokens, the next one at each position, and how much its loss counts."""

    tokens: Tensor
    targets: Tensor
    weights: Tensor


def make_rows(vocabulary: WordVocabulary, rng: random.Random, sentences: int, size: int) -> Rows:
    """Draw a batch of stories with as many sentences, and their questions and answers."""
    tokens, weights = [], []
    for _ in range(size):
        moves = draw_moves(rng, sentences, distinct=sentences == FEWEST)
        words = [word for move in moves for word in tell(*move).split()]
        counts = [0.0] * len(words)
        at = dict(moves)  # the latest place counts
        for _ in range(1 if sentences == FEWEST else QUESTIONS):
            who = rng.choice(list(at))
            question, given = ask(who).split(), answer(who, at[who]).split()
            words += question + given
            counts += [0.0] * len(question)
            counts += [1.0 if word == at[who] else OTHER_WORDS for word in given]
        tokens.append(vocabulary.encode(" ".join(words)))
        weights.append(counts)
    rows, counted = torch.tensor(tokens), torch.tensor(weights)
    return Rows(rows[:, :-1], rows[:, 1:], counted[:, 1:])


def seeing_later_words(model: Decoder) -> AbstractContextManager[None]:
    """Forget the causal mask, as long as the model reads a whole text."""
    return changing_calls(model, lambda _positions, _mask: {"causal": False})


class StoryRecipe(NamedTuple):
    """The recipe of a story model: its seed, its steps, and what is changed in its attention."""

    seed: int = 0
    changed: Callable[[Decoder], AbstractContextManager[Any]] = nullcontext
    most_steps: int = 10_000
    # Steps after the last sentence is mastered: with more weight decay, heads learn to attend to
    # the one word that they need. In the last of these steps the rate falls to 0.
    polish: int = 3000
    decay: int = 800
    learning_rate: float = 4e-3
    # How much larger queries and keys are at first. Then heads learn to attend to few words, and
    # a line leads to the place.
    sharper: float = 2.5
    batch_size: int = 64
    by_mastery: bool = True  # else all lengths from the beginning, for a model that masters nothing

    def model(self) -> Decoder:
        """Make the untrained model."""
        model = Decoder(WordVocabulary(WORDS), CONFIG, seed=self.seed)
        with torch.no_grad():
            for attention in model.attentions:
                attention.W_q.weight *= self.sharper
                attention.W_k.weight *= self.sharper
        return model

    def train(self, model: Decoder, report: Callable[[float], None]) -> dict[str, Any]:
        """Train a model in place; gives the steps at which it mastered each number of sentences."""
        rng = random.Random(self.seed)  # noqa: S311 - no secret
        optimizer = torch.optim.AdamW(model.parameters(), self.learning_rate, betas=(0.9, 0.98))
        level, running, step = FEWEST if self.by_mastery else MOST, 0.0, 0
        left = None if self.by_mastery else self.most_steps
        mastered = dict[int, int]()
        model.train()
        with self.changed(model):
            while left != 0 and step < self.most_steps:
                if left is not None:
                    left -= 1
                    for group in optimizer.param_groups:
                        group["lr"] = self.learning_rate * min(1.0, left / self.decay)
                sentences = level if left is None else rng.randint(FEWEST, MOST)
                right = self._learn(model, optimizer, sentences, rng)
                step += 1
                running = MEMORY * running + (1 - MEMORY) * right
                report(step / self.most_steps)
                if left is None and running > MASTERED:
                    mastered[level] = step
                    level, running = level + 1, 0.5
                    if level > MOST:
                        left = min(self.polish, self.most_steps - step)
                        for group in optimizer.param_groups:
                            group["weight_decay"] = POLISHED
        model.eval()
        return {"steps": step, "mastered": mastered}

    def _learn(
        self, model: Decoder, optimizer: torch.optim.Optimizer, sentences: int, rng: random.Random
    ) -> float:
        """Learn from one batch; gives the share of places that were right before."""
        rows = make_rows(model.vocabulary, rng, sentences, self.batch_size)  # type: ignore[arg-type] # words
        scores = model(rows.tokens)
        losses = F.cross_entropy(scores.flatten(0, 1), rows.targets.flatten(), reduction="none")
        loss = (losses * rows.weights.flatten()).sum() / rows.weights.sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        places = rows.weights == 1
        return (scores.detach().argmax(-1) == rows.targets)[places].float().mean().item()

    def write(self, path: Path) -> dict[str, Any]:
        """Train a model, round it to float16, and write its file; gives its notes."""
        model = self.model()

        def save(at: Path, notes: dict[str, Any]) -> None:
            halves = {name: part.half() for name, part in model.state_dict().items()}
            save_decoder(at, model, {notes["steps"]: halves}, notes)

        with saving_unfinished(path, lambda at: save(at, {"steps": 0})):
            notes = self.train(model, LateBar())
        lengthen_keys(model)
        model.load_state_dict({name: w.half().float() for name, w in model.state_dict().items()})
        # When a model writes, no later words are there to be seen.
        with nullcontext() if self.changed is seeing_later_words else self.changed(model):
            right = share_right(model, unseen_stories(2000))
        notes |= {
            "torch": str(torch.__version__).partition("+")[0],
            "seed": self.seed,
            "right": right,
            "heads": finding_heads(model, unseen_stories(500))[1],
        }
        save(path, notes)
        return notes


def lengthen_keys(model: Decoder) -> None:
    """Multiply all keys, and divide all queries.

    No dot product changes: it does not say how long queries and keys are. A score of distances
    then differs from it, which the book's last station shows.
    """
    with torch.no_grad():
        for attention in model.attentions:
            attention.W_k.weight *= LONGER_KEYS
            attention.W_q.weight /= LONGER_KEYS


def unseen_stories(count: int, sentences: tuple[int, int] = (FEWEST, MOST)) -> list[Story]:
    """Draw stories for grading; they are drawn from another seed than those of training."""
    return make_stories(count, sentences, seed=TEST_SEED)


def finding_heads(model: Decoder, stories: Sequence[Story]) -> tuple[dict[Head, float], list[Head]]:
    """The share of right answers without each head; and the heads of the last layer in need."""
    config, without = model.config, dict[Head, float]()
    for layer in range(config.num_layers):
        for head in range(config.num_heads):
            with without_heads(model, [(layer, head)]):
                without[layer, head] = share_right(model, stories)
    last = config.num_layers - 1
    return without, [at for at, right in without.items() if at[0] == last and right < NEEDED]


# The first is the one that the book draws. Of six runs, seeds 0 to 2 with first queries and keys
# 2 and 2.5 times as large, two had not mastered all sentences in 10,000 steps. In the others, a
# change at the thickest line changed 1.00, 0.88, 0.86 and 0.59 of the answers.
STORIES = {
    "story": StoryRecipe(sharper=2.0),
    "story-1": StoryRecipe(seed=1),
    "story-2": StoryRecipe(seed=2),
    "story-without-attention": StoryRecipe(
        changed=lambda model: window_of(model, 0), most_steps=2000, by_mastery=False
    ),
    "story-near-words": StoryRecipe(
        changed=lambda model: window_of(model, 2), most_steps=2000, by_mastery=False
    ),
    "story-without-causal-mask": StoryRecipe(changed=seeing_later_words, polish=200, decay=200),
}
