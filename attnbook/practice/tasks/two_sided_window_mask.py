"""Who sees whom in a window with keys ahead."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.task import Function, Task

Reach = int | None
Inputs = tuple[int, int, Reach, Reach]

task = Task(
    name="two-sided-window",
    statement=(
        "Write `two_sided_window(num_queries, num_keys, back, ahead)`: a boolean mask of shape "
        "(num_queries, num_keys), True = visible. A query sees the key at its own position, the "
        "`back` keys just before it and the `ahead` keys just after it, as many of them as there "
        "are, and no other. Both are whole numbers of 0 or more, or None, which means all keys "
        "on that side. Queries stand at the *last* positions of the keys: the last query at the "
        "last key. There are never more queries than keys."
    ),
    starter="def two_sided_window(num_queries, num_keys, back, ahead):\n    ...",
)


@task.case("as many queries as keys")
def _() -> Inputs:
    return 7, 7, 3, 1


@task.case("fewer queries than keys")
def _() -> Inputs:
    return 5, 11, 2, 1


@task.case("a window that reaches ahead further than back")
def _() -> Inputs:
    return 7, 7, 1, 2


@task.case("nothing ahead")
def _() -> Inputs:
    return 5, 7, 2, 0


@task.case("nothing back")
def _() -> Inputs:
    return 5, 7, 0, 2


@task.case("a query that sees itself only")
def _() -> Inputs:
    return 5, 5, 0, 0


@task.case("no limit ahead")
def _() -> Inputs:
    return 5, 7, 1, None


@task.case("no limit back")
def _() -> Inputs:
    return 5, 7, None, 1


@task.case("no limit at all")
def _() -> Inputs:
    return 3, 5, None, None


@task.case("a window that reaches beyond all keys")
def _() -> Inputs:
    return 3, 5, 13, 17


@task.case("one query and one key")
def _() -> Inputs:
    return 1, 1, 2, 3


task.case("130 queries, 140 keys, 66 back, 70 ahead")(lambda: (130, 140, 66, 70))


@task.right("it is the book's own, without the axis for examples.")
def the_package(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    return attnbook.window_mask((1, num_queries, num_keys), back, ahead)[0]


@task.right("it counts the steps from each query to each key, and no text is longer than its keys.")
def by_steps(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    back, ahead = (num_keys if reach is None else reach for reach in (back, ahead))
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    steps = torch.arange(num_keys) - queries
    return (-back <= steps) & (steps <= ahead)


@task.right("it keeps what lies between two diagonals; without a limit there is no diagonal.")
def between_two_diagonals(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    own = num_keys - num_queries
    mask = torch.ones(num_queries, num_keys, dtype=torch.bool)
    if ahead is not None:
        mask = mask.tril(own + ahead)
    return mask if back is None else mask.triu(own - back)


@task.right("it writes each row's run of visible keys.")
def row_by_row(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        own = num_keys - num_queries + query
        first = 0 if back is None else max(own - back, 0)
        end = num_keys if ahead is None else own + ahead + 1
        mask[query, first:end] = True
    return mask


@task.test
def test_the_second_query_sees_one_before_and_two_ahead(window: Function) -> None:
    assert window(5, 5, 1, 2)[1].tolist() == [True, True, True, True, False]
    assert window(5, 5, 1, 2)[3].tolist() == [False, False, True, True, True]


@task.test
def test_two_queries_stand_at_the_last_two_of_five_keys(window: Function) -> None:
    first, second = window(2, 5, 1, 0).int().tolist()
    assert first == [0, 0, 1, 1, 0]
    assert second == [0, 0, 0, 1, 1]


@task.test
def test_with_zero_on_both_sides_each_query_sees_itself_alone(window: Function) -> None:
    assert window(3, 3, 0, 0).tolist() == torch.eye(3, dtype=torch.bool).tolist()


@task.test
def test_none_is_no_limit(window: Function) -> None:
    assert window(3, 3, None, None).all()
    assert torch.equal(window(4, 4, None, 0), torch.ones(4, 4, dtype=torch.bool).tril())
    assert torch.equal(window(4, 4, 0, None), torch.ones(4, 4, dtype=torch.bool).triu())
