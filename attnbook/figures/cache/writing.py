"""A decoder that writes from a cache made by hand, right or with a known bug, as the page does.

`KeyValueCache` is the cache to use: this one is slow, and has a line for each mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from attnbook.figures.cache.bugs import STAYS, Settings
from attnbook.figures.cache.slots import PADDING, REAL, Slot, Slots
from attnbook.heads import merge_heads, split_heads
from attnbook.models.transformer.block import Block
from attnbook.models.vocabulary import SPECIAL
from attnbook.pooling import pool
from attnbook.scoring import scaled_dot_score
from attnbook.weighting import weigh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from attnbook.models.transformer.decoder import Decoder

NOTHING = Settings()


class Step(NamedTuple):
    """What a model computed for the last token of a step.

    Args:
        query: this token, of the first text.
        position: of it.
        slots: what the cache held then.
        logits: `(batch, num_symbols)`.
        scores, weights: `(num_layers, batch, num_heads, num_slots)`.
        outputs: `(num_layers, batch, num_heads, size)`.
        visible: `(num_layers, num_slots)`.
    """

    query: str
    position: int
    slots: list[Slot]
    logits: Tensor
    scores: Tensor
    weights: Tensor
    outputs: Tensor
    visible: Tensor

    @property
    def likeliest(self) -> Tensor:
        """The token with the highest logit, `(batch, 1)`."""
        return SPECIAL + self.logits.argmax(dim=-1, keepdim=True)


def blocks_of(model: Decoder) -> list[Block]:
    """The blocks of a decoder of the book."""
    return [block for block in model.blocks if isinstance(block, Block)]


def project(block: Block, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of each head, rotated where the block rotates them."""
    heads, inputs = block.attention, block.attention_norm(x)
    queries, keys, values = (
        split_heads(of(inputs), heads.num_heads) for of in (heads.W_q, heads.W_k, heads.W_v)
    )
    if heads.rotary:
        queries, keys = heads.rotary(queries, positions), heads.rotary(keys, positions)
    return queries, keys, values


