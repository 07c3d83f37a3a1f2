"""The additive score for compiled layers: whole formulas that torch's compiler makes kernels of.

A compiler needs no blocks. It fuses a formula into one loop that keeps the hidden units of
a pair in registers. But compiled code cannot look at numbers, and so cannot choose between
exponentials and `sigmoid` (see `blocks`). So a compiled layer calls an operation of its
own, which looks, chooses, and calls kernels compiled for each choice. Backward there are
two kernels: one sums over keys, one over queries. What neither can do goes to `blocks`.

On a GPU nothing is looked at, and the kernels take `sigmoid`. (Not measured yet.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.fused import blocks
from attnbook.masking import without_padding


def _r_of_exponentials(q: Tensor, k: Tensor) -> Tensor:
    return 1 / (1 + q.unsqueeze(-2) * k.unsqueeze(-3))


def _r_of_sums(q: Tensor, k: Tensor) -> Tensor:
    return torch.sigmoid(-2 * (q.unsqueeze(-2) + k.unsqueeze(-3)))


class _Kernels(NamedTuple):
    score: Callable[[Tensor, Tensor, Tensor], Tensor]
    over_keys: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
    over_queries: Callable[[Tensor, Tensor, Tensor], Tensor]


@cache
def _kernels(r_of: Callable[[Tensor, Tensor], Tensor]) -> _Kernels:
    """Compile the score, and the sums over keys and over queries that gradients take."""

    def score(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
        return w.sum() - 2 * (r_of(q, k) * w).sum(dim=-1)

    def over_keys(grad: Tensor, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        r = r_of(q, k)
        weighted = grad.unsqueeze(-1) * r
        return weighted.sum(dim=-2), (weighted * r).sum(dim=-2)

    def over_queries(grad: Tensor, q: Tensor, k: Tensor) -> Tensor:
        r = r_of(q, k)
        return (grad.unsqueeze(-1) * (r - r * r)).sum(dim=-3)

    # For all sizes at once: after a few recompilations torch would run them uncompiled.
    return _Kernels(
        torch.compile(score, dynamic=True),
        torch.compile(over_keys, dynamic=True),
        torch.compile(over_queries, dynamic=True),
    )


def _choose(q: Tensor, k: Tensor) -> tuple[_Kernels, Tensor, Tensor] | None:
    """Give kernels and what they take; None where only blocks are right."""
    if q.device.type != "cpu":
        return _kernels(_r_of_sums), q, k
    if not blocks.are_in_reach(q, k):
        return None
    return _kernels(_r_of_exponentials), *blocks.exponentials(q, k)


@torch.library.custom_op(
    "attnbook::additive_score",
    mutates_args=(),
    schema="(Tensor queries, Tensor keys, Tensor weight, Tensor? visible) -> Tensor",
)
@torch.no_grad()
def compiled_score(queries: Tensor, keys: Tensor, weight: Tensor, visible: Tensor | None) -> Tensor:
    """Score as `blocks.score` does, by a compiled kernel where it is right."""
    cleared = keys if visible is None else without_padding(keys, visible)
    q, k, w = (blocks.flat(tensor.detach()) for tensor in (queries, cleared, weight))
    chosen = _choose(q, k)
    if chosen is None:
        return blocks.score(queries, keys, weight, visible)
    kernels, q, k = chosen
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
    cleared = keys if visible is None else without_padding(keys, visible)
    inputs = queries, cleared, weight
    g, q, k, w = (blocks.flat(tensor.detach()) for tensor in (grad, *inputs))
    chosen = _choose(q, k)
    if chosen is None:
        return blocks.score_gradients(grad, *inputs, visible)
    kernels, q, k = chosen
    of_r, of_r_squared = kernels.over_keys(g, q, k)
    for_w = g.sum() - 2 * of_r.sum(dim=(0, 1))
    results = 4 * w * (of_r - of_r_squared), 4 * w * kernels.over_queries(g, q, k), for_w
    return blocks.like(results, inputs)


@compiled_score.register_fake
def _(queries: Tensor, keys: Tensor, *_: Tensor | None) -> Tensor:
    return queries.new_empty(*queries.shape[:-1], keys.shape[-2])


@_compiled_gradients.register_fake
def _(_: Tensor, *inputs: Any) -> tuple[Tensor, ...]:  # noqa: ANN401
    return tuple(torch.empty_like(tensor) for tensor in inputs[:3])


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ANN401, ARG001 - torch names them
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
    return *_compiled_gradients(grad, *ctx.saved_tensors), None


compiled_score.register_autograd(_backward, setup_context=_remember)
