"""Known bugs of the task left-padding."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.left_padding import Two, task


def _mask(valid_lens: Tensor, num_keys: int) -> Tensor:
    return torch.arange(num_keys) >= num_keys - valid_lens[:, None, None]


def _positions(mask: Tensor) -> Tensor:
    """Count what is visible, for the implementations below."""
    visible = mask[:, 0]
    return (visible.cumsum(1) - 1).masked_fill(~visible, 0)


@task.bug(
    symptom="The model continues from padding, and writes nonsense for all but the longest text.",
    origin="a common slip",
    mend="show the last `valid_lens` keys, those from `num_keys - valid_lens` on.",
    case="sequences of different lengths",
)
def the_first_keys_are_visible(valid_lens: Tensor, num_keys: int) -> Two:
    """the first keys are visible, as with padding on the right."""
    mask = torch.arange(num_keys) < valid_lens[:, None, None]
    return mask, _positions(mask)


@task.bug(
    symptom="A text alone and the same text in a batch give different outputs.",
    origin="transformers#29419",
    mend="subtract the number of padded keys, so that the first real one is at 0.",
    case="sequences of different lengths",
)
def padding_counts_as_positions(valid_lens: Tensor, num_keys: int) -> Two:
    """positions count from the first key on, padding included."""
    return _mask(valid_lens, num_keys), torch.arange(num_keys).repeat(len(valid_lens), 1)


@task.bug(
    symptom="A text alone and in a batch differ; where padding is, positions are as they should.",
    origin="transformers#29419",
    mend="subtract the number of padded keys before padding is set to 0.",
    case="sequences of different lengths",
)
def real_keys_keep_their_place(valid_lens: Tensor, num_keys: int) -> Two:
    """padding is at 0, but the first real key is at its place in the row, where 0 is right."""
    mask = _mask(valid_lens, num_keys)
    return mask, torch.arange(num_keys) * mask[:, 0]


@task.bug(
    symptom="Every text is shifted by one position; the longest does not fit any more.",
    origin="a common slip",
    mend="subtract 1 from the sums: the first real key is at 0.",
    case="sequences of different lengths",
)
def positions_begin_at_1(valid_lens: Tensor, num_keys: int) -> Two:
    """positions, sums over the mask so far, begin at 1 at the first real key."""
    mask = _mask(valid_lens, num_keys)
    return mask, mask[:, 0].cumsum(1) * mask[:, 0]


@task.bug(
    symptom="The embedding of positions raises an IndexError.",
    origin="a common slip",
    mend="set the positions of padding to 0 after the subtraction.",
    case="sequences of different lengths",
)
def negative_positions_at_padding(valid_lens: Tensor, num_keys: int) -> Two:
    """1 is subtracted from the sums over the mask at padding, too, which is left at -1."""
    mask = _mask(valid_lens, num_keys)
    return mask, mask[:, 0].cumsum(1) - 1


@task.bug(
    symptom="A text's output changes a little with the text that it is batched with.",
    origin="a common slip",
    mend="the first real key is the one at `num_keys - valid_lens`.",
    case="sequences of different lengths",
)
def one_key_of_padding_is_visible(valid_lens: Tensor, num_keys: int) -> Two:
    """one key too many is taken for real, the last one of the padding."""
    mask = torch.arange(num_keys) >= num_keys - valid_lens[:, None, None] - 1
    return mask, _positions(mask)


@task.bug(
    symptom="The first word of each text seems to be ignored.",
    origin="a common slip",
    mend="compare with `>=`: the key at `num_keys - valid_lens` is real.",
    case="sequences of different lengths",
)
def the_first_real_key_is_hidden(valid_lens: Tensor, num_keys: int) -> Two:
    """one key too few is taken for real, and the first of each text is hidden."""
    mask = torch.arange(num_keys) > num_keys - valid_lens[:, None, None]
    return mask, _positions(mask)


@task.bug(
    symptom="The model attends to padding and to nothing else.",
    origin="tensorflow/text#894; LLMs-from-scratch#1061",
    mend="return True for what is visible.",
    case="sequences of different lengths",
)
def true_where_it_is_hidden(valid_lens: Tensor, num_keys: int) -> Two:
    """`True` marks padding."""
    mask = _mask(valid_lens, num_keys)
    return ~mask, _positions(mask)


@task.bug(
    symptom="Short texts show their padding, and long ones lose their beginning.",
    origin="a common slip",
    mend="`num_keys - valid_lens` keys are padding, not `valid_lens`.",
    case="sequences of different lengths",
)
def lengths_taken_for_padding(valid_lens: Tensor, num_keys: int) -> Two:
    """the lengths are taken for the number of padded keys."""
    mask = torch.arange(num_keys) >= valid_lens[:, None, None]
    return mask, _positions(mask)


@task.bug(
    symptom="The order of words is turned round: the last one of each text is at 0.",
    origin="a common slip",
    mend="count from the first real key on, not from the last key back.",
    case="sequences of different lengths",
)
def positions_count_from_the_end(valid_lens: Tensor, num_keys: int) -> Two:
    """positions count back from the last key."""
    mask = _mask(valid_lens, num_keys)
    return mask, torch.arange(num_keys).flip(0) * mask[:, 0]
