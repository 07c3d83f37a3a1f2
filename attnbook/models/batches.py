"""Batches that a model learns from: rows of tokens, and the targets of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from torch import Tensor

from attnbook.models.checks import check_kind
from attnbook.models.vocabulary import PAD


@runtime_checkable
class Batch(Protocol):
    """A named tuple of a model's arguments, with the targets of each row.

    The first two arguments are tokens, `(batch, longest)`, and their lengths, `(batch,)`.

    Example:
        >>> from attnbook.models.batches import Batch
        >>> from attnbook.models.transformer.decoder import Lines
        >>> isinstance(Lines(torch.tensor([[3, 4]]), torch.tensor([2])), Batch)
        True
    """

    @property
    def targets(self) -> Tensor:
        """The symbol to score highest at each step, `(batch, steps)`, padded."""

    def __iter__(self) -> Iterator[Tensor]: ...


def with_targets(name: str, batch: Batch) -> Batch:
    """Leave out rows without a target: the mean loss of padding alone is NaN."""
    check_kind(name, batch, Batch)
    rows = (batch.targets != PAD).any(1)
    if not rows.any():
        raise ValueError(f"{name} must hold at least one target, got {len(rows)} rows with none")
    return batch if rows.all() else part_of(batch, rows.nonzero()[:, 0])


def part_of(batch: Batch, chosen: Tensor) -> Batch:
    """Take some rows of a batch, with no more padding than they need."""
    tokens, valid_lens, *others = (part[chosen.to(part.device)] for part in batch)
    make: Callable[..., Batch] = type(batch)
    return make(tokens[:, : int(valid_lens.max())], valid_lens, *others)
