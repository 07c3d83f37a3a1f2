"""Speculative decoding: a small model drafts tokens, and the model checks them all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attnbook.checks import check_size
from attnbook.models.checks import check_kind, check_texts
from attnbook.models.evaluation import evaluating
from attnbook.models.transformer.decoder import Decoder
from attnbook.models.transformer.generating import (
    Reader,
    Sampling,
    check_sampling,
    draw,
    draw_uniform,
    encode_prompts,
    last_scores,
    probabilities,
)
from attnbook.models.vocabulary import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

# What the three numbers of a token are for.
DRAFT, ACCEPT, DRAW = range(3)


class Speculation(NamedTuple):
    """What `speculate` has written, and how often a draft was right.

    Args:
        texts: with what was added.
        calls: of the model that checks.
        drafted: how many tokens the draft model wrote.
        accepted: how many of them stayed.

    Example:
        >>> from attnbook.models.transformer.speculative import Speculation
        >>> Speculation(texts=["abab"], calls=1, drafted=2, accepted=1).accepted
        1
    """

    texts: list[str]
    calls: int  # of the model that checks
    drafted: int
    accepted: int


def speculate(  # noqa: PLR0913 - two models, and ways of choosing a token
    model: Decoder,
    draft: Decoder,
    texts: Iterable[str],
    count: int,
    *,
    drafts: int = 4,
    temperature: float = 0.0,
    seed: int | None = None,
) -> Speculation:
    """Continue texts as `model` does, with fewer calls of it.

    The draft model writes some tokens of each text, and `model` reads them in one call. A drafted
    token x is accepted with probability min(1, p(x) / q(x)), where p is the probability that
    `model` gives it and q that of the draft. At the first that is not, a token is drawn in
    proportion to max(0, p − q) instead, and the rest of the draft is taken back. If all are
    accepted, one token more is drawn from p. So each token has the probability p, however good
    the draft is.

    Args:
        model: whose texts are written.
        draft: another decoder with the same vocabulary, usually smaller.
        texts: as for `Decoder.follow`.
        count: how many tokens to add to each, at least 1.
        drafts: how many tokens are drafted at a time, at least 1.
        temperature: as for `Decoder.generate`; at 0 the texts are those of `model.write`, unless
            rounding decides between two tokens.
        seed: of what is drawn; None takes the global random state.

    Raises:
        TypeError, ValueError: an argument has the wrong type or range; the vocabularies differ; a
            text would get longer than 256 tokens; or a score is not finite.

    Source: Leviathan, Kalman and Matias (2023), algorithm 1.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.speculative import speculate
        >>> model, draft = book_decoder("copying"), book_decoder("copying-one-layer")
        >>> speculate(model, draft, ["gbdkafcdkafc"], 5).texts
        ['gbdkafcdkafcdkafc']
    """
    check_kind("model", model, Decoder)
    check_kind("draft", draft, Decoder)
    if model.vocabulary != draft.vocabulary:
        raise ValueError(
            f"draft must have the vocabulary of model, {model.vocabulary}, got {draft.vocabulary}"
        )
    check_size("drafts", drafts)
    sampling = check_sampling(temperature, None, None)
    texts = check_texts(texts)
    rows = encode_prompts(model.vocabulary, texts, count)
    if not texts:
        return Speculation([], 0, 0, 0)
    # To draft, to accept and to draw each token. A draft that is taken back has decided nothing
    # about later tokens, so their numbers are still free.
    uniform = draw_uniform(sampling, seed, len(rows), count, 3)
    calls = drafted = accepted = 0
    with evaluating(model), evaluating(draft):
        checker, drafter = (Reader(decoder, len(rows)) for decoder in (model, draft))
        left = [count] * len(rows)
        while any(left):
            numbers = [uniform[i, count - it :] for i, it in enumerate(left)]
            # One token comes from the model that checks, whatever is drafted.
            lengths = [min(drafts, max(0, it - 1)) for it in left]
            guesses = _draft(drafter, rows, lengths, sampling, numbers)
            unread = _unread(checker, rows, left)
            scores = checker.read(
                [new + tokens for new, (tokens, _) in zip(unread, guesses, strict=True)]
            )
            calls += 1
            good = [0] * len(rows)
            for i, (tokens, theirs) in enumerate(guesses):
                if left[i]:
                    first = len(unread[i]) - 1
                    ours = probabilities(scores[i, first : first + len(tokens) + 1], sampling)
                    good[i], last = _check(tokens, ours, theirs, numbers[i])
                    rows[i] += [*tokens[: good[i]], last]
                    left[i] -= good[i] + 1
            # The drafter has not read its last guess.
            drafter.rewind([max(0, n - 1 - k) for n, k in zip(lengths, good, strict=True)])
            checker.rewind([n - k for n, k in zip(lengths, good, strict=True)])
            drafted += sum(lengths)
            accepted += sum(good)
    return Speculation([model.vocabulary.decode(row) for row in rows], calls, drafted, accepted)


def _unread(reader: Reader, rows: list[list[int]], left: list[int]) -> list[list[int]]:
    """Return the tokens of each text that a model has not read, where some are left to write."""
    return [
        row[len(read) :] if more else []
        for row, read, more in zip(rows, reader.rows, left, strict=True)
    ]


def _draft(
    drafter: Reader,
    rows: list[list[int]],
    lengths: list[int],
    sampling: Sampling,
    numbers: list[Tensor],
) -> list[tuple[list[int], list[Tensor]]]:
    """Draft as many tokens of each text; return them, and the probabilities at each of them."""
    found: list[tuple[list[int], list[Tensor]]] = [([], []) for _ in rows]
    new = _unread(drafter, rows, lengths)
    for k in range(max(lengths)):
        shares = probabilities(last_scores(drafter.read(new), new), sampling)
        for i, (tokens, theirs) in enumerate(found):
            if lengths[i] > k:
                tokens.append(SPECIAL + draw(shares[i], numbers[i][k, DRAFT]))
                theirs.append(shares[i])
        new = [
            tokens[-1:] if length > k + 1 else []
            for length, (tokens, _) in zip(lengths, found, strict=True)
        ]
    return found


def _check(
    tokens: list[int], ours: Tensor, theirs: list[Tensor], numbers: Tensor
) -> tuple[int, int]:
    """Count the drafted tokens that are accepted, and draw the one after them."""
    for k, (token, q) in enumerate(zip(tokens, theirs, strict=True)):
        p, x = ours[k], token - SPECIAL
        if numbers[k, ACCEPT] * q[x] >= p[x]:
            return k, SPECIAL + draw((p - q).clamp(min=0), numbers[k, DRAW])
    return len(tokens), SPECIAL + draw(ours[len(tokens)], numbers[len(tokens), DRAW])
