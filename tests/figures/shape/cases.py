"""Layers and their traces for the shape figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

import attnbook
from attnbook.figures import ShapeFigure
from attnbook.tracing import Trace, trace
from tests.figures.attention.cases import traits


class Heads(nn.Module):
    """Attention with heads, in plain steps."""

    def __init__(self, size: int, num_hiddens: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(inputs, num_hiddens, bias=False) for inputs in (size, size, size, num_hiddens)
        )

    def forward(self, queries, keys, values, valid_lens=None):
        queries = self.split(self.W_q(queries))
        keys = self.split(self.W_k(keys))
        values = self.split(self.W_v(values))
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
        if valid_lens is not None:
            visible = torch.arange(keys.shape[-2]) < valid_lens[:, None]
            scores = scores.masked_fill(~visible[:, None, None], -math.inf)
        pooled = torch.softmax(scores, dim=-1) @ values
        output = self.merge(pooled)
        return self.W_o(output)

    def split(self, vectors):
        """(batch, positions, hiddens) -> (batch, heads, positions, hiddens/heads)."""
        parts = vectors.unflatten(-1, (self.num_heads, -1))
        return parts.transpose(1, 2)

    def merge(self, heads):
        """The inverse of `split`."""
        parts = heads.transpose(1, 2)
        return parts.flatten(2)


def random(*shapes: tuple[int, ...], seed: int = 7) -> list[Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=rng) for shape in shapes]


def make_layer(create: Callable[[], nn.Module]) -> nn.Module:
    """A layer with the same weights in every run."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return create().eval()


def heads() -> Trace:
    """The layer of the chapter."""
    layer = make_layer(lambda: Heads(11, 12, 3))
    inputs = random((2, 5, 11), (2, 7, 11), (2, 7, 11))
    sizes = {"batch": 2, "heads": 3, "queries": 5, "keys": 7, "size": 11, "hiddens": 12}
    return trace(layer, *inputs, torch.tensor([3, 7]), sizes=sizes, follow=["split", "merge"])


def dot() -> Trace:
    """Our own layer."""
    layer = attnbook.DotProductAttention(dropout=0.1).eval()
    inputs = random((2, 3, 5), (2, 7, 5), (2, 7, 2))
    return trace(layer, *inputs, torch.tensor([2, 6]), follow="score")


def pairs() -> Trace:
    """Four axes that are not heads, sizes without names."""

    def features(queries, keys):
        pairs = queries[:, :, None] + keys[:, None]
        return torch.tanh(pairs)

    return trace(features, *random((2, 3, 6), (2, 5, 6)))


def failing() -> Trace:
    """A layer that raises an exception inside a function that is traced too."""

    class Half(Heads):
        def split(self, vectors):
            parts = vectors.unflatten(-1, (5, -1))
            return parts.transpose(1, 2)

    layer = make_layer(lambda: Half(8, 12, 3))
    inputs = random((2, 5, 8), (2, 7, 8), (2, 7, 8))
    return trace(layer, *inputs, sizes={"batch": 2, "queries": 5, "keys": 7}, follow="split")


def odd(x):
    """Tensors of every kind, with zero to five axes."""
    large = x.double() * 1e7
    undefined = (x - x) / (x - x)
    endless = torch.stack([1 / (x - x), -1 / (x - x)])
    whole = torch.arange(6).reshape(2, 3) * 1000 - 2500
    longest = torch.tensor(2**53 + 1)
    half, complex_one = x.half(), x * 1j
    five = x.repeat(1, 4).reshape(2, 3, 1, 2, 2)
    nothing = x[:0]
    total = x.sum()
    mask = x > 0
    mask ^= True
    for row in x:
        row.mul_(2)
    return [
        large,
        undefined,
        endless,
        whole,
        longest,
        half,
        complex_one,
        five,
        nothing,
        total,
    ], mask.T


def kinds() -> Trace:
    return trace(odd, torch.tensor([[1.5, -2, 3], [0.25, -0.125, 0]]), sizes={"rows": 2})


def largest() -> Trace:
    """As many numbers as a tensor may have."""

    def layer(x):
        return x.mT, x.reshape(-1, 64)

    return trace(layer, *random((4, 16, 64)))


CASES: dict[str, Callable[[], Trace]] = {
    case.__name__: case for case in (heads, dot, pairs, failing, kinds, largest)
}


@cache
def trace_case(name: str) -> Trace:
    """The trace of a case, made once."""
    return CASES[name]()


@cache
def state_of(name: str) -> dict[str, Any]:
    """The traits of the figure of a case."""
    return traits(ShapeFigure(trace_case(name)))
