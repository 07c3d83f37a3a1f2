"""A score by a small network, for one query and one key."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]
Rows = list[list[float]]


def _times(matrix: Rows, vector: Row) -> Row:
    return [sum(m * x for m, x in zip(row, vector, strict=True)) for row in matrix]


def _dot(one: Row, other: Row) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _score(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    sums = [a + b for a, b in zip(_times(W_q, query), _times(W_k, key), strict=True)]
    return _dot(w_v, [math.tanh(each) for each in sums])


task = ListTask(
    name="additive-score-by-hand",
    in_torch="additive-score",
    draws="score",
    statement=(
        "Write `additive_score(query, key, W_q, W_k, w_v)`: two vectors, which may differ in "
        "size, become one number. `W_q` and `W_k` are matrices, lists of rows, with one row for "
        "each hidden unit; `w_v` has one number for each. A hidden unit is `math.tanh` of a sum: "
        "the dot product of its row of `W_q` with `query`, plus that of its row of `W_k` with "
        "`key`. `math.tanh` holds for sums of any size. The score is the dot product of `w_v` with "
        "the hidden units."
    ),
    starter="import math\n\ndef additive_score(query, key, W_q, W_k, w_v):\n    ...",
)


task.case("two numbers everywhere")(
    lambda: (
        [1.0, 0.5],
        [0.5, -1.0],
        [[0.4, -0.2], [0.6, 1.0]],
        [[-2.0, 0.4], [0.5, -0.2]],
        [2.0, -0.5],
    )
)
task.case("a query longer than the key, and three hidden units")(
    lambda: ([1.0, -2.0], [0.5], [[0.5, 0.2], [0.3, 0.1], [-0.4, 1]], [[1], [-0.6], [2]], [1, 3, 5])
)
task.case("a key longer than the query, and one hidden unit")(
    lambda: ([0.5], [1.0, 2.0], [[-1.0]], [[0.6, 0.2]], [-2.0])
)
task.case("a query of zeros")(
    lambda: (
        [0.0, 0.0],
        [1.0, -0.5],
        [[1.0, 0.5], [2.0, -1.0]],
        [[0.5, 0.2], [-1, 0.4]],
        [1.0, 5.0],
    )
)
task.case("a key of zeros")(
    lambda: ([1.0, 0.5], [0.0, 0.0], [[1.0, 0.5], [0.3, -1.0]], [[2.0, 0.2], [1, 0.4]], [1.0, -4.0])
)
task.case("sums of 1000")(
    lambda: ([2.0, 1.0], [-1.0, 0.0], [[500, 0], [-400, 30]], [[0, 100], [200, 0]], [3.0, 1.0])
)
task.case("vectors of 5 and 4 numbers, 9 hidden units")(
    lambda: (
        [0.5, -1.0, 0.25, 1.0, 2.0],
        [1.0, 0.5, -0.5, 0.25],
        [[h * 0.1 - i * 0.2 for i in range(5)] for h in range(9)],
        [[i * 0.3 - h * 0.1 for i in range(4)] for h in range(9)],
        [h - 4.5 for h in range(9)],
    )
)


@task.right("it adds what each hidden unit says, one unit after the other.")
def unit_by_unit(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    score = 0.0
    for row_q, row_k, weight in zip(W_q, W_k, w_v, strict=True):
        total = sum(w * q for w, q in zip(row_q, query, strict=True))
        total += sum(w * k for w, k in zip(row_k, key, strict=True))
        score += weight * math.tanh(total)
    return score


@task.right("it is the formula: two matrix products, their sum, tanh, and a dot product.")
def by_the_formula(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    of_query = [sum(w * q for w, q in zip(row, query, strict=True)) for row in W_q]
    of_key = [sum(w * k for w, k in zip(row, key, strict=True)) for row in W_k]
    hidden = [math.tanh(a + b) for a, b in zip(of_query, of_key, strict=True)]
    return sum(v * h for v, h in zip(w_v, hidden, strict=True))


@task.right("both matrices side by side meet query and key end to end.")
def joined(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    both = query + key
    score = 0.0
    for h in range(len(w_v)):
        row = W_q[h] + W_k[h]
        score += w_v[h] * math.tanh(sum(row[i] * both[i] for i in range(len(both))))
    return score


@task.bug(
    symptom="Two different queries give the same weights.",
    origin="a common slip",
    mend="put `math.tanh` around each sum, before `w_v`.",
    case="two numbers everywhere",
)
def no_tanh(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the sums go to `w_v` without `math.tanh`."""
    return _dot(w_v, _times(W_q, query)) + _dot(w_v, _times(W_k, key))


