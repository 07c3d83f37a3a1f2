"""The mask that hides the future."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.task import Function, Law, Task


def positions_of_queries(num_queries: int, num_keys: int) -> Tensor:
    """Where the queries stand, as a column."""
    return torch.arange(num_keys)[num_keys - num_queries :, None]


def _hides_the_future(mask: Tensor, num_queries: int, num_keys: int) -> bool:
    return not mask[torch.arange(num_keys) > positions_of_queries(num_queries, num_keys)].any()


def _shows_each_its_own(mask: Tensor, num_queries: int, num_keys: int) -> bool:
    return bool(mask.gather(1, positions_of_queries(num_queries, num_keys)).all())


task = Task(
    name="causal-mask",
    statement=(
        "Write `causal_mask(num_queries, num_keys)`. It gives a boolean tensor of shape "
        "(num_queries, num_keys), where True = visible: each query sees the key at its own "
        "position and all keys before it, and none after it. Queries stand at the *last* "
        "positions of the keys: the last query at the last key, so it sees them all. There are "
        "never more queries than keys."
    ),
    starter="def causal_mask(num_queries, num_keys):\n    ...",
    laws=(
        Law("Some query sees a key after its own position: the future.", _hides_the_future),
        Law("Some query does not see the key at its own position.", _shows_each_its_own),
    ),
)


@task.case("as many queries as keys")
def _() -> tuple[int, int]:
    return 5, 5


@task.case("fewer queries than keys")
def _() -> tuple[int, int]:
    return 3, 7


@task.case("one query less than keys")
def _() -> tuple[int, int]:
    return 4, 5


@task.case("one query and six keys")
def _() -> tuple[int, int]:
    return 1, 6


@task.case("one query and one key")
def _() -> tuple[int, int]:
    return 1, 1


@task.case("31 queries and 37 keys")
def _() -> tuple[int, int]:
    return 31, 37


task.case("131 queries and 300 keys")(lambda: (131, 300))


@task.right("it is the book's own, without the axis for examples.")
def the_package(num_queries: int, num_keys: int) -> Tensor:
    return attnbook.causal_mask((1, num_queries, num_keys))[0]


@task.right("a triangle whose diagonal ends in the last corner leaves what is not after it.")
def lower_triangle(num_queries: int, num_keys: int) -> Tensor:
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(diagonal=num_keys - num_queries)


@task.right("it compares the positions of keys with those of queries.")
def positions_compared(num_queries: int, num_keys: int) -> Tensor:
    of_queries = torch.arange(num_queries) + (num_keys - num_queries)
    return torch.arange(num_keys)[None, :] <= of_queries[:, None]


@task.right("as many queries as keys make a square; the last ones are its last rows.")
def last_rows_of_a_square(num_queries: int, num_keys: int) -> Tensor:
    square = torch.triu(torch.ones(num_keys, num_keys), diagonal=1) == 0
    return square[num_keys - num_queries :]


@task.right("it fills one row after the other: the last query sees all, the one before one less.")
def row_by_row(num_queries: int, num_keys: int) -> Tensor:
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        mask[query, : num_keys - num_queries + query + 1] = True
    return mask


@task.test
def test_three_queries_of_three_keys_make_a_triangle(function: Function) -> None:
    triangle = [[True, False, False], [True, True, False], [True, True, True]]
    assert function(3, 3).tolist() == triangle


@task.test
def test_two_queries_of_four_keys_stand_last(function: Function) -> None:
    assert function(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


@task.test
def test_one_query_sees_all_six_keys(function: Function) -> None:
    assert function(1, 6).all()


@task.test
def test_the_mask_is_boolean(function: Function) -> None:
    assert function(5, 5).dtype == torch.bool
