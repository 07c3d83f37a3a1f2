"""Attention joined from its three parts, on plain lists."""

from attnbook.practice.list_task import ListTask
from attnbook.practice.parts import STAGES, attention, masked_softmax, pool, score
from attnbook.practice.tasks.scaled_dot_attention import task as scaled_dot_attention

Row = list[float]
Rows = list[list[float]]
Inputs = tuple[Row, Rows, Rows, int]

by_hand = ListTask(
    name="attention-from-parts",
    in_torch=scaled_dot_attention,
    draws="attention",
    parts=STAGES,
    statement=(
        "Write `attention(query, keys, values, valid_len)`. `query` is a vector, `keys` and "
        "`values` are lists of vectors, and only the first `valid_len` keys are visible. Call the "
        "three parts, and return the output, a list of numbers. With a `valid_len` of 0 they are "
        "all 0."
    ),
    starter="def attention(query, keys, values, valid_len):\n    ...",
)


@by_hand.case("three keys, all visible")
def all_visible() -> Inputs:
    keys = [[0.5, 1.0], [2.0, 0.0], [-0.5, 0.25]]
    return [1.0, 0.5], keys, [[4.0, 1.0], [2.0, -1.0], [1.0, 3.0]], 3


@by_hand.case("two of three keys visible")
def two_visible() -> Inputs:
    keys = [[0.0, 0.5], [1.0, 1.0], [1.0, 2.0]]
    return [0.5, 1.5], keys, [[3.0, 0.0], [1.0, 2.0], [-2.0, 5.0]], 2


by_hand.case("padding whose key is equal to the query")(
    lambda: (
        [1.0, -1.0],
        [[0.0, 1.0], [2.0, 0.0], [1.0, -1.0], [1.0, -1.0]],
        [[1.0, 0.5], [4.0, 2.0], [9.0, 9.0], [-8.0, 7.0]],
        2,
    )
)
by_hand.case("one key visible")(
    lambda: ([2.0, 2.0], [[2.0, 0.5], [0.0, 2.0]], [[4.0, 3.0], [2.0, 1.0]], 1)
)
by_hand.case("values of one number")(
    lambda: ([2.0, 2.0], [[0.0, 2.0], [2.0, 0.5], [-1.0, 1.0]], [[4.0], [2.0], [0.0]], 3)
)
by_hand.case("values of three numbers")(
    lambda: ([0.5, 0.0], [[0.0, 1.0], [1.0, 0.5]], [[4.0, 0.0, 2.0], [0.0, 8.0, 1.0]], 2)
)
by_hand.case("no key visible")(lambda: ([1.0, 0.0], [[1.0, 1.0], [0.0, 2.0]], [[4.0, 1.0]] * 2, 0))


def _scores(query: Row, keys: Rows) -> Row:
    return [score(query, key) for key in keys]


by_hand.solution("each part is called once, in its order.")(attention)


@by_hand.solution("the calls may be nested.")
def in_one_line(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    return pool(masked_softmax([score(query, key) for key in keys], valid_len), values)


@by_hand.solution("padding may be left out before the scores are computed: its weight is 0 anyway.")
def without_padding(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    scores = []
    for key in keys[:valid_len]:
        scores.append(score(query, key))  # noqa: PERF401 - as a newcomer writes it
    weights = masked_softmax(scores, valid_len)
    return pool(weights + [0.0] * (len(keys) - len(weights)), values)


@by_hand.bug(fix="score the query with each key: `[score(query, key) for key in keys]`.")
def scores_with_the_values(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the query is scored with the values, where it should be scored with the keys."""
    return pool(masked_softmax(_scores(query, values), valid_len), values)


@by_hand.bug(fix="put the query first in each score: `score(query, key)`.")
def equal_vectors_scored(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """each score compares a vector with itself, so all scores are 0 and all weights equal."""
    return pool(masked_softmax([score(key, key) for key in keys], valid_len), values)


@by_hand.bug(fix="turn the scores into weights first: `masked_softmax(scores, valid_len)`.")
def softmax_forgotten(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the scores are pooled as they are: the softmax that turns them into weights is missing."""
    return pool(_scores(query, keys), values)


@by_hand.bug(fix="pass `valid_len` itself: `masked_softmax(scores, valid_len)`.")
def nothing_hidden_by_hand(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """`valid_len` is not used: all keys are visible, padding included."""
    return pool(masked_softmax(_scores(query, keys), len(keys)), values)


@by_hand.bug(fix="pool the values: `pool(weights, values)`.")
def keys_are_pooled_by_hand(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    return pool(masked_softmax(_scores(query, keys), valid_len), keys)


@by_hand.bug(fix="score with the keys, and pool the values.")
def keys_and_values_exchanged(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """keys and values are exchanged: the values are scored, and the keys are pooled."""
    return pool(masked_softmax(_scores(query, values), valid_len), keys)


@by_hand.bug(fix="pool before you return: `return pool(weights, values)`.")
def weights_returned(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the weights are returned, and no value is pooled by them."""
    return masked_softmax(_scores(query, keys), valid_len)


@by_hand.bug(fix="turn the scores into weights, then return `pool(weights, values)`.")
def scores_returned(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the scores are returned: they are neither turned into weights nor pooled."""
    return _scores(query, keys)


@by_hand.bug(fix="call `masked_softmax` once: it already returns weights.")
def softmax_twice(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the softmax is taken twice: the second time, of weights instead of scores."""
    weights = masked_softmax(_scores(query, keys), valid_len)
    return pool(masked_softmax(weights, valid_len), values)


@by_hand.bug(
    fix="pass the scores and `valid_len` to one call: `masked_softmax(scores, valid_len)`."
)
def masked_after_the_softmax(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the softmax is taken over all keys, and only then is padding left out."""
    weights = masked_softmax(_scores(query, keys), len(keys))
    return pool([w if i < valid_len else 0.0 for i, w in enumerate(weights)], values)


@by_hand.bug(fix="pass the scores as they are: `score` already has the minus sign.")
def sign_turned(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the sign of the scores is reversed, and the farthest key gets the largest weight."""
    return pool(masked_softmax([-each for each in _scores(query, keys)], valid_len), values)


@by_hand.bug(fix="return what `pool` gives: the weights sum to 1, so nothing is left to divide.")
def divided_by_the_number_of_keys(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the output is divided by the number of keys, though the weights sum to 1."""
    output = pool(masked_softmax(_scores(query, keys), valid_len), values)
    return [number / len(keys) for number in output]


@by_hand.bug(
    fix="pool all values by their weights: the nearest key gets the largest weight, not all of it."
)
def the_best_key_only(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the value of the key with the largest weight is returned, and no other value counts."""
    weights = masked_softmax(_scores(query, keys), valid_len)
    return values[weights.index(max(weights))]


@by_hand.bug(fix="the first `valid_len` keys are visible: pass `valid_len`, without adding 1.")
def one_key_too_many(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    return pool(masked_softmax(_scores(query, keys), min(valid_len + 1, len(keys))), values)


@by_hand.bug(fix="the first `valid_len` keys are visible: pass `valid_len`, without subtracting 1.")
def one_key_too_few(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    return pool(masked_softmax(_scores(query, keys), max(valid_len - 1, 0)), values)


@by_hand.bug(fix="return after the loop: put `return` as far left as `for`.")
def returned_inside_the_loop(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """only the first key is used, as when `return` is inside the loop over the keys."""
    return pool(masked_softmax([score(query, keys[0])], valid_len), values)
