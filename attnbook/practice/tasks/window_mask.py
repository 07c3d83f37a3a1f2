"""Which positions may attend to which, in a sliding window."""

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Function, Task

task = Task(
    name="window-mask",
    statement=(
        "Write `window_mask(num_queries, num_keys, window)`: a boolean mask of shape (num_queries, "
        "num_keys), where True means visible. A query sees `window` keys, or as many of them as "
        "there are: the key at its own position and those just before it. Queries are "
        "at the *last* positions of the keys: the last query at the position of the last key. "
        "There are never more queries than keys, and `window` is 1 or more."
    ),
    starter="def window_mask(num_queries, num_keys, window):\n    ...",
)

task.case("as many queries as keys")(lambda: (7, 7, 3))
task.case("as many queries as keys, and a longer window")(lambda: (7, 7, 4))
task.case("fewer queries than keys")(lambda: (3, 11, 3))
task.case("one query against kept keys")(lambda: (1, 11, 8))
task.case("a query that sees itself only")(lambda: (5, 7, 1))
task.case("a window that reaches back beyond the first key")(lambda: (3, 5, 6))
task.case("one query and one key")(lambda: (1, 1, 3))
task.case("130 queries, 140 keys, a window of 71")(lambda: (130, 140, 71))


def _steps_back(num_queries: int, num_keys: int) -> Tensor:
    """How many positions each key is before each query; below 0 for the future."""
    positions = torch.arange(num_keys)
    return positions[num_keys - num_queries :, None] - positions


def near(steps: Tensor, window: int) -> Tensor:
    return (steps >= 0) & (steps < window)


@task.solution("the book's causal mask hides the future; its inverse, shifted, hides the far past.")
def two_causal_masks(num_queries: int, num_keys: int, window: int) -> Tensor:
    past = attnbook.causal_mask((1, num_queries, num_keys))[0]
    too_far = torch.zeros_like(past)
    too_far[:, : max(num_keys - window, 0)] = past[:, window:]
    return past & ~too_far


@task.solution("it counts the steps from each query back to each key: fewer than `window`.")
def by_distance(num_queries: int, num_keys: int, window: int) -> Tensor:
    return near(_steps_back(num_queries, num_keys), window)


@task.solution("it keeps the band between two diagonals.")
def between_two_diagonals(num_queries: int, num_keys: int, window: int) -> Tensor:
    own = num_keys - num_queries
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(own).triu(own - window + 1)


@task.solution("it sets the visible keys of each row, which are a slice.")
def row_by_row(num_queries: int, num_keys: int, window: int) -> Tensor:
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        own = num_keys - num_queries + query
        mask[query, max(own - window + 1, 0) : own + 1] = True
    return mask


@task.solution("it makes a row for every position, and keeps the last ones, the queries'.")
def the_last_rows_of_a_square(num_queries: int, num_keys: int, window: int) -> Tensor:
    square = torch.zeros(num_keys, num_keys, dtype=torch.bool)
    for steps in range(min(window, num_keys)):
        square |= torch.ones(num_keys - steps, dtype=torch.bool).diag(-steps)
    return square[num_keys - num_queries :]


