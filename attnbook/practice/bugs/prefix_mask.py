"""Known bugs of the task prefix-mask."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.prefix_mask import task

FIRST = "as many queries as keys"


def _prefix(prefix_lens: Tensor, num_keys: int) -> Tensor:
    return torch.arange(num_keys) < prefix_lens[:, None, None]


def _past(num_queries: int, num_keys: int, diagonal: int = 0) -> Tensor:
    ones = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return ones.tril(diagonal=num_keys - num_queries + diagonal)


@task.bug(
    symptom="It is no better than a causal model: the question's first words are read blindly.",
    origin="a common slip",
    mend="open the prefix for every query: join both rules by `|`.",
    case=FIRST,
)
def the_prefix_is_causal_too(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the prefix is never used, and its own queries do not see what comes after them in it."""
    return _past(num_queries, num_keys).repeat(len(prefix_lens), 1, 1)


@task.bug(
    symptom="What is written forgets what it wrote before.",
    origin="a common slip: other rules are joined by `&`",
    mend="join both rules by `|`: a key is visible if the prefix or the order shows it.",
    case=FIRST,
)
def joined_by_and(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """both rules must hold, so nothing outside of the prefix is ever visible."""
    return _prefix(prefix_lens, num_keys) & _past(num_queries, num_keys)


@task.bug(
    symptom="All words look at the question, and none at the answer so far.",
    origin="a common slip",
    mend="add the causal rule for what comes after the prefix.",
    case=FIRST,
)
def only_the_prefix_is_visible(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the prefix alone is visible, as if what comes after it were padding."""
    return _prefix(prefix_lens, num_keys).expand(-1, num_queries, -1)


@task.bug(
    symptom="The loss is far too low: the question has read the answer, and tells it.",
    origin="a common slip",
    mend="show the prefix's queries the prefix only: compare the keys' positions, not theirs.",
    case=FIRST,
)
def the_prefix_sees_all(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """queries in the prefix see all keys, those after the prefix, too."""
    inside = _prefix(prefix_lens, num_keys)[:, 0, num_keys - num_queries :, None]
    return inside | _past(num_queries, num_keys)


@task.bug(
    symptom="The first word of the answer is guessed without a fault.",
    origin="a common slip",
    mend="compare with `<`: positions count from 0.",
    case=FIRST,
)
def a_prefix_one_key_too_long(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the prefix is one key too long, as positions are compared by `<=`."""
    return _prefix(prefix_lens + 1, num_keys) | _past(num_queries, num_keys)


@task.bug(
    symptom="The last word of the question seems to be read late.",
    origin="a common slip",
    mend="the prefix's last key is at `prefix_lens - 1`, and is visible.",
    case=FIRST,
)
def a_prefix_one_key_too_short(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the prefix is one key too short."""
    return _prefix(prefix_lens - 1, num_keys) | _past(num_queries, num_keys)


@task.bug(
    symptom="It is right in training; with kept keys the model forgets what it just wrote.",
    origin="pytorch#108108, executorch#21749",
    mend="let the first query stand at position `num_keys - num_queries`.",
    case="fewer queries than keys",
)
def counted_from_the_first_key(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """queries are taken to stand at the first positions of the keys, where they stand last."""
    return _prefix(prefix_lens, num_keys) | torch.ones(num_queries, num_keys).tril().bool()


@task.bug(
    symptom="The first row is right, and then each word sees the one that it should guess.",
    origin="a common slip",
    mend="stop at the own position: the next token is what is to be guessed.",
    case=FIRST,
)
def next_key_visible(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """each query sees the key after its own position, too."""
    return _prefix(prefix_lens, num_keys) | _past(num_queries, num_keys, 1)


@task.bug(
    symptom="Without a question the first word is NaN.",
    origin="a common slip",
    mend="a query sees its own position: compare by `<=`.",
    case=FIRST,
)
def own_position_hidden(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """outside of the prefix a query does not see its own position."""
    return _prefix(prefix_lens, num_keys) | _past(num_queries, num_keys, -1)


@task.bug(
    symptom="The model sees what it has to guess, and nothing else.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    mend="return True for what is visible.",
    case=FIRST,
)
def true_means_hidden(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """what is hidden is True, and what is visible False."""
    return ~(_prefix(prefix_lens, num_keys) | _past(num_queries, num_keys))


@task.bug(
    symptom="It is right for a batch of one, or where all questions are equally long.",
    origin="a common slip",
    mend="compare with all lengths at once: `prefix_lens[:, None, None]`.",
    case=FIRST,
)
def the_first_examples_prefix_for_all(
    prefix_lens: Tensor, num_queries: int, num_keys: int
) -> Tensor:
    """the first example's prefix is used for the whole batch."""
    lengths = prefix_lens[:1].expand_as(prefix_lens)
    return _prefix(lengths, num_keys) | _past(num_queries, num_keys)


@task.bug(
    symptom="With as many examples as words it runs, and each word has a prefix of its own.",
    origin="a common slip",
    mend="keep the lengths on the first axis: `prefix_lens[:, None, None]`.",
    case="as many examples as queries as keys",
)
def lengths_on_the_axis_of_queries(prefix_lens: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """lengths lie on the axis of queries, one for each of them, where they belong to examples."""
    visible = (torch.arange(num_keys) < prefix_lens[:, None]) | _past(num_queries, num_keys)
    return visible.expand(len(prefix_lens), -1, -1)
