"""Weights from scores, where all keys are visible."""

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import normal
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Function, Law, Task, rows_sum_to_one


def _no_row_sums_to_another_number(weights: Tensor, _scores: Tensor) -> bool:
    return rows_sum_to_one(weights[weights.isfinite().all(dim=-1)])  # NaN is reported as such


task = Task(
    name="softmax",
    statement=(
        "Write `softmax(scores)`. `scores` has shape (batch, num_queries, num_keys). Give a new "
        "tensor of the same shape and type: $e^{score}$, divided by the sum of these "
        "exponentials over all keys of the same query. So each row, which belongs to one query, "
        "sums to 1. The result must also be correct for scores of 1000, and where scores are 1000 "
        "apart, in a row or between rows."
    ),
    starter="def softmax(scores):\n    ...",
    laws=(Law("Some row of weights does not sum to 1.", _no_row_sums_to_another_number),),
)

task.case("a few scores around 0")(lambda: (normal(2, 3, 5),))
task.case("as many queries as keys, and as examples")(lambda: (normal(3, 3, 3),))
task.case("one query")(lambda: (normal(2, 1, 5),))
task.case("one key")(lambda: (normal(2, 3, 1),))
task.case("scores that are a view of another tensor, its axes swapped")(
    lambda: (normal(2, 5, 3).transpose(1, 2),)
)
task.case("scores of 1000", gradients=False)(
    lambda: (1000 + torch.tensor([[[0.0, 1, 3], [2, 0, 1]]]),)
)
task.case("a row whose own scores are 1000 apart", gradients=False)(
    lambda: (torch.tensor([[[0.0, 1000, 999], [3e38, 0, 1]]]),)
)
task.case("rows that are 1000 apart", gradients=False)(
    lambda: (torch.tensor([[[1000.0, 1001, 1003], [0, 2, 1]], [[-1000, -999, -1002], [3, 1, 2]]]),)
)
task.case("double precision")(lambda: (normal(2, 3, 5).double(),))
task.case("half precision, where exponentials of 12 overflow, and 1000.7 is 1000.5")(
    lambda: (torch.tensor([[[12.0, 11, 9], [1000, 999, 1000]]]).half(),)
)
task.case("2 examples of 3 queries, 257 keys")(lambda: (normal(2, 3, 257),))


def relative_exponentials(scores: Tensor) -> Tensor:
    """Take exponentials, each relative to its row's maximum."""
    return (scores - scores.amax(dim=-1, keepdim=True)).exp()


def shares(scores: Tensor) -> Tensor:
    """Divide each row by its sum."""
    return scores / scores.sum(dim=-1, keepdim=True)


@task.solution("it is the book's own; without lengths, all keys are visible.")
def the_package(scores: Tensor) -> Tensor:
    return attnbook.masked_softmax(scores)


