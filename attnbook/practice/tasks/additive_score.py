"""Scores by a small network, for each pair of a query and a key."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

import attnbook
from attnbook.practice.example_inputs import normal
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Function, Law, Task


def _can_come_from_tanh(scores: Tensor, *inputs: Tensor) -> bool:
    most = inputs[-1].double().abs().sum()
    return not bool((scores.double().abs() > 1.01 * most + 1e-3).any())


task = Task(
    name="additive-score",
    statement=(
        "Write `additive_score(queries, keys, W_q, W_k, w_v)`: the score of a query q and a key k "
        "is w_vᵀ tanh(W_q q + W_k k). `queries` has shape (batch, num_queries, query_size), `keys` "
        "(batch, num_keys, key_size), `W_q` (num_hiddens, query_size), `W_k` (num_hiddens, "
        "key_size), `w_v` (num_hiddens,). Return all scores, (batch, num_queries, num_keys), "
        "before any softmax."
    ),
    starter="def additive_score(queries, keys, W_q, W_k, w_v):\n    ...",
    laws=(
        Law(
            "Some score exceeds the sum of all |w_v|: impossible, as `tanh` is between -1 and 1.",
            _can_come_from_tanh,
        ),
    ),
)


def _inputs(batch: int, num_queries: int, num_keys: int, *sizes: int) -> tuple[Tensor, ...]:
    query_size, key_size, num_hiddens = sizes
    return (
        normal(batch, num_queries, query_size),
        normal(batch, num_keys, key_size, seed=1),
        normal(num_hiddens, query_size, seed=2),
        normal(num_hiddens, key_size, seed=3),
        normal(num_hiddens, seed=4),
    )


task.case("queries as long as keys")(lambda: _inputs(2, 3, 5, 7, 7, 11))
task.case("queries longer than keys")(lambda: _inputs(2, 3, 5, 13, 7, 11))
task.case("as many queries as keys")(lambda: _inputs(2, 5, 5, 3, 7, 11))
task.case("all sizes are 3")(lambda: _inputs(3, 3, 3, 3, 3, 3))
task.case("one query and one key")(lambda: _inputs(1, 1, 1, 3, 5, 7))
task.case("one hidden unit")(lambda: _inputs(2, 3, 5, 7, 11, 1))


@task.case("keys of 1000 and of -1000")
def _() -> tuple[Tensor, ...]:
    queries, keys, W_q, W_k, w_v = _inputs(2, 3, 5, 7, 11, 13)
    # An odd number of terms of 1000 or -1000: no sum is near 0.
    return queries, 1000 * keys.sign(), W_q, W_k.sign(), w_v


@task.case("queries and keys that are not contiguous")
def _() -> tuple[Tensor, ...]:
    queries, keys, *weights = _inputs(2, 3, 5, 7, 11, 13)
    return queries.mT.contiguous().mT, keys.mT.contiguous().mT, *weights


task.case("half precision")(lambda: tuple(each.half() for each in _inputs(2, 3, 5, 7, 11, 3)))
task.case("70 hidden units, in double precision")(
    lambda: tuple(each.double() for each in _inputs(2, 3, 5, 2, 3, 70))
)
task.case("2 examples of 2 queries, 257 keys")(lambda: _inputs(2, 2, 257, 2, 3, 3))


@task.solution("it is the book's own, for queries and keys that are projected first.")
def the_package(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    return attnbook.additive_score(F.linear(queries, W_q), F.linear(keys, W_k), w_v)


@task.solution("it takes one pair of a query and a key after the other.")
def pair_by_pair(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    rows = [
        torch.stack([w_v @ torch.tanh(W_q @ query + W_k @ key) for key in keys[example]])
        for example in range(len(queries))
        for query in queries[example]
    ]
    return torch.stack(rows).reshape(len(queries), -1, keys.shape[1])


@task.solution("W_q and W_k side by side, times a query joined to a key, is W_q q + W_k k.")
def queries_joined_to_keys(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    every_query = queries.repeat_interleave(keys.shape[1], dim=1)
    every_key = keys.repeat(1, queries.shape[1], 1)
    joined = torch.cat([every_query, every_key], -1) @ torch.cat([W_q, W_k], 1).T
    return (joined.tanh() @ w_v).reshape(len(keys), queries.shape[1], keys.shape[1])


@task.solution("tanh(x) is 2 sigmoid(2x) - 1.")
def by_way_of_the_sigmoid(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    hidden = 2 * torch.sigmoid(2 * sums_of_pairs(queries @ W_q.T, keys @ W_k.T)) - 1
    return torch.einsum("bqkh,h->bqk", hidden, w_v)


def sums_of_pairs(queries: Tensor, keys: Tensor) -> Tensor:
    """Add each query to each key, both projected."""
    return queries[:, :, None] + keys[:, None]


@task.test
def test_a_score_is_w_v_times_tanh_of_the_sum(function: Function) -> None:
    # tanh(ln 2) = 3/5, tanh(ln 3) = 4/5.
    two, three = math.log(2), math.log(3)
    queries, keys = torch.tensor([[[two, 0.0]]]), torch.tensor([[[1.0, three - two, 0]]])
    W_q = torch.tensor([[1.0, 0], [1, 0]])
    W_k = torch.tensor([[0.0, 0, 1], [0, 1, 0]])
    w_v = torch.tensor([10.0, 100])
    assert torch.allclose(function(queries, keys, W_q, W_k, w_v), torch.tensor(6.0 + 80))


@task.test
def test_queries_are_rows_and_keys_are_columns(function: Function) -> None:
    one = torch.ones(1, 1)
    queries, keys = torch.tensor([[[-9.0], [9.0]]]), torch.tensor([[[0.0], [0.0]]])
    scores = function(queries, keys, one, one, torch.ones(1))
    assert torch.allclose(scores, torch.tensor([[[-1.0, -1], [1, 1]]]))


def in_steps(
    project: Function = lambda queries, keys, W_q, W_k: (queries @ W_q.T, keys @ W_k.T),
    add: Function = sums_of_pairs,
    activate: Function = torch.tanh,
    weigh: Function = torch.matmul,
) -> Function:
    """Correct code, of which a bug changes one step."""

    def written(queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
        scores: Tensor = weigh(activate(add(*project(queries, keys, W_q, W_k))), w_v)
        return scores

    return written


task.bug(
    "no tanh",
    "w_v is applied to the plain sum, without `tanh`.",
    symptom="Two different queries give the same weights.",
    origin="the book's own first draft",
    fix="put `torch.tanh` around the sum, before w_v; without it, the query's term adds the same "
    "number to each score of its row, and the softmax cancels this.",
)(in_steps(activate=lambda sums: sums))

task.bug(
    "matrices swapped",
    "W_k is applied to the queries and W_q to the keys: it runs only if their sizes are equal.",
    symptom="It trained well until queries and keys had different sizes; now it crashes.",
    origin="the book's own first draft",
    fix="W_q belongs to the queries, W_k to the keys.",
)(in_steps(project=lambda queries, keys, W_q, W_k: (queries @ W_k.T, keys @ W_q.T)))


@task.bug(
    symptom="All keys get the same weight, whatever they hold.",
    origin="PyTorch's seq2seq tutorial (stored version), #2840, #3643",
    fix="add W_k k inside of `tanh`.",
)
def keys_are_not_looked_at(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """the scores come from the query alone and never depend on the keys."""
    del W_k
    scores = (queries @ W_q.T).tanh() @ w_v
    return scores[:, :, None].expand(-1, -1, keys.shape[1])


@task.bug(
    symptom="Each query gets the same weights, whatever it holds.",
    fix="add W_q q inside of `tanh`.",
)
def queries_are_not_looked_at(
    queries: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor
) -> Tensor:
    """the scores come from the key alone and never depend on the query."""
    del W_q
    scores = (keys @ W_k.T).tanh() @ w_v
    return scores[:, None].expand(-1, queries.shape[1], -1)


task.bug(
    "sigmoid in place of tanh",
    "the sigmoid is applied to the sum, instead of `tanh`.",
    symptom="It learns, but its weights differ from the paper's.",
    fix="take `torch.tanh`, which goes from -1 to 1; the sigmoid goes from 0 to 1.",
)(in_steps(activate=torch.sigmoid))

task.bug(
    "tanh after w v",
    "`tanh` is applied to the finished score, after w_v.",
    symptom="All scores lie between -1 and 1, so no weight becomes large.",
    fix="put `tanh` around W_q q + W_k k, then multiply by w_v.",
)(in_steps(activate=lambda sums: sums, weigh=lambda sums, w_v: (sums @ w_v).tanh()))

task.bug(
    "tanh of each",
    "`tanh` is applied to W_q q and W_k k separately, before they are added.",
    symptom="Any two rows of scores differ by the same number for every key.",
    fix="add first, then take `tanh` of the sum.",
)(in_steps(add=lambda q, k: sums_of_pairs(q.tanh(), k.tanh()), activate=lambda sums: sums))

task.bug(
    "product in place of the sum",
    "W_q q and W_k k are multiplied, where they should be added.",
    symptom="A query of zeros gives each key the score 0.",
    fix="add W_q q and W_k k; that is why the score is called additive.",
)(in_steps(add=lambda q, k: q[:, :, None] * k[:, None]))

task.bug(
    "key minus query",
    "the query is subtracted from the key, as in a distance, where both should be added.",
    symptom="A pretrained layer's weights give other scores here.",
    fix="add both terms: a model can learn with a difference, too, but its weights are others.",
)(in_steps(add=lambda q, k: sums_of_pairs(-q, k)))

task.bug(
    "divided by the root",
    "the scores are divided by √num_hiddens, as those of the dot product would be.",
    symptom="All weights are nearly equal; with more hidden units, they differ even less.",
    fix="leave the scores as they are: only a dot product is divided by a root.",
)(in_steps(weigh=lambda hidden, w_v: hidden @ w_v / math.sqrt(len(w_v))))

task.bug(
    "queries and keys change places",
    "the scores are transposed, a row for each key and a column for each query.",
    symptom="With as many queries as keys the shape is right, but each row belongs to a key.",
    fix="give the queries an axis for keys, `[:, :, None]`, and the keys an axis for queries, "
    "`[:, None]`.",
)(in_steps(add=lambda q, k: sums_of_pairs(k, q)))


# On plain lists

Row = list[float]
Rows = list[list[float]]


def _times(matrix: Rows, vector: Row) -> Row:
    return [sum(m * x for m, x in zip(row, vector, strict=True)) for row in matrix]


def _dot(one: Row, other: Row) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _score(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    sums = [a + b for a, b in zip(_times(W_q, query), _times(W_k, key), strict=True)]
    return _dot(w_v, [math.tanh(each) for each in sums])


by_hand = ListTask(
    name="additive-score-by-hand",
    in_torch=task,
    draws="score",
    statement=(
        "Write `additive_score(query, key, W_q, W_k, w_v)`: two vectors, which may differ in "
        "size, become one number. `W_q` and `W_k` are matrices, lists of rows, with one row for "
        "each hidden unit; `w_v` has one number for each. A hidden unit is `math.tanh` of a sum: "
        "the dot product of its row of `W_q` with `query`, plus that of its row of `W_k` with "
        "`key`. `math.tanh` works for sums of any size. The score is the dot product of `w_v` with "
        "the hidden units."
    ),
    starter="import math\n\ndef additive_score(query, key, W_q, W_k, w_v):\n    ...",
)


by_hand.case("two numbers everywhere")(
    lambda: (
        [1.0, 0.5],
        [0.5, -1.0],
        [[0.4, -0.2], [0.6, 1.0]],
        [[-2.0, 0.4], [0.5, -0.2]],
        [2.0, -0.5],
    )
)
by_hand.case("a query longer than the key, and three hidden units")(
    lambda: ([1.0, -2.0], [0.5], [[0.5, 0.2], [0.3, 0.1], [-0.4, 1]], [[1], [-0.6], [2]], [1, 3, 5])
)
by_hand.case("a key longer than the query, and one hidden unit")(
    lambda: ([0.5], [1.0, 2.0], [[-1.0]], [[0.6, 0.2]], [-2.0])
)
by_hand.case("a query of zeros")(
    lambda: (
        [0.0, 0.0],
        [1.0, -0.5],
        [[1.0, 0.5], [2.0, -1.0]],
        [[0.5, 0.2], [-1, 0.4]],
        [1.0, 5.0],
    )
)
by_hand.case("a key of zeros")(
    lambda: ([1.0, 0.5], [0.0, 0.0], [[1.0, 0.5], [0.3, -1.0]], [[2.0, 0.2], [1, 0.4]], [1.0, -4.0])
)
by_hand.case("sums of 1000")(
    lambda: ([2.0, 1.0], [-1.0, 0.0], [[500, 0], [-400, 30]], [[0, 100], [200, 0]], [3.0, 1.0])
)
by_hand.case("vectors of 5 and 4 numbers, 9 hidden units")(
    lambda: (
        [0.5, -1.0, 0.25, 1.0, 2.0],
        [1.0, 0.5, -0.5, 0.25],
        [[h * 0.1 - i * 0.2 for i in range(5)] for h in range(9)],
        [[i * 0.3 - h * 0.1 for i in range(4)] for h in range(9)],
        [h - 4.5 for h in range(9)],
    )
)


@by_hand.solution("it adds the contribution of each hidden unit, one unit after the other.")
def unit_by_unit_by_hand(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    score = 0.0
    for row_q, row_k, weight in zip(W_q, W_k, w_v, strict=True):
        total = sum(w * q for w, q in zip(row_q, query, strict=True))
        total += sum(w * k for w, k in zip(row_k, key, strict=True))
        score += weight * math.tanh(total)
    return score


@by_hand.solution("it is the formula: two matrix products, their sum, tanh, and a dot product.")
def by_the_formula(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    of_query = [sum(w * q for w, q in zip(row, query, strict=True)) for row in W_q]
    of_key = [sum(w * k for w, k in zip(row, key, strict=True)) for row in W_k]
    hidden = [math.tanh(a + b) for a, b in zip(of_query, of_key, strict=True)]
    return sum(v * h for v, h in zip(w_v, hidden, strict=True))


@by_hand.solution("it joins both rows of a hidden unit, and query and key: one dot product each.")
def joined(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    both = query + key
    score = 0.0
    for h in range(len(w_v)):
        row = W_q[h] + W_k[h]
        score += w_v[h] * math.tanh(sum(row[i] * both[i] for i in range(len(both))))
    return score


@by_hand.bug(fix="put `math.tanh` around each sum, before `w_v`.")
def no_tanh_by_hand(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    return _dot(w_v, _times(W_q, query)) + _dot(w_v, _times(W_k, key))


@by_hand.bug(fix="`W_q` belongs to the query, `W_k` to the key.")
def matrices_swapped_by_hand(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    return _score(query, key, W_k, W_q, w_v)


@by_hand.bug(
    fix="add the dot product with `key` in `math.tanh`: for each unit, add numbers, not lists."
)
def the_key_is_not_looked_at(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the key's part is lost: it is not added, or `+` joins two lists and `zip` cuts one off."""
    return _score(query, [0.0] * len(key), W_q, W_k, w_v)


