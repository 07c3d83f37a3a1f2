"""Known bugs of the task decoding-mask."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.decoding_mask import task

FIRST = "as many queries as keys"


def _text(starts: Tensor, num_keys: int) -> Tensor:
    return torch.arange(num_keys) >= starts[:, None, None]


def _past(num_queries: int, num_keys: int, diagonal: int = 0) -> Tensor:
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(diagonal=num_keys - num_queries + diagonal)


@task.bug(
    symptom="The model goes on from padding, and writes nonsense for all but the longest text.",
    origin="a common slip: a mask for padding on the right",
    mend="padding stands before the start: what is visible is at `starts` or after it.",
    case=FIRST,
)
def left_padding_read_as_right(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """padding is taken to be on the right: the last keys are hidden, as many as are padding."""
    valid_lens = num_keys - starts[:, None, None]
    return (torch.arange(num_keys) < valid_lens) & _past(num_queries, num_keys)


@task.bug(
    symptom="The model reads padding only.",
    origin="a common slip: `length_mask` called with what are no lengths",
    mend="compare by `>=`: a start is where the text begins, not where it ends.",
    case=FIRST,
)
def starts_taken_for_lengths(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the starts are taken for lengths, and the padding before them is what is visible."""
    return ~_text(starts, num_keys) & _past(num_queries, num_keys)


@task.bug(
    symptom="Padding is seen by all that come after it, and the future by all that may see a text.",
    origin="a common slip",
    mend="join both by `&`: a key must be of the text, and not after the query.",
    case=FIRST,
)
def joined_by_or(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """both rules are joined by `|`, and a key is visible that one of them shows."""
    return _text(starts, num_keys) | _past(num_queries, num_keys)


@task.bug(
    symptom="A text alone and the same text in a batch give different outputs.",
    origin="transformers#29419",
    mend="hide the keys before the start, too.",
    case=FIRST,
)
def padding_is_seen(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """only the future is hidden, and padding is visible."""
    return _past(num_queries, num_keys).repeat(len(starts), 1, 1)


@task.bug(
    symptom="The loss is far too low: each word sees the next one.",
    origin="a common slip",
    mend="hide the keys after the query, too.",
    case=FIRST,
)
def the_future_is_seen(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """padding is hidden, and all of the future is visible."""
    return _text(starts, num_keys).repeat(1, num_queries, 1)


@task.bug(
    symptom="With the keys kept, each new word sees the first one only, or padding's nothing.",
    origin="pytorch#108108, executorch#21749: `is_causal=True` of PyTorch's SDPA",
    mend="let the first query stand at position `num_keys - num_queries`.",
    case="fewer queries than keys",
)
def counted_from_the_first_key(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """queries are taken to stand at the first positions of the keys, where they stand last."""
    return _text(starts, num_keys) & torch.ones(num_queries, num_keys).tril().bool()


@task.bug(
    symptom="A text's first rows do not fit: its queries seem to stand behind the padding.",
    origin="a common slip: positions for a position encoding, used for the mask",
    mend="count both from the first key, padding included: only the start differs.",
    case=FIRST,
)
def queries_moved_by_the_start(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """queries are moved on by the start, and see as many keys ahead as are padding."""
    keys = torch.arange(num_keys)
    queries = keys[num_keys - num_queries :, None] + starts[:, None, None]
    return _text(starts, num_keys) & (keys <= queries)


@task.bug(
    symptom="A text's output changes a little with the text that it is batched with.",
    origin="a common slip",
    mend="the key at `starts` is the text's first: compare by `>=`.",
    case=FIRST,
)
def one_key_of_padding_seen(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the last key of padding is visible."""
    return _text(starts - 1, num_keys) & _past(num_queries, num_keys)


@task.bug(
    symptom="The first word of each text seems to be ignored, and its own row is empty.",
    origin="a common slip",
    mend="the key at `starts` is the text's first, and visible: compare by `>=`.",
    case=FIRST,
)
def first_word_hidden(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the first key of each text is hidden."""
    return _text(starts + 1, num_keys) & _past(num_queries, num_keys)


@task.bug(
    symptom="Each text's first word gives NaN, or zeros.",
    origin="a common slip",
    mend="compare by `<=`: a query sees its own position.",
    case=FIRST,
)
def own_position_hidden(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """each query sees the keys before its own position, and its own is hidden."""
    return _text(starts, num_keys) & _past(num_queries, num_keys, -1)


@task.bug(
    symptom="The model sees padding and what it has to guess, and nothing else.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    mend="return True for what is visible.",
    case=FIRST,
)
def true_means_hidden(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """what is hidden is True, and what is visible False."""
    return ~(_text(starts, num_keys) & _past(num_queries, num_keys))


@task.bug(
    symptom="It is right where all texts are equally long, and for a batch of one.",
    origin="a common slip",
    mend="compare with all starts at once: `starts[:, None, None]`.",
    case=FIRST,
)
def the_first_texts_start_for_all(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the first text's start is used for the whole batch."""
    return _text(starts[:1].expand_as(starts), num_keys) & _past(num_queries, num_keys)


@task.bug(
    symptom="With as many texts as words it runs, and each word has a start of its own.",
    origin="a common slip",
    mend="keep the starts on the first axis: `starts[:, None, None]`.",
    case="as many examples as queries as keys",
)
def starts_on_the_axis_of_queries(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """starts lie on the axis of queries, one for each of them, where they belong to texts."""
    visible = (torch.arange(num_keys) >= starts[:, None]) & _past(num_queries, num_keys)
    return visible.expand(len(starts), -1, -1)


@task.bug(
    symptom="Rows of padding are the mean of something, which a loss may count.",
    origin="code that lets padding see itself, to keep NaN away",
    mend="leave rows of padding empty: a softmax that clears them gives 0.",
    case=FIRST,
)
def padding_sees_itself(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """a query in padding sees its own key, to have something to see."""
    own = torch.eye(num_keys, dtype=torch.bool)[num_keys - num_queries :]
    return (_text(starts, num_keys) & _past(num_queries, num_keys)) | own
