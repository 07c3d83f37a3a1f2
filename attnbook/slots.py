"""Which slots of a cache are in use, and by which tokens, without their keys and values.

All rows have the same slots, and each its own tokens in them: the order of slots means nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn.functional import pad

if TYPE_CHECKING:
    from torch import Tensor

PADDING_SLOT = 0  # takes what is not stored: padding


class Slots(NamedTuple):
    """What is stored in each slot, `(batch, slots)`, and what has left each row, `(batch,)`."""

    positions: Tensor
    valid: Tensor  # False in free slots
    documents: Tensor
    order: Tensor  # 0 for the first real token of its row, then 1, 2, …
    counts: Tensor  # real tokens of each row, those evicted included
    evicted: Tensor  # the highest evicted position of each row, -1 if there is none
    evicted_documents: Tensor  # the document that it belongs to

    @classmethod
    def make(cls, batch: int, num_slots: int, device: torch.device) -> Slots:
        """Make slots that are all free."""
        zeros = torch.zeros(batch, num_slots, dtype=torch.long, device=device)
        per_row = zeros[:, 0]
        return cls(zeros, zeros > 0, zeros, zeros, per_row, per_row - 1, per_row)

    def with_more(self, count: int) -> Slots:
        """Add free slots to each row."""
        names = ("positions", "valid", "documents", "order")
        return self._replace(**{name: pad(getattr(self, name), (0, count)) for name in names})

    def is_last(self) -> Tensor:
        """Return in which slot the last real token of each row is, if it is stored."""
        return self.valid & (self.order == self.counts[:, None] - 1)

    def last_positions(self) -> Tensor:
        """Return the position of each row's last real token, -1 where there is none."""
        return torch.where(self.is_last(), self.positions, -1).amax(dim=-1)

    def count_free(self) -> Tensor:
        """Count the free slots of each row up to each slot, `(batch, slots)`."""
        free = ~self.valid
        free[:, PADDING_SLOT] = False
        return free.cumsum(dim=-1)

    def with_tokens(
        self, slots: Tensor, real: Tensor, positions: Tensor, documents: Tensor
    ) -> Slots:
        """Put tokens, `(batch, tokens)`, into these slots of their rows; padding stays out."""
        counted = real.cumsum(dim=-1)
        return self._replace(
            positions=self.positions.scatter(1, slots, positions),
            valid=self.valid.scatter(1, slots, real),
            documents=self.documents.scatter(1, slots, documents),
            order=self.order.scatter(1, slots, self.counts[:, None] + counted - 1),
            counts=self.counts + counted[:, -1],
        )

    def see_evicted(self, positions: Tensor, documents: Tensor, window: int) -> Tensor:
        """Return which tokens, `(batch, tokens)`, would see a key that their row has evicted."""
        evicted = self.evicted[:, None]
        near = (positions < evicted + window) & (evicted >= 0)
        return near & (documents == self.evicted_documents[:, None])

    def evict(self, window: int, sinks: int, max_rewind: int) -> tuple[Slots, Tensor]:
        """Free the slots whose keys no later token can see, and return which, `(batch, slots)`.

        Of a row with several documents nothing leaves: another may go on at any position.
        """
        # The next token follows the last one, or one before it if some are taken back.
        recent = self.valid & (self.order >= self.counts[:, None] - 1 - max_rewind)
        furthest, least = torch.iinfo(torch.long).max, torch.iinfo(torch.long).min
        follows = torch.where(recent, self.positions, furthest).amin(dim=-1, keepdim=True)
        leaves = self.valid & ~recent & (self.positions + window - 2 < follows)
        leaves &= self.positions >= sinks
        document = torch.where(self.valid, self.documents, least).amax(dim=-1)
        mixed = self.valid & (self.documents != document[:, None])
        leaves &= ~mixed.any(dim=-1, keepdim=True)
        highest = torch.where(leaves, self.positions, -1).amax(dim=-1)
        remaining = self._replace(
            valid=self.valid & ~leaves,
            evicted=torch.maximum(self.evicted, highest),
            evicted_documents=torch.where(highest >= 0, document, self.evicted_documents),
        )
        return remaining, leaves

    def rewind(self, counts: Tensor) -> tuple[Slots, Tensor]:
        """Free the slots of each row's last real tokens, and return which, `(batch, slots)`."""
        left = self.counts - counts
        leaves = self.valid & (self.order >= left[:, None])
        return self._replace(valid=self.valid & ~leaves, counts=left), leaves