@task.test
def test_two_queries_are_at_the_last_two_of_five_keys(window_mask: Function) -> None:
    assert window_mask(2, 5, 3).tolist() == [[0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]


def by_steps(rule: Function) -> Function:
    """A bug in the rule on how many steps back a key may be."""
    return lambda num_queries, num_keys, window: rule(_steps_back(num_queries, num_keys), window)


task.bug(
    "window too long",
    "the window is one key too long: the distance `window` is visible, too.",
    symptom="A model trained elsewhere gives slightly different outputs once texts are long.",
    origin="transformers#39408; accepted by TorchCode's judge",
    fix="the query's own key has distance 0 and counts: the distance is less than `window`.",
)(by_steps(lambda steps, window: near(steps, window + 1)))

task.bug(
    "window too short",
    "the window is one key too short: only `window` - 1 keys are visible.",
    symptom="With a `window` of 1, nothing is visible and everything becomes NaN.",
    origin="transformers#39408; accepted by TorchCode's judge",
    fix="the distances of `window` keys are 0 to `window` - 1: compare them by `< window`.",
)(by_steps(lambda steps, window: near(steps, window - 1)))

task.bug(
    "queries at the first keys",
    "queries are placed at the first positions of the keys, but they are at the last.",
    symptom="It is right in training; with cached keys the model ignores what it just wrote.",
    origin="pytorch#108108; accepted by TorchCode's judge",
    fix="let the first query be at position `num_keys - num_queries`.",
)(lambda num_queries, num_keys, window: near(_steps_back(num_keys, num_keys)[:num_queries], window))

task.bug(
    "looks ahead as far as back",
    "the window reaches as far into the future as into the past.",
    symptom="The loss is suspiciously low, and what the model writes is poor.",
    fix="also require a distance of 0 or more: the absolute value loses the sign.",
)(by_steps(lambda steps, window: steps.abs() < window))

task.bug(
    "sees all of the future",
    "the window has a limit only in the past, and all of the future is visible.",
    symptom="The model cheats: only the far past is hidden.",
    fix="require both: no key after the query, and none too far before it.",
)(by_steps(lambda steps, window: steps < window))

task.bug(
    "no window",
    "`window` is never used, and a query sees all of the past.",
    symptom="It takes no less time for long texts than without a window.",
    fix="hide keys that are `window` positions or more before the query.",
)(by_steps(lambda steps, _window: steps >= 0))

task.bug(
    "looks ahead in place of back",
    "query and key are exchanged, and the window lies in the future.",
    symptom="Each word attends to what comes after it.",
    fix="subtract the key's position from the query's: rows are queries, columns are keys.",
)(by_steps(lambda steps, window: near(-steps, window)))


@task.bug(
    symptom="Every few words, the model seems to start again.",
    fix="let the window slide: where it begins depends on each query's own position.",
)
def blocks_in_place_of_a_window(num_queries: int, num_keys: int, window: int) -> Tensor:
    """the keys are cut into blocks of `window`, and a query attends to its block's past only."""
    block = torch.arange(num_keys) // window
    same = block[num_keys - num_queries :, None] == block
    return same & (_steps_back(num_queries, num_keys) >= 0)


@task.bug(
    "the last query's window for all",
    symptom="With one query the mask is right; with several, early queries see too few keys.",
    fix="count back from each query's own position, not from the end of the keys.",
)
def the_last_window_for_all(num_queries: int, num_keys: int, window: int) -> Tensor:
    """only the last `window` keys are visible, to every query."""
    last_keys = torch.arange(num_keys) >= num_keys - window
    return last_keys & (_steps_back(num_queries, num_keys) >= 0)


task.inherit(
    lambda mask: by_steps(lambda steps, window: mask(near(steps, window))),
    mistakes.masking,
    without=("the first examples mask for all",),
)


# On plain lists

N = int  # a short name, so that five parameters fit on one line

by_hand = ListTask(
    name="window-rule-by-hand",
    in_torch=task,
    draws="mask",
    fix_later=True,
    statement=(
        "Write `may_see(query, key, num_queries, num_keys, window)`: True or False. `query` is the "
        "number of a query, `key` that of a key: queries and keys are counted separately, each "
        "from 0. Queries are at the last positions of the keys: the last query at the last key, "
        "the one before it at the key before. A query may see `window` keys, or as many of them as "
        "there are: the key at its own position and those just before it. `window` is 1 or more, "
        "and there are never more queries than keys."
    ),
    # A figure calls it without the last argument.
    starter="def may_see(query, key, num_queries, num_keys, window=3):\n    ...",
)


def _case(num_queries: int, num_keys: int, window: int, query: int, key: int, name: str) -> None:
    sizes = f"{num_queries} queries, {num_keys} keys, a window of {window}"
    by_hand.case(f"{sizes}: {name}")(lambda: (query, key, num_queries, num_keys, window))


_case(5, 5, 3, 3, 3, "the query's own key")
_case(5, 5, 3, 3, 1, "the second key before the query's own")
_case(5, 5, 3, 3, 0, "the third key before the query's own")
_case(5, 5, 3, 1, 2, "the key after the query's own")
_case(5, 5, 3, 0, 4, "the last of all keys, for the first query")
_case(5, 5, 3, 4, 2, "the second key before the last query's own")
_case(2, 7, 3, 0, 5, "the first query's own key")
_case(2, 7, 3, 0, 2, "the third key before the first query's own")
_case(2, 7, 3, 0, 3, "the second key before the first query's own")
_case(2, 7, 3, 0, 0, "the first of all keys, for the first query")
_case(3, 3, 1, 1, 1, "the query's own key")
_case(3, 3, 1, 1, 0, "the key before the query's own")
_case(3, 4, 10, 2, 0, "the first of all keys, for the last query")
_case(5, 5, 3, 0, 0, "the first query's own key")
_case(130, 200, 71, 99, 99, "the last key that is near enough")


@by_hand.solution("it counts the steps from the key to the query: fewer than `window`.")
def steps_counted(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    position = query + num_keys - num_queries
    return 0 <= position - key < window


@by_hand.solution("a key is visible if it is neither after the query nor too far before it.")
def two_questions(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    position = num_keys - (num_queries - query)
    if key > position:
        return False
    return key > position - window


@by_hand.solution("counted from the end, the last query and the last key are both number 1.")
def counted_from_the_end(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    of_query, of_key = num_queries - query, num_keys - key
    return of_query <= of_key < of_query + window


@by_hand.bug()
def window_too_long_by_hand(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    return 0 <= query + num_keys - num_queries - key <= window


@by_hand.bug()
def window_too_short_by_hand(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    return 0 <= query + num_keys - num_queries - key < window - 1


@by_hand.bug(fix="among the keys the query is at `query + num_keys - num_queries`.")
def counted_from_the_first_key(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    """the queries are placed at the first positions of the keys, but they are at the last."""
    return 0 <= query - key < window


@by_hand.bug(fix="also require 0 steps or more: the absolute value loses the sign.")
def looks_ahead_as_far_as_back_by_hand(
    query: N, key: N, num_queries: N, num_keys: N, window: N
) -> bool:
    return abs(query + num_keys - num_queries - key) < window


@by_hand.bug()
def sees_all_of_the_future_by_hand(
    query: N, key: N, num_queries: N, num_keys: N, window: N
) -> bool:
    return key > query + num_keys - num_queries - window


@by_hand.bug(fix="hide the keys that are `window` positions or more before the query.")
def no_window_by_hand(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    return key <= query + num_keys - num_queries


@by_hand.bug(fix="a query attends to itself: 0 steps are visible.")
def one_key_too_few_by_hand(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    """a query does not attend to its own key."""
    return 0 < query + num_keys - num_queries - key < window


@by_hand.bug(fix="invert the result: here True means visible.")
def mask_inverted_by_hand(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    return not 0 <= query + num_keys - num_queries - key < window


@by_hand.bug(fix="subtract the key's position from the query's: earlier keys have lower positions.")
def looks_ahead_in_place_of_back_by_hand(
    query: N, key: N, num_queries: N, num_keys: N, window: N
) -> bool:
    return 0 <= key - (query + num_keys - num_queries) < window


@by_hand.bug(
    fix="combine both conditions by `and`: not after the query, and not too far before it."
)
def nothing_hidden(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    """no key is hidden: every key meets one of both conditions, if they are combined by `or`."""
    position = query + num_keys - num_queries
    return key <= position or key > position - window


@by_hand.bug(fix="count both edges from the query's position among the keys.")
def only_one_edge_moved(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    """the window's end counts from the query's position, its beginning from the query's number."""
    return query - window < key <= query + num_keys - num_queries


@by_hand.bug("the last query's window for all")
def only_the_last_window(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    """the window begins where the last query's does, for every query."""
    return num_keys - window <= key <= query + num_keys - num_queries


@by_hand.bug(fix="the query comes first, then the key: `may_see(query, key, …)`.")
def query_and_key_exchanged(query: N, key: N, num_queries: N, num_keys: N, window: N) -> bool:
    """query and key are exchanged."""
    return 0 <= key + num_keys - num_queries - query < window
