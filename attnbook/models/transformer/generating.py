"""Generation: a model's scores become the next token of each text, again and again."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch

from attnbook.checks import check_size, describe_value
from attnbook.models.checks import check_finite, check_seed
from attnbook.models.vocabulary import MAX_LENGTH, PAD, SPECIAL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jaxtyping import Float
    from torch import Tensor

    from attnbook.cache import KeyValueCache
    from attnbook.models.vocabulary import Vocabulary


class Model(Protocol):
    """What generation needs of a decoder."""

    vocabulary: Vocabulary

    @property
    def device(self) -> torch.device:
        """Where its inputs must be."""

    def make_cache(self, batch: int) -> KeyValueCache:
        """Make an empty cache."""

    def __call__(
        self,
        tokens: Tensor,
        *,
        valid: Tensor,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Score the token that follows each position."""


class Sampling(NamedTuple):
    """How a token is chosen: see `Decoder.generate`."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> Sampling:
    """Refuse a way of drawing that is out of its range, or that greedy choice would ignore."""
    for name, number in (("temperature", temperature), ("top_p", top_p)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, Real)):
            raise TypeError(f"{name} must be a number, got {describe_value(number)}")
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be at least 0 and finite, got {temperature}")
    if top_k is not None:
        check_size("top_k", top_k)
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must lie in (0, 1], got {top_p}")
    if temperature == 0 and not (top_k is None and top_p is None):
        raise ValueError(
            "top_k and top_p must be left out at temperature=0, which takes the likeliest, got "
            f"top_k={top_k}, top_p={top_p}"
        )
    return Sampling(temperature, top_k, top_p)


def draw_uniform(
    sampling: Sampling, seed: int | None, *shape: int
) -> Float[Tensor, "batch tokens *uses"]:
    """Draw numbers in [0, 1), in float64 on the CPU: the same on each device.

    At temperature 0 they have no effect: they are zeros, and no random state changes.
    """
    generator = None
    if seed is not None:
        check_seed(seed)
        generator = torch.Generator("cpu").manual_seed(seed)
    if sampling.temperature == 0:
        return torch.zeros(*shape, dtype=torch.float64, device="cpu")
    return torch.rand(*shape, generator=generator, dtype=torch.float64, device="cpu")


def encode_prompts(vocabulary: Vocabulary, texts: Sequence[str], count: int) -> list[list[int]]:
    """Turn texts into tokens; refuse a text that `count` more would make too long."""
    check_size("count", count)
    prompts = [vocabulary.encode(text) for text in texts]
    for prompt in prompts:
        if len(prompt) + count > MAX_LENGTH:
            raise ValueError(
                f"texts must leave room for count={count} more of at most {MAX_LENGTH} "
                f"tokens, got {len(prompt)} tokens"
            )
    return prompts


def encode_stop(vocabulary: Vocabulary, stop: str | None) -> list[int]:
    """Encode the tokens that end a text; None ends none."""
    if stop is None:
        return []
    try:
        return vocabulary.encode(stop)
    except (TypeError, ValueError) as error:
        raise type(error)(f"stop must be None or a text that can be written: {error}") from None


class Reader:
    """Texts of different lengths that grow, and a model that scores what follows.

    With a cache the model reads each token once; without, it reads the whole texts at each step.
    Both give the same scores, but for rounding.

    Args:
        model: a decoder.
        batch: how many texts; they are empty at first.
        cache: whether to use a cache.
    """

    def __init__(self, model: Model, batch: int, *, cache: bool = True) -> None:
        self.model = model
        self.rows: list[list[int]] = [[] for _ in range(batch)]
        self.cache = model.make_cache(batch) if cache else None

    def read(self, new: Sequence[Sequence[int]]) -> Float[Tensor, "batch tokens characters"]:
        """Append tokens to the texts, and score what follows each of them.

        Args:
            new: the tokens of each text. Some may have none, and others more.

        Returns:
            `(batch, num_tokens, num_characters)` on the CPU, in the order of
            `vocabulary.characters`; of a text with fewer new tokens, the last are zeros.

        Raises:
            ValueError: a score is not finite.
        """
        for row, tokens in zip(self.rows, new, strict=True):
            row.extend(tokens)
        counts = [len(tokens) for tokens in new]
        given = new if self.cache is not None else self.rows
        width = max(map(len, given))
        padded = [[*row, *[PAD] * (width - len(row))] for row in given]
        batch = torch.tensor(padded, device=self.model.device)
        scores = self.model(batch, valid=batch != PAD, cache=self.cache)
        # Padding, beginning and end are never predicted.
        scores = scores[..., SPECIAL:].cpu()
        found = scores.new_zeros(len(new), max(counts), scores.shape[-1])
        for i, count in enumerate(counts):
            end = len(given[i])
            found[i, :count] = scores[i, end - count : end]
        if not found.isfinite().all():
            texts = [self.model.vocabulary.decode(row) for row in self.rows]
            starts = [len(row) - count for row, count in zip(self.rows, counts, strict=True)]
            check_finite(found, texts, "the model's weights", starts)
        return found

    def rewind(self, counts: Sequence[int]) -> None:
        """Remove the last tokens of each text."""
        self.rows = [row[: len(row) - back] for row, back in zip(self.rows, counts, strict=True)]
        if self.cache is not None:
            self.cache.rewind(counts)

    def reorder(self, rows: Sequence[int]) -> None:
        """Replace the texts by these, which may be fewer or come several times."""
        self.rows = [list(self.rows[i]) for i in rows]
        if self.cache is not None:
            self.cache.reorder(rows)


def probabilities(
    scores: Float[Tensor, "*batch characters"], sampling: Sampling
) -> Float[Tensor, "*batch characters"]:
    """Turn scores into the probabilities, in float64, from which a token is drawn.

    At temperature 0 the likeliest token has them all. Otherwise the scores are divided by the
    temperature, then all but the `top_k` likeliest tokens get none, then all but the fewest
    that have `top_p` of what is left.

    Source: Holtzman et al. (2020), section 3.1, for `top_p`; Fan, Lewis and Dauphin (2018) for
    `top_k`.
    """
    scores = scores.double()
    if sampling.temperature == 0:
        best = scores.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(scores).scatter(-1, best, 1.0)
    scores = scores / sampling.temperature
    ordered, order = scores.sort(dim=-1, descending=True, stable=True)
    if sampling.top_k is not None:
        ordered[..., sampling.top_k :] = -torch.inf
    shares = ordered.softmax(dim=-1)
    if sampling.top_p is not None:
        before = shares.cumsum(dim=-1) - shares
        shares = torch.where(before < sampling.top_p, shares, 0.0)
        shares = shares / shares.sum(dim=-1, keepdim=True)
    return torch.zeros_like(shares).scatter(-1, order, shares)


def draw(shares: Float[Tensor, " characters"], uniform: Float[Tensor, ""]) -> int:
    """Choose the character whose part of the summed probabilities holds a number in [0, 1).

    Args:
        shares: probabilities, or numbers in proportion to them.
        uniform: the number.
    """
    sums = shares.cumsum(dim=-1)
    chosen = int(torch.searchsorted(sums, uniform * sums[-1], right=True))
    return min(chosen, len(shares) - 1)


def sample(
    reader: Reader,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    uniform: Float[Tensor, "batch tokens"],
    ends: Callable[[list[int]], bool],
    report: Callable[[float], None],
) -> list[list[int]]:
    """Draw tokens for each prompt; a text that has ended gets no more.

    Args:
        reader: with as many texts, empty.
        prompts: at least one token each.
        uniform: numbers in [0, 1), one for each token at most that is drawn, so that a text does
            not depend on the others.
        ends: whether a text ends with these new tokens.
        report: gets the share of the work that is done.
    """
    written: list[list[int]] = [[] for _ in prompts]
    new: list[Sequence[int]] = list(prompts)
    count = uniform.shape[1]
    for step in range(count):
        scores = last_scores(reader.read(new), new)
        shares = probabilities(scores, sampling)
        chosen = [draw(*pair) for pair in zip(shares, uniform[:, step], strict=True)]
        active = [len(tokens) > 0 for tokens in new]
        new = [
            [SPECIAL + token] if goes else [] for token, goes in zip(chosen, active, strict=True)
        ]
        for row, tokens in zip(written, new, strict=True):
            row.extend(tokens)
        new = [[] if ends(row) else tokens for row, tokens in zip(written, new, strict=True)]
        report((step + 1) / count if any(new) else 1.0)
        if not any(new):
            break
    return written


class Beam(NamedTuple):
    """A text that may be the likeliest: what was added, and the logarithm of its probability."""

    tokens: list[int]
    score: float
    ended: bool
    row: int  # of the reader


def search(
    reader: Reader,
    prompts: Sequence[Sequence[int]],
    count: int,
    num_beams: int,
    ends: Callable[[list[int]], bool],
    report: Callable[[float], None],
) -> list[list[int]]:
    """Find likely continuations: of each prompt, the likeliest `num_beams` texts are continued.

    The probability of a text is the product of those of its tokens; a text that has ended
    competes with those that go on. Other arguments are those of `sample`.
    """
    groups = [[Beam([], 0.0, ended=False, row=i)] for i in range(len(prompts))]
    new: list[Sequence[int]] = list(prompts)
    for step in range(count):
        logs = last_scores(reader.read(new), new).double().log_softmax(dim=-1)
        groups = [_continue(group, logs, num_beams, ends) for group in groups]
        beams = [beam for group in groups for beam in group]
        reader.reorder([beam.row for beam in beams])
        new = [[] if beam.ended else beam.tokens[-1:] for beam in beams]
        rows = iter(range(len(beams)))
        groups = [[beam._replace(row=next(rows)) for beam in group] for group in groups]
        report((step + 1) / count if any(new) else 1.0)
        if not any(new):
            break
    return [group[0].tokens for group in groups]


def _continue(
    group: Sequence[Beam],
    logs: Float[Tensor, "rows characters"],
    num_beams: int,
    ends: Callable[[list[int]], bool],
) -> list[Beam]:
    """Continue the beams of one prompt by each token, and return the likeliest of the results."""
    found = [beam for beam in group if beam.ended]
    for beam in group:
        if not beam.ended:
            best = logs[beam.row].topk(min(num_beams, logs.shape[-1]))
            for log, character in zip(*(tensor.tolist() for tensor in best), strict=True):
                tokens = [*beam.tokens, SPECIAL + character]
                found.append(Beam(tokens, beam.score + log, ends(tokens), beam.row))
    return sorted(found, key=lambda beam: -beam.score)[:num_beams]


def last_scores(
    scores: Float[Tensor, "batch tokens characters"], new: Sequence[Sequence[int]]
) -> Float[Tensor, "batch characters"]:
    """Return the scores after each text's last new token; any row where there is none."""
    return scores[range(len(new)), [max(len(tokens), 1) - 1 for tokens in new]]