@task.bug(
    symptom="It was right until query and key had different sizes; now it stops.",
    origin="a common slip",
    mend="`W_q` belongs to the query, `W_k` to the key.",
    case="two numbers everywhere",
)
def matrices_swapped(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """`W_k` meets the query, `W_q` the key; it runs only where query and key are equally long."""
    return _score(query, key, W_k, W_q, w_v)


@task.bug(
    symptom="All keys get the same weight, whatever they hold.",
    origin="PyTorch's seq2seq tutorial (stored version), #2840, #3643",
    mend="add the dot product with `key` inside of `math.tanh`, unit by unit: numbers, not lists.",
    case="two numbers everywhere",
)
def the_key_is_not_looked_at(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the key's part is lost: not added, or `+` lays it behind as a list, and `zip` cuts it off."""
    return _score(query, [0.0] * len(key), W_q, W_k, w_v)


@task.bug(
    symptom="Each query gets the same weights, whatever it holds.",
    origin="a common slip",
    mend="add both dot products inside of `math.tanh`; to a sum so far, one adds by `+=`.",
    case="two numbers everywhere",
)
def the_query_is_not_looked_at(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the query's part is lost: it is not added, or `=` has put the key's part in its place."""
    return _score([0.0] * len(query), key, W_q, W_k, w_v)


@task.bug(
    symptom="All scores lie between -1 and 1, so no weight becomes large.",
    origin="a common slip",
    mend="take `math.tanh` of each hidden unit's sum, and `w_v` after it.",
    case="two numbers everywhere",
)
def tanh_after_w_v(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """tanh is taken of the finished score, after `w_v`."""
    return math.tanh(_dot(w_v, _times(W_q, query)) + _dot(w_v, _times(W_k, key)))


@task.bug(
    symptom="The scores of two queries differ by the same number for each key.",
    origin="a common slip",
    mend="add both dot products first, then take `math.tanh` of the sum.",
    case="two numbers everywhere",
)
def tanh_of_each(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """tanh is taken of both dot products by themselves, before they are added."""
    pairs = zip(_times(W_q, query), _times(W_k, key), strict=True)
    return _dot(w_v, [math.tanh(a) + math.tanh(b) for a, b in pairs])


@task.bug(
    symptom="A query of zeros gives each key the score 0.",
    origin="a common slip",
    mend="add the two dot products; that is why the score is called additive.",
    case="two numbers everywhere",
)
def product_in_place_of_the_sum(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """both dot products are multiplied, where they should be added."""
    pairs = zip(_times(W_q, query), _times(W_k, key), strict=True)
    return _dot(w_v, [math.tanh(a * b) for a, b in pairs])


@task.bug(
    symptom="Some hidden units count for too much, and others for too little.",
    origin="a new reader's first try",
    mend="multiply each hidden unit by its number of `w_v` before you add.",
    case="two numbers everywhere",
)
def w_v_forgotten(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the hidden units are added up, and `w_v` is never used."""
    return _score(query, key, W_q, W_k, [1.0] * len(w_v))


@task.bug(
    symptom="It is right for some matrices, and stops at those that are not square.",
    origin="a common slip",
    mend="go along a row, `W_q[h][i] * query[i]`, and not down a column.",
    case="two numbers everywhere",
)
def columns_in_place_of_rows(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the columns of the matrices meet the vectors, in place of their rows."""
    turned_q = [[row[h] for row in W_q] for h in range(len(w_v))]
    turned_k = [[row[h] for row in W_k] for h in range(len(w_v))]
    return _score(query, key, turned_q, turned_k, w_v)


@task.bug(
    symptom="The order of a query's numbers hardly matters, and scores are too far from 0.",
    origin="a new reader's first try",
    mend="add up the products first, then take `math.tanh` of the sum.",
    case="two numbers everywhere",
)
def tanh_of_each_product(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """tanh is taken of each product by itself, before they are added."""
    rows = [q + k for q, k in zip(W_q, W_k, strict=True)]
    units = [sum(math.tanh(w * x) for w, x in zip(row, query + key, strict=True)) for row in rows]
    return _dot(w_v, units)


@task.bug(
    symptom="A query that is equal to the key counts twice, and `W_k` never learns.",
    origin="a new reader's first try",
    mend="multiply the key by its own matrix, `W_k`.",
    case="two numbers everywhere",
)
def one_matrix_for_both(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:  # noqa: ARG001
    """`W_q` is applied to the key, too, and `W_k` to nothing."""
    return _score(query, key, W_q, W_q, w_v)


@task.bug(
    symptom="The first hidden unit is right, and all others are not.",
    origin="a new reader's first try",
    mend="begin each hidden unit's sum with 0, inside the loop over the units.",
    case="two numbers everywhere",
)
def sum_not_reset(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the sum of a hidden unit goes on with the next one, where it should begin with 0."""
    sums = [a + b for a, b in zip(_times(W_q, query), _times(W_k, key), strict=True)]
    return _dot(w_v, [math.tanh(sum(sums[: h + 1])) for h in range(len(sums))])


@task.bug(
    symptom="The score is that of one hidden unit.",
    origin="a new reader's first try",
    mend="begin with `score = 0`, and add what each unit says: `score += …`.",
    case="two numbers everywhere",
)
def the_last_unit_only(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """only the last hidden unit counts: `=` replaces the score so far, where `+=` adds to it."""
    return _score(query, key, W_q[-1:], W_k[-1:], w_v[-1:])
