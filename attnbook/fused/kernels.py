"""The additive score for compiled layers: whole formulas that torch's compiler makes kernels of.

A compiler needs no blocks. It fuses a formula into one loop with the hidden units of
a pair in registers. But compiled code cannot read numbers, and so cannot choose between
exponentials and tanh itself (see `blocks`). So a compiled layer calls an operation of its
own, which reads them, chooses, and calls kernels compiled for each choice. Backward there are
two kernels: one sums over keys, one over queries.

Layers can be compiled where nothing makes kernels: `backend="eager"` needs no C++ compiler.
Where torch finds none, the operation uses the blocks.

On a GPU nothing is read, and the kernels take tanh. (Not measured yet.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.fused import blocks
from attnbook.masking.padding import zero_hidden
from attnbook.torch_private import has_cpp_compiler


def _tanh_of_exponentials(q: Tensor, k: Tensor) -> Tensor:
    return 1 - 2 / (1 + q.unsqueeze(-2) * k.unsqueeze(-3))


def _tanh_of_sums(q: Tensor, k: Tensor) -> Tensor:
    return torch.tanh(q.unsqueeze(-2) + k.unsqueeze(-3))


class _Kernels(NamedTuple):
    score: Callable[[Tensor, Tensor, Tensor], Tensor]
    over_keys: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
    over_queries: Callable[[Tensor, Tensor, Tensor], Tensor]


@cache
def _kernels(tanh_of: Callable[[Tensor, Tensor], Tensor]) -> _Kernels:
    # For all sizes at once: after a few recompilations torch would run them uncompiled.
    score, over_keys, over_queries = _formulas(tanh_of)
    return _Kernels(
        torch.compile(score, dynamic=True),
        torch.compile(over_keys, dynamic=True),
        torch.compile(over_queries, dynamic=True),
    )


def _formulas(tanh_of: Callable[[Tensor, Tensor], Tensor]) -> _Kernels:
    """Write down the score, and the sums over keys and over queries that gradients take."""

    def score(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
        return (tanh_of(q, k) * w).sum(dim=-1)

    def over_keys(grad: Tensor, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        units = tanh_of(q, k)
        weighted = grad.unsqueeze(-1) * units
        return weighted.sum(dim=-2), (grad.unsqueeze(-1) - weighted * units).sum(dim=-2)

    def over_queries(grad: Tensor, q: Tensor, k: Tensor) -> Tensor:
        units = tanh_of(q, k)
        return (grad.unsqueeze(-1) * (1 - units * units)).sum(dim=-3)

    return _Kernels(score, over_keys, over_queries)


def _choose(q: Tensor, k: Tensor) -> tuple[_Kernels, Tensor, Tensor]:
    """Return kernels, and their inputs."""
    if blocks.suit_exponentials(q, k):
        return _kernels(_tanh_of_exponentials), *blocks.exponentials(q, k)
    return _kernels(_tanh_of_sums), q, k


@torch.library.custom_op(
    "attnbook::additive_score",
    mutates_args=(),
    schema="(Tensor queries, Tensor keys, Tensor weight, Tensor? visible) -> Tensor",
)
@torch.no_grad()
def compiled_score(queries: Tensor, keys: Tensor, weight: Tensor, visible: Tensor | None) -> Tensor:
    """Score as `blocks.score_in_blocks` does, by a compiled kernel where it is right."""
    if not has_cpp_compiler():
        return blocks.score_in_blocks(queries, keys, weight, visible)
    cleared = zero_hidden(keys, visible)
    q, k, w = (blocks.flatten_heads(tensor.detach()) for tensor in (queries, cleared, weight))
    kernels, q, k = _choose(q, k)
    scores = kernels.score(q, k, w)
    return scores.reshape(*queries.shape[:-1], keys.shape[-2]).to(queries.dtype)


@torch.library.custom_op(
    "attnbook::additive_score_gradients",
    mutates_args=(),
    schema="(Tensor grad, Tensor queries, Tensor keys, Tensor weight, Tensor? visible)"
    " -> (Tensor, Tensor, Tensor)",
)
@torch.no_grad()
def _compiled_gradients(
    grad: Tensor, queries: Tensor, keys: Tensor, weight: Tensor, visible: Tensor | None
) -> tuple[Tensor, ...]:
    if not has_cpp_compiler():
        return blocks.score_gradients(grad, queries, keys, weight, visible)
    cleared = zero_hidden(keys, visible)
    inputs = queries, cleared, weight
    g, q, k, w = (blocks.flatten_heads(tensor.detach()) for tensor in (grad, *inputs))
    kernels, q, k = _choose(q, k)
    units, slopes = kernels.over_keys(g, q, k)
    results = w * slopes, w * kernels.over_queries(g, q, k), units.sum(dim=(0, 1))
    return blocks.match_inputs(results, inputs)


@compiled_score.register_fake
def _(queries: Tensor, keys: Tensor, *_: Tensor | None) -> Tensor:
    return queries.new_empty(*queries.shape[:-1], keys.shape[-2])


@_compiled_gradients.register_fake
def _(_: Tensor, *inputs: Any) -> tuple[Tensor, ...]:  # noqa: ANN401
    return tuple(tensor.new_empty(tensor.shape) for tensor in inputs[:3])


def _save_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ANN401, ARG001 - torch names them
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
    return *_compiled_gradients(grad, *ctx.saved_tensors), None


compiled_score.register_autograd(_backward, setup_context=_save_inputs)
