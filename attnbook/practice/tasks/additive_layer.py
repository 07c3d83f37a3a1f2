"""Additive attention as a layer, with three matrices that are learned."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

import attnbook
from attnbook.practice.inputs import lengths, normal
from attnbook.practice.steps import weigh, where_padding
from attnbook.practice.task import Function
from attnbook.practice.tasks.additive_layer_cases import task

__all__ = ["Layer", "task"]


class Layer(nn.Module):
    """What the layers below have in common: each says something else, right or wrong."""

    def __init__(self, key_size: int, query_size: int, num_hiddens: int) -> None:
        super().__init__()
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        return self.weigh(self.score(queries, keys), valid_lens) @ values

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])
        return hidden @ self.w_v.weight[0]

    def weigh(self, scores: Tensor, valid_lens: Tensor | None) -> Tensor:
        return weigh(scores, valid_lens)


@task.right("it is the book's own.")
class the_package(attnbook.AdditiveAttention):
    pass


@task.right("w_v is a layer as well: what it makes has a last axis of 1, which goes.")
class with_three_layers(Layer):
    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        scores: Tensor = self.w_v((self.W_q(queries).unsqueeze(2) + self.W_k(keys)[:, None]).tanh())
        return scores.squeeze(-1)


@task.right("it takes one example after the other, without its padding.")
class example_by_example(Layer):
    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        ends = [keys.shape[1]] * len(keys) if valid_lens is None else valid_lens.tolist()
        averages = [
            self.score(queries[i : i + 1], keys[i : i + 1, :end]).softmax(-1) @ values[i, :end]
            for i, end in enumerate(ends)
        ]
        return torch.cat(averages)


@task.right("it scores one query after the other, for all keys at once.")
class query_by_query(Layer):
    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        of_keys = self.W_k(keys)
        rows = [
            self.w_v(torch.tanh(of_keys + self.W_q(query))) for query in torch.split(queries, 1, 1)
        ]
        return torch.cat(rows, -1).mT


@task.right("the output is the sum of the values times powers of e, over the sum of these powers.")
class powers_over_their_sum(Layer):
    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        scores = self.score(queries, keys)
        padding = where_padding(scores, valid_lens)
        highest = scores.masked_fill(padding, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
        powers = (scores - highest.detach()).masked_fill(padding, -math.inf).exp()
        return powers @ values / powers.sum(-1, keepdim=True).clamp_min(1e-30)


@task.test
def test_weights_follow_tanh_of_the_sum(layer_of: Function) -> None:
    layer = layer_of(key_size=1, query_size=1, num_hiddens=1)
    # tanh(ln 3) = 4/5 and tanh(ln 3 - ln 3) = 0; w_v makes ln 3 and 0 of them: 3/4 and 1/4.
    matrices = {"W_q.weight": math.log(3), "W_k.weight": 1.0, "w_v.weight": math.log(3) / 0.8}
    layer.load_state_dict({name: torch.tensor([[number]]) for name, number in matrices.items()})
    keys, values = torch.tensor([[[0.0], [-math.log(3)]]]), torch.tensor([[[8.0], [4.0]]])
    assert torch.allclose(layer(torch.ones(1, 1, 1), keys, values), torch.tensor(7.0))


@task.test
def test_two_units_say_twice_as_much(layer_of: Function) -> None:
    layer = layer_of(key_size=1, query_size=1, num_hiddens=2)
    # Two units that both say ln 3 / 2 to the first key: ln 3 and 0, so 3/4 and 1/4 again.
    ones, w_v = torch.ones(2, 1), torch.full((1, 2), math.log(3) / 2)
    layer.load_state_dict({"W_q.weight": ones, "W_k.weight": ones, "w_v.weight": w_v})
    keys, values = torch.tensor([[[99.0], [0.0]]]), torch.tensor([[[8.0], [4.0]]])
    assert torch.allclose(layer(torch.zeros(1, 1, 1), keys, values), torch.tensor(7.0))


@task.test
def test_padding_moves_nothing(layer_of: Function) -> None:
    layer = layer_of(key_size=2, query_size=2, num_hiddens=8)
    queries, keys, values = normal(2, 3, 2), normal(2, 5, 2), normal(2, 5, 11)
    alone = layer(queries, keys[:, :2], values[:, :2])
    assert torch.allclose(layer(queries, keys, values, lengths(2, 2)), alone, atol=1e-5)


@task.test
def test_a_query_is_answered_alone_as_among_others(layer_of: Function) -> None:
    layer = layer_of(key_size=7, query_size=3, num_hiddens=13)  # not the book's 2, 2 and 8
    queries, keys, values = normal(2, 3, 3), normal(2, 5, 7), normal(2, 5, 11)
    alone = layer(queries[:, :1], keys, values)
    assert torch.allclose(alone, layer(queries, keys, values)[:, :1], atol=1e-5)


@task.test
def test_who_sees_nothing_gets_zeros(layer_of: Function) -> None:
    layer = layer_of(key_size=2, query_size=2, num_hiddens=8)
    output = layer(normal(2, 3, 2), normal(2, 5, 2), normal(2, 5, 11), lengths(0, 5))
    assert (output[0] == 0).all()
