"""Weights from scores, with padding left out."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

import attnbook
from attnbook.practice import mistakes, parts
from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.list_task import ListTask
from attnbook.practice.reference_steps import finite, lowered, weigh
from attnbook.practice.task import Function, Law, Task


def _padding_weighs_nothing(weights: Tensor, scores: Tensor, valid_lens: Tensor | None) -> bool:
    hidden = weights[~where_visible(scores, valid_lens)]
    return bool(((hidden == 0) | hidden.isnan()).all())  # NaN is reported as such


def _rows_sum_to_one(weights: Tensor, scores: Tensor, valid_lens: Tensor | None) -> bool:
    sums, any_visible = weights.double().sum(dim=-1), where_visible(scores, valid_lens).any(dim=-1)
    return bool((((sums - 1).abs() < 1e-2) | ~any_visible | sums.isnan()).all())


task = Task(
    name="masked-softmax",
    statement=(
        "Write `masked_softmax(scores, valid_lens)`. `scores` has shape (batch, num_queries, "
        "num_keys). `valid_lens` says how many keys, from the first, may be seen, for each "
        "example, (batch,), or for each query, (batch, num_queries); None, the default, means "
        "all. Scores may have an axis for heads after the batch, too: (batch, num_heads, "
        "num_queries, num_keys), and lengths then hold for all heads of an example. Each row of "
        "weights is the softmax of the visible scores, and sums to 1; padding weighs exactly 0, "
        "whatever its scores are; a row that sees nothing is all zeros. No gradient is NaN, even "
        "if NaN flows back to the weights of padding, as it does where values there are infinite. "
        "The weights have the scores' dtype."
    ),
    starter="def masked_softmax(scores, valid_lens=None):\n    ...",
    laws=(
        Law("The weights of some padding are not exactly 0.", _padding_weighs_nothing),
        Law("Some row of weights does not sum to 1.", _rows_sum_to_one),
    ),
)


def _empty() -> tuple[Tensor, Tensor]:
    return normal(2, 3, 5), lengths([0, 4, 1], [5, 0, 2])


task.case("a length for each example")(lambda: (normal(2, 3, 5), lengths(4, 2)))
task.case("a length for each query")(lambda: (normal(2, 3, 5), lengths([1, 4, 5], [2, 5, 3])))
task.case("as many examples as queries")(lambda: (normal(3, 3, 5), lengths(5, 1, 3)))
task.case("no lengths")(lambda: (normal(2, 3, 5), None))
task.case("heads, and a length for each example")(lambda: (normal(2, 3, 5, 7), lengths(4, 2)))
task.case("as many heads as examples, and a length for each query")(
    lambda: (normal(2, 2, 3, 5), lengths([1, 4, 5], [2, 5, 3]))
)
task.case("one query and one key")(lambda: (normal(2, 1, 1), lengths(1, 1)))
task.case("scores that are a view of another tensor, its axes swapped")(
    lambda: (normal(2, 5, 3).mT, lengths(4, 2))
)
task.case("scores of 1000, and of -1000", gradients=False)(
    lambda: (torch.tensor([[[1000.0, 999]], [[-1000, -1001]]]), lengths(2, 2))
)
task.case("a padded score 200 above those that are seen", gradients=False)(
    lambda: (torch.tensor([[[0.0, 1, 200]]]), lengths(2))
)
task.case("scores of -2,000,000")(lambda: (torch.full((1, 2, 5), -2e6), lengths(2)))
task.case("a query that may see nothing", gradients=False)(_empty)
task.case("what flows back past a query that may see nothing")(_empty)
task.case("NaN that flows back to the weights of padding", leftovers=True)(
    lambda: (normal(2, 3, 5), lengths(4, 2))
)
task.case("double precision")(lambda: (normal(2, 3, 5).double(), lengths(4, 2)))
task.case("half precision")(lambda: (normal(2, 3, 5).half(), lengths([4, 0, 1], [2, 5, 3])))


def where_visible(scores: Tensor, valid_lens: Tensor | None) -> Tensor:
    """True where a key is visible, for each score."""
    if valid_lens is None:
        return torch.ones_like(scores, dtype=torch.bool)
    per_query = valid_lens if valid_lens.dim() == 2 else valid_lens[:, None]
    visible = torch.arange(scores.shape[-1]) < per_query[..., None]
    return (visible if scores.dim() == 3 else visible[:, None]).expand_as(scores)


task.case("heads, and no lengths")(lambda: (normal(2, 3, 5, 7), None))
task.case("infinity and NaN at padding", gradients=False)(
    lambda: (torch.tensor([[[0.0, 1, math.inf]], [[0, 1, math.nan]]]), lengths(2, 2))
)


@task.case("the lowest score that there is")
def _() -> tuple[Tensor, Tensor]:
    lowest = torch.finfo(torch.float32).min
    return torch.tensor([[[lowest, lowest, 0, 0]]]), lengths(2)


task.case("seen scores 1000 apart", gradients=False)(
    lambda: (torch.tensor([[[0.0, 1000, 1, 2], [1000, 0, 999, 3]]]), lengths(3))
)
task.case("rows of one example 1000 apart", gradients=False)(
    lambda: (normal(1, 2, 5) + torch.tensor([[[1000.0], [0]]]), lengths(4))
)
task.case("as many heads as queries, and a length for each query")(
    lambda: (normal(2, 3, 3, 5), lengths([1, 3, 5], [4, 2, 0]))
)
task.case("2 examples of 3 queries, 257 keys")(lambda: (normal(2, 3, 257), lengths(257, 130)))


@task.solution("it is the book's own.")
def the_package(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    return attnbook.masked_softmax(scores, valid_lens)


@task.solution("padding gets -inf, and fully masked rows are cleared before and after the softmax.")
def filled_with_infinity(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    return weigh(scores, where_visible(scores, valid_lens))


@task.solution("it takes the softmax of each row's visible part alone; the rest stays 0.")
def row_by_row(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    if valid_lens is None:
        return scores.softmax(-1)
    heads = scores.reshape(len(scores), -1, *scores.shape[-2:])
    weights = torch.zeros_like(heads)
    for example, numbers in enumerate(valid_lens.tolist()):
        for query in range(scores.shape[-2]):
            length = numbers[query] if isinstance(numbers, list) else numbers
            if length:
                visible = heads[example, :, query, :length]
                weights[example, :, query, :length] = visible.softmax(-1)
    return weights.reshape(scores.shape)


@task.solution("it is exponentials over their sum; a row's subtracted maximum cancels.")
def by_the_formula(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    padding = ~where_visible(scores, valid_lens)
    low = torch.finfo(scores.dtype).min
    highest = scores.masked_fill(padding, low).amax(-1, keepdim=True).detach()
    exponentials = (scores - highest).masked_fill(padding, low).exp().masked_fill(padding, 0)
    totals = exponentials.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)
    return (exponentials / totals).masked_fill(padding, 0)


@task.solution("in float64 the lowest number is below all scores; then padding is set to 0.")
def in_double_precision(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    padding = ~where_visible(scores, valid_lens)
    low = torch.finfo(torch.float64).min
    weights = scores.double().masked_fill(padding, low).softmax(-1)
    return weights.masked_fill(padding, 0).to(scores.dtype)


@task.test
def test_two_equal_scores_share_the_weight_however_high_or_low(function: Function) -> None:
    for score in (1000.0, -2e6, torch.finfo(torch.float32).min):
        weights = function(torch.full((1, 1, 3), score), torch.tensor([2]))
        assert weights.tolist() == [[[0.5, 0.5, 0]]]


@task.test
def test_the_scores_of_padding_never_matter(function: Function) -> None:
    for padded in (math.inf, math.nan):
        weights = function(torch.tensor([[[1.0, 1, padded]]]), torch.tensor([2]))
        assert weights.tolist() == [[[0.5, 0.5, 0]]]


@task.test
def test_a_fully_masked_row_is_zero_and_its_gradient_is_finite(function: Function) -> None:
    scores = torch.ones(1, 2, 2, requires_grad=True)
    weights = function(scores * 1, torch.tensor([[0, 2]]))
    assert weights.tolist() == [[[0, 0], [0.5, 0.5]]]
    weights[0, 1, 0].backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


@task.test
def test_nothing_flows_back_through_padding(function: Function) -> None:
    scores = torch.zeros(1, 1, 3, requires_grad=True)
    weights = function(scores * 1, torch.tensor([2]))
    weights.backward(torch.tensor([[[1.0, 0, math.nan]]]))
    assert scores.grad is not None
    assert scores.grad.tolist() == [[[0.25, -0.25, 0]]]


@task.test
def test_double_precision_is_not_lost(function: Function) -> None:
    low, high = function(torch.tensor([[[0, 1e-9]]]).double()).flatten()
    assert low < high


@task.test
def test_each_head_has_its_examples_lengths(function: Function) -> None:
    weights = function(torch.zeros(2, 2, 1, 3), torch.tensor([1, 3]))
    assert (weights > 0).sum(dim=-1).flatten().tolist() == [1, 1, 3, 3]


def in_steps(
    weigh: Function = weigh, mask: Function = lambda visible: visible
) -> Callable[[Tensor, Tensor | None], Tensor]:
    """Correct code, of which a bug changes one step."""

    def written(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        weights: Tensor = weigh(scores, mask(where_visible(scores, valid_lens)))
        return weights

    return written


task.bug(
    "filled with minus a million",
    "padding is filled with a number like -1e6, but a score may be even lower.",
    symptom="Where all scores are very low, padding gets all the weight.",
    origin="Dive into Deep Learning's masked softmax",
    fix="fill with -inf, which is below every score, and clear fully masked rows.",
)(in_steps(weigh=lambda scores, visible: scores.masked_fill(~visible, -1e6).softmax(-1)))


@task.bug(
    symptom="After the call, the caller's own scores of padding are lost.",
    origin="the book's own first draft, and Dive into Deep Learning",
    fix="make a new tensor: `masked_fill`, or `torch.where`.",
)
def written_into_the_scores(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the caller's own scores are changed, as by `scores[~mask] = …`."""
    visible = where_visible(scores, valid_lens)
    scores[~visible] = torch.finfo(scores.dtype).min
    return scores.softmax(-1) * visible


