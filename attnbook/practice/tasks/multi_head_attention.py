"""Several attentions side by side, on learned projections."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.practice.task import Function
from attnbook.practice.tasks.multi_head_attention_cases import (
    Inputs,
    attend_by_head,
    in_steps,
    of_inputs,
    seen_keys,
    task,
    unpacked,
)

__all__ = ["task"]


@task.right("it is the book's own layer, with the given weights.")
def the_package(  # noqa: PLR0913, PLR0917 - the task's own arguments
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    num_heads: int,
    valid_lens: Tensor | None = None,
) -> Tensor:
    sizes = W_k.shape[1], W_q.shape[1], W_v.shape[1], W_o.shape[0], num_heads
    names = ("W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight")
    weights = dict(zip(names, (W_q, W_k, W_v, W_o), strict=True))
    layer = attnbook.MultiHeadAttention(*sizes)
    output: Tensor = functional_call(layer, weights, (queries, keys, values, valid_lens))
    return output


@task.right("each head has its own rows of W_q, W_k and W_v, and its own columns of W_o.")
@of_inputs
def head_by_head(*given: *Inputs) -> Tensor:
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = unpacked(given)
    visible = seen_keys(keys, valid_lens)[:, 0]
    size = len(W_o) // num_heads
    output = queries.new_zeros(*queries.shape[:2], len(W_o))
    for start in range(0, len(W_o), size):
        part = slice(start, start + size)
        q, k, v = queries @ W_q[part].T, keys @ W_k[part].T, values @ W_v[part].T
        output = output + attend_by_head(q, k, v, visible) @ W_o[:, part].T
    return output


@task.right("torch's own attention takes the heads; rows that see nothing are cleared after it.")
@of_inputs
def torch_itself(*given: *Inputs) -> Tensor:
    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        empty = ~visible.any(dim=-1, keepdim=True)
        return scaled_dot_product_attention(q, k, v, visible | empty).masked_fill(empty, 0)

    return in_steps(given, attend=attend)


@task.right("each head has matrices of its own, and what they make of a query is added up.")
@of_inputs
def matrices_for_each_head(*given: *Inputs) -> Tensor:
    queries, keys, values, W_q, W_k, W_v, W_o, num_heads, valid_lens = unpacked(given)
    pairs = ((queries, W_q), (keys, W_k), (values, W_v))
    # (batch, 1, positions, size) @ (heads, size, head_size): every pair at once
    q, k, v = (x[:, None] @ W.reshape(num_heads, -1, W.shape[1]).mT for x, W in pairs)
    heads = attend_by_head(q, k, v, seen_keys(keys, valid_lens))
    return (heads @ W_o.T.reshape(num_heads, -1, len(W_o))).sum(dim=1)


@task.right("heads are folded into the batch, where each length is repeated for its heads.")
@of_inputs
def heads_as_more_examples(*given: *Inputs) -> Tensor:
    def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
        seen = visible[:, 0].repeat_interleave(q.shape[1], dim=0)
        output = attend_by_head(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), seen)
        return output.reshape(q.shape)

    return in_steps(given, attend=attend)


def _call(
    attention: Function,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    num_heads: int = 2,
    valid_lens: Tensor | None = None,
    **weights: Tensor,
) -> Tensor:
    """Call it with weights that change nothing, and with no padding, unless told otherwise."""
    same = torch.eye(queries.shape[-1])
    W_q, W_k, W_v, W_o = (weights.get(name, same) for name in ("W_q", "W_k", "W_v", "W_o"))
    lens = torch.full((len(keys),), keys.shape[1]) if valid_lens is None else valid_lens
    output: Tensor = attention(queries, keys, values, W_q, W_k, W_v, W_o, num_heads, lens)
    return output


@task.test
def test_an_only_key_gives_its_value_projected_twice(attention: Function) -> None:
    W_v = torch.tensor([[0.0, 1], [2, 0]])
    W_o = torch.tensor([[1.0, 1], [0, 1]])
    value = torch.tensor([[[3.0, 5]]])  # (5, 6) after W_v, (11, 6) after W_o
    output = _call(attention, value, value, value, W_v=W_v, W_o=W_o)
    assert torch.allclose(output, torch.tensor([[[11.0, 6]]]))


@task.test
def test_a_position_finds_itself_in_every_head(attention: Function) -> None:
    queries = torch.tensor([[[100.0, 0, 100, 0], [0, 100, 0, 100]]])
    values = torch.arange(8.0).reshape(1, 2, 4)
    assert torch.allclose(_call(attention, queries, queries, values), values)


@task.test
def test_scores_are_divided_by_the_root_of_head_size(attention: Function) -> None:
    queries, values = torch.ones(1, 1, 8), torch.tensor([1.0, 0])[None, :, None].expand(1, 2, 8)
    keys = torch.tensor([math.log(9), 0, 0, 0]).repeat(1, 1, 2)  # the same in both heads
    keys = torch.cat([keys, 0 * keys], dim=1)
    assert torch.allclose(_call(attention, queries, keys, values), torch.tensor(0.75))  # √9 to 1


@task.test
def test_queries_and_keys_have_their_own_weights(attention: Function) -> None:
    queries = torch.tensor([[[0.0, 100]]])
    turned = torch.tensor([[0.0, 1], [0, 0]])  # makes (100, 0) of it: the first key
    keys = torch.eye(2)[None]
    output = _call(attention, queries, keys, keys, num_heads=1, W_q=turned)
    assert torch.allclose(output, torch.tensor([[[1.0, 0]]]))


@task.test
def test_lengths_hold_in_every_head(attention: Function) -> None:
    values = torch.tensor([1.0, 2, 3])[None, :, None].expand(2, 3, 4)
    nothing = torch.zeros(2, 3, 4)  # all scores are equal
    output = _call(attention, nothing, nothing, values, valid_lens=torch.tensor([1, 3]))
    assert torch.allclose(output[0], torch.tensor(1.0))
    assert torch.allclose(output[1], torch.tensor(2.0))


@task.test
def test_an_example_that_sees_nothing_gets_zeros(attention: Function) -> None:
    ones = torch.ones(2, 3, 4)
    output = _call(attention, ones, ones, ones, valid_lens=torch.tensor([0, 3]))
    assert (output[0] == 0).all()
