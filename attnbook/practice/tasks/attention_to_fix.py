"""Attention with a bug to find, on plain lists."""

import math

from attnbook.practice.list_task import ListTask
from attnbook.practice.parts import STAGES, masked_softmax, pool, score
from attnbook.practice.tasks.attention_from_parts import all_visible, two_visible
from attnbook.practice.tasks.scaled_dot_attention import task as scaled_dot_attention

Row = list[float]
Rows = list[list[float]]

by_hand = ListTask(
    name="attention-to-fix",
    in_torch=scaled_dot_attention,
    draws="attention",
    parts=STAGES,
    planted="hidden scores set to zero",
    statement=(
        "This `attention(query, keys, values, valid_len)` computes its own softmax, and has one "
        "bug. Run it, read the figure below, and fix the bug. `valid_len` is at least 1."
    ),
    starter=(
        "import math\n"
        "\n"
        "def attention(query, keys, values, valid_len):\n"
        "    scores = [score(query, key) for key in keys]\n"
        "    for i in range(valid_len, len(keys)):\n"
        "        scores[i] = 0\n"
        "    exponentials = [math.exp(s - max(scores)) for s in scores]\n"
        "    weights = [each / sum(exponentials) for each in exponentials]\n"
        "    return pool(weights, values)"
    ),
)


by_hand.case("three keys, all visible")(all_visible)
by_hand.case("two of three keys visible")(two_visible)
by_hand.case("one of four keys visible")(
    lambda: (
        [2.0, 2.0],
        [[2.0, 0.5], [0.0, 2.0], [1.0, -1.0], [0.5, 0.5]],
        [[4.0], [2.0], [9.0], [-8.0]],
        1,
    )
)
by_hand.case("visible keys that are far from the query")(
    lambda: (
        [100_000.0, 0.0],
        [[0.0, 0.0], [0.0, 1.0], [50_000.0, 0.0], [99_999.0, 0.0]],
        [[4.0, 1.0], [2.0, 0.0], [9.0, 9.0], [-8.0, 7.0]],
        2,
    )
)
by_hand.case("padding whose key is equal to the query")(
    lambda: ([1.0, -1.0], [[2.0, 0.0], [1.0, -1.0]], [[1.0, 0.5], [9.0, 9.0]], 1)
)


def _scores(query: Row, keys: Rows) -> Row:
    return [score(query, key) for key in keys]


def _pooled_with(padding: float, query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """Pool after a softmax in which all padding has one score."""
    scores = [s if i < valid_len else padding for i, s in enumerate(_scores(query, keys))]
    exponentials = [math.exp(s - max(scores)) for s in scores]
    return pool([each / sum(exponentials) for each in exponentials], values)


@by_hand.solution("e to the power of minus infinity is 0, so padding has no share.")
def minus_infinity(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    return _pooled_with(-math.inf, query, keys, values, valid_len)


@by_hand.solution("padding is not part of the softmax, and weighs 0.")
def zeros_after_the_softmax(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    scores = _scores(query, keys[:valid_len])
    exponentials = [math.exp(s - max(scores)) for s in scores]
    weights = [each / sum(exponentials) for each in exponentials]
    return pool(weights + [0.0] * (len(keys) - valid_len), values)


@by_hand.solution("the exponentials of padding are set to 0, before the sum is taken.")
def exponentials_set_to_0(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    scores = _scores(query, keys)
    highest = max(scores[:valid_len])
    exponentials = [math.exp(s - highest) if i < valid_len else 0.0 for i, s in enumerate(scores)]
    return pool([each / sum(exponentials) for each in exponentials], values)


@by_hand.solution("the masked softmax of the earlier task does all of it.")
def with_the_part(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    return pool(masked_softmax(_scores(query, keys), valid_len), values)


@by_hand.bug(
    fix="give padding a score of `-math.inf`: e to that power is 0.",
    symptom="Padding gets some weight, and in the figure it gets most of the weight.",
)
def hidden_scores_set_to_zero_by_hand(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """padding got a score of 0, which is the highest possible: that of a key equal to the query."""
    return _pooled_with(0.0, query, keys, values, valid_len)


@by_hand.bug(fix="take a score that is below every other one: `-math.inf`.")
def padding_scores_a_low_number(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """padding gets a low score, and visible keys may score lower."""
    return _pooled_with(-100.0, query, keys, values, valid_len)


@by_hand.bug(fix="keep the loop over padding, and give it a score of `-math.inf`.")
def nothing_hidden_by_hand(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """padding is not hidden: it keeps its own score, and gets a share of the weight."""
    return pool(masked_softmax(_scores(query, keys), len(keys)), values)


@by_hand.bug(fix="leave padding out before the softmax, so that the other weights sum to 1.")
def masked_after_the_softmax_by_hand(query: Row, keys: Rows, values: Rows, valid_len: int) -> Row:
    """the weights of padding are set to 0 after the softmax, so the others sum to less than 1."""
    weights = masked_softmax(_scores(query, keys), len(keys))
    return pool([w if i < valid_len else 0.0 for i, w in enumerate(weights)], values)
