"""The scaled dot product, the softmax and the average, in one function."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

import attnbook
from attnbook.practice.inputs import lengths, normal
from attnbook.practice.steps import weigh
from attnbook.practice.task import Function, Law, Task

Inputs = tuple[Tensor, ...]


def _lies_among_the_values(output: Tensor, *inputs: Tensor) -> bool:
    values = inputs[2]
    slack = 1e-2 * values.abs().amax(1, keepdim=True)
    low, high = values.amin(1, keepdim=True) - slack, values.amax(1, keepdim=True) + slack
    return not bool(((output < low) | (output > high)).logical_and(output != 0).any())


task = Task(
    name="scaled-dot-attention",
    statement=(
        "Write `scaled_dot_attention(queries, keys, values, valid_lens=None)`. `queries` has "
        "shape (batch, num_queries, query_size), `keys` (batch, num_keys, query_size), `values` "
        "(batch, num_keys, value_size). A score is q · k / √query_size; the softmax of a query's "
        "scores, over the keys, gives its weights; its output is the average of the values with "
        "these weights, so the output has shape (batch, num_queries, value_size). `valid_lens`, "
        "(batch,), says how many keys of each example, from the first, may be seen; None means "
        "all. What finite numbers padding holds, be it 1e30, never matters. Where a length is 0, "
        "the output is 0."
    ),
    starter="def scaled_dot_attention(queries, keys, values, valid_lens=None):\n    ...",
    laws=(
        Law(
            "Some output is smaller or larger than all values: it is no average of them.",
            _lies_among_the_values,
        ),
    ),
)


@task.case("all sizes differ, and nothing is padding")
def _() -> Inputs:
    return normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11)


@task.case("a length for each example")
def _() -> Inputs:
    return normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11), lengths(4, 2)


@task.case("all sizes are 3")
def _() -> Inputs:
    return normal(3, 3, 3), normal(3, 3, 3, seed=1), normal(3, 3, 3, seed=2), lengths(3, 1, 2)


@task.case("one query and one key")
def _() -> Inputs:
    return normal(2, 1, 5), normal(2, 1, 5, seed=1), normal(2, 1, 3), lengths(1, 1)


@task.case("scores of 1024 and of -1024")
def _() -> Inputs:
    queries = 1024 * torch.eye(16)[:1] * torch.tensor([[[1.0], [-1.0]]])
    keys = torch.eye(16)[:1] * torch.tensor([[[4.0], [4 - 1 / 256], [0]]])
    return queries, keys, normal(1, 3, 5)


@task.case("keys and values of padding are 1e30")
def _() -> Inputs:
    keys, values = normal(2, 5, 7), normal(2, 5, 11)
    for example, length in enumerate((4, 2)):
        keys[example, length:] = values[example, length:] = 1e30
    return normal(2, 3, 7), keys, values, lengths(4, 2)


@task.case("an example that may see nothing")
def _() -> Inputs:
    return normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11), lengths(0, 4)


@task.case("inputs that are not contiguous")
def _() -> Inputs:
    axes = (1, 2)
    queries, keys = normal(2, 7, 3).transpose(*axes), normal(2, 7, 5).transpose(*axes)
    return queries, keys, normal(2, 11, 5).transpose(*axes), lengths(5, 2)


@task.case("half precision")
def _() -> Inputs:
    return normal(2, 3, 7).half(), normal(2, 5, 7).half(), normal(2, 5, 11).half(), lengths(4, 2)


@task.case("double precision")
def _() -> Inputs:
    return (*(normal(2, n, 7).double() for n in (3, 5)), normal(2, 5, 11).double(), lengths(4, 2))


Lengths = Tensor | None


@task.case("no example that may see anything")
def _() -> Inputs:
    return normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11), lengths(0, 0)


@task.case("scores of -20,000, and padding")
def _() -> Inputs:
    keys = torch.tensor([-50.0, -50 + 1 / 64, -50 - 1 / 64, 0])[:, None].repeat(1, 1, 4)
    return 200 * torch.ones(1, 1, 4), keys, normal(1, 4, 3), lengths(3)


@task.case("6 examples of 9 queries, 131 keys")
def _() -> Inputs:
    seen = lengths(131, 1, 0, 65, 129, 130)
    return normal(6, 9, 130), normal(6, 131, 130), normal(6, 131, 7), seen


@task.right("it is the book's own, in its three stages.")
def the_package(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    scores = attnbook.scaled_dot_score(queries, keys)
    return attnbook.pool(attnbook.masked_softmax(scores, valid_lens), values)


@task.right("torch's own divides by the root of the last axis too; empty rows are cleared after.")
def of_torch(queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None) -> Tensor:
    if valid_lens is None:
        return F.scaled_dot_product_attention(queries, keys, values)
    visible = torch.arange(keys.shape[1]) < valid_lens[:, None, None]
    empty = (valid_lens == 0)[:, None, None]
    output = F.scaled_dot_product_attention(queries, keys, values, attn_mask=visible | empty)
    return output.masked_fill(empty, 0)


@task.right("each query takes its visible keys by themselves; where there are none, zeros stay.")
def query_by_query(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    output = queries.new_zeros(*queries.shape[:2], values.shape[-1])
    for i in range(len(queries)):
        length = keys.shape[1] if valid_lens is None else int(valid_lens[i])
        for j in range(queries.shape[1]):
            if length:
                scores = keys[i, :length] @ (queries[i, j] / math.sqrt(queries.shape[-1]))
                output[i, j] = scores.softmax(0) @ values[i, :length]
    return output


@task.right("scaling queries and keys by the fourth root each is scaling their product by √d.")
def by_fourth_roots(
    queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Lengths = None
) -> Tensor:
    root = queries.shape[-1] ** 0.25
    scores = torch.einsum("bqd,bkd->bqk", queries / root, keys / root)
    return torch.einsum("bqk,bkv->bqv", weigh(scores, valid_lens), values)


@task.test
def test_weights_follow_the_dot_product_over_the_root_of_the_size(function: Function) -> None:
    # 4 numbers: √4 = 2. Scores ln 3 and 0: weights 3/4 and 1/4.
    queries = torch.tensor([[[math.log(9), 0.0, 0, 0]]])
    keys = torch.tensor([[[1.0, 0, 0, 0], [0, 2, 0, 0]]])
    values = torch.tensor([[[8.0], [4.0]]])
    assert torch.allclose(function(queries, keys, values), torch.tensor(7.0))


@task.test
def test_a_key_twice_as_long_scores_twice(function: Function) -> None:
    # Scores 2 ln 3 and 0: weights 9/10 and 1/10.
    queries = torch.tensor([[[math.log(9), 0.0, 0, 0]]])
    keys = torch.tensor([[[2.0, 0, 0, 0], [0, 2, 0, 0]]])
    values = torch.tensor([[[10.0], [0.0]]])
    assert torch.allclose(function(queries, keys, values), torch.tensor(9.0))


@task.test
def test_padding_moves_nothing(function: Function) -> None:
    queries, keys, values = normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 11)
    alone = function(queries, keys[:, :2], values[:, :2])
    assert torch.allclose(function(queries, keys, values, lengths(2, 2)), alone, atol=1e-5)


@task.test
def test_who_sees_nothing_gets_zeros(function: Function) -> None:
    output = function(normal(1, 3, 7), normal(1, 5, 7), normal(1, 5, 11), lengths(0))
    assert (output == 0).all()


@task.test
def test_padding_weighs_nothing_however_low_the_scores_are(function: Function) -> None:
    keys = torch.tensor([[[-50.0] * 4, [0.0] * 4]])  # scores of -20,000 and of 0
    values = torch.tensor([[[3.0], [9.0]]])
    output = function(200 * torch.ones(1, 1, 4), keys, values, lengths(1))
    assert torch.allclose(output, torch.tensor(3.0))