task.bug(
    "masked once",
    "the mask is applied before the softmax only, and does not stop NaN that flows back.",
    symptom="All weights are right, but if a value at padding overflows, a whole row of "
    "gradients is NaN.",
    origin="a reader's answer that the judge had accepted",
    fix="apply the mask a second time, to the weights: then nothing flows back from padding.",
)(
    in_steps(
        weigh=lambda scores, visible: (
            finite(scores, visible).softmax(-1).masked_fill(~visible.any(-1, keepdim=True), 0)
        )
    )
)


@task.bug(
    symptom="With lengths all is right; without them, each weight of a single query is 1.",
    origin="the book's own first draft",
    fix="take the softmax over the last axis there, too: `dim=-1`.",
)
def queries_normalised_without_lengths(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """without lengths, the softmax is taken over the queries, by `dim=1`."""
    if valid_lens is None:
        return scores.softmax(1)
    return weigh(scores, where_visible(scores, valid_lens))


@task.bug(
    symptom="With several heads, examples get each other's lengths.",
    origin="Dive into Deep Learning's masked softmax, when given four axes",
    fix="repeat with `repeat_interleave`, or give the mask an axis of size 1 for heads.",
)
def lengths_repeated_in_the_wrong_order(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """lengths are repeated in the order a, b, a, b, but the order of the heads is a, a, b, b."""
    if valid_lens is not None and scores.dim() == 4:
        heads = scores.flatten(0, 1)
        repeated = torch.cat([valid_lens] * scores.shape[1])
        return weigh(heads, where_visible(heads, repeated)).view_as(scores)
    return weigh(scores, where_visible(scores, valid_lens))


task.bug(
    "filled with the lowest number",
    "padding is filled with the lowest finite number, and a score can be as low.",
    symptom="Rows sum to 1, except one whose scores were clamped to the lowest finite number.",
    origin="a new reader's answer, and much code that knows -inf to be dangerous",
    fix="fill with -inf, which is below every score, and clear fully masked rows.",
)(in_steps(weigh=lambda *both: lowered(*both).softmax(-1).masked_fill(~both[1], 0)))

task.bug(
    "mask added",
    "minus infinity is added to the scores of padding, and NaN or infinity there gives NaN.",
    symptom="NaN or infinity in a text's padding makes the weights of its real words NaN.",
    origin="a new reader's answer, and code that adds a mask of 0 and -inf",
    fix="replace the scores of padding by -inf, with `masked_fill`: NaN - inf is still NaN.",
)(
    in_steps(
        weigh=lambda scores, visible: (
            (scores + finite(0 * visible.to(scores), visible)).softmax(-1).masked_fill(~visible, 0)
        )
    )
)


task.inherit(in_steps, mistakes.weighing, mistakes.hiding, mistakes.masking)


# On plain lists

Row = list[float]


def _softmax(scores: Row) -> Row:
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return [each / sum(exponentials) for each in exponentials]


by_hand = ListTask(
    name="masked-softmax-by-hand",
    in_torch=task,
    draws="weights",
    statement=(
        "Write `masked_softmax(scores, valid_len)`; `scores` is a list of numbers. Its first "
        "`valid_len` scores become weights that sum to 1, by a softmax. All others are padding, "
        "and get the weight 0, whatever their scores are. Return a list as long as `scores`. With "
        "a `valid_len` of 0 all weights are 0. Scores can be as large as 1000, and can differ by "
        "1000."
    ),
    starter="import math\n\ndef masked_softmax(scores, valid_len):\n    ...",
)


by_hand.case("two of four keys")(lambda: ([2.0, 1.0, 3.0, 0.5], 2))
by_hand.case("all keys")(lambda: ([2.0, 3.0, 1.0], 3))
by_hand.case("one of three keys")(lambda: ([-1.0, 2.0, 3.0], 1))
by_hand.case("no key")(lambda: ([1.0, 2.0, 3.0], 0))
by_hand.case("padding that scores 1000")(lambda: ([1.0, 2.0, 1000.0], 2))
by_hand.case("scores of 1000")(lambda: ([1000.0, 999.0, 1001.0], 2))
by_hand.case("scores of -2,000,000")(lambda: ([-2e6, -2e6, -2e6 - 1], 2))
by_hand.case("scores of -5,000, and padding")(lambda: ([-5000.0, -5000.0, -5001.0], 2))
by_hand.case("scores of -5, and padding that scores 0")(lambda: ([-5.0, -5.0, 0.0], 2))
by_hand.case("visible scores 1000 apart")(lambda: ([0.0, 1000.0, 1.0, 2.0, 5.0], 4))
by_hand.case("6 of 8 keys")(lambda: ([x * 0.5 - 3 for x in range(8)], 6))


by_hand.solution("it takes exponentials of visible scores only, and appends zeros for padding.")(
    parts.masked_softmax
)


@by_hand.solution("e to the power of minus infinity is 0; a fully masked row is handled first.")
def minus_infinity(scores: Row, valid_len: int) -> Row:
    if valid_len == 0:
        return [0.0 for _ in scores]
    return _softmax([s if i < valid_len else -math.inf for i, s in enumerate(scores)])


@by_hand.solution("it computes the weights key by key.")
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


@by_hand.bug(fix="take the softmax of the first `valid_len` scores only, then append zeros.")
def masked_after_the_softmax_by_hand(scores: Row, valid_len: int) -> Row:
    return [w if i < valid_len else 0.0 for i, w in enumerate(_softmax(scores))]


@by_hand.bug(fix="leave padding out: a score of 0 is a score like any other.")
def hidden_scores_set_to_zero_by_hand(scores: Row, valid_len: int) -> Row:
    """the scores of padding are set to 0, and e to the power of 0 is 1."""
    return _softmax([s if i < valid_len else 0.0 for i, s in enumerate(scores)])


@by_hand.bug(fix="the first `valid_len` keys are those with an index below it: `i < valid_len`.")
def one_key_too_many_by_hand(scores: Row, valid_len: int) -> Row:
    visible = scores[: valid_len + 1]
    return _softmax(visible) + [0.0] * (len(scores) - len(visible))


@by_hand.bug(fix="the first `valid_len` keys are those with an index below it: `i < valid_len`.")
def one_key_too_few_by_hand(scores: Row, valid_len: int) -> Row:
    visible = scores[: max(valid_len - 1, 0)]
    return (_softmax(visible) if visible else []) + [0.0] * (len(scores) - len(visible))


@by_hand.bug(fix="take the softmax of `scores[:valid_len]`, and append a 0 for each other key.")
def nothing_hidden_by_hand(scores: Row, valid_len: int) -> Row:
    return _softmax(scores)


@by_hand.bug(fix="append a 0 for each key of padding: `+ [0.0] * (len(scores) - valid_len)`.")
def padding_cut_off(scores: Row, valid_len: int) -> Row:
    """padding is cut off, and gets no weight, where it should get a weight of 0."""
    return _softmax(scores[:valid_len])


@by_hand.bug(fix="handle a `valid_len` of 0 first: all weights are 0 then.")
def nothing_to_see_forgotten(scores: Row, valid_len: int) -> Row:
    """a `valid_len` of 0 is not handled: an empty list has no maximum, and its sum is 0."""
    visible = scores[:valid_len]
    largest = max(visible)
    exponentials = [math.exp(score - largest) for score in visible]
    return [each / sum(exponentials) for each in exponentials] + [0.0] * (len(scores) - valid_len)


@by_hand.bug(fix="handle a `valid_len` of 0 first: all weights are 0 then.")
def filled_with_minus_a_billion_by_hand(scores: Row, valid_len: int) -> Row:
    """padding gets a very low score, and if all is padding, the weight is shared evenly."""
    return _softmax([s if i < valid_len else -1e9 for i, s in enumerate(scores)])


@by_hand.bug()
def filled_with_minus_a_million_by_hand(scores: Row, valid_len: int) -> Row:
    if valid_len == 0:
        return [0.0 for _ in scores]
    return _softmax([s if i < valid_len else -1e6 for i, s in enumerate(scores)])


@by_hand.bug(fix="subtract the largest of the visible scores first: it cancels.")
def no_maximum_subtracted_by_hand(scores: Row, valid_len: int) -> Row:
    exponentials = [math.exp(score) for score in scores[:valid_len]]
    return [each / sum(exponentials) for each in exponentials] + [0.0] * (len(scores) - valid_len)


@by_hand.bug(fix="subtract the largest of the visible scores: `max(scores[:valid_len])`.")
def maximum_of_the_padding_too(scores: Row, valid_len: int) -> Row:
    """the maximum is taken over padding, too; far below it, all visible exponentials become 0."""
    exponentials = [math.exp(score - max(scores)) for score in scores[:valid_len]]
    return [each / sum(exponentials) for each in exponentials] + [0.0] * (len(scores) - valid_len)


@by_hand.bug(fix="take `math.exp` of the scores: they decide how the weight of 1 is shared.")
def shared_evenly(scores: Row, valid_len: int) -> Row:
    """the visible keys share the weight evenly, whatever their scores are."""
    return [1 / valid_len if i < valid_len else 0.0 for i in range(len(scores))]


@by_hand.bug(fix="divide by the sum of the visible exponentials.")
def never_divided(scores: Row, valid_len: int) -> Row:
    """the exponentials are not divided by their sum, so they do not sum to 1."""
    visible = scores[:valid_len]
    exponentials = [math.exp(score - max(visible)) for score in visible]
    return exponentials + [0.0] * (len(scores) - valid_len)


@by_hand.bug(fix="handle a `valid_len` of 0 first: all weights are 0 then.")
def empty_rows_nan_by_hand(scores: Row, valid_len: int) -> Row:
    """padding is set to minus infinity, and if all is padding, -inf - -inf gives NaN."""
    return _softmax([s if i < valid_len else -math.inf for i, s in enumerate(scores)])


@by_hand.bug(fix="leave padding out before the softmax: take the softmax of `scores[:valid_len]`.")
def masked_and_divided_after_the_softmax_by_hand(scores: Row, valid_len: int) -> Row:
    """padding takes part in the softmax; the rest, divided by its sum, may be all 0."""
    remaining = _softmax(scores)[:valid_len]
    shares = [each / sum(remaining) if sum(remaining) else 0.0 for each in remaining]
    return shares + [0.0] * (len(scores) - valid_len)


@by_hand.bug(fix="handle a `valid_len` of 0 first: all weights are 0 then.")
def nothing_divided(scores: Row, valid_len: int) -> Row:
    """where no key is visible, the remaining weights sum to 0, and are divided by 0."""
    remaining = [w if i < valid_len else 0.0 for i, w in enumerate(_softmax(scores))]
    return [each / sum(remaining) for each in remaining]


@by_hand.bug(fix="take `math.exp` of the visible scores only: `scores[:valid_len]`.")
def exponentials_of_padding(scores: Row, valid_len: int) -> Row:
    """exponentials of padding are taken, too, and overflow far above the visible maximum."""
    largest = max(scores[:valid_len], default=math.inf)
    exponentials = [math.exp(score - largest) for score in scores]
    total = sum(exponentials[:valid_len])
    return [p / total if i < valid_len else 0.0 for i, p in enumerate(exponentials)]
