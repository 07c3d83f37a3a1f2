"""Grades for heads: what each attends to, against chance, and what breaks without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnbook.models.checks import check_kind, check_list
from attnbook.models.transformer.decoder import Decoder, Reading
from attnbook.models.transformer.removal import Head, without_heads
from attnbook.models.transformer.repeats import Repeat
from attnbook.models.vocabulary import check_some, check_text

if TYPE_CHECKING:
    from jaxtyping import Float


class HeadScore(NamedTuple):
    """How much of a head's weight lies on the previous key and on the induction key, in [0, 1].

    `layer` and `head` are -1 if it is no head of a model, as for `chance`.

    Example:
        >>> from attnbook.models.transformer.grading import HeadScore
        >>> HeadScore(layer=0, head=1, previous=0.9, induction=0.1).previous
        0.9
    """

    layer: int
    head: int
    previous: float
    induction: float


def accuracy(model: Decoder, repeats: Sequence[Repeat]) -> float:
    """Give the share of the predictable tokens that the model predicts.

    Raises:
        TypeError, ValueError: there are no sequences, or no token that can be predicted.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.grading import accuracy
        >>> from attnbook.models.transformer.repeats import make_repeats
        >>> accuracy(book_decoder("copying"), make_repeats(20)) > 0.8
        True
    """
    repeats = _check_repeats(repeats)
    found = _read_repeats(model, repeats)
    right = [
        reading.guesses[i - 1] == repeat.text[i]
        for reading, repeat in zip(found, repeats, strict=True)
        for i in repeat.copied
    ]
    if not right:
        count = len(repeats)
        raise ValueError(
            f"repeats must hold a copied token to predict, got none in {count} sequences"
        )
    return fmean(right)


def _check_repeats(repeats: Iterable[Repeat]) -> list[Repeat]:
    items = check_list("repeats", repeats, "Repeat", "copied")
    check_some("repeats", items)
    return items


def _read_repeats(model: Decoder, repeats: Sequence[Repeat]) -> list[Reading]:
    check_kind("model", model, Decoder)
    return model.follow([repeat.text for repeat in repeats])


def previous_score(
    weights: Float[Tensor, "*heads positions positions"],
) -> Float[Tensor, "*heads"]:
    """Average, over all queries but the first, the weight on the key just before.

    Raises:
        TypeError, ValueError: the weights are not square, or of one position only.

    Example:
        >>> from attnbook.models.transformer.grading import previous_score
        >>> previous_score(torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))
        tensor(0.7500)
    """
    _check_square(weights, at_least=2)
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(-1)


def behind_last(text: str) -> list[tuple[int, int]]:
    """Pair each query whose token came earlier with the key after its last earlier position."""
    last: dict[str, int] = {}
    pairs = []
    for query, token in enumerate(text):
        if token in last:
            pairs.append((query, last[token] + 1))
        last[token] = query
    return pairs


def induction_score(
    weights: Float[Tensor, "*heads positions positions"], text: str
) -> Float[Tensor, "*heads"]:
    """Average the weight on the key after the last earlier occurrence of the query's token.

    Only queries whose token occurred earlier count; without one the score is 0.

    Raises:
        TypeError, ValueError: the weights are not one row and one column for each token.

    Source: after Olsson et al. (2022), who call such heads induction heads.

    Example:
        >>> from attnbook.models.transformer.grading import induction_score
        >>> weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.75, 0.25]])
        >>> induction_score(weights, "aba")  # the second a attends to b
        tensor(0.7500)
    """
    _check_square(weights, at_least=1)
    check_text(text)
    if weights.shape[-1] != len(text):
        raise ValueError(
            f"weights must have {len(text)} rows and columns for {text!r}, "
            f"got shape {tuple(weights.shape)}"
        )
    pairs = behind_last(text)
    if not pairs:
        return torch.zeros_like(weights[..., 0, 0])
    queries, behind = zip(*pairs, strict=True)
    return weights[..., list(queries), list(behind)].mean(-1)


def _check_square(weights: Tensor, at_least: int) -> None:
    if not (isinstance(weights, Tensor) and weights.is_floating_point()):
        kind = weights.dtype if isinstance(weights, Tensor) else type(weights).__name__
        raise TypeError(f"weights must be a tensor of floating-point numbers, got {kind}")
    if weights.dim() < 2 or weights.shape[-2] != weights.shape[-1] or weights.shape[-1] < at_least:
        raise ValueError(
            f"weights must be square, of at least {at_least} positions, "
            f"got shape {tuple(weights.shape)}"
        )


def score_heads(model: Decoder, repeats: Sequence[Repeat]) -> list[HeadScore]:
    """Grade each head by its previous score and its induction score, averaged over sequences.

    Raises:
        TypeError, ValueError: there are no sequences.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.grading import score_heads
        >>> from attnbook.models.transformer.repeats import make_repeats
        >>> scores = score_heads(book_decoder("copying"), make_repeats(5))
        >>> best = max(scores, key=lambda score: score.previous)
        >>> best.layer, best.head
        (0, 1)
    """
    found = _read_repeats(model, _check_repeats(repeats))
    previous = torch.stack([previous_score(reading.weights) for reading in found]).mean(0)
    induction = torch.stack([induction_score(each.weights, each.text) for each in found]).mean(0)
    return [
        HeadScore(layer, head, previous[layer, head].item(), induction[layer, head].item())
        for layer in range(model.config.num_layers)
        for head in range(model.config.num_heads)
    ]


def chance(repeats: Sequence[Repeat]) -> HeadScore:
    """Grade a head that attends equally to every key that it may attend to.

    Raises:
        TypeError, ValueError: there are no sequences.

    Example:
        >>> from attnbook.models.transformer.grading import chance
        >>> from attnbook.models.transformer.repeats import make_repeats
        >>> chance(make_repeats(5)).previous < 0.2
        True
    """
    previous, induction = [], []
    for repeat in _check_repeats(repeats):
        seen = torch.ones(len(repeat.text), len(repeat.text), device="cpu").tril()
        weights = seen / seen.sum(-1, keepdim=True)
        previous.append(previous_score(weights).item())
        induction.append(induction_score(weights, repeat.text).item())
    return HeadScore(-1, -1, fmean(previous), fmean(induction))


def ablate_heads(
    model: Decoder, repeats: Sequence[Repeat], groups: Iterable[Sequence[Head]]
) -> dict[tuple[Head, ...], float]:
    """Give the accuracy without each group of heads.

    Raises:
        TypeError, ValueError: there are no sequences, or no such head.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.grading import ablate_heads, accuracy
        >>> from attnbook.models.transformer.repeats import make_repeats
        >>> model, lines = book_decoder("copying"), make_repeats(5)
        >>> found = ablate_heads(model, lines, [[(0, 1)]])
        >>> found[((0, 1),)] < accuracy(model, lines)
        True
    """
    found = {}
    for group in check_list("groups", groups, "lists of heads"):
        with without_heads(model, group):
            found[tuple(group)] = accuracy(model, repeats)
    return found