@by_hand.bug(
    fix="add both dot products inside of `math.tanh`; to add to a sum, write `+=`, not `=`."
)
def the_query_is_not_looked_at(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the query's part is lost: it is not added, or `=` has overwritten it with the key's part."""
    return _score([0.0] * len(query), key, W_q, W_k, w_v)


@by_hand.bug(fix="take `math.tanh` of each hidden unit's sum, then multiply by `w_v`.")
def tanh_after_w_v_by_hand(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    return math.tanh(_dot(w_v, _times(W_q, query)) + _dot(w_v, _times(W_k, key)))


@by_hand.bug(fix="add both dot products first, then take `math.tanh` of the sum.")
def tanh_of_each_by_hand(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    pairs = zip(_times(W_q, query), _times(W_k, key), strict=True)
    return _dot(w_v, [math.tanh(a) + math.tanh(b) for a, b in pairs])


@by_hand.bug(fix="add the two dot products; that is why the score is called additive.")
def product_in_place_of_the_sum_by_hand(
    query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row
) -> float:
    pairs = zip(_times(W_q, query), _times(W_k, key), strict=True)
    return _dot(w_v, [math.tanh(a * b) for a, b in pairs])


@by_hand.bug(fix="multiply each hidden unit by its number in `w_v` before you add.")
def w_v_forgotten(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the hidden units are added up, and `w_v` is never used."""
    return _score(query, key, W_q, W_k, [1.0] * len(w_v))


@by_hand.bug(fix="go along a row, `W_q[h][i] * query[i]`, and not down a column.")
def columns_in_place_of_rows(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """the vectors are multiplied by columns of the matrices, instead of rows."""
    turned_q = [[row[h] for row in W_q] for h in range(len(w_v))]
    turned_k = [[row[h] for row in W_k] for h in range(len(w_v))]
    return _score(query, key, turned_q, turned_k, w_v)


@by_hand.bug(fix="add up the products first, then take `math.tanh` of the sum.")
def tanh_of_each_product(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """tanh is applied to each product separately, before they are added."""
    rows = [q + k for q, k in zip(W_q, W_k, strict=True)]
    units = [sum(math.tanh(w * x) for w, x in zip(row, query + key, strict=True)) for row in rows]
    return _dot(w_v, units)


@by_hand.bug(fix="multiply the key by its own matrix, `W_k`.")
def one_matrix_for_both(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """`W_q` is applied to both query and key, and `W_k` is never used."""
    return _score(query, key, W_q, W_q, w_v)


@by_hand.bug(fix="begin each hidden unit's sum with 0, inside the loop over the units.")
def sum_not_reset(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """a hidden unit's sum begins with that of the unit before, where it should begin with 0."""
    sums = [a + b for a, b in zip(_times(W_q, query), _times(W_k, key), strict=True)]
    return _dot(w_v, [math.tanh(sum(sums[: h + 1])) for h in range(len(sums))])


@by_hand.bug(fix="begin with `score = 0`, and add the contribution of each unit: `score += …`.")
def the_last_unit_only(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """only the last hidden unit counts: `=` replaces the score so far, where `+=` adds to it."""
    return _score(query, key, W_q[-1:], W_k[-1:], w_v[-1:])


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_inside_the_loop(query: Row, key: Row, W_q: Rows, W_k: Rows, w_v: Row) -> float:
    """only the first hidden unit counts, as when `return` is inside the loop over the units."""
    return _score(query, key, W_q[:1], W_k[:1], w_v[:1])
