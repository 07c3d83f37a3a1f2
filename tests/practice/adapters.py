"""The tasks that torch-judge and we share, with adapters that give it answers to our tasks.

An adapter gives an answer the form that torch-judge calls: it adds an axis, projects, or makes
the mask. What the task asks for is left to the answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attnbook.practice import find_task
from attnbook.practice.task import Function


def is_close(found: Tensor, right: Tensor) -> bool:
    return found.shape == right.shape and torch.allclose(found.to(right.dtype), right, 1e-3, 1e-3)


@dataclass(frozen=True)
class SharedTask:
    """A task of both judges.

    Args:
        ours, theirs: its names.
        adapt: gives an answer to our task the form of theirs.
        inputs: makes those that both statements allow; more kinds than their tests try.
        use: calls what was adapted.
    """

    ours: str
    theirs: str
    adapt: Callable[[Function], Any]
    inputs: Callable[[], list[Any]]
    use: Callable[..., Tensor]

    def outputs(self, answer: Function) -> list[Tensor]:
        """What an answer gives; it may draw random numbers, which changes no later input."""
        found, adapted = [], self.adapt(answer)
        torch.manual_seed(0)
        for inputs in self.inputs():
            torch.manual_seed(0)
            found.append(self.use(adapted, *inputs))
        return found

    def is_right(self, answer: Function) -> bool:
        """Whether an answer gives what our reference gives.

        So a fault that their statement allows counts as right: in half precision, with lengths, on
        changed inputs.
        """
        right = self.outputs(find_task(self.ours).reference)
        try:
            return all(map(is_close, self.outputs(answer), right))
        except Exception:
            return False


SHARED: list[SharedTask] = []


def shared(ours: str, theirs: str, inputs: Callable[[], list[Any]], use: Any = None) -> Any:
    """Register an adapter."""

    def register(adapt: Callable[[Function], Any]) -> Callable[[Function], Any]:
        SHARED.append(SharedTask(ours, theirs, adapt, inputs, use or operator.call))
        return adapt

    return register


def attention_inputs(
    num_queries: int = 7, num_keys: int = 7, more: tuple[Any, ...] = ((),)
) -> list[tuple[Any, ...]]:
    """Queries, keys, values: a query of zeros, scores in the hundreds, and all of those below 0."""
    queries, keys = torch.randn(2, num_queries, 4), torch.randn(2, num_keys, 4)
    queries[:, 1] = 0
    values = torch.randn(2, num_keys, 5)
    kinds = (queries, keys), (100 * queries, keys), (100 * queries.abs(), -1 - keys.abs())
    return [(*kind, values, *each) for each in more for kind in kinds]


ROWS = torch.tensor([[0.0, 1.0, 3.0], [1.0, 1.0, -2.0], [1000.0, 1001.0, 1003.0]])


@shared("softmax", "softmax", lambda: [(x, -1) for x in (ROWS[:2], ROWS[0], ROWS, ROWS[2])])
def of_any_axes(softmax):
    """Theirs takes any number of axes; its tests ask for the last one only."""
    return lambda x, dim: softmax(x.reshape(1, -1, x.shape[dim])).reshape(x.shape)


@shared("scaled-dot-attention", "attention", lambda: attention_inputs() + attention_inputs(3, 5))
@shared("causal-attention", "causal_attention", attention_inputs)
def unchanged(attention):
    return attention


def in_a_window():
    return attention_inputs(more=((0,), (1,), (2,), (7,)))


@shared("masked-attention", "sliding_window", in_a_window)
def by_masked_attention(masked_attention):
    """The mask of their window is made here; there is one head."""

    def sliding_window_attention(queries, keys, values, window_size):
        places = torch.arange(queries.shape[1])
        mask = ((places[:, None] - places).abs() <= window_size).expand(len(queries), -1, -1)
        return masked_attention(queries[:, None], keys[:, None], values[:, None], mask)[:, 0]

    return sliding_window_attention


@shared("window-mask", "sliding_window", in_a_window)
def by_window_mask(window_mask):
    """Our window goes back only; theirs goes both ways, as ours and its transpose do."""

    def sliding_window_attention(queries, keys, values, window_size):
        back = window_mask(queries.shape[1], keys.shape[1], window_size + 1).bool()
        return scaled_dot_product_attention(queries, keys, values, back | back.T)

    return sliding_window_attention


def turned(apply_rope, *inputs):
    return torch.stack(apply_rope(*inputs))


@shared("rotary-encoding", "rope", lambda: [torch.randn(2, 3, 11, 8)], turned)
def of_queries_and_keys(rotary_encoding):
    """Theirs takes both, without heads, at positions from 0 on."""

    def turn(x):
        return rotary_encoding(x[:, None], torch.arange(x.shape[1]))[:, 0]

    return lambda queries, keys: (turn(queries), turn(keys))


def vectors_to_norm():
    sizes = (1, 1e-5), (1e-3, 1e-5), (1, 0.5)
    return [(size * torch.randn(2, 3, 5), *torch.randn(2, 5), eps) for size, eps in sizes]


@shared("layer-norm-by-hand", "layernorm", vectors_to_norm)
def of_each_row(layer_norm):
    """Ours takes a list, without gamma, beta and gradients: they are added here."""

    def my_layer_norm(x, gamma, beta, eps=1e-5):
        rows = [layer_norm(row, eps) for row in x.flatten(0, -2).tolist()]
        return gamma * (torch.tensor(rows).view(x.shape) + 0 * x) + beta

    return my_layer_norm


# Classes


class Projections(nn.Module):
    """The four projections that their classes have, around the heads of a task."""

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int = 0) -> None:
        super().__init__()
        self.counts = num_heads, num_kv_heads or num_heads, num_kv_heads or num_heads
        narrow = d_model // num_heads * self.counts[1]
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(d_model, size, bias=False) for size in (d_model, narrow, narrow, d_model)
        )

    def heads(self, *inputs: Tensor) -> list[Tensor]:
        layers = zip((self.W_q, self.W_k, self.W_v), inputs, self.counts, strict=True)
        return [layer(x).unflatten(-1, (count, -1)).transpose(1, 2) for layer, x, count in layers]

    def merged(self, heads: Tensor) -> Tensor:
        return self.W_o(heads.transpose(1, 2).flatten(2))


def of_three_heads(make, *inputs):
    return make(12, 3).forward(*inputs)


def sequences():
    return [(torch.randn(2, n, 12), *torch.randn(2, 2, 5, 12)) for n in (5, 3)]


@shared("multi-head-attention", "mha", sequences, of_three_heads)
def with_projections(multi_head_attention):
    """Their class holds the matrices that are arguments of ours."""

    class MultiHeadAttention(Projections):
        def forward(self, *inputs):
            matrices = (each.weight for each in (self.W_q, self.W_k, self.W_v, self.W_o))
            return multi_head_attention(*inputs, *matrices, self.counts[0], None)

    return MultiHeadAttention


def of_six_heads(make, x, num_kv_heads):
    return make(24, 6, num_kv_heads).forward(x)


@shared(
    "grouped-heads", "gqa", lambda: [(torch.randn(2, 5, 24), n) for n in (1, 2, 3, 6)], of_six_heads
)
def between_projections(grouped_heads):
    """Their class also projects, splits and merges."""

    class GroupQueryAttention(Projections):
        def forward(self, x):
            return self.merged(grouped_heads(*self.heads(x, x, x)))

    return GroupQueryAttention


def in_steps(make, x):
    """The outputs of a layer with a cache: of five positions, then of one at a time."""
    layer, found, cache = make(12, 3), [], None
    for part in (x[:, :5], *x[:, 5:].split(1, dim=1)):
        output, cache = layer(part, cache=cache)
        found.append(output)
    return torch.cat(found, dim=1)


def long_sequences():
    return [(size * torch.randn(2, 7, 12),) for size in (1, 100)]


@shared("causal-attention", "kv_cache", long_sequences, in_steps)
def with_a_cache(causal_attention):
    """Heads become examples; new queries are at the last positions of all keys."""

    class KVCacheAttention(Projections):
        def forward(self, x, cache=None):
            queries, *new = self.heads(x, x, x)
            if cache:
                new = [torch.cat(both, dim=2) for both in zip(cache, new, strict=True)]
            flat = (each.flatten(0, 1) for each in (queries, *new))
            return self.merged(causal_attention(*flat).unflatten(0, queries.shape[:2])), (*new,)

    return KVCacheAttention
