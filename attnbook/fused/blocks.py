"""Additive scores without the tensor of all hidden units.

Each pair of a query and a key has `num_hiddens` hidden units, and written as a formula all of
them are in memory at once, several times. Here they are computed block by block, in a
buffer that stays in the processor's cache, and recomputed in the backward pass instead
of being stored. Within a block tanh is decomposed:

    tanh(q + k) = 1 - 2r    with    r = 1 / (1 + e^(2q) · e^(2k))    and    tanh' = 4r (1 - r)

Exponentials are taken once per query and once per key; a pair costs a multiplication,
an addition and a division. But e^(2q) may overflow where e^(2k) underflows, and
their product is NaN. So one side must be small: where no |q| exceeds `_reach`, a
larger |k| can be cut to where every tanh has become 1 or -1 anyway. Where both sides go
further, a block takes tanh itself, slower and right for all numbers; and also where both
sides are small, because 1 - 2r loses the digits of a small number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnbook.masking.masks import last_visible

if TYPE_CHECKING:
    from collections.abc import Iterator

# Hidden units in a block: in float32 four megabytes. Each block costs a dozen calls of torch and,
# in each, a start for every row, whatever its size; smaller ones pay that more often, and larger
# ones leave the caches. Half or twice this size seldom takes a tenth more time, so the size
# does not depend on the processor's caches; see DECISIONS.md.
BLOCK = 2**20
GPU_BLOCK = 2**24
# Where no |q| and no |k| exceeds this, tanh itself is taken: 1 - 2r has an error of
# 1e-7, and so few digits of a small number.
SMALL = 0.25


def score_in_blocks(
    queries: Tensor, keys: Tensor, weight: Tensor, visible: Tensor | None
) -> Tensor:
    """Score projected queries and keys by wᵀ tanh(q + k)."""
    q, k, w = map(flatten_heads, (queries, keys, weight))
    scores = q.new_zeros(*q.shape[:-1], k.shape[-2])
    for region, block in blocks(q, k, keys_to_score(visible, queries, keys)):
        scores[region.examples, region.rows, region.keys] = block_scores(block, w)
    return scores.reshape(*queries.shape[:-1], keys.shape[-2]).to(queries.dtype)


def score_gradients(
    grad: Tensor, queries: Tensor, keys: Tensor, weight: Tensor, visible: Tensor | None
) -> tuple[Tensor, ...]:
    """Return the gradients of queries, keys and weight, given that of the scores."""
    grad, q, k, w = (flatten_heads(tensor) for tensor in (grad, queries, keys, weight))
    sums = Sums(*map(torch.zeros_like, (q, k, w)))
    for region, block in blocks(q, k, keys_to_score(visible, queries, keys)):
        sums.add(region, block, grad[region.examples, region.rows, region.keys])
    return match_inputs(sums.gradients(w), (queries, keys, weight))


class Region(NamedTuple):
    """What a block covers: some examples, some of their queries, and their keys up to a length."""

    examples: slice
    rows: slice
    keys: slice


class Block(NamedTuple):
    """tanh(q + k) for some pairs: the numbers themselves, or r of 1 - 2r."""

    numbers: Tensor
    are_r: bool


def block_scores(block: Block, weight: Tensor) -> Tensor:
    """Sum a block's hidden units, each multiplied by its weight."""
    sums = block.numbers @ weight
    return sums.mul_(-2).add_(weight.sum()) if block.are_r else sums


