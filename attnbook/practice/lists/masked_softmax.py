"""Weights of one row of scores, with padding left out."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]


def _softmax(scores: Row) -> Row:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


task = ListTask(
    name="masked-softmax-by-hand",
    in_torch="masked-softmax",
    draws="weights",
    statement=(
        "Write `masked_softmax(scores, valid_len)`: the first `valid_len` scores, a list of "
        "numbers, become weights that sum to 1, as softmax makes them; all others are padding, and "
        "weigh exactly 0, whatever their scores are. The list that comes back is as long as "
        "`scores`. With a `valid_len` of 0 all weights are 0. The visible scores may be 1000, or "
        "1000 apart; the caller's list stays as it is."
    ),
    starter="import math\n\ndef masked_softmax(scores, valid_len):\n    ...",
)


task.case("two of four keys")(lambda: ([2.0, 1.0, 3.0, 0.5], 2))
task.case("all keys")(lambda: ([2.0, 3.0, 1.0], 3))
task.case("one of three keys")(lambda: ([-1.0, 2.0, 3.0], 1))
task.case("no key")(lambda: ([1.0, 2.0, 3.0], 0))
task.case("padding that scores 1000")(lambda: ([1.0, 2.0, 1000.0], 2))
task.case("scores of 1000")(lambda: ([1000.0, 999.0, 1001.0], 2))
task.case("scores of -2,000,000")(lambda: ([-2e6, -2e6, -2e6 - 1], 2))
task.case("scores of -5,000, and padding")(lambda: ([-5000.0, -5000.0, -5001.0], 2))
task.case("scores of -5, and padding that scores 0")(lambda: ([-5.0, -5.0, 0.0], 2))
task.case("visible scores 1000 apart")(lambda: ([0.0, 1000.0, 1.0, 2.0, 5.0], 4))
task.case("9 of 12 keys")(lambda: ([x * 0.5 - 3 for x in range(12)], 9))


@task.right("only what is seen gets a power; padding gets its 0 at the end.")
def cut_and_filled(scores: Row, valid_len: int) -> Row:
    seen = scores[:valid_len]
    powers = [math.exp(score - max(seen)) for score in seen]
    weights = [power / sum(powers) for power in powers]
    return weights + [0.0] * (len(scores) - valid_len)


@task.right("e to the power of minus infinity is 0; a row of nothing is looked at first.")
def minus_infinity(scores: Row, valid_len: int) -> Row:
    if valid_len == 0:
        return [0.0 for _ in scores]
    return _softmax([s if i < valid_len else -math.inf for i, s in enumerate(scores)])


@task.right("it goes through the keys one by one.")
def key_by_key(scores: Row, valid_len: int) -> Row:
    weights = [0.0] * len(scores)
    largest = max(scores[:valid_len], default=0.0)
    total = 0.0
    for i in range(valid_len):
        weights[i] = math.exp(scores[i] - largest)
        total += weights[i]
    for i in range(valid_len):
        weights[i] = weights[i] / total
    return weights


@task.bug(
    symptom="Longer texts are right; in short ones the weights do not sum to 1.",
    origin="a common slip",
    mend="take the softmax of the first `valid_len` scores only, then add zeros.",
    case="two of four keys",
)
def masked_after_the_softmax(scores: Row, valid_len: int) -> Row:
    """the softmax shares among all keys, and padding is set to 0 afterwards."""
    return [w if i < valid_len else 0.0 for i, w in enumerate(_softmax(scores))]


@task.bug(
    symptom="Padding has some weight, though less than the words.",
    origin="a common slip",
    mend="leave padding out: a score of 0 is a score like any other.",
    case="two of four keys",
)
def scores_set_to_0(scores: Row, valid_len: int) -> Row:
    """the scores of padding are set to 0, and e to the power of 0 is 1."""
    return _softmax([s if i < valid_len else 0.0 for i, s in enumerate(scores)])


@task.bug(
    symptom="Each text sees one word too many, or one of padding.",
    origin="a common slip",
    mend="the first `valid_len` keys are those with an index below it: `i < valid_len`.",
    case="two of four keys",
)
def one_key_too_many(scores: Row, valid_len: int) -> Row:
    """one key too many is seen, that at the index `valid_len`."""
    seen = scores[: valid_len + 1]
    return _softmax(seen) + [0.0] * (len(scores) - len(seen))


@task.bug(
    symptom="The weights cannot be set beside the keys: there are fewer.",
    origin="a new reader's first try",
    mend="add a 0 for each key of padding: `+ [0.0] * (len(scores) - valid_len)`.",
    case="two of four keys",
)
def padding_cut_off(scores: Row, valid_len: int) -> Row:
    """padding is cut off, and gets no weight, where it should get a weight of 0."""
    return _softmax(scores[:valid_len])


@task.bug(
    symptom="An empty text stops the program.",
    origin="a common slip",
    mend="look at a `valid_len` of 0 first: all weights are 0 then.",
    case="no key",
)
def nothing_to_see_forgotten(scores: Row, valid_len: int) -> Row:
    """a row that may see nothing is forgotten, and has no maximum, or a sum of 0."""
    seen = scores[:valid_len]
    largest = max(seen)
    powers = [math.exp(score - largest) for score in seen]
    return [power / sum(powers) for power in powers] + [0.0] * (len(scores) - valid_len)


@task.bug(
    symptom="An empty text looks at its padding, evenly.",
    origin="The Annotated Transformer, and many after it",
    mend="look at a `valid_len` of 0 first: all weights are 0 then.",
    case="no key",
)
def filled_with_minus_a_billion(scores: Row, valid_len: int) -> Row:
    """padding gets a very low score, and where all scores are the same they share the weight."""
    return _softmax([s if i < valid_len else -1e9 for i, s in enumerate(scores)])


@task.bug(
    symptom="Once in a while, where all scores are very low, padding gets all the weight.",
    origin="tutorials that fill with -1e6, as this book's seeds did",
    mend="leave padding out of the sum, or fill with `-math.inf`: no number is low enough.",
    case="scores of -2,000,000",
)
def filled_with_minus_a_million(scores: Row, valid_len: int) -> Row:
    """the scores of padding are set to -1e6, and scores may be lower."""
    if valid_len == 0:
        return [0.0 for _ in scores]
    return _softmax([s if i < valid_len else -1e6 for i, s in enumerate(scores)])


@task.bug(
    symptom="It works until training has made the scores large, and then it stops.",
    origin="a notebook for Understanding Deep Learning",
    mend="subtract the largest of the visible scores first: it cancels.",
    case="scores of 1000",
)
def no_maximum_subtracted(scores: Row, valid_len: int) -> Row:
    """no maximum is subtracted, so that powers overflow, or all vanish."""
    powers = [math.exp(score) for score in scores[:valid_len]]
    return [power / sum(powers) for power in powers] + [0.0] * (len(scores) - valid_len)


@task.bug(
    symptom="A high score in the padding makes the words' weights vanish.",
    origin="a common slip",
    mend="subtract the largest of the scores that are seen: `max(scores[:valid_len])`.",
    case="padding that scores 1000",
)
def maximum_of_the_padding_too(scores: Row, valid_len: int) -> Row:
    """the maximum is taken over padding, too, and beside it all visible powers vanish."""
    powers = [math.exp(score - max(scores)) for score in scores[:valid_len]]
    return [power / sum(powers) for power in powers] + [0.0] * (len(scores) - valid_len)


@task.bug(
    symptom="All words of a text weigh the same.",
    origin="a new reader's first try",
    mend="take `math.exp` of the scores: they decide how the weight of 1 is shared.",
    case="two of four keys",
)
def shared_evenly(scores: Row, valid_len: int) -> Row:
    """the visible keys share the weight evenly, whatever their scores are."""
    return [1 / valid_len if i < valid_len else 0.0 for i in range(len(scores))]


@task.bug(
    symptom="Padding is left out, and weights are far above 1.",
    origin="a new reader's first try",
    mend="divide by the sum of the powers that are seen.",
    case="two of four keys",
)
def never_divided(scores: Row, valid_len: int) -> Row:
    """the powers are not divided by their sum, so that they are no shares."""
    seen = scores[:valid_len]
    powers = [math.exp(score - max(seen)) for score in seen]
    return powers + [0.0] * (len(scores) - valid_len)


@task.bug(
    symptom="An empty text gives NaN, and all that is computed with it is NaN, too.",
    origin="a new reader's first try",
    mend="look at a `valid_len` of 0 first: all weights are 0 then.",
    case="no key",
)
def filled_with_minus_infinity(scores: Row, valid_len: int) -> Row:
    """padding is set to minus infinity, and a row of nothing is NaN: -inf - -inf."""
    return _softmax([s if i < valid_len else -math.inf for i, s in enumerate(scores)])


@task.bug(
    symptom="Texts are right, until their padding has a far higher score.",
    origin="a new reader's first try",
    mend="leave padding out before the softmax: take that of `scores[:valid_len]` alone.",
    case="padding that scores 1000",
)
def divided_once_more(scores: Row, valid_len: int) -> Row:
    """padding takes part in the softmax, and what it leaves, divided once more, may be all 0."""
    kept = _softmax(scores)[:valid_len]
    shares = [each / sum(kept) if sum(kept) else 0.0 for each in kept]
    return shares + [0.0] * (len(scores) - valid_len)


@task.bug(
    symptom="An empty text stops the program with a division by 0.",
    origin="a new reader's first try",
    mend="look at a `valid_len` of 0 first: all weights are 0 then.",
    case="no key",
)
def nothing_divided(scores: Row, valid_len: int) -> Row:
    """where nothing is seen, what is left sums to 0, and is divided by that."""
    kept = [w if i < valid_len else 0.0 for i, w in enumerate(_softmax(scores))]
    return [each / sum(kept) for each in kept]


@task.bug(
    symptom="A high score in the padding stops the program.",
    origin="a new reader's first try",
    mend="take powers of the visible scores only: `scores[:valid_len]`.",
    case="padding that scores 1000",
)
def powers_of_padding(scores: Row, valid_len: int) -> Row:
    """powers of padding are taken, too, and overflow where it is far above the visible maximum."""
    largest = max(scores[:valid_len], default=math.inf)
    powers = [math.exp(score - largest) for score in scores]
    total = sum(powers[:valid_len])
    return [p / total if i < valid_len else 0.0 for i, p in enumerate(powers)]
