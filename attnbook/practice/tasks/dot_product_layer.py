"""Scaled dot-product attention as a layer, with dropout, and with weights to look at."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import attnbook
from attnbook.practice.inputs import lengths, normal
from attnbook.practice.steps import scale, weigh
from attnbook.practice.task import Function
from attnbook.practice.tasks.dot_product_layer_cases import task

__all__ = ["Layer", "task"]


class Layer(nn.Module):
    """What the layers below have in common: each says something else, right or wrong."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.attention_weights: Tensor | None = None

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        weights = self.weigh(queries, keys, valid_lens)
        self.keep(weights)
        return self.drop(weights) @ values

    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        return weigh(scale(queries, keys), valid_lens)

    def keep(self, weights: Tensor) -> None:
        self.attention_weights = weights.detach()

    def drop(self, weights: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(weights)
        return dropped


@task.right("it is the book's own.")
class the_package(attnbook.DotProductAttention):
    pass


@task.right("nn.Dropout knows by itself whether it is in training.")
class with_a_dropout_layer(Layer):
    pass


@task.right("the function dropout is told whether the layer is in training.")
class with_a_dropout_function(Layer):
    def drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, self.dropout.p, training=self.training)


@task.right("it draws for itself which weights stay; with dropout 1 none does.")
class drawing_for_itself(Layer):
    def drop(self, weights: Tensor) -> Tensor:
        share = self.dropout.p if self.training else 0.0
        stay = torch.rand(weights.shape) >= share
        return torch.where(stay, weights / max(1 - share, 1e-3), 0)


@task.right("it takes one example after the other, without its padding.")
class example_by_example(Layer):
    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        weights = queries.new_zeros(*queries.shape[:2], keys.shape[1])
        for i in range(len(queries)):
            length = keys.shape[1] if valid_lens is None else int(valid_lens[i])
            weights[i, :, :length] = scale(queries[i], keys[i, :length]).softmax(-1)
        return weights


@task.right("torch's own, asked for the average of an identity matrix, gives the weights.")
class of_torch(Layer):
    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        identity = torch.eye(keys.shape[1], dtype=keys.dtype).expand(len(keys), -1, -1)
        if valid_lens is None:
            return F.scaled_dot_product_attention(queries, keys, identity)
        visible = torch.arange(keys.shape[1]) < valid_lens[:, None, None]
        mask = visible | (valid_lens == 0)[:, None, None]
        return F.scaled_dot_product_attention(queries, keys, identity, mask) * visible


@task.test
def test_the_kept_weights_are_those_that_average_the_values(layer_of: Function) -> None:
    layer = layer_of(0.5).eval()
    for seed in (1, 2):
        queries, keys, values = normal(2, 3, 7, seed=seed), normal(2, 5, 7), normal(2, 5, 11)
        output = layer(queries, keys, values, lengths(4, 2))
        assert torch.allclose(output, layer.attention_weights @ values, atol=1e-5)


@task.test
def test_padding_changes_nothing_in_eval(layer_of: Function) -> None:
    layer = layer_of(0.0).eval()
    queries, keys, values = normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11)
    alone = layer(queries, keys[:, :2], values[:, :2])
    assert torch.allclose(layer(queries, keys, values, lengths(2, 2)), alone, atol=1e-5)


@task.test
def test_training_drops_whole_weights_and_scales_the_others(layer_of: Function) -> None:
    layer = layer_of(0.5).train()
    # Each key has a weight of 1/64 and its own two numbers.
    output = layer(torch.zeros(1, 1, 3), torch.zeros(1, 64, 3), torch.eye(64).repeat(1, 2)[None])
    assert torch.allclose(layer.attention_weights, torch.tensor(1 / 64))
    assert sorted(set(output.flatten().tolist())) == [0, 1 / 32]
    assert torch.equal(output[..., :64], output[..., 64:])


@task.test
def test_a_call_leaves_nothing_behind(layer_of: Function) -> None:
    layer, queries, keys = layer_of(0.0), normal(2, 3, 7), normal(2, 5, 7)
    before = queries.clone()
    layer(queries, keys.requires_grad_(), normal(2, 5, 11))
    assert torch.equal(queries, before)
    assert not layer.attention_weights.requires_grad
