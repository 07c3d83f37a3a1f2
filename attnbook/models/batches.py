"""What a model learns from: some rows of tokens, and the targets of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from torch import Tensor

from attnbook.models.checks import check_kind
from attnbook.models.vocabulary import PAD


@runtime_checkable
class Batch(Protocol):
    """What a model is called with, a named tuple, and what it should have said.

    First come tokens, `(batch, longest)`, and their lengths, `(batch,)`.
    """

    @property
    def targets(self) -> Tensor:
        """The symbol to score highest at each step, `(batch, steps)`, padded."""

    def __iter__(self) -> Iterator[Tensor]: ...


def with_targets(name: str, batch: Batch) -> Batch:
    """Leave out rows that have nothing to learn: of padding alone, the mean loss is NaN."""
    check_kind(name, batch, Batch)
    rows = (batch.targets != PAD).any(1)
    if not rows.any():
        raise ValueError(f"{name} must hold at least one target, got {len(rows)} rows without")
    return batch if rows.all() else part_of(batch, rows.nonzero()[:, 0])


def part_of(batch: Batch, chosen: Tensor) -> Batch:
    """Take some rows of a batch, with no more padding than they need."""
    tokens, valid_lens, *others = (part[chosen.to(part.device)] for part in batch)
    make: Callable[..., Batch] = type(batch)
    return make(tokens[:, : int(valid_lens.max())], valid_lens, *others)
