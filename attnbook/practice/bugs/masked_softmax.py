"""Known bugs of the task masked-softmax."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.tasks.masked_softmax import filled, task, weigh, where_visible


def _fill(scores: Tensor, valid_lens: Tensor | None, number: float) -> Tensor:
    return scores.masked_fill(~where_visible(scores, valid_lens), number)


@task.bug(
    symptom="A third of the attention goes to padding.",
    origin="the book's own first draft",
    mend="fill with -inf before the softmax: a score of 0 is an ordinary score.",
    case="a length for each example",
)
def padding_filled_with_zero(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the scores of padding are filled with 0, which is no low score."""
    return _fill(scores, valid_lens, 0).softmax(-1)


@task.bug(
    symptom="Where all scores are very low, padding gets all the weight.",
    origin="Dive into Deep Learning's masked softmax",
    mend="fill with -inf, which is below every score, and clear rows that see nothing.",
    case="scores of -2,000,000",
)
def filled_with_minus_a_million(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """padding is filled with a number like -1e6, and not even that is below every score."""
    return _fill(scores, valid_lens, -1e6).softmax(-1)


@task.bug(
    symptom="Training in half precision fails: a value cannot be converted without overflow.",
    origin="the Annotated Transformer",
    mend="fill with -inf, which every type can hold, and clear rows that see nothing.",
    case="half precision",
)
def filled_with_minus_a_billion(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """padding is filled with a number like -1e9, which half precision lacks; empty rows weigh."""
    return _fill(scores, valid_lens, -1e9).softmax(-1)


@task.bug(
    symptom="An empty example attends to all of its padding, each key the same.",
    origin="Dive into Deep Learning's masked softmax",
    mend="set the weights of hidden keys to 0 after the softmax as well.",
    case="a query that may see nothing",
)
def empty_rows_uniform(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """a row that sees nothing is filled with one finite number, and all its keys weigh the same."""
    return _fill(scores, valid_lens, torch.finfo(scores.dtype).min).softmax(-1)


@task.bug(
    symptom="An empty example gives NaN.",
    origin="pytorch#103749",
    mend="put 0 in place of such a row's scores before the softmax, and clear its weights after.",
    case="a query that may see nothing",
)
def empty_rows_nan(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """a row that sees nothing is normalised all the same: 0 divided by 0, by a softmax of -inf."""
    return _fill(scores, valid_lens, -math.inf).softmax(-1)


@task.bug(
    symptom="All outputs look right, and after one step all parameters are NaN.",
    origin="found in many places, with -inf and rows that are all masked",
    mend="fill by `masked_fill`, which sends nothing back, or give such rows a score of 0 first.",
    case="what flows back past a query that may see nothing",
)
def nan_cleared_too_late(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the NaN of a row that sees nothing is cleared after the softmax, and still flows back."""
    visible = where_visible(scores, valid_lens)
    added = torch.zeros_like(scores).masked_fill(~visible, -math.inf)
    return torch.where(visible, (scores + added).softmax(-1), 0)


@task.bug(
    symptom="The shorter an example, the smaller its outputs.",
    origin="a common slip",
    mend="hide padding before the softmax, so that it takes no share.",
    case="a length for each example",
)
def masked_after_the_softmax(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """padding is set to 0 after the softmax, where it has taken its share already."""
    return scores.softmax(-1) * where_visible(scores, valid_lens)


@task.bug(
    symptom="NaN turns up now and then, where some padding has a high score.",
    origin="LLMs-from-scratch, as a step",
    mend="hide padding before the softmax: afterwards the visible weights may be rounded to 0.",
    case="a padded score 200 above those that are seen",
)
def masked_and_normalised_again(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """padding takes part in the softmax, and what it leaves, perhaps 0, is normalised again."""
    weights = scores.softmax(-1) * where_visible(scores, valid_lens)
    return weights / weights.sum(-1, keepdim=True)


@task.bug(
    symptom="The model attends to padding and to nothing else.",
    origin="tensorflow/text#894, LLMs-from-scratch#1061",
    mend="swap the mask: fill where a key must not be seen.",
    case="a length for each example",
)
def padding_alone_visible(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the mask is the wrong way round: visible keys are hidden, and padding is seen."""
    if valid_lens is None:
        return scores.softmax(-1)
    return weigh(scores, ~where_visible(scores, valid_lens))


@task.bug(
    symptom="The second call with the same scores gives infinities that the first did not.",
    origin="the book's own first draft, and Dive into Deep Learning",
    mend="make a new tensor: `masked_fill`, or `torch.where`.",
    case="a length for each example",
)
def written_into_the_scores(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the caller's own scores are written into, as by `scores[~mask] = …`."""
    visible = where_visible(scores, valid_lens)
    scores[~visible] = torch.finfo(scores.dtype).min
    return scores.softmax(-1) * visible


@task.bug(
    symptom="Training runs for a while, then everything is NaN.",
    origin="a notebook for Understanding Deep Learning",
    mend="subtract each row's maximum before the power: it cancels, and nothing overflows.",
    case="scores of 1000, and of -1000",
)
def no_maximum_subtracted(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """no maximum is subtracted, so that powers overflow to infinity, or all vanish."""
    powers = scores.exp() * where_visible(scores, valid_lens)
    return powers / powers.sum(-1, keepdim=True)


@task.bug(
    symptom="All weights are right. Once a value at padding overflowed, and a whole row of "
    "gradients was NaN.",
    origin="a reader's answer that the judge had accepted",
    mend="apply the mask a second time, to the weights: nothing flows back through it.",
    case="NaN that flows back to the weights of padding",
)
def masked_once(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the mask stands before the softmax only, and does not stop what flows back."""
    visible = where_visible(scores, valid_lens)
    weights = filled(scores, visible).softmax(-1)
    return weights.masked_fill(~visible.any(dim=-1, keepdim=True), 0)


@task.bug(
    symptom="With lengths all is well; without, each weight of a single query is 1.",
    origin="the book's own first draft",
    mend="take the softmax over the last axis there, too: `dim=-1`.",
    case="no lengths",
)
def queries_normalised_without_lengths(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the softmax runs over the queries, by `dim=1`, where there are no lengths."""
    if valid_lens is None:
        return scores.softmax(1)
    return weigh(scores, where_visible(scores, valid_lens))


@task.bug(
    symptom="Rows no longer sum to 1: the columns do.",
    origin="accepted by TorchCode's judge",
    mend="take the softmax over the last axis, the keys: `dim=-1`.",
    case="a length for each example",
)
def softmax_over_the_queries(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the softmax is taken over the queries."""
    return _fill(scores, valid_lens, -math.inf).softmax(-2).nan_to_num(0)


@task.bug(
    symptom="Rows sum to 1.8 or to 2.5, and depend on the other examples.",
    origin="the book's own first draft, by `nn.Softmax()` without `dim`",
    mend="always say `dim=-1`: without it torch takes the first of three axes.",
    case="a length for each example",
)
def softmax_over_the_batch(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """the softmax is taken over the batch, as `nn.Softmax()` without `dim` does."""
    return _fill(scores, valid_lens, -math.inf).softmax(0).nan_to_num(0)


@task.bug(
    symptom="With several heads, examples get each other's lengths.",
    origin="Dive into Deep Learning's masked softmax, when given four axes",
    mend="repeat each length in place, by `repeat_interleave`, or give the mask an axis of 1.",
    case="heads, and a length for each example",
)
def lengths_repeated_in_the_wrong_order(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """lengths are repeated for heads as a, b, a, b, where examples lie as a, a, b, b."""
    if valid_lens is not None and scores.dim() == 4:
        heads = scores.flatten(0, 1)
        repeated = torch.cat([valid_lens] * scores.shape[1])
        return weigh(heads, where_visible(heads, repeated)).view_as(scores)
    return weigh(scores, where_visible(scores, valid_lens))


@task.bug(
    symptom="Sums of 1, but for one query whose scores had overflowed to the lowest number.",
    origin="a new reader's answer, and much code that knows -inf to be dangerous",
    mend="fill with -inf, which is below every score, and clear rows that see nothing.",
    case="the lowest score that there is",
)
def filled_with_the_lowest_number(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """padding is filled with the lowest finite number, and a score can be as low."""
    weights = _fill(scores, valid_lens, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(~where_visible(scores, valid_lens), 0)


@task.bug(
    symptom="A text whose words are sound gets NaN, or nothing, for what stands in its padding.",
    origin="a new reader's answer, and code that adds a mask of 0 and -inf",
    mend="put -inf in place of the scores of padding, by `masked_fill`: NaN - inf is NaN.",
    case="infinity and NaN at padding",
)
def mask_added(scores: Tensor, valid_lens: Tensor | None = None) -> Tensor:
    """minus infinity is added to the scores of padding, and NaN or infinity there stays NaN."""
    visible = where_visible(scores, valid_lens)
    return (scores + filled(torch.zeros_like(scores), visible)).softmax(-1).masked_fill(~visible, 0)
