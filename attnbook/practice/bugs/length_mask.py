"""Known bugs of the task length-mask."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.tasks.length_mask import per_query, task


@task.bug(
    symptom="The model looks at padding only, or cheats to 100 % where the mask hides answers.",
    origin="tensorflow/text#894, and `nn.MultiheadAttention` against SDPA",
    mend="let True mean visible: positions `<` lengths. `key_padding_mask` means the opposite.",
    case="a length for each example",
)
def true_means_hidden(valid_lens: Tensor, num_keys: int) -> Tensor:
    """padding is marked by True: keys from the length on."""
    return torch.arange(num_keys) >= per_query(valid_lens)


@task.bug(
    symptom="A little attention always goes to the first key of padding.",
    origin="a common slip",
    mend="compare with `<`: positions count from 0, so the key at the length is padding already.",
    case="a length for each example",
)
def one_key_too_many(valid_lens: Tensor, num_keys: int) -> Tensor:
    """positions are compared by `<=`, and the first key of padding is visible."""
    return torch.arange(num_keys) <= per_query(valid_lens)


@task.bug(
    symptom="The last word of each sentence is never attended to.",
    origin="a common slip",
    mend="count positions from 0: `torch.arange(num_keys)`, and compare with `<`.",
    case="a length for each example",
)
def one_key_too_few(valid_lens: Tensor, num_keys: int) -> Tensor:
    """positions are counted from 1, and the last key that may be seen is hidden."""
    return torch.arange(1, num_keys + 1) < per_query(valid_lens)


@task.bug(
    symptom="Short sentences are ignored in part, and their padding is read.",
    origin="a common slip",
    mend="show the first keys: lengths here are of sentences padded at their end.",
    case="a length for each example",
)
def the_last_keys_visible(valid_lens: Tensor, num_keys: int) -> Tensor:
    """the last keys are visible, as if padding stood on the left."""
    return torch.arange(num_keys) >= num_keys - per_query(valid_lens)


@task.bug(
    symptom="Queries see as much as another example's queries should.",
    origin="Dive into Deep Learning's masked softmax, which takes either shape",
    mend="read lengths as (batch, num_queries): the first axis is the batch.",
    case="as many examples as queries",
)
def lengths_transposed(valid_lens: Tensor, num_keys: int) -> Tensor:
    """lengths are read as (num_queries, batch)."""
    return torch.arange(num_keys) < per_query(valid_lens.T if valid_lens.dim() == 2 else valid_lens)


@task.bug(
    symptom="All queries of an example see the same keys, whatever their lengths say.",
    origin="a common slip",
    mend="keep the axis of queries: `valid_lens[:, :, None]`.",
    case="as many examples as queries",
)
def the_first_querys_length_for_all(valid_lens: Tensor, num_keys: int) -> Tensor:
    """each example's first query gives the length for all its queries."""
    rows = per_query(valid_lens)
    return torch.arange(num_keys) < rows[:, :1].expand_as(rows)


@task.bug(
    symptom="Results depend on the order of the batch; the first example alone is right.",
    origin="a common slip",
    mend="compare with all lengths at once: `valid_lens[:, None, None]`.",
    case="a length for each example",
)
def the_first_examples_length_for_all(valid_lens: Tensor, num_keys: int) -> Tensor:
    """the first example's lengths are used for the whole batch."""
    rows = per_query(valid_lens)
    return torch.arange(num_keys) < rows[:1].expand_as(rows)


@task.bug(
    symptom="Only the longest example is right; shorter ones still read padding.",
    origin="a common slip",
    mend="compare with each length by itself, not with `valid_lens.max()`.",
    case="a length for each example",
)
def the_longest_length_for_all(valid_lens: Tensor, num_keys: int) -> Tensor:
    """all padding is cut at the longest length of the batch."""
    rows = per_query(valid_lens)
    return torch.arange(num_keys) < rows.max().expand_as(rows)


@task.bug(
    symptom="An empty example is treated as a full one.",
    origin="a common slip",
    mend="let 0 be a length as any other: it hides all keys.",
    case="a length of 0",
)
def zero_hides_nothing(valid_lens: Tensor, num_keys: int) -> Tensor:
    """a length of 0 is taken for no length at all, and shows all keys."""
    rows = per_query(valid_lens)
    return (torch.arange(num_keys) < rows) | (rows == 0)


@task.bug(
    symptom="The mask hides nothing where it is added to scores: visible ones rise by 1.",
    origin="float masks of 0 and 1 handed where they are added",
    mend="leave the comparison as it is: its result is a mask of True and False.",
    case="a length for each example",
)
def ones_and_zeros(valid_lens: Tensor, num_keys: int) -> Tensor:
    """the mask is made of numbers, 1 for visible and 0 for hidden."""
    return (torch.arange(num_keys) < per_query(valid_lens)).float()


@task.bug(
    symptom="Where a mask of True and False is asked for, every key but the visible ones counts.",
    origin="a common slip",
    mend="return True and False, and leave filling with -inf to the softmax.",
    case="a length for each example",
)
def numbers_to_be_added(valid_lens: Tensor, num_keys: int) -> Tensor:
    """the mask is made of numbers to be added to scores, 0 for visible and -inf for hidden."""
    hidden = torch.arange(num_keys) >= per_query(valid_lens)
    return torch.zeros(hidden.shape).masked_fill(hidden, -math.inf)
