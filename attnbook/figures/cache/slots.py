"""Which slots a step writes, and which ones its tokens see, right or with a known bug."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attnbook.figures.cache.bugs import STAYS, Settings

REAL, PADDING, FREE = "real", "padding", "free"


class Slot(NamedTuple):
    """What a slot holds, besides a key and a value of each layer.

    Args:
        kind: "real", "padding" or "free".
        position: of its token.
        order: the number of its token in the text, from 0; -1 for padding.
        step: in which it was written.
        token: the token.
        is_stale: whether it should have been freed, and a bug has left it.

    Example:
        >>> from attnbook.figures.cache.slots import Slot
        >>> Slot().kind
        'free'
    """

    kind: str = FREE
    position: int = 0
    order: int = -1
    step: int = -1
    token: str = ""
    is_stale: bool = False


STAY = ("rejected_drafts_stay", STAYS)


class Slots:
    """The slots of a cache without its keys and values.

    Args:
        num_slots: how many there are.
        settings: how a text is read.
        bug: the name of a known bug; "" for none.
    """

    def __init__(self, num_slots: int, settings: Settings, bug: str = "") -> None:
        self.all, self.settings, self.bug = [Slot()] * num_slots, settings, bug
        self.count = 0  # of the text's tokens, without padding
        self.step = 0
        self.last_written = -1

    def find(self, *kinds: str) -> list[int]:
        """The slots of these kinds."""
        return [i for i, slot in enumerate(self.all) if slot.kind in kinds]

    def place(self, count: int, kind: str) -> list[int]:
        """The positions of new tokens of a kind."""
        bug, start = self.bug, self.count
        if bug == "positions_restart":
            start = 0
        elif bug == "positions_counted_twice":
            start = 2 * self.count
        elif bug == "one_position_too_low":
            start = max(0, self.count - 1)
        elif bug == "slot_as_position":
            start = len(self.find(REAL, PADDING))
        elif bug == "padding_counted":
            start = self.count + len(self.find(PADDING))
        if kind == PADDING and bug != "padding_counted":
            return [0] * count
        return [*range(start, start + count)]

    def put(
        self, tokens: Sequence[str], kind: str, *, is_answer: bool
    ) -> tuple[list[int], list[int]]:
        """Put new tokens into the first free slots; return these and the tokens' positions."""
        positions = self.place(len(tokens), kind)
        if self.bug == "evicted_too_early":
            self.evict(positions[-1])
        slots = self.find(FREE)[: len(tokens)]
        if self.bug == "last_key_overwritten" and is_answer and self.last_written >= 0:
            slots = [self.last_written]
        for i, (at, token) in enumerate(zip(slots, tokens, strict=True)):
            order = self.count + i if kind == REAL else -1
            self.all[at] = Slot(kind, positions[i], order, self.step, token)
        self.last_written = slots[-1] if is_answer else -1
        return slots, positions

    def sees(self, query: int, position: int, at: int) -> bool:
        """Whether a query at a position, of this number in its step, may attend to a slot."""
        slot, bug = self.all[at], self.bug
        is_new = slot.step == self.step
        if bug == "causal_from_the_first_key":
            return at <= query and slot.kind != FREE
        if slot.kind == FREE:
            return bug == "empty_slots_visible"
        if slot.kind == PADDING and bug != "padding_visible":
            return False
        if bug == "past_ignored" and not is_new:
            return False
        if bug == "future_of_the_chunk" and is_new:
            return True
        is_past = slot.position < position if bug == "own_key_hidden" else slot.position <= position
        return is_past and (slot.position > position - self.window or self._is_sink(slot))

    @property
    def window(self) -> float:
        """How many positions a token sees."""
        window = self.settings.window or float("inf")
        return window + 1 if self.bug == "window_one_too_long" else window

    def _is_sink(self, slot: Slot) -> bool:
        return slot.position < self.settings.sinks

    def evict(self, following: int) -> list[int]:
        """Free the slots that a query at this position, and those after it, do not see."""
        real = [at for at in self.find(REAL) if not self._is_sink(self.all[at])]
        old = [at for at in real if self.all[at].position <= following - self.window]
        if self.bug == "newest_evicted":
            newest = sorted(real, key=lambda at: -self.all[at].order)
            old = newest[: len(old)]
        return self.free(old)

    def free(self, slots: list[int]) -> list[int]:
        """Free slots; return them."""
        for at in slots:
            self.all[at] = Slot()
        return slots

    def end_step(self, slots: list[int], kind: str, *, is_draft: bool) -> list[int]:
        """Count the step's tokens; return the slots that are freed."""
        self.count += len(slots) if kind == REAL else 0
        self.step += 1
        # Of rejected drafts nothing may be missing.
        following = self.all[slots[-1]].position + 1
        return [] if is_draft else self.evict(following)

    def rewind(self, count: int) -> list[int]:
        """Take back the last tokens; return the slots that are freed."""
        self.count -= count
        first = self.count - 1 if self.bug == "rewound_too_far" else self.count
        rejected = [at for at, slot in enumerate(self.all) if slot.order >= first]
        if self.bug not in STAY:
            return self.free(rejected)
        for at in rejected:
            self.all[at] = self.all[at]._replace(is_stale=True)
        return []
