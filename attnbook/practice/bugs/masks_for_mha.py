"""Known bugs of the task masks-for-mha."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnbook.practice.tasks.masks_for_mha import Two, task

FIRST = "two examples and three heads"


def _hidden(mask: Tensor, num_heads: int) -> Tensor:
    return ~mask.repeat_interleave(num_heads, dim=0)


def _padding(mask: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.arange(mask.shape[-1]) >= valid_lens[:, None]


@task.bug(
    symptom="The layer attends to padding and to the future, and to nothing else.",
    origin="`nn.MultiheadAttention` against SDPA, LLMs-from-scratch#1061",
    mend="turn both round with `~`: here True hides.",
    case=FIRST,
)
def true_means_visible(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """both masks are handed over as they are, True = visible, where True hides."""
    return ~_hidden(mask, num_heads), ~_padding(mask, valid_lens)


@task.bug(
    symptom="Padding is hidden, and queries see all that they should not: the future.",
    origin="Stack Overflow 62170439; SDPA's own `attn_mask` has the other meaning",
    mend="turn `mask` round as well: `~mask`.",
    case=FIRST,
)
def attn_mask_not_turned_round(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`attn_mask` is True where a key is visible, as SDPA takes it; the other one is right."""
    return ~_hidden(mask, num_heads), _padding(mask, valid_lens)


@task.bug(
    symptom="The model attends to padding only.",
    origin="Stack Overflow 62170439; a tokenizer's `attention_mask` has the other meaning",
    mend="padding is what is hidden: positions `>=` lengths.",
    case=FIRST,
)
def key_padding_mask_not_turned_round(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`key_padding_mask` is True for real keys, as a tokenizer gives it; the other one is right."""
    return _hidden(mask, num_heads), ~_padding(mask, valid_lens)


@task.bug(
    symptom="A batch of one is right; in larger ones examples get each other's masks.",
    origin="a common slip, by `repeat(num_heads, 1, 1)`",
    mend="repeat each mask in place, by `repeat_interleave`: examples first, then their heads.",
    case=FIRST,
)
def heads_before_examples(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """masks are repeated as a, b, a, b, where heads lie as a, a, b, b."""
    return ~mask.repeat(num_heads, 1, 1), _padding(mask, valid_lens)


@task.bug(
    symptom="RuntimeError: the shape of the 3D attn_mask should be (batch * num_heads, …).",
    origin="Stack Overflow 62170439",
    mend="say each example's mask once for each head: `repeat_interleave(num_heads, dim=0)`.",
    case=FIRST,
)
def one_mask_for_each_example(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`attn_mask` has one mask for each example, and heads are left out."""
    del num_heads
    return ~mask, _padding(mask, valid_lens)


@task.bug(
    symptom="All examples of a batch are masked as the first one.",
    origin="a common slip: a mask of two axes is for all examples",
    mend="keep each example's mask: `repeat_interleave` along the first axis.",
    case=FIRST,
)
def the_first_examples_mask_for_all(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """the first example's mask is used for the whole batch."""
    return _hidden(mask[:1].expand_as(mask), num_heads), _padding(mask, valid_lens)


@task.bug(
    symptom="A little attention always goes to the first key of padding.",
    origin="a common slip",
    mend="positions count from 0: the key at the length is padding, so compare by `>=`.",
    case=FIRST,
)
def one_key_of_padding_seen(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """the first key of padding is not hidden, as positions are compared by `>`."""
    return _hidden(mask, num_heads), _padding(mask, valid_lens + 1)


@task.bug(
    symptom="The last word of each sentence is never attended to.",
    origin="a common slip",
    mend="positions count from 0: the last real key is at the length less 1.",
    case=FIRST,
)
def one_real_key_hidden(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """the last real key is hidden, as if it were padding."""
    return _hidden(mask, num_heads), _padding(mask, valid_lens - 1)


@task.bug(
    symptom="Short sentences lose their words, and their padding is read.",
    origin="tokenizers that pad on the left, for some models",
    mend="hide the last keys: these sentences are padded at their end.",
    case=FIRST,
)
def padding_taken_to_be_on_the_left(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """the first keys are hidden, as if padding stood on the left."""
    num_keys = mask.shape[-1]
    return _hidden(mask, num_heads), torch.arange(num_keys) < num_keys - valid_lens[:, None]


@task.bug(
    symptom="With as many queries as keys the future is seen; else the shapes do not fit.",
    origin="a common slip",
    mend="leave the axes as they are: queries before keys.",
    case="as many queries as keys",
)
def queries_and_keys_exchanged(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """the axes of queries and keys are exchanged in `attn_mask`."""
    return _hidden(mask.mT, num_heads), _padding(mask, valid_lens)


@task.bug(
    symptom="Nothing is hidden: scores of hidden keys rise by 1.",
    origin="float masks of 0 and 1 handed where they are added",
    mend="leave it boolean: numbers in `attn_mask` are added to the scores.",
    case=FIRST,
)
def ones_and_zeros(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`attn_mask` holds 1.0 and 0.0, which are added to the scores and hide nothing."""
    return _hidden(mask, num_heads).float(), _padding(mask, valid_lens)


@task.bug(
    symptom="A warning that mismatched `key_padding_mask` and `attn_mask` are deprecated.",
    origin="`generate_square_subsequent_mask` beside a boolean `key_padding_mask`",
    mend="make both boolean, True where hidden.",
    case=FIRST,
)
def numbers_to_be_added(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`attn_mask` holds 0 and -inf, to be added, beside a `key_padding_mask` of booleans."""
    hidden = _hidden(mask, num_heads)
    return torch.zeros(hidden.shape).masked_fill(hidden, -math.inf), _padding(mask, valid_lens)
