"""Known bugs of the task softmax."""

from __future__ import annotations

from torch import Tensor

from attnbook.practice.tasks.softmax import task


@task.bug(
    symptom="Rows of weights do not sum to 1; with one query all weights are 1.",
    origin="the book's own first draft, where there are no lengths",
    mend="take the softmax over the last axis, the keys: `dim=-1`.",
    case="one query",
)
def softmax_over_the_queries(scores: Tensor) -> Tensor:
    """the sum runs over the queries, not over the keys."""
    return scores.softmax(dim=1)


@task.bug(
    symptom="Rows sum to anything, and an example's weights change with its neighbours.",
    origin="the book's own first draft, by `nn.Softmax()` without `dim`",
    mend="always say `dim=-1`: without it torch takes the first of three axes.",
    case="a few scores around 0",
)
def softmax_over_the_batch(scores: Tensor) -> Tensor:
    """the sum runs over the batch, which `nn.Softmax()` without `dim` does for three axes."""
    return scores.softmax(dim=0)


@task.bug(
    symptom="All weights are too small, the smaller the larger the batch.",
    origin="a common slip",
    mend="sum over the last axis only: `dim=-1, keepdim=True`.",
    case="a few scores around 0",
)
def softmax_over_all_scores(scores: Tensor) -> Tensor:
    """one sum is taken over all queries and examples, not one for each query."""
    return scores.flatten().softmax(dim=0).reshape(scores.shape)


@task.bug(
    symptom="Training runs for a while, then everything is NaN.",
    origin="a notebook for Understanding Deep Learning",
    mend="subtract each row's maximum before the power: it cancels, and nothing overflows.",
    case="scores of 1000",
)
def no_maximum_subtracted(scores: Tensor) -> Tensor:
    """no maximum is subtracted, so that powers overflow to infinity, or all vanish."""
    powers = scores.exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@task.bug(
    symptom="A query whose scores are all low gets NaN, but only beside one with high scores.",
    origin="a common slip",
    mend="subtract each row's own maximum: `scores.amax(dim=-1, keepdim=True)`.",
    case="rows that are 1000 apart",
)
def one_maximum_for_all_rows(scores: Tensor) -> Tensor:
    """one maximum, the whole tensor's, say, is subtracted from all rows, and low rows vanish."""
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@task.bug(
    symptom="Weights are wrong, though each row sums to 1 and nothing overflows.",
    origin="a common slip",
    mend="subtract one number from all scores of a query: the maximum over `dim=-1`.",
    case="a few scores around 0",
)
def maximum_over_the_queries(scores: Tensor) -> Tensor:
    """the maximum is taken over the queries, so that each key's scores move by another number."""
    powers = (scores - scores.amax(dim=1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@task.bug(
    symptom="Some weights are negative, others far above 1.",
    origin="a common slip",
    mend="divide by the sum of the powers, not of the scores.",
    case="a few scores around 0",
)
def divided_by_the_sum_of_scores(scores: Tensor) -> Tensor:
    """the scores themselves are divided by their sum, and no power is taken."""
    return scores / scores.sum(dim=-1, keepdim=True)


@task.bug(
    symptom="Rows sum to more than 1, and a key's weight does not depend on the other keys.",
    origin="a common slip",
    mend="let keys compete: divide by the sum over all keys of the query.",
    case="a few scores around 0",
)
def sigmoid_of_each_score(scores: Tensor) -> Tensor:
    """each score goes through a sigmoid by itself, and keys do not share a weight of 1."""
    return scores.sigmoid()


@task.bug(
    symptom="All weights are negative, or 0.",
    origin="a common slip",
    mend="take the power: `softmax`, where `log_softmax` is meant for a loss.",
    case="a few scores around 0",
)
def logarithms_of_the_weights(scores: Tensor) -> Tensor:
    """the logarithms of the weights are returned."""
    return scores.log_softmax(dim=-1)


@task.bug(
    symptom="The weights are right; the scores printed after them have changed.",
    origin="a common slip",
    mend="make a new tensor: `scores - maximum`, not `scores -= maximum`.",
    case="a few scores around 0",
)
def subtracted_in_place(scores: Tensor) -> Tensor:
    """a step is taken in place, on the caller's own scores: `scores -= maximum`, for one."""
    scores -= scores.max(dim=-1, keepdim=True).values
    return scores.softmax(dim=-1)


@task.bug(
    symptom="It stops at the division: the sizes of two tensors do not match.",
    origin="a new reader's first try",
    mend="keep the axis that is summed over: `sum(dim=-1, keepdim=True)`, and so for `amax`.",
    case="a few scores around 0",
)
def an_axis_lost(scores: Tensor) -> Tensor:
    """a sum or a maximum over the keys loses their axis, and no longer stands above its row."""
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1)
