"""Known bugs of the task masked-attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.steps import scale
from attnbook.practice.tasks.masked_attention import attend, task

FIRST = "all sizes differ"


@task.bug(
    symptom="It runs for some batch sizes only, and there the heads are masked, not the examples.",
    origin="four axes of scores and three of a mask, in many places",
    mend="give the mask an axis of 1 for heads: `mask[:, None]`, or `mask.unsqueeze(1)`.",
    case="as many heads as examples",
)
def mask_meets_the_heads(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """the mask has no axis for heads, so its examples meet the heads of the scores."""
    return attend(queries, keys, values, mask)


@task.bug(
    symptom="A batch of one is right; in larger ones examples get each other's masks.",
    origin="Dive into Deep Learning's lengths, when given in the wrong order",
    mend="repeat each mask in place, by `repeat_interleave`, or give the mask an axis of 1.",
    case=FIRST,
)
def masks_repeated_in_the_wrong_order(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
) -> Tensor:
    """masks are repeated for heads as a, b, a, b, where examples lie as a, a, b, b."""
    repeated = mask.repeat(queries.shape[1], 1, 1).view(*queries.shape[:3], -1)
    return attend(queries, keys, values, repeated)


@task.bug(
    symptom="With as many queries as keys, words see what they should not; else it stops.",
    origin="a common slip",
    mend="leave the axes as they are: rows are queries, columns are keys.",
    case="as many queries as keys",
)
def queries_and_keys_exchanged(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
) -> Tensor:
    """the mask's axes of queries and keys are exchanged."""
    return attend(queries, keys, values, mask.mT[:, None])


@task.bug(
    symptom="Each word attends to what it should not see, and to nothing else.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    mend="fill where the mask is False: `masked_fill(~mask, …)`.",
    case=FIRST,
)
def read_the_wrong_way_round(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """the mask is read the wrong way round, and what is visible is hidden."""
    return attend(queries, keys, values, ~mask[:, None])


@task.bug(
    symptom="The mask changes the outputs a little, and hides nothing.",
    origin="float masks of 0 and 1 handed where they are added",
    mend="fill with -inf where the mask is False, before the softmax.",
    case=FIRST,
)
def ones_and_zeros_added(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """the mask is added to the scores as 1 and 0, which hides nothing."""
    return (scale(queries, keys) + mask[:, None]).softmax(-1) @ values


@task.bug(
    symptom="Hidden keys have some weight, more than visible ones with low scores.",
    origin="a common slip",
    mend="fill with -inf where the mask is False: a score of 0 is a score like any other.",
    case=FIRST,
)
def scores_multiplied(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """scores are multiplied by the mask, and hidden ones are 0, an ordinary score."""
    return (scale(queries, keys) * mask[:, None]).softmax(-1) @ values


@task.bug(
    symptom="The more a mask hides, the smaller the outputs.",
    origin="a common slip",
    mend="hide before the softmax, so that what is seen shares the whole.",
    case=FIRST,
)
def masked_after_the_softmax(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """the mask comes after the softmax, where hidden keys have taken their share already."""
    return (scale(queries, keys).softmax(-1) * mask[:, None]) @ values


@task.bug(
    symptom="NaN turns up now and then, where a hidden key has a high score.",
    origin="LLMs-from-scratch, there as a step on the way",
    mend="hide before the softmax: what is seen may be too small a share to divide by.",
    case="a hidden score 1000 above those that are seen",
)
def masked_and_divided_after_the_softmax(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
) -> Tensor:
    """the mask comes after the softmax, and rows are divided by their sum, which may be 0."""
    weights = scale(queries, keys).softmax(-1) * mask[:, None]
    return weights / weights.sum(-1, keepdim=True) @ values


@task.bug(
    symptom="A query that may see nothing gives NaN.",
    origin="pytorch#103749; `nn.MultiheadAttention` with such a row",
    mend="clear such rows before the softmax, and their weights after it.",
    case="a query that sees nothing",
)
def empty_rows_nan(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """a row that sees nothing is normalised all the same, by a softmax of -inf throughout."""
    return scale(queries, keys).masked_fill(~mask[:, None], -math.inf).softmax(-1) @ values


@task.bug(
    symptom="All outputs look right, and after one step all parameters are NaN.",
    origin="found in many places, with -inf and rows that are all masked",
    mend="give such rows finite scores before the softmax: what is cleared later still flows back.",
    case="what flows back past a query that sees nothing",
)
def nan_cleared_too_late(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """the NaN of a row that sees nothing is cleared after the softmax, and still flows back."""
    added = torch.zeros(mask.shape, dtype=queries.dtype).masked_fill(~mask, -math.inf)
    weights = (scale(queries, keys) + added[:, None]).softmax(-1)
    return torch.where(mask[:, None], weights, 0) @ values


@task.bug(
    symptom="A query that may see nothing gets the mean of all that is hidden from it.",
    origin="Dive into Deep Learning's masked softmax",
    mend="set the weights of hidden keys to 0 after the softmax as well.",
    case="a query that sees nothing",
)
def empty_rows_uniform(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """a row that sees nothing is filled with one finite number, and all its keys weigh the same."""
    low = torch.finfo(queries.dtype).min
    return scale(queries, keys).masked_fill(~mask[:, None], low).softmax(-1) @ values


@task.bug(
    symptom="It is right for a batch of one; in larger ones texts see each other's padding.",
    origin="a common slip",
    mend="keep the axis of examples: each has a mask of its own.",
    case=FIRST,
)
def the_first_examples_mask_for_all(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
) -> Tensor:
    """the first example's mask is used for the whole batch."""
    return attend(queries, keys, values, mask[:1, None])


@task.bug(
    symptom="A mask of padding works; a causal one shows every query the first key only.",
    origin="a common slip: code that was written for masks of padding",
    mend="keep the axis of queries: each has a row of its own.",
    case=FIRST,
)
def the_first_querys_row_for_all(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor
) -> Tensor:
    """each example's first row is used for all of its queries, as if it were padding alone."""
    return attend(queries, keys, values, mask[:, None, :1])


@task.bug(
    symptom="The weights of a query do not sum to 1: those of a key do.",
    origin="accepted by TorchCode's judge",
    mend="take the softmax over the last axis, the keys: `dim=-1`.",
    case=FIRST,
)
def softmax_over_the_queries(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """the softmax is taken over the queries, and a key shares itself among them."""
    low = torch.finfo(queries.dtype).min
    weights = scale(queries, keys).masked_fill(~mask[:, None], low).softmax(-2)
    return weights.masked_fill(~mask[:, None], 0) @ values
