"""Who may see whom, where nobody may see the future."""

from __future__ import annotations

from attnbook.practice.list_task import ListTask

task = ListTask(
    name="causal-rule-by-hand",
    in_torch="causal-mask",
    draws="mask",
    statement=(
        "Write `may_see(query, key, num_queries, num_keys)`: True or False. `query` is the number "
        "of a query, `key` that of a key, both counted from 0. Queries stand at the last "
        "positions of the keys: the last query at the last key, the one before it at the key "
        "before. A query may see the key at its own position and all keys before it, and none "
        "after it. There are never more queries than keys."
    ),
    starter="def may_see(query, key, num_queries, num_keys):\n    ...",
)


task.case("3 queries, 3 keys: the key before the query's own")(lambda: (1, 0, 3, 3))
task.case("3 queries, 3 keys: the query's own key")(lambda: (1, 1, 3, 3))
task.case("3 queries, 3 keys: the key after the query's own")(lambda: (1, 2, 3, 3))
task.case("2 queries, 5 keys: the first query's own key")(lambda: (0, 3, 2, 5))
task.case("2 queries, 5 keys: the key after the first query's own")(lambda: (0, 4, 2, 5))
task.case("2 queries, 5 keys: the last query and the second key")(lambda: (1, 1, 2, 5))
task.case("4 queries, 5 keys: the last query and the last key")(lambda: (3, 4, 4, 5))
task.case("4 queries, 5 keys: the first query and the last key")(lambda: (0, 4, 4, 5))
task.case("1 query, 6 keys: the last key")(lambda: (0, 5, 1, 6))
task.case("130 queries, 200 keys: a key near the query's own")(lambda: (70, 139, 130, 200))


@task.right("a query's position is its number, moved on by how many keys have no query.")
def positions_compared(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    position = query + num_keys - num_queries
    return key <= position


@task.right("counted from the end, the last query and the last key are both 0.")
def counted_from_the_end(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    return num_keys - 1 - key >= num_queries - 1 - query


@task.right("it lists the keys that the query sees: all of them, less one for each later query.")
def listed(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    later = num_queries - 1 - query
    return key in range(num_keys - later)


@task.bug(
    symptom="With the keys kept, each new token sees the first token only.",
    origin="pytorch#108108, executorch#21749: `is_causal=True` of PyTorch's SDPA",
    mend="count both from the same end: among the keys the query stands at "
    "`query + num_keys - num_queries`, and the key stays where it is.",
    case="2 queries, 5 keys: the first query's own key",
)
def counted_from_the_first_key(query: int, key: int, num_queries: int, num_keys: int) -> bool:  # noqa: ARG001
    """the queries are taken to stand at the first positions of the keys, where they stand last."""
    return key <= query


@task.bug(
    symptom="A whole text is right, and with kept keys some queries see nothing at all.",
    origin="a common slip",
    mend="turn the difference round: `num_keys - num_queries` is above 0 where keys are more.",
    case="2 queries, 5 keys: the first query's own key",
)
def moved_the_wrong_way(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """the query is moved by num_queries - num_keys, back where it should go on."""
    return key <= query + num_queries - num_keys


@task.bug(
    symptom="The first query of a text sees nothing.",
    origin="a common slip",
    mend="let it see its own position, too: compare by `<=`, and take no 1 away.",
    case="3 queries, 3 keys: the query's own key",
)
def own_position_hidden(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """each query sees the keys before its own position, and its own is hidden."""
    return key < query + num_keys - num_queries


@task.bug(
    symptom="Training goes to a loss near 0, and what is generated is nonsense.",
    origin="a common slip",
    mend="stop at the own position: the next token is what is to be guessed.",
    case="3 queries, 3 keys: the key after the query's own",
)
def next_key_visible(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """each query sees the key after its own position, too."""
    return key <= query + num_keys - num_queries + 1


@task.bug(
    symptom="The model cheats: it sees what it has to guess, and nothing before it.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    mend="turn it round with `not`: here True means visible, elsewhere it may mean hidden.",
    case="3 queries, 3 keys: the key before the query's own",
)
def true_means_hidden(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """what is hidden is True, and what is visible False."""
    return key > query + num_keys - num_queries


@task.bug(
    symptom="The first query sees everything, the last one only itself.",
    origin="a common slip",
    mend="turn the comparison round: a key that may be seen has the same position, or a lower one.",
    case="3 queries, 3 keys: the key before the query's own",
)
def only_the_future_visible(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """the comparison is turned round: each query sees its own position and the future."""
    return key >= query + num_keys - num_queries


@task.bug(
    symptom="Each output is just the value at its own position.",
    origin="a common slip",
    mend="compare by `<=`, not by `==`.",
    case="3 queries, 3 keys: the key before the query's own",
)
def only_the_own_position_visible(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """each query sees the key at its own position, and none before it."""
    return key == query + num_keys - num_queries


@task.bug(
    symptom="The model reads off the words that it should guess.",
    origin="a new reader's first try",
    mend="answer False where the key's position is higher than the query's.",
    case="3 queries, 3 keys: the key after the query's own",
)
def nothing_hidden(query: int, key: int, num_queries: int, num_keys: int) -> bool:  # noqa: ARG001
    """all keys are visible, those of the future, too."""
    return key < num_keys


@task.bug(
    symptom="It works on whole texts and for one query, and else queries see the future.",
    origin="a common slip",
    mend="add the query's own number: it stands at `query + num_keys - num_queries`.",
    case="3 queries, 3 keys: the query's own key",
)
def all_queries_at_the_first_ones_place(
    query: int, key: int, num_queries: int, num_keys: int
) -> bool:
    """all queries are taken to stand where the first one does."""
    return key <= num_keys - num_queries + 0 * query


@task.bug(
    symptom="One new token sees all of its keys, and two new ones see too few.",
    origin="a common slip: it is written for one query, or for as many as keys",
    mend="move each query on by `num_keys - num_queries`, how many they may be.",
    case="2 queries, 5 keys: the first query's own key",
)
def moved_only_where_there_is_one(query: int, key: int, num_queries: int, num_keys: int) -> bool:  # noqa: ARG001
    """one query sees all keys, and several are taken to stand at the first positions."""
    return num_queries == 1 or key <= query


@task.bug(
    symptom="The last query sees the last key only, and the first query sees all keys.",
    origin="a new reader's first try",
    mend="`query` is who looks, `key` what is looked at: compare `key` with the query's position.",
    case="3 queries, 3 keys: the key before the query's own",
)
def query_and_key_exchanged(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """query and key are exchanged, and a key sees the queries before it."""
    return query <= key + num_keys - num_queries


@task.bug(
    symptom="The first query sees most keys, and the last one fewest.",
    origin="a new reader's first try",
    mend="count both from one end: the query stands at `query + num_keys - num_queries`.",
    case="2 queries, 5 keys: the key after the first query's own",
)
def counted_from_the_other_end(query: int, key: int, num_queries: int, num_keys: int) -> bool:  # noqa: ARG001
    """the query is counted from the end of the keys, and the key from their beginning."""
    return key <= num_keys - 1 - query
