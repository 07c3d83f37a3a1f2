"""Who may see whom where several documents are packed into one sequence."""

from __future__ import annotations

from attnbook.practice.list_task import ListTask

task = ListTask(
    name="packed-rule-by-hand",
    in_torch="document-mask",
    draws="mask",
    statement=(
        "Several documents are packed into one sequence, one after the other. Write "
        "`may_see(query, key, num_queries, num_keys, documents)`: True or False. `query` "
        "is the number of a query, `key` that of a key, both counted from 0. Queries stand at the "
        "last positions of the keys: the last query at the last key. `documents` says for each "
        "key which document it belongs to, by a number that is a mere name; a query belongs to "
        "the document of the key at its own position. It may see the keys of its own document "
        "up to its own position, and no other."
    ),
    # A figure calls it without the last argument.
    starter=("def may_see(query, key, num_queries, num_keys, documents=(1, 1, 2, 2, 2)):\n    ..."),
)

Documents = list[int]

task.case("5 queries of 5 keys: an earlier key of the same document")(
    lambda: (3, 2, 5, 5, [1, 1, 2, 2, 2])
)
task.case("5 queries of 5 keys: the query's own key")(lambda: (3, 3, 5, 5, [1, 1, 2, 2, 2]))
task.case("5 queries of 5 keys: the next key of the same document")(
    lambda: (3, 4, 5, 5, [1, 1, 2, 2, 2])
)
task.case("5 queries of 5 keys: a key of the document before")(
    lambda: (3, 1, 5, 5, [1, 1, 2, 2, 2])
)
task.case("5 queries of 5 keys: a key of the document after")(lambda: (1, 2, 5, 5, [1, 1, 2, 2, 2]))
task.case("a document before with a higher number")(lambda: (4, 1, 5, 5, [7, 7, 4, 4, 4]))
task.case("a document with the number 0")(lambda: (1, 0, 4, 4, [0, 0, 3, 3]))
task.case("2 queries of 5 keys: the first query's own key")(lambda: (0, 3, 2, 5, [1, 1, 2, 2, 2]))
task.case("2 queries of 5 keys, one document: the first query's own key")(
    lambda: (0, 3, 2, 5, [1, 1, 1, 1, 1])
)
task.case("2 queries of 5 keys: the first of all keys, for the first query")(
    lambda: (0, 0, 2, 5, [1, 1, 2, 2, 2])
)
task.case("2 queries of 5 keys, one document: the key after the first query's own")(
    lambda: (0, 4, 2, 5, [1, 1, 1, 1, 1])
)
task.case("5 queries of 5 keys: the first key of the query's own document")(
    lambda: (4, 2, 5, 5, [1, 1, 2, 2, 2])
)
task.case("a query at the first token of its document")(lambda: (2, 2, 5, 5, [1, 1, 2, 2, 2]))
task.case("a query at the first token of its document, and the key before")(
    lambda: (2, 1, 5, 5, [1, 1, 2, 2, 2])
)
task.case("documents with high numbers")(
    lambda: (3, 2, 4, 4, [int(name) for name in ("999", "999", "5000", "5000")])
)
task.case("documents whose numbers are fractions")(lambda: (3, 1, 4, 4, [0.25, 0.25, 0.75, 0.75]))
task.case("70 queries of 140 keys, in documents of 20")(
    lambda: (60, 125, 70, 140, [key // 20 for key in range(140)])
)


@task.right("the query's position is looked up first; then its document, and the order.")
def position_first(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    position = query + num_keys - num_queries
    if key > position:
        return False
    return documents[key] == documents[position]


@task.right("counted from the end, a query and the key at its position have the same number.")
def counted_from_the_end(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    from_the_end = query - num_queries
    return key - num_keys <= from_the_end and documents[from_the_end] == documents[key]


@task.right("it lists the keys that the query may see.")
def listed(query: int, key: int, num_queries: int, num_keys: int, documents: Documents) -> bool:
    position = num_keys - num_queries + query
    return key in [k for k in range(position + 1) if documents[k] == documents[position]]


@task.bug(
    symptom="A document's output changes when another one is packed before it.",
    origin="transformers#46634",
    mend="compare the document of the query's position with the key's, too.",
    case="5 queries of 5 keys: a key of the document before",
)
def documents_leak(
    query: int,
    key: int,
    num_queries: int,
    num_keys: int,
    documents: Documents,  # noqa: ARG001
) -> bool:
    """`documents` is never used, and documents see each other."""
    return key <= query + num_keys - num_queries


@task.bug(
    symptom="The loss is far too low: each word sees the next one.",
    origin="a common slip",
    mend="hide the keys after the query's position, too.",
    case="5 queries of 5 keys: the next key of the same document",
)
def the_future_is_seen(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    """documents are kept apart, and nothing hides the future."""
    return documents[key] == documents[query + num_keys - num_queries]


@task.bug(
    symptom="A word sees its document's future, and all documents before it.",
    origin="a common slip",
    mend="join both rules by `and`: the same document, and no later position.",
    case="5 queries of 5 keys: the next key of the same document",
)
def joined_by_or(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    """a key is visible by its document or by its position, where both must allow it."""
    position = query + num_keys - num_queries
    return documents[key] == documents[position] or key <= position


@task.bug(
    symptom="With the keys kept, each new word sees the first document.",
    origin="pytorch#108108, executorch#21749",
    mend="among the keys the query stands at `query + num_keys - num_queries`.",
    case="2 queries of 5 keys: the first query's own key",
)
def counted_from_the_first_key(
    query: int,
    key: int,
    num_queries: int,  # noqa: ARG001
    num_keys: int,  # noqa: ARG001
    documents: Documents,
) -> bool:
    """the queries are taken to stand at the first positions of the keys, where they stand last."""
    return documents[key] == documents[query] and key <= query


@task.bug(
    symptom="With the keys kept, a new word finds nothing of its own document.",
    origin="a common slip: the position was moved for the order only",
    mend="look up the document at the query's position: `documents[query + num_keys - …]`.",
    case="2 queries of 5 keys: the first query's own key",
)
def document_by_the_querys_number(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    """the query's document is looked up by its number, and not by its position."""
    return documents[key] == documents[query] and key <= query + num_keys - num_queries


@task.bug(
    symptom="The first document is right; what comes later leaks, in some batches only.",
    origin="a common slip",
    mend="compare by `==`: a lower number is another document all the same.",
    case="5 queries of 5 keys: a key of the document before",
)
def documents_with_lower_numbers_leak(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    """documents are compared by `<=`, and those with lower numbers are seen."""
    position = query + num_keys - num_queries
    return documents[key] <= documents[position] and key <= position


@task.bug(
    symptom="One document of each sequence is never learned.",
    origin="a common slip: 0 counts as False",
    mend="hide nothing for its number: 0 is a document like any other.",
    case="a document with the number 0",
)
def document_0_is_taken_for_padding(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    """the keys of document 0 are hidden, as if 0 were padding."""
    position = query + num_keys - num_queries
    same = documents[key] == documents[position] and documents[key] != 0
    return same and key <= position


@task.bug(
    symptom="The first word of each document sees nothing.",
    origin="a common slip",
    mend="a query sees itself: compare positions by `<=`.",
    case="5 queries of 5 keys: the query's own key",
)
def own_position_hidden(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    """a query sees the keys before its own position, and its own is hidden."""
    position = query + num_keys - num_queries
    return documents[key] == documents[position] and key < position


@task.bug(
    symptom="Each word attends to all that it should not see.",
    origin="tensorflow/text#894; LLMs-from-scratch#1061",
    mend="turn it round with `not`: here True means visible.",
    case="5 queries of 5 keys: an earlier key of the same document",
)
def true_means_hidden(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    """what is hidden is True, and what is visible False."""
    position = query + num_keys - num_queries
    return documents[key] != documents[position] or key > position


@task.bug(
    symptom="Each word sees what comes after it, up to its document's end.",
    origin="a common slip",
    mend="turn the comparison round: a key that may be seen has the same position, or a lower one.",
    case="5 queries of 5 keys: an earlier key of the same document",
)
def only_the_future_visible(
    query: int, key: int, num_queries: int, num_keys: int, documents: Documents
) -> bool:
    """the order is turned round: each query sees its own position and the future."""
    position = query + num_keys - num_queries
    return documents[key] == documents[position] and key >= position
