"""Known bugs of the task window-mask."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.window_mask import task


def _steps_back(num_queries: int, num_keys: int) -> Tensor:
    """How many positions each key stands before each query; below 0 for the future."""
    positions = torch.arange(num_keys)
    return positions[num_keys - num_queries :, None] - positions


@task.bug(
    symptom="A model trained elsewhere gives slightly other numbers once texts are long.",
    origin="transformers#39408; accepted by TorchCode's judge",
    mend="a query sees itself and `back` more: the distance may be `back`, and no more.",
    case="as many queries as keys",
)
def one_key_too_many(num_queries: int, num_keys: int, back: int) -> Tensor:
    """the window is one key too long: distances up to `back` + 1 are visible."""
    steps = _steps_back(num_queries, num_keys)
    return (steps >= 0) & (steps <= back + 1)


@task.bug(
    symptom="With `back` 0, nothing is visible and everything becomes NaN.",
    origin="transformers#39408; accepted by TorchCode's judge",
    mend="`back` does not count the query itself: the distance `back` is still visible.",
    case="as many queries as keys",
)
def one_key_too_few(num_queries: int, num_keys: int, back: int) -> Tensor:
    """the window is one key too short: the query itself is counted as one of the `back`."""
    steps = _steps_back(num_queries, num_keys)
    return (steps >= 0) & (steps < back)


@task.bug(
    symptom="It is right in training; with kept keys the model forgets what it just wrote.",
    origin="pytorch#108108; accepted by TorchCode's judge",
    mend="let the first query stand at position `num_keys - num_queries`.",
    case="fewer queries than keys",
)
def queries_at_the_first_keys(num_queries: int, num_keys: int, back: int) -> Tensor:
    """queries stand at the first positions of the keys, where they stand at the last."""
    steps = torch.arange(num_queries)[:, None] - torch.arange(num_keys)
    return (steps >= 0) & (steps <= back)


@task.bug(
    symptom="The loss is suspiciously low, and what the model writes is poor.",
    origin="a common slip",
    mend="ask for a distance of 0 or more, too: the absolute value loses its sign.",
    case="as many queries as keys",
)
def looks_ahead_as_far_as_back(num_queries: int, num_keys: int, back: int) -> Tensor:
    """the window reaches as far into the future as into the past."""
    return _steps_back(num_queries, num_keys).abs() <= back


@task.bug(
    symptom="The model cheats: only the far past is hidden.",
    origin="a common slip",
    mend="ask for both: no key after the query, and none too far before it.",
    case="as many queries as keys",
)
def sees_all_of_the_future(num_queries: int, num_keys: int, back: int) -> Tensor:
    """the window ends in the past only, and all of the future is visible."""
    return _steps_back(num_queries, num_keys) <= back


@task.bug(
    symptom="It takes no less time for long texts than without a window.",
    origin="a common slip",
    mend="hide keys that lie more than `back` positions before the query.",
    case="as many queries as keys",
)
def no_window(num_queries: int, num_keys: int, back: int) -> Tensor:  # noqa: ARG001 - the fault
    """`back` is never used, and a query sees all of the past."""
    return _steps_back(num_queries, num_keys) >= 0


@task.bug(
    symptom="The first row sees nothing, and its output is NaN.",
    origin="a common slip",
    mend="a query sees itself: the distance 0 is visible.",
    case="as many queries as keys",
)
def hides_the_query_itself(num_queries: int, num_keys: int, back: int) -> Tensor:
    """a query does not see its own position."""
    steps = _steps_back(num_queries, num_keys)
    return (steps > 0) & (steps <= back)


@task.bug(
    symptom="Each word attends to everything but its neighbours.",
    origin="tensorflow/text#894; LLMs-from-scratch#1061",
    mend="return True for what is visible, as `scaled_dot_product_attention` takes it.",
    case="as many queries as keys",
)
def true_where_it_is_hidden(num_queries: int, num_keys: int, back: int) -> Tensor:
    """`True` marks what is hidden."""
    steps = _steps_back(num_queries, num_keys)
    return (steps < 0) | (steps > back)


@task.bug(
    symptom="Each word attends to what comes after it.",
    origin="a common slip",
    mend="subtract the key's position from the query's: rows are queries, columns are keys.",
    case="as many queries as keys",
)
def looks_ahead_in_place_of_back(num_queries: int, num_keys: int, back: int) -> Tensor:
    """query and key are exchanged, and the window lies in the future."""
    steps = -_steps_back(num_queries, num_keys)
    return (steps >= 0) & (steps <= back)


@task.bug(
    symptom="At every few words the model seems to begin anew.",
    origin="a common slip",
    mend="let the window slide: where it begins depends on each query's own position.",
    case="as many queries as keys",
)
def blocks_in_place_of_a_window(num_queries: int, num_keys: int, back: int) -> Tensor:
    """the keys are cut into blocks of `back` + 1, and a query sees its block's past only."""
    block = torch.arange(num_keys) // (back + 1)
    same = block[num_keys - num_queries :, None] == block
    return same & (_steps_back(num_queries, num_keys) >= 0)


@task.bug(
    symptom="With one query at a time it is right; with several the early ones see too little.",
    origin="a common slip",
    mend="count back from each query's own position, not from the end of the keys.",
    case="as many queries as keys",
)
def the_last_querys_window_for_all(num_queries: int, num_keys: int, back: int) -> Tensor:
    """only the last `back` + 1 keys are kept, for all queries alike."""
    kept = torch.arange(num_keys) >= num_keys - 1 - back
    return kept & (_steps_back(num_queries, num_keys) >= 0)
