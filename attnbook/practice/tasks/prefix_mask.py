"""Who sees whom where a prefix may be read as a whole."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.inputs import lengths
from attnbook.practice.task import Function, Law, Task

Inputs = tuple[Tensor, int, int]


def _shows_the_prefix_to_all(mask: Tensor, prefix_lens: Tensor, *_: int) -> bool:
    prefix = torch.arange(mask.shape[-1]) < prefix_lens[:, None, None]
    return bool((mask | ~prefix).all())


task = Task(
    name="prefix-mask",
    statement=(
        "A prefix language model reads a question as a whole and then writes word by word. Write "
        "`prefix_mask(prefix_lens, num_queries, num_keys)`. `prefix_lens`, (batch,), says how many "
        "keys of each example, from the first, are its prefix: whole numbers from 0 to "
        "`num_keys`. Give a boolean mask of shape (batch, num_queries, num_keys), True = visible: "
        "*every* query sees the whole prefix, and besides it the key at its own position and all "
        "keys before it, and no other. Queries stand at the *last* positions of the keys; there "
        "are never more queries than keys."
    ),
    starter="def prefix_mask(prefix_lens, num_queries, num_keys):\n    ...",
    laws=(Law("Some query does not see the whole prefix.", _shows_the_prefix_to_all),),
)


@task.case("as many queries as keys")
def _() -> Inputs:
    return lengths(3, 5), 7, 7


@task.case("fewer queries than keys")
def _() -> Inputs:
    return lengths(5, 2, 6), 3, 7


@task.case("as many examples as queries as keys")
def _() -> Inputs:
    return lengths(2, 1, 3), 3, 3


@task.case("one query against kept keys")
def _() -> Inputs:
    return lengths(2, 4), 1, 5


@task.case("a prefix of 0, and one of 1")
def _() -> Inputs:
    return lengths(0, 1), 5, 5


@task.case("a prefix of all keys")
def _() -> Inputs:
    return lengths(5, 2), 3, 5


@task.case("one query and one key")
def _() -> Inputs:
    return lengths(0, 1), 1, 1


task.case("9 examples of 20 queries, 131 keys")(
    lambda: (lengths(131, 1, 0, 65, 129, 130, 66, 64, 8), 20, 131)
)


@task.right("it is the book's own.")
def the_package(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    return attnbook.prefix_mask(prefix_lens, (len(prefix_lens), num_queries, num_keys))


@task.right("a key is visible if it is in the prefix, or not after the query.")
def either_rule(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    keys = torch.arange(num_keys)
    queries = keys[num_keys - num_queries :, None]
    return (keys < prefix_lens[:, None, None]) | (keys <= queries)


@task.right("a query's last visible key is its own, or the prefix's last if that comes later.")
def up_to_the_later_of_two(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    own = torch.arange(num_keys - num_queries, num_keys)
    last = torch.maximum(own, prefix_lens[:, None] - 1)
    return torch.arange(num_keys) <= last[..., None]


@task.right("it begins with a triangle for each example, and then opens the prefix's columns.")
def opened_triangles(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    triangle = torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries)
    mask = triangle.repeat(len(prefix_lens), 1, 1)
    for example, length in enumerate(prefix_lens.tolist()):
        mask[example, :, :length] = True
    return mask


@task.right("what is hidden lies after the query, and outside of the prefix.")
def what_is_hidden(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    square = torch.ones(num_keys, num_keys).triu(1).bool()
    after_the_prefix = ~attnbook.length_mask(prefix_lens, (len(prefix_lens), 1, num_keys))
    return ~(square[num_keys - num_queries :] & after_the_prefix)


@task.test
def test_the_first_query_sees_the_whole_prefix_of_three(prefix_mask: Function) -> None:
    mask = prefix_mask(torch.tensor([3]), 4, 4)
    assert mask.int().tolist() == [[[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]]]
    assert mask.dtype == torch.bool


@task.test
def test_two_queries_of_five_keys_stand_last(prefix_mask: Function) -> None:
    mask = prefix_mask(torch.tensor([2, 5]), 2, 5)
    assert mask.int().tolist() == [[[1, 1, 1, 1, 0], [1] * 5], [[1] * 5, [1] * 5]]


@task.test
def test_without_a_prefix_it_is_a_causal_mask(prefix_mask: Function) -> None:
    triangle = torch.ones(4, 4, dtype=torch.bool).tril()
    assert torch.equal(prefix_mask(torch.tensor([0]), 4, 4)[0], triangle)


@task.test
def test_each_example_has_a_prefix_of_its_own(prefix_mask: Function) -> None:
    mask = prefix_mask(torch.tensor([1, 3, 2]), 3, 3)
    assert mask[:, 0].sum(-1).tolist() == [1, 3, 2]
