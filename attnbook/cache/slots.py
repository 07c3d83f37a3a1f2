"""Which slots of a cache are in use, and by which tokens, without their keys and values.

All rows have the same slots, and each its own tokens in them: the order of slots means nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn.functional import pad

from attnbook.masking.rules import FARTHEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

SAVED = (  # the fields that are saved; the others follow from them
    *("positions", "valid", "documents", "order"),
    *("counts", "evicted", "evicted_documents"),
)
PADDING_SLOT = 0  # takes what is not stored: padding


class Slots(NamedTuple):
    """What is stored in each slot, `(batch, slots)`, and what is known of each row, `(batch,)`."""

    positions: Tensor
    valid: Tensor  # False in free slots
    documents: Tensor
    order: Tensor  # 0 for the first real token of its row, then 1, 2, …
    counts: Tensor  # real tokens of each row, those evicted included
    evicted: Tensor  # the highest evicted position of each row, -1 if there is none
    evicted_documents: Tensor  # the document that it belongs to
    last_documents: Tensor  # the document of each row's last real token, 0 if there is none
    last_positions: Tensor  # the highest position in that document, -1 if there is none

    @classmethod
    def make(cls, batch: int, num_slots: int, device: torch.device) -> Slots:
        """Make slots that are all free."""
        zeros = torch.zeros(batch, num_slots, dtype=torch.long, device=device)
        per_row = zeros[:, 0]
        none = per_row - 1
        return cls(zeros, zeros > 0, zeros, zeros, per_row, none, per_row, per_row, none)

    @classmethod
    def restore(cls, saved: Mapping[str, Tensor]) -> Slots:
        """Make slots of what a cache has saved, and refuse tokens that are not all there."""
        last = torch.where(saved["valid"], saved["order"], -1).amax(dim=-1)
        for row in (last + 1 != saved["counts"]).nonzero().flatten().tolist():
            raise ValueError(
                f"state['slots.counts'] must be {int(last[row]) + 1} in row {row}, after the order "
                f"of its last token, got {int(saved['counts'][row])}"
            )
        return cls(**saved, last_documents=last, last_positions=last).with_last()

    def with_more(self, count: int) -> Slots:
        """Add free slots to each row."""
        names = ("positions", "valid", "documents", "order")
        return self._replace(**{name: pad(getattr(self, name), (0, count)) for name in names})

    def count_used(self) -> int:
        """Count the slots up to the last one that a row uses, that for padding included."""
        in_use = self.valid.any(dim=0)
        in_use[PADDING_SLOT] = True
        return int(in_use.nonzero()[-1]) + 1

    def are_dense(self, used: int) -> bool:
        """Whether in each row the token at position i is in slot i + 1, and all are used."""
        positions = torch.arange(used - 1, device=self.valid.device)
        in_order = self.valid[:, 1:used] & (self.positions[:, 1:used] == positions)
        return bool(in_order.all())

    def count_free(self) -> Tensor:
        """Count the free slots of each row up to each slot, `(batch, slots)`."""
        free = ~self.valid
        free[:, PADDING_SLOT] = False
        return free.cumsum(dim=-1)

    def with_tokens(
        self, slots: Tensor, real: Tensor, counted: Tensor, positions: Tensor, documents: Tensor
    ) -> Slots:
        """Put tokens, `(batch, tokens)`, into these slots of their rows; padding stays out."""
        return self._replace(
            positions=self.positions.scatter(1, slots, positions),
            valid=self.valid.scatter(1, slots, real),
            documents=self.documents.scatter(1, slots, documents),
            order=self.order.scatter(1, slots, self.counts[:, None] + counted - 1),
            counts=self.counts + counted[:, -1],
        )

    def with_next(self, first: int, count: int) -> Slots:
        """Put the next tokens of each row into these slots, in rows of one document."""
        after = torch.arange(count, device=self.valid.device)
        positions, valid, order = (it.clone() for it in (self.positions, self.valid, self.order))
        positions[:, first : first + count] = self.last_positions[:, None] + 1 + after
        valid[:, first : first + count] = True
        order[:, first : first + count] = self.counts[:, None] + after
        return self._replace(
            positions=positions,
            valid=valid,
            order=order,
            counts=self.counts + count,
            last_positions=self.last_positions + count,
        )

    def with_last(self) -> Slots:
        """Find the last document of each row again, and its highest position."""
        last = self.valid & (self.order == self.counts[:, None] - 1)
        documents = torch.where(last, self.documents, 0).sum(dim=-1)
        own = self.valid & (self.documents == documents[:, None])
        positions = torch.where(own, self.positions, -1).amax(dim=-1)
        return self._replace(last_documents=documents, last_positions=positions)

    def reached(self, positions: Tensor, documents: Tensor, real: Tensor) -> Tensor:
        """Return which real tokens, `(batch, tokens)`, come after a key that they are not above."""
        later = self.positions[:, None] >= positions[:, :, None]
        own = self.documents[:, None] == documents[:, :, None]
        return real & (later & own & self.valid[:, None]).any(dim=-1)

    def lose_window(self, window: int) -> Tensor:
        """Return which rows, `(batch,)`, lack a key that their next token would see."""
        last_is_stored = (self.valid & (self.order == self.counts[:, None] - 1)).any(dim=-1)
        near = (self.last_positions + 1 - window < self.evicted) & (self.evicted >= 0)
        return ~last_is_stored | (near & (self.last_documents == self.evicted_documents))

    def evict(self, window: int, sinks: int, max_rewind: int) -> Slots:
        """Free the slots whose keys no later token can see.

        Of a row with several documents nothing leaves: another may go on where it was.
        """
        # The next token follows the last one, or one before it if some are taken back.
        recent = self.valid & (self.order >= self.counts[:, None] - 1 - max_rewind)
        follows = torch.where(recent, self.positions, FARTHEST).amin(dim=-1, keepdim=True)
        leaves = self.valid & ~recent & (self.positions < follows - (window - 2))
        leaves &= self.positions >= sinks
        mixed = self.valid & (self.documents != self.last_documents[:, None])
        leaves &= ~mixed.any(dim=-1, keepdim=True)
        highest = torch.where(leaves, self.positions, -1).amax(dim=-1)
        return self._replace(
            valid=self.valid & ~leaves,
            evicted=torch.maximum(self.evicted, highest),
            evicted_documents=torch.where(
                highest >= 0, self.last_documents, self.evicted_documents
            ),
        )

    def rewind(self, counts: Tensor) -> Slots:
        """Free the slots of each row's last real tokens."""
        left = self.counts - counts
        leaves = self.valid & (self.order >= left[:, None])
        return self._replace(valid=self.valid & ~leaves, counts=left).with_last()
