"""Which positions may attend to which, in a window with keys ahead."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.task import Function, Task

Reach = int | None

task = Task(
    name="two-sided-window",
    statement=(
        "Write `two_sided_window(num_queries, num_keys, back, ahead)`: a boolean mask of shape "
        "(num_queries, num_keys), True = visible. A query attends to the key at its own position, "
        "the `back` keys just before it and the `ahead` keys just after it, as many of them as "
        "there are, and no other. `back` and `ahead` are whole numbers of 0 or more, or None, "
        "which means all keys on that side. Queries are at the *last* positions of the keys: the "
        "last query at the last key. There are never more queries than keys."
    ),
    starter="def two_sided_window(num_queries, num_keys, back, ahead):\n    ...",
)


task.case("as many queries as keys")(lambda: (7, 7, 3, 1))
task.case("fewer queries than keys")(lambda: (5, 11, 2, 1))
task.case("a window that reaches ahead further than back")(lambda: (7, 7, 1, 2))
task.case("nothing ahead")(lambda: (5, 7, 2, 0))
task.case("nothing back")(lambda: (5, 7, 0, 2))
task.case("a query that sees itself only")(lambda: (5, 5, 0, 0))
task.case("no limit ahead")(lambda: (5, 7, 1, None))
task.case("no limit back")(lambda: (5, 7, None, 1))
task.case("no limit at all")(lambda: (3, 5, None, None))
task.case("a window that reaches beyond all keys")(lambda: (3, 5, 13, 17))
task.case("one query and one key")(lambda: (1, 1, 2, 3))
task.case("130 queries, 140 keys, 66 back, 70 ahead")(lambda: (130, 140, 66, 70))


@task.solution("it is the book's own, without the axis for examples.")
def the_package(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    return attnbook.window_mask((1, num_queries, num_keys), back, ahead)[0]


@task.solution(
    "it counts the steps from each query to each key; None becomes `num_keys`, which hides no key."
)
def by_steps(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    back, ahead = (num_keys if reach is None else reach for reach in (back, ahead))
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    steps = torch.arange(num_keys) - queries
    return (-back <= steps) & (steps <= ahead)


@task.solution("it keeps the band between two diagonals; without a limit there is no diagonal.")
def between_two_diagonals(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    own = num_keys - num_queries
    mask = torch.ones(num_queries, num_keys, dtype=torch.bool)
    if ahead is not None:
        mask = mask.tril(own + ahead)
    return mask if back is None else mask.triu(own - back)


@task.solution("it sets the visible keys of each row, which are a slice.")
def row_by_row(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        own = num_keys - num_queries + query
        first = 0 if back is None else max(own - back, 0)
        end = num_keys if ahead is None else own + ahead + 1
        mask[query, first:end] = True
    return mask


@task.test
def test_the_second_query_attends_to_one_before_and_two_ahead(window: Function) -> None:
    assert window(5, 5, 1, 2)[1].tolist() == [True, True, True, True, False]
    assert window(5, 5, 1, 2)[3].tolist() == [False, False, True, True, True]


@task.test
def test_two_queries_are_at_the_last_two_of_five_keys(window: Function) -> None:
    first, second = window(2, 5, 1, 0).int().tolist()
    assert first == [0, 0, 1, 1, 0]
    assert second == [0, 0, 0, 1, 1]


@task.test
def test_with_zero_on_both_sides_each_query_attends_only_to_itself(window: Function) -> None:
    assert window(3, 3, 0, 0).tolist() == torch.eye(3, dtype=torch.bool).tolist()


@task.test
def test_none_is_no_limit(window: Function) -> None:
    assert window(3, 3, None, None).all()
    assert torch.equal(window(4, 4, None, 0), torch.ones(4, 4, dtype=torch.bool).tril())
    assert torch.equal(window(4, 4, 0, None), torch.ones(4, 4, dtype=torch.bool).triu())


def _steps(num_queries: int, num_keys: int) -> Tensor:
    """How many positions each key is after each query; below 0 for the past."""
    positions = torch.arange(num_keys)
    return positions - positions[num_keys - num_queries :, None]


def _limits(num_keys: int, back: Reach, ahead: Reach) -> tuple[int, int]:
    return num_keys if back is None else back, num_keys if ahead is None else ahead


@task.bug(
    symptom="A model trained elsewhere gives slightly different outputs once texts are long.",
    origin="transformers#39408",
    fix="a query attends to itself and to `back` keys before it: the distance is at most `back`.",
)
def one_key_too_many_back(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """the window is one key too long on the left: distances up to `back` + 1 are visible."""
    steps, (past, future) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return (steps >= -past - 1) & (steps <= future)


@task.bug(
    symptom="With a `back` of 3, a query attends to only 2 keys before its own.",
    origin="transformers#39408: a `sliding_window` counts the query itself",
    fix="`back` does not count the query's own key: a key `back` steps before it is still visible.",
)
def one_key_too_few_back(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """the window is one key too short on the left: only distances below `back` are visible."""
    steps, (past, future) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return (steps > -past) & (steps <= future)


@task.bug(
    symptom="With `ahead` 0, the model attends to the token that it has to predict.",
    fix="the last visible key is `ahead` positions after the query: compare with `<=`.",
)
def one_key_too_many_ahead(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """the window is one key too long on the right: steps up to `ahead` + 1 are visible."""
    steps, (past, future) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return (steps >= -past) & (steps <= future + 1)


@task.bug(
    symptom="With `ahead` 0 a query does not attend to itself, and the first row may be NaN.",
    origin="a common mistake: a slice does not include its end",
    fix="the last visible key is `ahead` positions after the query: compare with `<=`.",
)
def one_key_too_few_ahead(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """the window is one key too short on the right: only steps below `ahead` are visible."""
    steps, (past, future) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return (steps >= -past) & (steps < future)


@task.bug(
    symptom="It is right where `back` equals `ahead`; otherwise it attends to the wrong side.",
    fix="a key before the query has the lower position: steps from -`back` to `ahead`.",
)
def back_and_ahead_exchanged(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """the window reaches `ahead` keys back, and `back` keys ahead."""
    steps, (past, future) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return (steps >= -future) & (steps <= past)


@task.bug(
    symptom="It is right in training; with cached keys the model ignores what it just wrote.",
    origin="pytorch#108108",
    fix="let the first query be at position `num_keys - num_queries`.",
)
def queries_at_the_first_keys(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """queries are placed at the first positions of the keys, but they are at the last."""
    steps = torch.arange(num_keys) - torch.arange(num_queries)[:, None]
    past, future = _limits(num_keys, back, ahead)
    return (steps >= -past) & (steps <= future)


@task.bug(
    symptom=(
        "With cached keys the window is longer than it should be, by the number of cached keys."
    ),
    origin="a common mistake, by `tril` and `triu`",
    fix="move both diagonals by `num_keys - num_queries`.",
)
def only_one_side_moved(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """one edge of the window is aligned to the last key, and the other to the first."""
    past, future = _limits(num_keys, back, ahead)
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(num_keys - num_queries + future) & ones.triu(-past)


@task.bug(
    symptom="A causal window, with `ahead` 0, shows the whole future.",
    origin="a common mistake: `if ahead:`",
    fix="check for `is None`: 0 is a limit like any other.",
)
def zero_taken_for_none(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """a reach of 0 is treated as None, and there is no limit on that side."""
    steps = _steps(num_queries, num_keys)
    return (steps >= -(back or num_keys)) & (steps <= (ahead or num_keys))


@task.bug(
    symptom="Where one side has no limit, the model attends to nothing on that side.",
    origin="a common mistake: `ahead or 0`",
    fix="None means all keys on that side: leave that comparison out.",
)
def none_taken_for_zero(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """a reach of None is treated as 0, and hides that side."""
    steps = _steps(num_queries, num_keys)
    return (steps >= -(back or 0)) & (steps <= (ahead or 0))


@task.bug(
    symptom="The mask hides nothing, whatever the window.",
    fix="combine both conditions by `&`: a key must be neither too far back nor too far ahead.",
)
def joined_by_or(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """both conditions are combined by `|`, and every key meets one of them."""
    steps, (past, future) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return (steps >= -past) | (steps <= future)


@task.bug(
    symptom="Each word attends to everything except its window.",
    origin="tensorflow/text#894; LLMs-from-scratch#1061",
    fix="return True for what is visible, as `scaled_dot_product_attention` expects.",
)
def true_where_it_is_hidden(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """`True` marks what is hidden."""
    steps, (past, future) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return (steps < -past) | (steps > future)


@task.bug(
    symptom="Every `ahead` gives the same mask as an `ahead` of 0.",
    origin="a common mistake: a causal mask stays from before",
    fix="remove the causal mask: `ahead` alone limits the keys after the query.",
)
def causal_all_the_same(num_queries: int, num_keys: int, back: Reach, ahead: Reach) -> Tensor:
    """the future is hidden, and `ahead` is never used."""
    steps, (past, _) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return (steps >= -past) & (steps <= 0)


@task.bug(
    symptom="Both sides have the same reach, even where `back` and `ahead` differ.",
    origin="a common mistake: windows in vision models are centred",
    fix="count `back` and `ahead` separately, each from the query's own key.",
)
def one_window_around_the_query(
    num_queries: int, num_keys: int, back: Reach, ahead: Reach
) -> Tensor:
    """`back` + `ahead` keys are shared evenly by both sides, with the query in the middle."""
    steps, (past, future) = _steps(num_queries, num_keys), _limits(num_keys, back, ahead)
    return 2 * steps.abs() <= past + future