class Sums(NamedTuple):
    """The sums over blocks that gradients of queries, keys and weight are computed from."""

    q: Tensor
    k: Tensor
    w: Tensor

    def add(self, region: Region, block: Block, grad: Tensor) -> None:
        """Add a block's share, given the gradient of its scores; this overwrites the block."""
        numbers, are_r = block
        units = grad.reshape(-1) @ numbers.flatten(0, -2)
        self.w.add_(grad.sum() - 2 * units if are_r else units)
        # tanh' is 4 (r - r²), or 1 - tanh².
        start, scale = (numbers, 4) if are_r else (numbers.new_ones(()), 1)
        slope = torch.addcmul(start, numbers, numbers, value=-1, out=numbers)
        self.q[region.examples, region.rows] = (grad.unsqueeze(-2) @ slope).squeeze(-2) * scale
        self.k[region.examples, region.keys] += slope.mul_(grad.unsqueeze(-1)).sum(dim=-3) * scale

    def gradients(self, weight: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients once all blocks are added."""
        return self.q.mul_(weight), self.k.mul_(weight), self.w


def match_inputs(results: tuple[Tensor, ...], inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Give gradients the shapes and dtypes of their inputs."""
    pairs = zip(results, inputs, strict=True)
    return tuple(new.reshape(old.shape).to(old.dtype).contiguous() for new, old in pairs)


def flatten_heads(tensor: Tensor) -> Tensor:
    """Merge heads into the batch; work in at least float32."""
    merged = tensor.flatten(0, -3) if tensor.dim() > 2 else tensor
    return merged if tensor.dtype == torch.float64 else merged.float()


def keys_to_score(visible: Tensor | None, queries: Tensor, keys: Tensor) -> Tensor:
    """For each example and head, how many keys to score: for each query, or for all."""
    if visible is None or visible.device.type != "cpu":  # without waiting for a GPU
        return torch.full((queries.shape[:-2].numel(), 1), keys.shape[-2], device="cpu")
    lengths = last_visible(visible)
    return lengths.expand(*queries.shape[:-2], lengths.shape[-1]).flatten(0, -2)


def blocks(queries: Tensor, keys: Tensor, lengths: Tensor) -> Iterator[tuple[Region, Block]]:
    """Yield tanh(q + k) block by block, and what each block covers.

    A block holds a slice of the examples (several, where all their queries fit), a slice
    of their queries, and as many keys as these queries see. The next one overwrites it.
    """
    (num_queries, hiddens), num_keys = queries.shape[1:], keys.shape[1]
    size = max(BLOCK if queries.device.type == "cpu" else GPU_BLOCK, num_keys * hiddens)
    buffer = queries.new_empty(min(size, len(lengths) * num_queries * num_keys * hiddens))
    group = max(1, size // (num_queries * num_keys * hiddens))
    longest = lengths.amax(dim=1)
    for first in range(0, len(lengths), group):
        examples = slice(first, first + group)
        per_query = lengths[examples].amax(dim=0).expand(num_queries).tolist()
        most = max(per_query)
        if most == 0:
            continue
        scored = keys[examples, :most]
        if int(longest[examples].amin()) < most:
            scored = _clear_padding(scored, longest[examples])  # some examples see fewer
        parts = _parts(queries[examples], scored)
        num_rows = size // (parts[0].shape[0] * most * hiddens)
        for start in range(0, num_queries, num_rows):
            rows = slice(start, start + num_rows)
            region = Region(examples, rows, slice(max(per_query[rows])))
            if region.keys.stop > 0:
                yield region, _fill(buffer, parts, region)


def _clear_padding(keys: Tensor, longest: Tensor) -> Tensor:
    positions = torch.arange(keys.shape[1], device=keys.device)
    visible = positions < longest.unsqueeze(-1).to(keys.device)
    return torch.where(visible.unsqueeze(-1), keys, 0.0)


def _parts(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, bool]:
    """Return what a block is computed from: exponentials where they are exact, else q and k."""
    return (*exponentials(q, k), True) if suit_exponentials(q, k) else (q, k, False)


def suit_exponentials(q: Tensor, k: Tensor) -> bool:
    """Whether one side is within `_reach`, and not both are so small that 1 - 2r loses digits."""
    if q.device.type != "cpu":  # reading numbers would wait for a GPU
        return False
    highest = [tensor.abs().amax().item() for tensor in (q, k)]
    within = any(number <= _reach(q.dtype) for number in highest)
    return within and not all(number < SMALL for number in highest)


def exponentials(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Return e^(2q) and e^(2k), clamped where tanh no longer changes."""
    limit = _limit(q.dtype)
    return (2 * q.clamp(-limit, limit)).exp_(), (2 * k.clamp(-limit, limit)).exp_()


def _fill(buffer: Tensor, parts: tuple[Tensor, Tensor, bool], region: Region) -> Block:
    q, k, are_exponentials = parts
    # (examples, rows, 1, hiddens) and (examples, 1, keys, hiddens): every pair at once
    q, k = q[:, region.rows].unsqueeze(-2), k[:, region.keys].unsqueeze(-3)
    shape = *q.shape[:2], *k.shape[2:]
    block = buffer[: math.prod(shape)].view(shape)
    if are_exponentials:
        return Block(torch.addcmul(buffer.new_ones(()), q, k, out=block).reciprocal_(), are_r=True)
    return Block(torch.add(q, k, out=block).tanh_(), are_r=False)


def _saturation(dtype: torch.dtype) -> float:
    """From here on tanh is 1 to the last digit: 1 - tanh(x) ≈ 2 e^(-2x)."""
    return math.log(8 / torch.finfo(dtype).eps) / 2


def _limit(dtype: torch.dtype) -> float:
    """How far e^(2x) can be taken: e^(-2x) is still a normal number."""
    return -math.log(torch.finfo(dtype).tiny) / 2


def _reach(dtype: torch.dtype) -> float:
    """If |q| is at most this, then a k cut at the limit gives a tanh of 1 or -1."""
    return _limit(dtype) - _saturation(dtype)
