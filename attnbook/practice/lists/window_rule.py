"""Who may see whom in a sliding window."""

from __future__ import annotations

from attnbook.practice.list_task import ListTask

task = ListTask(
    name="window-rule-by-hand",
    in_torch="window-mask",
    draws="mask",
    statement=(
        "Write `may_see(query, key, num_queries, num_keys, back)`: True or False. `query` is the "
        "number of a query, `key` that of a key, both counted from 0. Queries stand at the last "
        "positions of the keys: the last query at the last key, the one before it at the key "
        "before. A query may see the key at its own position and the `back` keys just before it, "
        "as many of them as there are, and no other. `back` is 0 or more, and there are never "
        "more queries than keys."
    ),
    # A figure calls it without the last argument.
    starter="def may_see(query, key, num_queries, num_keys, back=2):\n    ...",
)


task.case("5 queries, 5 keys, 2 back: the query's own key")(lambda: (3, 3, 5, 5, 2))
task.case("5 queries, 5 keys, 2 back: the second key before the query's own")(
    lambda: (3, 1, 5, 5, 2)
)
task.case("5 queries, 5 keys, 2 back: the third key before the query's own")(
    lambda: (3, 0, 5, 5, 2)
)
task.case("5 queries, 5 keys, 2 back: the key after the query's own")(lambda: (1, 2, 5, 5, 2))
task.case("5 queries, 5 keys, 2 back: the last of all keys, for the first query")(
    lambda: (0, 4, 5, 5, 2)
)
task.case("5 queries, 5 keys, 2 back: the second key before the last query's own")(
    lambda: (4, 2, 5, 5, 2)
)
task.case("2 queries, 7 keys, 2 back: the first query's own key")(lambda: (0, 5, 2, 7, 2))
task.case("2 queries, 7 keys, 2 back: the third key before the first query's own")(
    lambda: (0, 2, 2, 7, 2)
)
task.case("2 queries, 7 keys, 2 back: the second key before the first query's own")(
    lambda: (0, 3, 2, 7, 2)
)
task.case("2 queries, 7 keys, 2 back: the first of all keys, for the first query")(
    lambda: (0, 0, 2, 7, 2)
)
task.case("3 queries, 3 keys, 0 back: the query's own key")(lambda: (1, 1, 3, 3, 0))
task.case("3 queries, 3 keys, 0 back: the key before the query's own")(lambda: (1, 0, 3, 3, 0))
task.case("3 queries, 4 keys, 9 back: the first of all keys, for the last query")(
    lambda: (2, 0, 3, 4, 9)
)
task.case("5 queries, 5 keys, 2 back: the first query's own key")(lambda: (0, 0, 5, 5, 2))
task.case("130 queries, 200 keys, 70 back: the last key that is near enough")(
    lambda: (99, 99, 130, 200, 70)
)


