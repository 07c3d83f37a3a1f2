"""Checks of the models' arguments: a message names the argument, the rule and the value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnbook.checks import (
    check_axes,
    check_dense,
    check_projected,
    check_whole_number,
    describe_value,
)

if TYPE_CHECKING:
    from jaxtyping import Float, Int

SEEDS = range(-(2**63), 2**64)  # what torch.manual_seed takes


def check_kind(name: str, given: object, kind: type) -> None:
    """Refuse what is not an instance of a class."""
    if not isinstance(given, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(f"{name} must be {article} {kind.__name__}, got {type(given).__name__}")


def check_seed(seed: int) -> None:
    """Refuse a seed that torch cannot use."""
    check_whole_number("seed", seed)
    if seed not in SEEDS:
        raise ValueError(f"seed must lie in [-2**63, 2**64), got {seed}")


def is_pair(given: object) -> bool:
    """Whether it is a tuple or list of two."""
    return isinstance(given, tuple | list) and len(given) == 2


def check_list(name: str, given: Iterable[Any], of: str, attribute: str = "") -> list[Any]:
    """Refuse what is no list, or holds an item without the attribute; return a new list."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of {of}, got {type(given).__name__}")
    items = list(given)
    for index, item in enumerate(items):
        if attribute and not hasattr(item, attribute):
            raise TypeError(
                f"{name} must be a list of {of}, got {describe_value(item)} at index {index}"
            )
    return items


def check_as_many(name: str, given: Sequence[object], other: str, others: Sequence[object]) -> None:
    """Refuse two lists of different lengths."""
    if len(given) != len(others):
        raise ValueError(f"{name} must hold {len(others)}, as many as {other}, got {len(given)}")


def check_texts(texts: Iterable[str]) -> list[str]:
    """Refuse what is no list of texts; the vocabulary checks each text."""
    if isinstance(texts, str):
        raise TypeError("texts must be a list of strings, got one string; put it in a list")
    return check_list("texts", texts, "strings")


def check_path(path: Path | str) -> Path:
    """Refuse what cannot be a path."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a Path, got {type(path).__name__}")
    return Path(path)


def check_notes(notes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Refuse notes without names; None means no notes."""
    if not isinstance(notes, Mapping | None):
        raise TypeError(f"notes must be a dict, got {type(notes).__name__}")
    return dict(notes or {})


def check_device(device: torch.device | str) -> None:
    """Refuse a device that torch does not know."""
    try:
        torch.device(device)
    except (RuntimeError, TypeError) as unknown:
        raise ValueError(
            f"device must be one that torch knows, got {describe_value(device)}"
        ) from unknown


def check_shape(name: str, tensor: Tensor, axes: str, expected: tuple[int, ...]) -> None:
    """Refuse a tensor of another shape."""
    check_axes(name, tensor, axes)
    if tuple(tensor.shape) != expected:
        raise ValueError(f"{name} must have shape {axes} = {expected}, got {tuple(tensor.shape)}")


def check_vectors(x: Tensor, first: nn.Module) -> None:
    """Refuse vectors of another size or dtype than the first layer wants."""
    check_dense("x", x)
    if x.dim() == 0:
        raise ValueError("x must have shape (*batch, num_hiddens), got ()")
    check_projected("x", x, "num_hiddens", first)


def look_up(
    name: str, tokens: Int[Tensor, "*axes"], axes: str, embedding: nn.Module
) -> Float[Tensor, "*axes size"]:
    """Give each token its vector.

    Raises:
        TypeError, ValueError: `tokens` has other axes, another dtype or device, no token, or
            one that the embedding lacks (which a GPU and a compiled model do not report).
    """
    check_axes(name, tokens, axes)
    if tokens.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must hold tokens, of dtype torch.int64, got {tokens.dtype}")
    if 0 in tokens.shape[1:]:
        raise ValueError(f"{name} must hold at least one token, got shape {tuple(tokens.shape)}")
    if isinstance(embedding, nn.Embedding) and tokens.device != embedding.weight.device:
        device = embedding.weight.device
        raise ValueError(f"{name} must be on the model's device {device}, got {tokens.device}")
    try:
        return embedding(tokens)  # type: ignore[no-any-return]
    except IndexError as error:
        _refuse_first_outside(name, tokens, int(embedding.num_embeddings), error)  # type: ignore[arg-type] # an nn.Embedding's
        raise


@contextmanager
def checked_targets(scores: Tensor, targets: Tensor) -> Iterator[None]:
    """Refuse scores and targets that do not fit, before and while a loss is computed.

    Raises:
        TypeError, ValueError: another shape or dtype; or a target that has no score.
    """
    check_axes("scores", scores, "(batch, steps, symbols)")
    if not scores.is_floating_point():
        raise TypeError(f"scores must hold floating-point numbers, got {scores.dtype}")
    check_shape("targets", targets, "(batch, steps)", tuple(scores.shape[:2]))
    if targets.dtype != torch.int64:
        raise TypeError(f"targets must hold tokens, of dtype torch.int64, got {targets.dtype}")
    try:
        yield
    except IndexError as error:
        _refuse_first_outside("targets", targets, scores.shape[-1], error)
        raise


def _refuse_first_outside(name: str, tokens: Tensor, count: int, error: IndexError) -> None:
    """Refuse the first token that is not below a vocabulary's length.

    Raises:
        ValueError: there is one.
    """
    outside = ((tokens < 0) | (tokens >= count)).nonzero().tolist()
    if outside:
        index = tuple(outside[0])
        raise ValueError(
            f"{name} must lie in [0, {count}), the tokens of the vocabulary, "
            f"got {tokens[index].item()} at index {index}"
        ) from error


def check_finite(
    scores: Float[Tensor, "batch steps symbols"],
    texts: Sequence[str],
    cause: str,
    starts: Sequence[int] | None = None,
) -> None:
    """Refuse scores that are not finite; the message names `cause` as what to check.

    The scores of each text begin at its first step, or at those in `starts`.
    """
    if not scores.isfinite().all():
        row, step, symbol = (~scores.isfinite()).nonzero()[0].tolist()
        start = 0 if starts is None else starts[row]
        raise ValueError(
            f"scores must be finite, got {scores[row, step, symbol]} at step {start + step} "
            f"of {texts[row]!r}; check {cause}"
        )