class Writer:
    """A decoder and a cache made by hand, for texts of one length.

    Args:
        model: a decoder in float64.
        batch: how many texts.
        num_slots: of the cache.
        settings: how a text is read.
        bug: the name of a known bug; "" for none.
    """

    def __init__(
        self, model: Decoder, batch: int, num_slots: int, settings: Settings, bug: str = ""
    ) -> None:
        self.model, self.bug = model, bug
        self.slots = Slots(num_slots, settings, bug)
        sizes = model.config
        size = sizes.num_hiddens // sizes.num_heads
        shape = sizes.num_layers, batch, sizes.num_heads, num_slots, size
        self.keys, self.values = torch.zeros(2, *shape, dtype=torch.float64)
        self.last_values = torch.zeros_like(self.values[:, :, :, :1])

    def read(
        self,
        tokens: Tensor,
        kind: str = REAL,
        *,
        is_answer: bool = False,
        is_draft: bool = False,
    ) -> Step:
        """Read new tokens of a kind, `(batch, num_tokens)`."""
        symbols = self.model.vocabulary.symbols
        names = [symbols[token - SPECIAL] for token in tokens[0].tolist()]
        new, positions = self.slots.put(names, kind, is_answer=is_answer)
        rows = [
            [self.slots.sees(i, position, at) for at in range(len(self.slots.all))]
            for i, position in enumerate(positions)
        ]
        visible = torch.tensor(rows)
        x = self.model.embed(tokens, torch.tensor(positions))
        found = []
        for layer, block in enumerate(blocks_of(self.model)):
            if layer and self.bug == "only_the_first_layer":
                visible = visible & self._are(new)
            x, *parts = self._pass(layer, block, x, positions, new, visible)
            found.append([*(part[:, :, -1] for part in parts), visible[-1]])
        logits = self.model.output(self.model.norm(x))[:, -1, SPECIAL:]
        slots = [*self.slots.all]
        self._clear(self.slots.end_step(new, kind, is_draft=is_draft))
        by_kind = [torch.stack(part) for part in zip(*found, strict=True)]
        return Step(names[-1], positions[-1], slots, logits, *by_kind)

    def _are(self, slots: Sequence[int]) -> Tensor:
        return torch.tensor([at in slots for at in range(len(self.slots.all))])

    def _pass(
        self,
        layer: int,
        block: Block,
        x: Tensor,
        positions: Sequence[int],
        new: Sequence[int],
        visible: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Store keys and values of a layer, attend to what is stored, and finish the block."""
        queries, keys, values = project(block, x, torch.tensor(positions))
        self.keys[layer][:, :, new] = keys
        if self.bug == "values_one_late":
            shifted = torch.cat([self.last_values[layer], values], dim=2)
            values, self.last_values[layer] = shifted[:, :, :-1], shifted[:, :, -1:]
        self.values[layer][:, :, new] = values
        scores = scaled_dot_score(queries, self.keys[layer])
        weights = weigh(scores, visible)
        outputs = pool(weights, self.values[layer])
        x = x + block.attention.W_o(merge_heads(outputs))
        if block.feed_forward is not None:
            x = x + block.feed_forward(block.feed_forward_norm(x))
        return x, scores, weights, outputs

    def _clear(self, freed: Sequence[int]) -> None:
        for stored in (self.keys, self.values):
            stored[:, :, :, freed] = 0

    def rewind(self, count: int) -> None:
        """Take back the last tokens."""
        self._clear(self.slots.rewind(count))


def count_slots(prompt: int, count: int, settings: Settings, bug: str) -> int:
    """How many slots a cache needs, and one that stays free; with a bug it may free none."""
    new = settings.drafts + 1
    if bug == "rejected_drafts_stay":
        new += settings.drafts * count
    if bug or not settings.window:
        return settings.padding + prompt + count + new - 1
    most = max(min(settings.chunk or prompt, prompt), new)
    return settings.padding + settings.window + settings.sinks + most + 1


def common_length(first: Tensor, second: Tensor) -> int:
    """How many tokens texts of two batches share at the beginning; the second ones have more."""
    length = min(first.shape[1], second.shape[1] - 1)
    same = (first[:, :length] == second[:, :length]).all(dim=0)
    return int(same.int().cumprod(dim=0).sum())


@torch.no_grad()
def write(
    model: Decoder,
    prompts: Tensor,
    count: int,
    settings: Settings = NOTHING,
    bug: str = "",
    first: Tensor | None = None,
) -> tuple[Tensor, list[Step]]:
    """Continue texts of one length, `(batch, num_tokens)`, with the likeliest token each time.

    Args:
        first: other texts of one length, whose cache is used again: the beginning that both
            share stays, and what follows in the first text, and its answer, is taken back.

    Returns:
        What was written, `(batch, count)`, and how each token was.
    """
    batch, length = prompts.shape
    num_slots = count_slots(length, count, settings, bug)
    if first is not None:
        common = common_length(first, prompts)
        stays = first.shape[1] + count - common if bug == STAYS else 0
        num_slots = max(num_slots + stays, count_slots(first.shape[1], count, settings, bug))
    writer = Writer(model, batch, num_slots, settings, bug)
    fill = torch.full((batch, settings.padding + settings.drafts), SPECIAL)
    if settings.padding:
        writer.read(fill[:, : settings.padding], PADDING)
    drafts = fill[:, settings.padding :]
    if first is not None:
        _continue(writer, first, count, drafts)
        writer.rewind(writer.slots.count - common)
        prompts = prompts[:, common:]
    steps = _continue(writer, prompts, count, drafts)
    return torch.cat([step.likeliest for step in steps], dim=1), steps


def _continue(writer: Writer, prompts: Tensor, count: int, drafts: Tensor) -> list[Step]:
    """Read texts in chunks, and then what is written after them, token by token."""
    size = writer.slots.settings.chunk or prompts.shape[1]
    for start in range(0, prompts.shape[1], size):
        step = writer.read(prompts[:, start : start + size])
    steps = [step]
    while len(steps) < count:
        if drafts.shape[1]:
            writer.read(drafts, is_draft=True)
            writer.rewind(drafts.shape[1])
        steps.append(writer.read(steps[-1].likeliest, is_answer=True))
    return steps
