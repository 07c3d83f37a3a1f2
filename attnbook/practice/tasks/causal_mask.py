"""The mask that hides the future."""

import math

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.list_task import ListTask
from attnbook.practice.reference_steps import past
from attnbook.practice.task import Function, Law, Task


def positions_of_queries(num_queries: int, num_keys: int) -> Tensor:
    """Where the queries are, as a column."""
    return torch.arange(num_keys)[num_keys - num_queries :, None]


def _hides_the_future(mask: Tensor, num_queries: int, num_keys: int) -> bool:
    return not mask[torch.arange(num_keys) > positions_of_queries(num_queries, num_keys)].any()


def _each_attends_to_itself(mask: Tensor, num_queries: int, num_keys: int) -> bool:
    return bool(mask.gather(1, positions_of_queries(num_queries, num_keys)).all())


task = Task(
    name="causal-mask",
    statement=(
        "Write `causal_mask(num_queries, num_keys)`. It gives a boolean tensor of shape "
        "(num_queries, num_keys), where True = visible: each query sees the key at its own "
        "position and all keys before it, and none after it. Queries are at the *last* "
        "positions of the keys: the last query at the last key, so it sees them all. There are "
        "never more queries than keys."
    ),
    starter="def causal_mask(num_queries, num_keys):\n    ...",
    laws=(
        Law("Some query attends to a key after its own position: the future.", _hides_the_future),
        Law("Some query does not attend to the key at its own position.", _each_attends_to_itself),
    ),
)


task.case("as many queries as keys")(lambda: (5, 5))
task.case("fewer queries than keys")(lambda: (3, 7))
task.case("one query less than keys")(lambda: (4, 5))
task.case("one query and six keys")(lambda: (1, 6))
task.case("one query and one key")(lambda: (1, 1))
task.case("31 queries and 37 keys")(lambda: (31, 37))
task.case("131 queries and 300 keys")(lambda: (131, 300))


@task.solution("it is the book's own, without the axis for examples.")
def the_package(num_queries: int, num_keys: int) -> Tensor:
    return attnbook.causal_mask((1, num_queries, num_keys))[0]


@task.solution("`tril`, its diagonal ending at the bottom right, keeps the keys up to each query.")
def lower_triangle(num_queries: int, num_keys: int) -> Tensor:
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(diagonal=num_keys - num_queries)


@task.solution("it compares the positions of keys with those of queries.")
def positions_compared(num_queries: int, num_keys: int) -> Tensor:
    of_queries = torch.arange(num_queries) + (num_keys - num_queries)
    return torch.arange(num_keys)[None, :] <= of_queries[:, None]


@task.solution("it fills row after row: the last query sees all keys, the one before one less.")
def row_by_row(num_queries: int, num_keys: int) -> Tensor:
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        mask[query, : num_keys - num_queries + query + 1] = True
    return mask