@task.solution("it is torch's own, over the last axis.")
def of_torch(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


task.solution(
    "it is the formula; subtracting a row's maximum from all its scores changes no weight.",
    name="by the formula",
)(lambda scores: shares(relative_exponentials(scores)))


@task.solution("it loops over the rows, and divides each row's exponentials by their sum.")
def row_by_row(scores: Tensor) -> Tensor:
    rows = [(row - row.max()).exp() for example in scores for row in example]
    return torch.stack([row / row.sum() for row in rows]).reshape(scores.shape)


task.solution(
    "dividing by a sum is the same as subtracting its logarithm before the exponential is taken.",
    name="by logarithms",
)(lambda scores: scores.log_softmax(dim=-1).exp())


@task.solution("where the values are an identity matrix, the output of attention is its weights.")
def pooled_identity(scores: Tensor) -> Tensor:
    identity = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(len(scores), -1, -1)
    return scaled_dot_product_attention(scores, identity, identity, scale=1.0)


@task.test
def test_weights_share_1_as_3_to_1(function: Function) -> None:
    scores = torch.tensor([[[3.0, 1.0], [1.0, 3.0]]])
    assert torch.allclose(function(scores.log()), scores / 4)


@task.test
def test_rows_sum_to_1_in_half_precision_too(function: Function) -> None:
    weights = function(torch.tensor([[[1000.0, 999, 1000]]]).half())
    assert torch.allclose(weights.sum().float(), torch.tensor(1.0), atol=1e-2)


@task.test
def test_equal_scores_share_equally_however_high(function: Function) -> None:
    weights = function(torch.tensor([[[1000.0, 1000.0], [-1000.0, -1000.0]]]))
    assert torch.allclose(weights, torch.full((1, 2, 2), 0.5), atol=1e-4)


@task.test
def test_double_precision_is_not_lost(function: Function) -> None:
    low, high = function(torch.tensor([[[0, 1e-9]]]).double()).flatten()
    assert low < high


@task.test
def test_the_scores_are_not_changed(function: Function) -> None:
    scores = torch.ones(1, 2, 3)
    function(scores)
    assert torch.equal(scores, torch.ones(1, 2, 3))


task.bug(
    "rounded before the exponential",
    "the logarithm of the sum is subtracted, but not the maximum before it, so both are rounded.",
    symptom="In half precision, rows with scores of 1000 do not sum to 1.",
    origin="an answer that was written from the statement alone, and accepted",
    fix="subtract the row's maximum first, as `log_softmax` does: small numbers keep their digits.",
)(lambda scores: (scores - scores.logsumexp(dim=-1, keepdim=True)).exp())

task.bug(
    "softmax over all scores",
    "one sum is taken over all queries and examples, not one for each query.",
    symptom="All weights are too small, and the larger the batch, the smaller they are.",
    fix="sum over the last axis only: `dim=-1, keepdim=True`.",
)(lambda scores: scores.flatten().softmax(dim=0).reshape(scores.shape))

task.bug(
    "one maximum for all rows",
    "all rows have the same maximum subtracted, and in rows of low scores all exponentials are 0.",
    symptom="A query whose scores are all low gets NaN, but only next to one with high scores.",
    fix="subtract each row's own maximum: `scores.amax(dim=-1, keepdim=True)`.",
)(lambda scores: shares((scores - scores.max()).exp()))

task.bug(
    "maximum over the queries",
    "the maximum is taken over the queries, so a different number is subtracted for each key.",
    symptom="Weights are wrong, though each row sums to 1 and nothing overflows.",
    fix="subtract one number from all scores of a query: the maximum over `dim=-1`.",
)(lambda scores: shares((scores - scores.amax(dim=1, keepdim=True)).exp()))

task.bug(
    "divided by the sum of scores",
    "the scores themselves are divided by their sum, and no exponential is taken.",
    symptom="Some weights are negative, others far above 1.",
    fix="take the exponential of each score, and divide it by the sum of these exponentials.",
)(shares)

task.bug(
    "sigmoid of each score",
    "a sigmoid is applied to each score separately, and keys do not share a weight of 1.",
    symptom="Rows sum to more than 1, and a key's weight does not depend on the other keys.",
    fix="let keys compete: divide by the sum over all keys of the query.",
)(lambda scores: scores.sigmoid())

task.bug(
    "logarithms of the weights",
    "the logarithms of the weights are returned.",
    symptom="All weights are negative, or 0.",
    fix="use `softmax`: `log_softmax` returns logarithms, which are meant for a loss.",
)(lambda scores: scores.log_softmax(dim=-1))

task.bug(
    "subtracted in place",
    "a step changes the caller's own scores in place, such as `scores -= maximum`.",
    symptom="The weights are right, but the caller's scores have changed afterwards.",
    fix="make a new tensor: `scores - maximum`, not `scores -= maximum`.",
)(lambda scores: scores.sub_(scores.max(dim=-1, keepdim=True).values).softmax(dim=-1))

task.bug(
    "an axis lost",
    "a sum or a maximum over the keys loses their axis, and no longer fits the scores' shape.",
    symptom="The division raises an error: the sizes of two tensors do not match.",
    origin="a new reader's first try",
    fix="keep the axis that is summed over: `sum(dim=-1, keepdim=True)`, and the same for `amax`.",
)(lambda scores: relative_exponentials(scores) / relative_exponentials(scores).sum(dim=-1))


task.inherit(lambda weigh: weigh, mistakes.weighing, without=mistakes.OF_HEADS)


# On plain lists

Row = list[float]

by_hand = ListTask(
    name="softmax-by-hand",
    in_torch=task,
    draws="weights of what is seen",
    statement=(
        "Write `softmax(scores)`: it takes one query's scores, a list of numbers, and returns the "
        "query's weights. Each weight is e to the power of its score, `math.exp(score)`, divided "
        "by the sum of all these exponentials. The weights must also be correct for scores of "
        "1000, and for scores that are 1000 apart."
    ),
    starter="import math\n\ndef softmax(scores):\n    ...",
)

by_hand.case("three scores")(lambda: ([1.0, 2.0, 3.0],))
by_hand.case("equal scores")(lambda: ([0.5, 0.5, 0.5, 0.5],))
by_hand.case("one score")(lambda: ([2.0],))
by_hand.case("scores below 0")(lambda: ([-1.0, 0.0, -3.0],))
by_hand.case("scores of 1000")(lambda: ([1000.0, 999.0, 1001.0],))
by_hand.case("scores of -1000")(lambda: ([-1000.0, -1001.0],))
by_hand.case("scores 1000 apart")(lambda: ([0.0, 1000.0, 1.0, 2.0],))
by_hand.case("12 scores")(lambda: ([x * 0.5 - 3 for x in range(12)],))


@by_hand.solution("subtracting the maximum from all scores changes no weight.")
def by_the_formula_by_hand(scores: Row) -> Row:
    largest = max(scores)
    exponentials = [math.exp(score - largest) for score in scores]
    return [each / sum(exponentials) for each in exponentials]


@by_hand.solution("a weight is 1 over the sum of e^(other score - its own score) for all scores.")
def seen_from_each_score(scores: Row) -> Row:
    weights = []
    for score in scores:
        total = 0.0
        for other in scores:
            # `math.exp` overflows above 709; at 700, the weight is 0 to 300 decimals.
            total += math.exp(min(other - score, 700))
        weights.append(1 / total)
    return weights


@by_hand.solution(
    "dividing by a sum is the same as subtracting its logarithm before the exponential is taken."
)
def by_logarithms_by_hand(scores: Row) -> Row:
    largest = max(scores)
    total = 0.0
    for score in scores:
        total += math.exp(score - largest)
    return [math.exp(score - largest - math.log(total)) for score in scores]


def _weigh(scores: Row, subtracted: float) -> Row:
    """The softmax, by exponentials of differences from a number."""
    exponentials = [math.exp(score - subtracted) for score in scores]
    return [each / sum(exponentials) for each in exponentials]


@by_hand.bug(fix="subtract `max(scores)` from each score first: this changes no weight.")
def no_maximum_subtracted_by_hand(scores: Row) -> Row:
    return _weigh(scores, 0)


@by_hand.bug(fix="divide each exponential by the sum of all: `exponential / sum(exponentials)`.")
def never_divided(scores: Row) -> Row:
    """the exponentials are not divided by their sum, so that they do not sum to 1."""
    return [math.exp(score - max(scores)) for score in scores]


@by_hand.bug(fix="divide by the sum of the exponentials, not by how many there are.")
def divided_by_the_count(scores: Row) -> Row:
    """the exponentials are divided by how many there are, not by their sum."""
    return [math.exp(score - max(scores)) / len(scores) for score in scores]


@by_hand.bug(fix="take `math.exp` of each score before you divide.")
def divided_by_the_sum_of_scores_by_hand(scores: Row) -> Row:
    return [score / sum(scores) for score in scores]


@by_hand.bug(
    fix="subtract the maximum from the score, `score - largest`, not the score from the maximum."
)
def turned_round(scores: Row) -> Row:
    """the scores have the opposite sign, so that the largest gets the smallest weight."""
    return _weigh([-score for score in scores], -min(scores))


@by_hand.bug(fix="give each key its share: the largest score gets most, not all.")
def the_largest_takes_all(scores: Row) -> Row:
    """the largest score gets all the weight, and the others get none."""
    return [float(score == max(scores)) for score in scores]


@by_hand.bug(fix="let keys compete: divide by the sum over all keys.")
def sigmoid_of_each_score_by_hand(scores: Row) -> Row:
    return [1 / (1 + math.exp(min(-score, 700))) for score in scores]


@by_hand.bug(fix="make a new list, and leave `scores` as they are.")
def written_into_the_scores(scores: Row) -> Row:
    """the weights are written into the caller's own list of scores."""
    scores[:] = _weigh(scores, max(scores))
    return scores


@by_hand.bug(fix="finish the sum over all keys before you divide the first exponential by it.")
def divided_by_the_sum_so_far(scores: Row) -> Row:
    """each exponential is divided by the sum of the exponentials up to it, not of all."""
    largest, total, weights = max(scores), 0.0, []
    for score in scores:
        total += math.exp(score - largest)
        weights.append(math.exp(score - largest) / total)
    return weights


@by_hand.bug(fix="divide with `/`, not with `//`: `exponential / sum(exponentials)`.")
def divided_by_two_strokes(scores: Row) -> Row:
    """the division is `//`, which drops everything after the decimal point."""
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return [exponential // sum(exponentials) for exponential in exponentials]


@by_hand.bug(fix="take the sum once, before the loop: `total = sum(exponentials)`.")
def divided_while_the_sum_changes(scores: Row) -> Row:
    """each exponential is divided in place, so the sum has changed before the next division."""
    exponentials = [math.exp(score - max(scores)) for score in scores]
    for i in range(len(exponentials)):
        exponentials[i] /= sum(exponentials)
    return exponentials


@by_hand.bug(fix="subtract the largest, `max(scores)`, so that no exponential is above 1.")
def another_score_subtracted(scores: Row) -> Row:
    """a score that is not the largest is subtracted, and far higher scores overflow."""
    return _weigh(scores, scores[0])


@by_hand.bug(fix="keep the order of `scores`: the first weight belongs to the first score.")
def sorted_by_size(scores: Row) -> Row:
    """the weights come back sorted, and are no longer in the order of their scores."""
    return _weigh(sorted(scores), max(scores))
