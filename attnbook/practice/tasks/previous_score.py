"""How much a head attends to the key just before."""

from attnbook.practice.list_task import ListTask
from attnbook.practice.tasks.induction_score import task as induction_score

Rows = list[list[float]]


def _before(weights: Rows) -> list[float]:
    return [weights[i][i - 1] for i in range(1, len(weights))]


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


by_hand = ListTask(
    name="previous-score-by-hand",
    in_torch=induction_score,
    statement=(
        "Write `previous_score(weights)`: one head's weights, a list of rows. "
        "`weights[query][key]` is the weight that a query gives to a key; there are as many keys "
        "as queries, all counted from 0. Return one number: the mean weight on the key just "
        "before the query, over all queries except query 0, which has no key before it. Where "
        "there is only one query, return 0."
    ),
    starter="def previous_score(weights):\n    ...",
)

by_hand.case("a head that sees the future, too")(
    lambda: (
        [[0.1, 0.7, 0.1, 0.1], [0.3, 0.2, 0.4, 0.1], [0.2, 0.5, 0.1, 0.2], [0.25, 0.1, 0.25, 0.4]],
    )
)
by_hand.case("three queries")(lambda: ([[1.0, 0.0, 0.0], [0.6, 0.4, 0.0], [0.2, 0.5, 0.3]],))
by_hand.case("four queries")(
    lambda: (
        [[1.0, 0.0, 0.0, 0.0], [0.9, 0.1, 0.0, 0.0], [0.2, 0.7, 0.1, 0.0], [0.3, 0.4, 0.1, 0.2]],
    )
)
by_hand.case("a head that always looks just before")(
    lambda: ([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],)
)
by_hand.case("a head that looks everywhere alike")(
    lambda: ([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]],)
)
by_hand.case("two queries")(lambda: ([[1.0, 0.0], [0.8, 0.2]],))
by_hand.case("one query")(lambda: ([[1.0]],))
by_hand.case("6 queries")(
    lambda: ([[(query + 2 * key) % 5 / 10 for key in range(6)] for query in range(6)],)
)


@by_hand.solution("the key just before query i is i - 1.")
def in_one_line(weights: Rows) -> float:
    count = len(weights) - 1
    return sum(weights[i][i - 1] for i in range(1, len(weights))) / count if count else 0


@by_hand.solution("it adds up in a loop, and returns early where there is nothing to add.")
def in_a_loop(weights: Rows) -> float:
    if len(weights) == 1:
        return 0.0
    total = 0.0
    for query, row in enumerate(weights):
        if query > 0:
            total += row[query - 1]
    return total / (len(weights) - 1)


@by_hand.solution("it is a running mean: each weight changes it by `(weight - mean) / count`.")
def a_running_mean(weights: Rows) -> float:
    mean = 0.0
    for query in range(1, len(weights)):
        mean += (weights[query][query - 1] - mean) / query
    return mean


@by_hand.bug(fix="divide by `len(weights) - 1`: query 0 has no key before it.")
def query_0_is_counted(weights: Rows) -> float:
    """the sum is divided by the number of all queries, but query 0 has no key before it."""
    return sum(_before(weights)) / len(weights)


@by_hand.bug(fix="begin with query 1: for query 0 `query - 1` is -1, the row's last index.")
def query_0_takes_the_last_key(weights: Rows) -> float:
    """query 0 counts, too: for it `[query - 1]` is `[-1]`, the last key of its row."""
    return _mean([row[i - 1] for i, row in enumerate(weights)])


@by_hand.bug(fix="take `weights[query][query - 1]`, one to the left of the query's own key.")
def own_key_is_taken(weights: Rows) -> float:
    """each query's weight on its own key is taken, and not on the one before it."""
    return _mean([weights[i][i] for i in range(1, len(weights))])


@by_hand.bug(
    fix="the query comes first, `weights[query][key]`, and the key before it is `query - 1`."
)
def rows_and_columns_exchanged(weights: Rows) -> float:
    """row and column are exchanged, which gives the weight on the key just after the query."""
    return _mean([weights[i - 1][i] for i in range(1, len(weights))])


@by_hand.bug(fix="take the mean over the queries.")
def highest_weight_only(weights: Rows) -> float:
    """the highest of the weights is returned, and not their mean."""
    return max(_before(weights)) if len(weights) > 1 else 0.0


@by_hand.bug(fix="divide the sum by the number of queries that have a key before them.")
def never_divided(weights: Rows) -> float:
    return sum(_before(weights))


@by_hand.bug(fix="return 0 where there is only one query.")
def nothing_divided_by_nothing(weights: Rows) -> float:
    """where there is only one query, 0 is divided by 0."""
    return sum(_before(weights)) / (len(weights) - 1)


@by_hand.bug(fix="take only one weight of each row, the one at `query - 1`.")
def all_earlier_keys(weights: Rows) -> float:
    """the weights on all earlier keys are added up, not only that on the one just before."""
    return _mean([sum(weights[i][:i]) for i in range(1, len(weights))])


@by_hand.bug(fix="add each weight to what is there, `total += …`, and divide after the loop.")
def last_query_only(weights: Rows) -> float:
    """each weight replaces the one before it, and only the last query counts."""
    return _before(weights)[-1] if len(weights) > 1 else 0.0


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_inside_the_loop(weights: Rows) -> float:
    """`return` is inside the loop, and ends it at query 1."""
    return _before(weights)[0] / (len(weights) - 1) if len(weights) > 1 else 0.0


@by_hand.bug(
    fix="average the weights themselves: a head may give that key only half of its weight."
)
def hits_are_counted(weights: Rows) -> float:
    """it counts how often the key before has the highest weight, and does not average weights."""
    rows = [(weights[i], i - 1) for i in range(1, len(weights))]
    return _mean([1.0 if row.index(max(row)) == key else 0.0 for row, key in rows])


@by_hand.bug(fix="add the weights up, and divide by their number.")
def never_averaged(weights: Rows) -> list[float]:
    """the weights are collected in a list, and never averaged."""
    return _before(weights)


@by_hand.bug(fix="begin with query 1: key 0 is just before it.")
def begins_at_query_2(weights: Rows) -> float:
    """the loop begins one query too late, at query 2."""
    return _mean(_before(weights)[1:])


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def query_1_only(weights: Rows) -> float:
    """only query 1 counts, as when `return` is inside the loop over the queries."""
    return _before(weights)[0] if len(weights) > 1 else 0.0