@task.test
def test_two_queries_are_at_the_last_two_of_four_keys(function: Function) -> None:
    assert function(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


@task.test
def test_the_mask_is_boolean(function: Function) -> None:
    assert function(5, 5).dtype == torch.bool


task.bug(
    "counted from the first key",
    "the queries are placed at the first positions of the keys, but they are at the last.",
    symptom="With cached keys, each new token attends to the first token only.",
    origin="pytorch#108108, executorch#21749: `is_causal=True` of PyTorch's SDPA",
    fix="move the diagonal: `tril(diagonal=num_keys - num_queries)`.",
)(lambda num_queries, num_keys: torch.ones(num_queries, num_keys).tril().bool())

task.bug(
    "diagonal of the wrong sign",
    "the diagonal is moved by num_queries - num_keys, which is down instead of up.",
    symptom="The mask of a whole text is right, but with cached keys some queries attend to no key "
    "at all.",
    fix="reverse the difference: a diagonal above the main one has a positive number, "
    "`num_keys - num_queries`.",
)(
    lambda num_queries, num_keys: (
        torch.ones(num_queries, num_keys).tril(num_queries - num_keys).bool()
    )
)

task.bug(
    "only the future visible",
    "the triangle is the upper one, so each query attends to its own position and the future.",
    symptom="The first query attends to everything, the last one only to itself.",
    fix="take `tril`, the lower triangle: what comes before is on the left.",
)(
    lambda num_queries, num_keys: (
        torch.ones(num_queries, num_keys).triu(num_keys - num_queries).bool()
    )
)


@task.bug(
    symptom="Each output is just the value at its own position.",
    fix="compare with `<=`, not with `==`.",
)
def only_the_own_position_visible(num_queries: int, num_keys: int) -> Tensor:
    """each query attends to the key at its own position, and to none before it."""
    return torch.arange(num_keys) == positions_of_queries(num_queries, num_keys)


task.bug(
    "ones and zeros",
    "the mask holds the numbers 1.0 and 0.0, where True and False belong.",
    symptom="Added to the scores, it hides nothing.",
    origin="read in code that adds such a mask to the scores",
    fix="make it boolean: `dtype=torch.bool`, or `mask == 1`.",
)(lambda num_queries, num_keys: past(num_queries, num_keys).float())

task.bug(
    "numbers to be added",
    "the mask holds 0 and -inf, to be added to scores, where True and False belong.",
    symptom="`masked_fill` refuses it; added to the scores, it works.",
    origin="a common mistake; torch's `generate_square_subsequent_mask` makes such a mask",
    fix="leave it boolean; code that adds a mask to scores can convert it.",
)(lambda num_queries, num_keys: torch.where(past(num_queries, num_keys), 0.0, -math.inf))


@task.bug(
    symptom="It works on whole texts; with cached keys the shapes do not fit.",
    fix="take the last num_queries rows of the square.",
)
def always_a_square(num_queries: int, num_keys: int) -> Tensor:
    """the mask has a row for each key, and the number of queries is never used."""
    del num_queries
    return past(num_keys, num_keys)


task.inherit(
    lambda mask: lambda num_queries, num_keys: mask(past(num_queries, num_keys)),
    mistakes.masking,
    without=("the first examples mask for all",),
)


# On plain lists

by_hand = ListTask(
    name="causal-rule-by-hand",
    in_torch=task,
    draws="mask",
    fix_later=True,
    statement=(
        "Write `may_see(query, key, num_queries, num_keys)`: True or False. `query` is the number "
        "of a query, `key` that of a key: queries and keys are counted separately, each from 0. "
        "The last query is at the position of the last key, the query before it one position "
        "earlier, and so on. A query may see the key at its own position and all keys "
        "before it, and none after it. There are never more queries than keys."
    ),
    starter="def may_see(query, key, num_queries, num_keys):\n    ...",
)


by_hand.case("3 queries, 3 keys: the key before the query's own")(lambda: (1, 0, 3, 3))
by_hand.case("3 queries, 3 keys: the query's own key")(lambda: (1, 1, 3, 3))
by_hand.case("3 queries, 3 keys: the key after the query's own")(lambda: (1, 2, 3, 3))
by_hand.case("2 queries, 5 keys: the first query's own key")(lambda: (0, 3, 2, 5))
by_hand.case("2 queries, 5 keys: the key after the first query's own")(lambda: (0, 4, 2, 5))
by_hand.case("2 queries, 5 keys: the last query and the second key")(lambda: (1, 1, 2, 5))
by_hand.case("4 queries, 5 keys: the last query and the last key")(lambda: (3, 4, 4, 5))
by_hand.case("4 queries, 5 keys: the first query and the last key")(lambda: (0, 4, 4, 5))
by_hand.case("1 query, 6 keys: the last key")(lambda: (0, 5, 1, 6))
by_hand.case("130 queries, 200 keys: a key near the query's own")(lambda: (70, 139, 130, 200))


@by_hand.solution("a query's position is its number plus how many more keys there are.")
def positions_compared_by_hand(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    position = query + num_keys - num_queries
    return key <= position


@by_hand.solution("counted from the end, the last query and the last key are both number 0.")
def counted_from_the_end(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    return num_keys - 1 - key >= num_queries - 1 - query


@by_hand.solution("it lists the visible keys: all keys except one for each later query.")
def listed(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    later = num_queries - 1 - query
    return key in range(num_keys - later)


@by_hand.bug(
    "counted from the first key",
    fix="count query and key from the same end: the query is at position "
    "`query + num_keys - num_queries`, and the key at position `key`.",
)
def not_moved(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    return key <= query


@by_hand.bug(
    fix="reverse the difference: `num_keys - num_queries` is above 0 if there are more keys."
)
def moved_the_wrong_way(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """the query is moved by num_queries - num_keys, backward instead of forward."""
    return key <= query + num_queries - num_keys


@by_hand.bug(
    fix="let a query attend to its own position: compare with `<=`, and do not subtract 1."
)
def one_key_too_few_by_hand(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    return key < query + num_keys - num_queries


@by_hand.bug()
def one_key_too_many_by_hand(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    return key <= query + num_keys - num_queries + 1


@by_hand.bug(fix="invert it with `not`: here True means visible, elsewhere it may mean hidden.")
def mask_inverted_by_hand(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    return key > query + num_keys - num_queries


@by_hand.bug(fix="reverse the comparison: a visible key has the query's position, or a lower one.")
def only_the_future_visible_by_hand(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """the comparison is reversed: each query attends to its own position and the future."""
    return key >= query + num_keys - num_queries


@by_hand.bug("only the own position visible")
def only_the_own_position(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    return key == query + num_keys - num_queries


@by_hand.bug(fix="answer False where the key's position is higher than the query's.")
def nothing_hidden(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """all keys are visible, also those of the future."""
    return key < num_keys


@by_hand.bug(fix="add the query's number: its position is `query + num_keys - num_queries`.")
def all_queries_at_the_first_ones_place(
    query: int, key: int, num_queries: int, num_keys: int
) -> bool:
    """all queries are placed where the first one is."""
    return key <= num_keys - num_queries + 0 * query


@by_hand.bug(
    fix="add `num_keys - num_queries` to the number of every query, however many there are."
)
def moved_only_where_there_is_one(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """a single query attends to all keys, but several queries are placed at the first positions."""
    return num_queries == 1 or key <= query


@by_hand.bug(fix="`query` attends, `key` is attended to: compare `key` with the query's position.")
def query_and_key_exchanged(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """query and key are exchanged, and a key attends to the queries before it."""
    return query <= key + num_keys - num_queries


@by_hand.bug(fix="count both from the first key: the query is at `query + num_keys - num_queries`.")
def counted_from_the_other_end(query: int, key: int, num_queries: int, num_keys: int) -> bool:
    """the query is counted from the end of the keys, and the key from their beginning."""
    return key <= num_keys - 1 - query
