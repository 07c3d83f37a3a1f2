"""Known bugs of the task causal-attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.practice.steps import scale
from attnbook.practice.tasks.causal_attention import task, visible_keys


def _attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return scale(queries, keys).masked_fill(~mask, -math.inf).softmax(-1) @ values


@task.bug(
    symptom="Training goes to a loss near 0, and what is generated is nonsense.",
    origin="a common slip",
    mend="hide what comes after: fill these scores with -inf before the softmax.",
    case="as many queries as keys",
)
def nothing_is_hidden(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """there is no mask, so each query sees all keys."""
    return scale(queries, keys).softmax(-1) @ values


@task.bug(
    symptom="The loss of training is far too good.",
    origin="a common slip",
    mend="stop at the own position: the next token is what is to be guessed.",
    case="as many queries as keys",
)
def next_key_visible(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """each query sees the key after its own position, too."""
    return _attend(queries, keys, values, visible_keys(queries, keys, 1))


@task.bug(
    symptom="The first output is NaN.",
    origin="a common slip",
    mend="compare by `<=`, or take `triu(diagonal=1)` as what is hidden: the own position is seen.",
    case="as many queries as keys",
)
def own_position_hidden(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """each query sees the keys before its own position only, so the first one sees none."""
    return _attend(queries, keys, values, visible_keys(queries, keys, -1))


@task.bug(
    symptom="The last output is NaN, and the others come from the future.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    mend="fill where the mask is False: `masked_fill(~mask, …)`, if True = visible.",
    case="as many queries as keys",
)
def past_hidden_in_place_of_the_future(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the mask is read the wrong way round, and hides what should be seen."""
    return _attend(queries, keys, values, ~visible_keys(queries, keys))


@task.bug(
    symptom="Changing a query or a key changes nothing.",
    origin="accepted by TorchCode's judge",
    mend="weigh by the softmax of q · k; equal weights are where attention begins.",
    case="as many queries as keys",
)
def running_mean(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """each output is the plain mean of the values so far, and queries and keys are never used."""
    del keys
    counts = torch.arange(1, values.shape[1] + 1, dtype=values.dtype)[:, None]
    return (values.cumsum(1) / counts)[:, -queries.shape[1] :]


@task.bug(
    symptom="The earlier an output, the smaller it is.",
    origin="a common slip",
    mend="mask the scores, before the softmax, so that what is seen shares the whole.",
    case="as many queries as keys",
)
def masked_after_the_softmax(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the future's weights are set to 0 after the softmax, so those that are left sum to less."""
    return (scale(queries, keys).softmax(-1) * visible_keys(queries, keys)) @ values


@task.bug(
    symptom="The mask changes the outputs a little, and hides nothing.",
    origin="read in code that adds such a mask to the scores",
    mend="hand over a boolean mask, or add 0 and -inf.",
    case="as many queries as keys",
)
def ones_and_zeros_added(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """a mask of 1.0 and 0.0 is added to the scores, which favours the past and hides nothing."""
    return (scale(queries, keys) + visible_keys(queries, keys)).softmax(-1) @ values


@task.bug(
    symptom="Some outputs are NaN once a hidden key scores over 100 above those that are seen.",
    origin="LLMs-from-scratch, there as a step on the way",
    mend="mask the scores, before the softmax: what is seen may be too small a share to divide by.",
    case="scores of 1024 and of -1024",
)
def masked_and_divided_after_the_softmax(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the mask comes after the softmax, and rows are divided by their sum, which may be 0."""
    weights = scale(queries, keys).softmax(-1) * visible_keys(queries, keys)
    return weights / weights.sum(-1, keepdim=True) @ values


@task.bug(
    symptom="With the keys kept, each new token sees the first token only.",
    origin="pytorch#108108, executorch#21749",
    mend="count from the last key: `tril(diagonal=num_keys - num_queries)`.",
    case="fewer queries than keys",
)
def counted_from_the_first_key(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """queries are taken to stand at the first keys, as torch's own `is_causal=True` does."""
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)


@task.bug(
    symptom="A test that changes the last token finds no leak, and yet there is one.",
    origin="the book's own leak test let it pass",
    mend="hide every key after the own position, from the first query on.",
    case="as many queries as keys",
)
def first_query_sees_the_third_key(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the first query sees the third key, by a hole in the mask."""
    mask = visible_keys(queries, keys)
    mask[0, min(2, keys.shape[1] - 1)] = True
    return _attend(queries, keys, values, mask)


@task.bug(
    symptom="A test that changes the last token finds no leak, and yet there is one.",
    origin="the book's own leak test let it pass",
    mend="compare positions as they are, not the numbers of the blocks that they lie in.",
    case="as many queries as keys",
)
def neighbours_see_each_other(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """positions are masked in blocks of two, and the first of a block sees the second."""
    blocks = torch.arange(keys.shape[1]) // 2
    return _attend(queries, keys, values, blocks <= blocks[-queries.shape[1] :, None])


@task.bug(
    symptom="A test that changes the last token finds no leak, and yet there is one.",
    origin="the book's own leak test let it pass",
    mend="hide every key after the own position, from the first query on.",
    case="as many queries as keys",
)
def first_four_see_the_next_key(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """the first four queries see the key after their own position."""
    mask = visible_keys(queries, keys, 1)
    mask[4:] = visible_keys(queries, keys)[4:]
    return _attend(queries, keys, values, mask)
