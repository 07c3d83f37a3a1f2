"""Left padding and order in one mask, as a decoder needs them for a batch."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.inputs import lengths
from attnbook.practice.task import Function, Law, Task

Inputs = tuple[Tensor, int, int]


def _hides_padding(mask: Tensor, starts: Tensor, *_: int) -> bool:
    padding = torch.arange(mask.shape[-1]) < starts[:, None, None]
    return not bool((mask & padding).any())


task = Task(
    name="decoding-mask",
    statement=(
        "A decoder goes on with a batch of texts of different lengths, padded on the *left*, so "
        "that all end at the last key. Write `decoding_mask(starts, num_queries, num_keys)`. "
        "`starts`, (batch,), says where each text begins: the keys before that position are "
        "padding. Give a boolean mask of shape (batch, num_queries, num_keys), True = visible: a "
        "query sees the keys of its text up to its own position, itself included. Queries stand "
        "at the *last* positions of the keys; there are never more queries than keys. A query "
        "that stands in padding sees nothing."
    ),
    starter="def decoding_mask(starts, num_queries, num_keys):\n    ...",
    laws=(Law("Some query sees padding.", _hides_padding),),
)


@task.case("as many queries as keys")
def _() -> Inputs:
    return lengths(2, 3), 7, 7


@task.case("fewer queries than keys")
def _() -> Inputs:
    return lengths(3, 0, 1), 2, 7


@task.case("one query against kept keys")
def _() -> Inputs:
    return lengths(2, 4), 1, 5


@task.case("as many examples as queries as keys")
def _() -> Inputs:
    return lengths(2, 0, 1), 3, 3


@task.case("a text without padding")
def _() -> Inputs:
    return lengths(0), 5, 5


@task.case("a text that is all padding")
def _() -> Inputs:
    return lengths(5, 1), 3, 5


@task.case("one query and one key")
def _() -> Inputs:
    return lengths(0, 1), 1, 1


task.case("9 examples of 20 queries, 131 keys")(
    lambda: (lengths(131, 1, 0, 65, 129, 130, 66, 64, 8), 20, 131)
)


@task.right("both of the book's masks must hold.")
def the_package(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    shape = (len(starts), num_queries, num_keys)
    return attnbook.start_mask(starts, shape) & attnbook.causal_mask(shape)


@task.right("a visible key stands at the start or after it, and not after the query.")
def between_start_and_query(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    keys = torch.arange(num_keys)
    queries = keys[num_keys - num_queries :, None]
    return (starts[:, None, None] <= keys) & (keys <= queries)


@task.right("it writes each row's run of visible keys; a run that ends before it starts is empty.")
def row_by_row(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    mask = torch.zeros(len(starts), num_queries, num_keys, dtype=torch.bool)
    for example, start in enumerate(starts.tolist()):
        for query in range(num_queries):
            mask[example, query, start : num_keys - num_queries + query + 1] = True
    return mask


@task.right("a triangle of whole texts loses its padded columns, and then its first rows.")
def closed_columns(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    squares = torch.ones(len(starts), num_keys, num_keys, dtype=torch.bool).tril()
    for square, start in zip(squares, starts.tolist(), strict=True):
        square[:, :start] = False
    return squares[:, num_keys - num_queries :]


@task.test
def test_a_text_begins_behind_its_padding(decoding_mask: Function) -> None:
    mask = decoding_mask(torch.tensor([1]), 4, 4)
    assert mask.int().tolist() == [[[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]]
    assert mask.dtype == torch.bool


@task.test
def test_two_queries_of_five_keys_stand_last(decoding_mask: Function) -> None:
    mask = decoding_mask(torch.tensor([2, 0]), 2, 5).int()
    assert mask[0].tolist() == [[0, 0, 1, 1, 0], [0, 0, 1, 1, 1]]
    assert mask[1].tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


@task.test
def test_each_text_of_a_square_batch_has_its_own_start(decoding_mask: Function) -> None:
    mask = decoding_mask(torch.tensor([1, 2, 0]), 3, 3)
    assert mask[:, -1].sum(-1).tolist() == [2, 1, 3]
    assert mask[:, 0].sum(-1).tolist() == [0, 0, 1]
