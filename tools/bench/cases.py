"""The cases in which the layers are measured: sizes, inputs, and the textbook's formulas.

Queries, keys and values all have `size` numbers, which is also the number of hidden units of
the additive score; there is no dropout. Each example has a length; the mean is 0.66 of the keys,
and the longest has all keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

import attnbook
from attnbook.timing import Program

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
SHARE = 0.66


@dataclass(frozen=True)
class Case:
    """One size in one mode on one device."""

    layer: str  # "additive" or "dot"
    batch: int
    queries: int
    keys: int
    size: int
    mode: str = "inference"  # or "training": forward and backward
    device: str = "cpu"
    dtype: str = "float32"

    @property
    def training(self) -> bool:
        """Whether gradients are computed."""
        return self.mode == "training"

    @property
    def elements(self) -> int:
        """The number of tanh in the textbook's additive score."""
        return self.batch * self.queries * self.keys * self.size


def lengths(batch: int, keys: int) -> Tensor:
    """The number of keys of each example: evenly spread around `SHARE`, in random order."""
    shares = torch.linspace(2 * SHARE - 1, 1, batch) if batch > 1 else torch.tensor([SHARE])
    order = torch.randperm(batch, generator=torch.Generator().manual_seed(1))
    return (shares[order] * keys).round().long().clamp(1, keys)


class Setting:
    """A case with its tensors: the inputs, our layer, and the leaves of the gradients."""

    def __init__(self, case: Case) -> None:
        rng = torch.Generator().manual_seed(0)
        dtype = getattr(torch, case.dtype)

        def draw(rows: int) -> Tensor:
            numbers = torch.randn(case.batch, rows, case.size, generator=rng)
            return numbers.to(case.device, dtype)

        self.case = case
        queries, keys, values = map(draw, (case.queries, case.keys, case.keys))
        self.upstream = draw(case.queries)
        for tensor in (queries, keys, values):
            tensor.requires_grad_(case.training)
        self.lens = lengths(case.batch, case.keys).to(case.device)
        self.inputs = (queries, keys, values, self.lens)
        torch.manual_seed(0)
        layer = attnbook.AdditiveAttention(case.size, case.size, case.size, keep_weights=False)
        self.layer = layer.to(case.device, dtype).train(case.training)
        self.leaves = [*self.inputs[:3]]
        if case.layer == "additive":
            self.leaves += self.layer.parameters()

    def program(self, attend: Attend) -> Program:
        """The program that is timed: a call, in training with all gradients."""
        if not self.case.training:
            return lambda: attend(*self.inputs)
        return lambda: self.step(attend)

    def step(self, attend: Attend) -> list[Tensor]:
        """Forward and backward: the output, and the gradient of every leaf."""
        output = attend(*self.inputs)
        return [output.detach(), *torch.autograd.grad(output, self.leaves, self.upstream)]


def padding_of(keys: Tensor, lens: Tensor) -> Tensor:
    """True where a key is padding: (batch, 1, keys)."""
    positions = torch.arange(keys.shape[1], device=keys.device)
    return positions[None, None] >= lens[:, None, None]


def textbook_dot(queries: Tensor, keys: Tensor, values: Tensor, lens: Tensor) -> Tensor:
    """Compute dot-product attention like textbooks: fill with -1e6, without checks."""
    scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
    return torch.softmax(scores.masked_fill(padding_of(keys, lens), -1e6), dim=-1) @ values


def textbook_additive(layer: attnbook.AdditiveAttention, *tensors: Tensor) -> Tensor:
    """Compute additive attention like textbooks, with the parameters of our layer."""
    queries, keys, values, lens = tensors
    return textbook_projected(layer, layer.W_q(queries), layer.W_k(keys), values, lens)


def textbook_projected(layer: attnbook.AdditiveAttention, *tensors: Tensor) -> Tensor:
    """The same from queries and keys that are projected already."""
    queries, keys, values, lens = tensors
    features = torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1))
    scores = layer.w_v(features).squeeze(-1).masked_fill(padding_of(keys, lens), -1e6)
    return torch.softmax(scores, dim=-1) @ values
