"""The heads figure's stored reading and its sentences, which the page computes too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from attnbook.figures.tokens.figure import round_all
from attnbook.figures.tokens.packing import decoder_of
from attnbook.heads import split_heads
from attnbook.messages import Messages
from attnbook.models.transformer.grading import behind_last
from attnbook.models.transformer.removal import without_heads
from attnbook.models.vocabulary import SPECIAL

if TYPE_CHECKING:
    from torch import Tensor

    from attnbook.models.transformer.decoder import Decoder, Reading
    from attnbook.multihead import MultiHeadAttention

TEXT = Messages(__file__)

Head = tuple[int, int]


def read(name: str, step: int, text: str, removed: Sequence[Head] = ()) -> Reading:
    """Let a decoder read a text without some of its heads."""
    decoder = decoder_of(name, step)
    with without_heads(decoder, removed):
        (reading,) = decoder.follow([text])
    return reading


def compute_stored(
    name: str, step: int, text: str, removed: Sequence[Head], focus: Head
) -> dict[str, Any]:
    """What a page shows until its model is there, with few digits.

    Scores have a row for each query, as long as the keys that it attends to; `added` is what the
    head in focus adds directly to each token's score.
    """
    decoder = decoder_of(name, step)
    scores, added = inspect_heads(decoder, text, removed, focus)
    reading = read(name, step, text, removed)
    return {
        "text": text,
        "step": step,
        "removed": [[*head] for head in removed],
        "focus": [*focus],
        "characters": decoder.vocabulary.characters,
        "guesses": reading.guesses,
        "chances": round_all(reading.probabilities.amax(-1).tolist()),
        "whole": read(name, step, text).guesses,
        "scores": [
            [[round_all(row[: i + 1]) for i, row in enumerate(head)] for head in layer]
            for layer in scores.tolist()
        ],
        "added": [round_all(row) for row in added.tolist()],
    }


def inspect_heads(
    decoder: Decoder, text: str, removed: Sequence[Head], focus: Head
) -> tuple[Tensor, Tensor]:
    """The scores of every head, and what the one in focus adds to the tokens' scores."""
    inputs: dict[MultiHeadAttention, Tensor] = {}
    layer, head = focus
    mixes: list[Tensor] = []
    with without_heads(decoder, removed):
        hooks = [
            attention.register_forward_pre_hook(lambda of, given: inputs.update({of: given[0]}))
            for attention in decoder.attentions
        ]
        # Registered after the hook that removes heads, so it gets what W_o gets.
        mix = decoder.attentions[layer].W_o
        hooks.append(mix.register_forward_pre_hook(lambda _of, given: mixes.append(given[0])))
        try:
            decoder.follow([text])
        finally:
            for hook in hooks:
                hook.remove()
    with torch.no_grad():
        scores = torch.stack([scores_of(attention, inputs[attention]) for attention in inputs])
        own = torch.zeros_like(mixes[0][0])
        size = own.shape[-1] // decoder.config.num_heads
        share = slice(head * size, (head + 1) * size)
        own[:, share] = mixes[0][0, :, share]
        added = decoder.output(mix(own))[:, SPECIAL:]
    return scores, added


def scores_of(attention: MultiHeadAttention, x: Tensor) -> Tensor:
    """`(heads, positions, positions)`, before any mask."""
    q, k = (split_heads(of(x), attention.num_heads) for of in (attention.W_q, attention.W_k))
    scores: Tensor = attention.attention.score(q, k)[0]
    return scores


def predictable(text: str) -> list[bool]:
    """Which tokens can be predicted: the one before occurred earlier, followed by the same one."""
    behind = dict(behind_last(text))
    return [i - 1 in behind and text[behind[i - 1]] == token for i, token in enumerate(text)]


def score(text: str, guesses: str) -> tuple[int, int]:
    """How many of the tokens that can be predicted are guessed, and how many there are."""
    right = [guesses[i - 1] == text[i] for i, can in enumerate(predictable(text)) if can]
    return sum(right), len(right)


def name_of(head: Sequence[int]) -> str:
    """A head, as pictures and sentences name it."""
    return TEXT("head", layer=head[0], head=head[1])


def describe_count(text: str, guesses: str, whole: str, removed: Sequence[Sequence[int]]) -> str:
    """The count in a sentence; with heads removed, also the count of the whole model."""
    right, count = score(text, guesses)
    if not count:
        return TEXT("nothing_predictable")
    if not removed:
        return TEXT("right_count", right=right, count=count)
    right_whole, _ = score(text, whole)
    return TEXT("right_count_with_all_heads", right=right, count=count, whole=right_whole)
