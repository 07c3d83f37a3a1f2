"""Who sees whom in a sliding window."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.task import Function, Task

task = Task(
    name="window-mask",
    statement=(
        "Write `window_mask(num_queries, num_keys, back)`: a boolean mask of shape (num_queries, "
        "num_keys), where True means visible. A query sees the key at its own position and the "
        "`back` keys just before it, as many of them as there are, and no other. Queries stand "
        "at the *last* positions of the keys: the last query at the position of the last key. "
        "There are never more queries than keys, and `back` is 0 or more."
    ),
    starter="def window_mask(num_queries, num_keys, back):\n    ...",
)


@task.case("as many queries as keys")
def _() -> tuple[int, int, int]:
    return 7, 7, 2


@task.case("fewer queries than keys")
def _() -> tuple[int, int, int]:
    return 3, 11, 2


@task.case("one query against kept keys")
def _() -> tuple[int, int, int]:
    return 1, 11, 7


@task.case("a query that sees itself only")
def _() -> tuple[int, int, int]:
    return 5, 7, 0


@task.case("a window that reaches back beyond the first key")
def _() -> tuple[int, int, int]:
    return 3, 5, 13


@task.case("one query and one key")
def _() -> tuple[int, int, int]:
    return 1, 1, 2


task.case("130 queries, 140 keys, 70 back")(lambda: (130, 140, 70))


@task.right("the book's causal mask hides the future; once more, moved, it hides the far past.")
def two_causal_masks(num_queries: int, num_keys: int, back: int) -> Tensor:
    past = attnbook.causal_mask((1, num_queries, num_keys))[0]
    too_far = torch.zeros_like(past)
    too_far[:, : max(num_keys - back - 1, 0)] = past[:, back + 1 :]
    return past & ~too_far


@task.right("it counts the steps from each query back to each key: 0 to `back` are visible.")
def by_distance(num_queries: int, num_keys: int, back: int) -> Tensor:
    queries = torch.arange(num_keys - num_queries, num_keys).unsqueeze(1)
    steps = queries - torch.arange(num_keys)
    return (steps >= 0) & (steps <= back)


@task.right("it keeps what lies between two diagonals.")
def between_two_diagonals(num_queries: int, num_keys: int, back: int) -> Tensor:
    own = num_keys - num_queries
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(own).triu(own - back)


@task.right("it writes each row's run of visible keys.")
def row_by_row(num_queries: int, num_keys: int, back: int) -> Tensor:
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        own = num_keys - num_queries + query
        mask[query, max(own - back, 0) : own + 1] = True
    return mask


@task.right("it makes the rows of all positions and keeps the last ones, which are the queries'.")
def the_last_rows_of_a_square(num_queries: int, num_keys: int, back: int) -> Tensor:
    square = torch.zeros(num_keys, num_keys, dtype=torch.bool)
    for steps in range(min(back + 1, num_keys)):
        square |= torch.ones(num_keys - steps, dtype=torch.bool).diag(-steps)
    return square[num_keys - num_queries :]


@task.test
def test_the_third_query_sees_itself_and_one_before(window_mask: Function) -> None:
    assert window_mask(4, 4, 1)[2].tolist() == [False, True, True, False]


@task.test
def test_with_zero_back_each_query_sees_itself_alone(window_mask: Function) -> None:
    assert window_mask(3, 3, 0).tolist() == torch.eye(3, dtype=torch.bool).tolist()


@task.test
def test_two_queries_stand_at_the_last_two_of_five_keys(window_mask: Function) -> None:
    first, second = window_mask(2, 5, 2).tolist()
    assert first == [False, True, True, True, False]
    assert second == [False, False, True, True, True]


@task.test
def test_a_window_longer_than_the_text_is_a_causal_mask(window_mask: Function) -> None:
    triangle = torch.ones(4, 4, dtype=torch.bool).tril()
    assert torch.equal(window_mask(4, 4, 9), triangle)
