"""Scores by a small network, for each pair of a query and a key."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

import attnbook
from attnbook.practice.inputs import normal
from attnbook.practice.task import Function, Law, Task


def _can_come_from_tanh(scores: Tensor, *inputs: Tensor) -> bool:
    most = inputs[-1].double().abs().sum()
    return not bool((scores.double().abs() > 1.01 * most + 1e-3).any())


task = Task(
    name="additive-score",
    statement=(
        "Write `additive_score(queries, keys, W_q, W_k, w_v)`: the score of a query q and a key k "
        "is w_vᵀ tanh(W_q q + W_k k). `queries` has shape (batch, num_queries, query_size), `keys` "
        "(batch, num_keys, key_size), `W_q` (num_hiddens, query_size), `W_k` (num_hiddens, "
        "key_size), `w_v` (num_hiddens,). Return all scores, (batch, num_queries, num_keys), "
        "before any softmax."
    ),
    starter="def additive_score(queries, keys, W_q, W_k, w_v):\n    ...",
    laws=(
        Law(
            "Some score is larger than all |w_v| together: no sum of w_v times `tanh` is.",
            _can_come_from_tanh,
        ),
    ),
)


def _inputs(batch: int, num_queries: int, num_keys: int, *sizes: int) -> tuple[Tensor, ...]:
    query_size, key_size, num_hiddens = sizes
    return (
        normal(batch, num_queries, query_size),
        normal(batch, num_keys, key_size, seed=1),
        normal(num_hiddens, query_size, seed=2),
        normal(num_hiddens, key_size, seed=3),
        normal(num_hiddens, seed=4),
    )


@task.case("queries as long as keys")
def _() -> tuple[Tensor, ...]:
    return _inputs(2, 3, 5, 7, 7, 11)


@task.case("queries longer than keys")
def _() -> tuple[Tensor, ...]:
    return _inputs(2, 3, 5, 13, 7, 11)


@task.case("as many queries as keys")
def _() -> tuple[Tensor, ...]:
    return _inputs(2, 5, 5, 3, 7, 11)


@task.case("all sizes are 3")
def _() -> tuple[Tensor, ...]:
    return _inputs(3, 3, 3, 3, 3, 3)


@task.case("one query and one key")
def _() -> tuple[Tensor, ...]:
    return _inputs(1, 1, 1, 3, 5, 7)


@task.case("one hidden unit")
def _() -> tuple[Tensor, ...]:
    return _inputs(2, 3, 5, 7, 11, 1)


@task.case("keys of 1000 and of -1000")
def _() -> tuple[Tensor, ...]:
    queries, keys, W_q, W_k, w_v = _inputs(2, 3, 5, 7, 11, 13)
    # An odd number of terms of 1000 or -1000: no sum is near 0.
    return queries, 1000 * keys.sign(), W_q, W_k.sign(), w_v


@task.case("queries and keys that are not contiguous")
def _() -> tuple[Tensor, ...]:
    queries, keys, *weights = _inputs(2, 3, 5, 7, 11, 13)
    return queries.mT.contiguous().mT, keys.mT.contiguous().mT, *weights


@task.case("half precision")
def _() -> tuple[Tensor, ...]:
    return tuple(each.half() for each in _inputs(2, 3, 5, 7, 11, 3))


@task.case("double precision")
def _() -> tuple[Tensor, ...]:
    return tuple(each.double() for each in _inputs(2, 3, 5, 7, 11, 13))


task.case("6 examples of 9 queries, 131 keys, 70 hidden units", gradients=False)(
    lambda: (normal(6, 9, 7), normal(6, 131, 11), normal(70, 7), normal(70, 11), normal(70))
)


@task.right("it is the book's own, for queries and keys that are projected first.")
def the_package(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    return attnbook.additive_score(F.linear(queries, W_q), F.linear(keys, W_k), w_v)


@task.right("it takes one pair of a query and a key after the other.")
def pair_by_pair(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    rows = [
        torch.stack([w_v @ torch.tanh(W_q @ query + W_k @ key) for key in keys[example]])
        for example in range(len(queries))
        for query in queries[example]
    ]
    return torch.stack(rows).reshape(len(queries), -1, keys.shape[1])


@task.right("W_q q + W_k k is one matrix, both side by side, times a query joined to a key.")
def queries_joined_to_keys(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    every_query = queries.repeat_interleave(keys.shape[1], dim=1)
    every_key = keys.repeat(1, queries.shape[1], 1)
    joined = torch.cat([every_query, every_key], -1) @ torch.cat([W_q, W_k], 1).T
    return (joined.tanh() @ w_v).reshape(len(keys), queries.shape[1], keys.shape[1])


@task.right("it adds what each hidden unit says, one unit after the other.")
def unit_by_unit(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    scores = queries.new_zeros(len(queries), queries.shape[1], keys.shape[1])
    for of_query, of_key, weight in zip(W_q, W_k, w_v, strict=True):
        both = (queries @ of_query)[:, :, None] + (keys @ of_key)[:, None, :]
        scores = scores + weight * both.tanh()
    return scores


@task.right("tanh(x) is 2 sigmoid(2x) - 1.")
def by_way_of_the_sigmoid(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    hidden = 2 * torch.sigmoid(2 * sums_of_pairs(queries @ W_q.T, keys @ W_k.T)) - 1
    return torch.einsum("bqkh,h->bqk", hidden, w_v)


def sums_of_pairs(queries: Tensor, keys: Tensor) -> Tensor:
    """Add each query to each key, both projected."""
    return queries[:, :, None] + keys[:, None]


@task.test
def test_a_score_is_w_v_times_tanh_of_the_sum(function: Function) -> None:
    # tanh(ln 2) = 3/5, tanh(ln 3) = 4/5.
    two, three = math.log(2), math.log(3)
    queries, keys = torch.tensor([[[two, 0.0]]]), torch.tensor([[[1.0, three - two, 0]]])
    W_q = torch.tensor([[1.0, 0], [1, 0]])
    W_k = torch.tensor([[0.0, 0, 1], [0, 1, 0]])
    w_v = torch.tensor([10.0, 100])
    assert torch.allclose(function(queries, keys, W_q, W_k, w_v), torch.tensor(6.0 + 80))


@task.test
def test_each_matrix_belongs_to_its_own_vectors(function: Function) -> None:
    ones, zeros = torch.ones(1, 1, 1), torch.zeros(1, 1, 1)
    W_q, W_k, w_v = torch.tensor([[math.log(3)]]), torch.tensor([[math.log(2)]]), torch.ones(1)
    assert torch.allclose(function(ones, zeros, W_q, W_k, w_v), torch.tensor(0.8))
    assert torch.allclose(function(zeros, ones, W_q, W_k, w_v), torch.tensor(0.6))


@task.test
def test_queries_stand_in_rows_and_keys_in_columns(function: Function) -> None:
    one = torch.ones(1, 1)
    queries, keys = torch.tensor([[[-9.0], [9.0]]]), torch.tensor([[[0.0], [0.0]]])
    scores = function(queries, keys, one, one, torch.ones(1))
    assert torch.allclose(scores, torch.tensor([[[-1.0, -1], [1, 1]]]))