@task.right("the steps from the key to the query are counted: 0 to `back` are visible.")
def steps_counted(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    position = query + num_keys - num_queries
    return 0 <= position - key <= back


@task.right("a key is visible that is neither after the query nor too far before it.")
def two_questions(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    position = num_keys - (num_queries - query)
    if key > position:
        return False
    return key >= position - back


@task.right("it lists the keys that the query sees; numbers below 0 are no key's.")
def listed(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    end = query + num_keys - num_queries + 1
    return key in range(end - 1 - back, end)


@task.right("counted from the end, the last query and the last key are both 0.")
def counted_from_the_end(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    of_query, of_key = num_queries - query, num_keys - key
    return of_query <= of_key <= of_query + back


@task.bug(
    symptom="A model trained elsewhere gives slightly other numbers once texts are long.",
    origin="transformers#39408; accepted by TorchCode's judge",
    mend="a query sees itself and `back` more: it may be `back` steps to the key, and no more.",
    case="5 queries, 5 keys, 2 back: the third key before the query's own",
)
def one_key_too_many(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    """the window is one key too long: `back` + 1 keys before the query's own are visible."""
    return 0 <= query + num_keys - num_queries - key <= back + 1


@task.bug(
    symptom="With a `back` of 0 nothing is visible.",
    origin="transformers#39408: a `sliding_window` counts the query itself",
    mend="`back` does not count the query's own key: `back` steps are still visible.",
    case="5 queries, 5 keys, 2 back: the second key before the query's own",
)
def one_key_too_few(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    """the window is one key too short: the query's own key is counted as one of the `back`."""
    return 0 <= query + num_keys - num_queries - key < back


@task.bug(
    symptom="It is right for a whole text; with kept keys, new words see the oldest ones.",
    origin="pytorch#108108; accepted by TorchCode's judge",
    mend="among the keys the query stands at `query + num_keys - num_queries`.",
    case="2 queries, 7 keys, 2 back: the first query's own key",
)
def counted_from_the_first_key(
    query: int,
    key: int,
    num_queries: int,  # noqa: ARG001
    num_keys: int,  # noqa: ARG001
    back: int,
) -> bool:
    """the queries are taken to stand at the first positions of the keys, where they stand last."""
    return 0 <= query - key <= back


@task.bug(
    symptom="The loss is suspiciously low, and what the model writes is poor.",
    origin="a common slip, by `abs`",
    mend="ask for 0 steps or more, too: the absolute value loses its sign.",
    case="5 queries, 5 keys, 2 back: the key after the query's own",
)
def looks_ahead_as_far_as_back(
    query: int, key: int, num_queries: int, num_keys: int, back: int
) -> bool:
    """the window reaches as far into the future as into the past."""
    return abs(query + num_keys - num_queries - key) <= back


@task.bug(
    symptom="The model cheats: only the far past is hidden.",
    origin="a common slip",
    mend="ask for both: no key after the query, and none too far before it.",
    case="5 queries, 5 keys, 2 back: the key after the query's own",
)
def sees_all_of_the_future(
    query: int, key: int, num_queries: int, num_keys: int, back: int
) -> bool:
    """the window ends in the past only, and all of the future is visible."""
    return key >= query + num_keys - num_queries - back


@task.bug(
    symptom="It takes no less time for long texts than without a window.",
    origin="a common slip",
    mend="hide the keys that lie more than `back` positions before the query.",
    case="5 queries, 5 keys, 2 back: the third key before the query's own",
)
def no_window(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:  # noqa: ARG001
    """`back` is never used, and a query sees all of the past."""
    return key <= query + num_keys - num_queries


@task.bug(
    symptom="The first query of a text sees nothing.",
    origin="a common slip",
    mend="a query sees itself: 0 steps are visible.",
    case="5 queries, 5 keys, 2 back: the query's own key",
)
def own_position_hidden(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    """a query does not see its own key."""
    return 0 < query + num_keys - num_queries - key <= back


@task.bug(
    symptom="Each word attends to everything but its neighbours.",
    origin="tensorflow/text#894; LLMs-from-scratch#1061",
    mend="turn it round with `not`: here True means visible.",
    case="5 queries, 5 keys, 2 back: the query's own key",
)
def true_means_hidden(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    """what is hidden is True, and what is visible False."""
    return not 0 <= query + num_keys - num_queries - key <= back


@task.bug(
    symptom="Each word attends to what comes after it.",
    origin="a common slip",
    mend="subtract the key's position from the query's: the past is lower.",
    case="5 queries, 5 keys, 2 back: the second key before the query's own",
)
def looks_ahead_in_place_of_back(
    query: int, key: int, num_queries: int, num_keys: int, back: int
) -> bool:
    """the window lies in the future: the query's position is subtracted from the key's."""
    return 0 <= key - (query + num_keys - num_queries) <= back


@task.bug(
    symptom="The mask hides nothing, whatever the window.",
    origin="a common slip",
    mend="join both questions by `and`: not after the query, and not too far before it.",
    case="5 queries, 5 keys, 2 back: the third key before the query's own",
)
def joined_by_or(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    """both questions are joined by `or`, and each key passes one of them."""
    position = query + num_keys - num_queries
    return key <= position or key >= position - back


@task.bug(
    symptom="With kept keys the model sees too much: all that was kept, and the window.",
    origin="a common slip: only one edge was moved",
    mend="count both edges from the query's position among the keys.",
    case="2 queries, 7 keys, 2 back: the third key before the first query's own",
)
def only_one_edge_moved(query: int, key: int, num_queries: int, num_keys: int, back: int) -> bool:
    """the window's end counts from the query's position, and its beginning from its number."""
    return query - back <= key <= query + num_keys - num_queries


@task.bug(
    symptom="One query at a time is right; of several the early ones see too little.",
    origin="a common slip",
    mend="count back from each query's own position, not from the last key.",
    case="5 queries, 5 keys, 2 back: the second key before the query's own",
)
def the_last_querys_window_for_all(
    query: int, key: int, num_queries: int, num_keys: int, back: int
) -> bool:
    """the window is that of the last query, whatever query asks."""
    return num_keys - 1 - back <= key <= query + num_keys - num_queries
