"""Left padding and order in one mask, as a decoder needs them for a batch."""

from __future__ import annotations

import torch
from torch import Tensor

import attnbook
from attnbook.practice.example_inputs import lengths
from attnbook.practice.reference_steps import past
from attnbook.practice.task import Function, Law, Task


def _hides_padding(mask: Tensor, starts: Tensor, *_: int) -> bool:
    padding = torch.arange(mask.shape[-1]) < starts[:, None, None]
    return not bool((mask & padding).any())


task = Task(
    name="decoding-mask",
    statement=(
        "A decoder continues a batch of texts of different lengths, padded on the *left*, so "
        "that all end at the last key. Write `decoding_mask(starts, num_queries, num_keys)`. "
        "`starts`, (batch,), is the position where each text begins: the keys before that position "
        "are padding. Give a boolean mask of shape (batch, num_queries, num_keys), True = visible: "
        "a query attends to the keys of its text up to its own position, itself included. Queries "
        "are at the *last* positions of the keys; there are never more queries than keys. A query "
        "that is padding attends to nothing."
    ),
    starter="def decoding_mask(starts, num_queries, num_keys):\n    ...",
    laws=(Law("Some query attends to padding.", _hides_padding),),
)


task.case("as many queries as keys")(lambda: (lengths(2, 3), 7, 7))
task.case("fewer queries than keys")(lambda: (lengths(3, 0, 1), 2, 7))
task.case("one query against kept keys")(lambda: (lengths(2, 4), 1, 5))
task.case("as many examples as queries as keys")(lambda: (lengths(2, 0, 1), 3, 3))
task.case("a text without padding")(lambda: (lengths(0), 5, 5))
task.case("a text that is all padding")(lambda: (lengths(5, 1), 3, 5))
task.case("one query and one key")(lambda: (lengths(0, 1), 1, 1))
task.case("9 examples of 20 queries, 131 keys")(
    lambda: (lengths(131, 1, 0, 65, 129, 130, 66, 64, 8), 20, 131)
)


@task.solution("a key is visible if it is visible in both of the book's masks.")
def the_package(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    shape = (len(starts), num_queries, num_keys)
    return attnbook.start_mask(starts, shape) & attnbook.causal_mask(shape)


@task.solution("a visible key is at the start or after it, and not after the query.")
def between_start_and_query(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    keys = torch.arange(num_keys)
    queries = keys[num_keys - num_queries :, None]
    return (starts[:, None, None] <= keys) & (keys <= queries)


@task.solution("it sets a slice of each row to True; a slice that ends before it starts is empty.")
def row_by_row(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    mask = torch.zeros(len(starts), num_queries, num_keys, dtype=torch.bool)
    for example, start in enumerate(starts.tolist()):
        for query in range(num_queries):
            mask[example, query, start : num_keys - num_queries + query + 1] = True
    return mask


@task.solution(
    "it makes a triangle for each text, hides the columns of padding, and keeps the last rows."
)
def closed_columns(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    squares = torch.ones(len(starts), num_keys, num_keys, dtype=torch.bool).tril()
    for square, start in zip(squares, starts.tolist(), strict=True):
        square[:, :start] = False
    return squares[:, num_keys - num_queries :]


@task.test
def test_a_text_begins_after_its_padding(decoding_mask: Function) -> None:
    mask = decoding_mask(torch.tensor([1]), 4, 4)
    assert mask.int().tolist() == [[[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]]
    assert mask.dtype == torch.bool


@task.test
def test_two_queries_are_at_the_last_two_of_five_keys(decoding_mask: Function) -> None:
    mask = decoding_mask(torch.tensor([2, 0]), 2, 5).int()
    assert mask[0].tolist() == [[0, 0, 1, 1, 0], [0, 0, 1, 1, 1]]
    assert mask[1].tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


@task.test
def test_each_text_of_a_square_batch_has_its_own_start(decoding_mask: Function) -> None:
    mask = decoding_mask(torch.tensor([1, 2, 0]), 3, 3)
    assert mask[:, -1].sum(-1).tolist() == [2, 1, 3]
    assert mask[:, 0].sum(-1).tolist() == [0, 0, 1]


def _text(starts: Tensor, num_keys: int) -> Tensor:
    return torch.arange(num_keys) >= starts[:, None, None]


@task.bug(
    symptom="The model reads padding, and generates nonsense for all texts except the longest.",
    origin="a common mistake: a mask for padding on the right",
    fix="padding is before the start: what is visible is at `starts` or after it.",
)
def left_padding_read_as_right(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """padding is assumed to be on the right: the last keys are hidden, as many as are padding."""
    valid_lens = num_keys - starts[:, None, None]
    return (torch.arange(num_keys) < valid_lens) & past(num_queries, num_keys)


@task.bug(
    symptom="The model reads padding only.",
    origin="a common mistake: `length_mask` called with what are no lengths",
    fix="compare with `>=`: a start is where the text begins, not where it ends.",
)
def starts_taken_for_lengths(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the starts are used as lengths, and the padding before them is what is visible."""
    return ~_text(starts, num_keys) & past(num_queries, num_keys)


@task.bug(
    symptom="Each query attends to the padding before it, and to all of its text, even the future.",
    fix="join both rules by `&`: a key must be of the text, and not after the query.",
)
def joined_by_or(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the two rules are joined by `|`, so a key is visible if only one of them allows it."""
    return _text(starts, num_keys) | past(num_queries, num_keys)


@task.bug(
    symptom="A text alone and the same text in a batch give different outputs.",
    origin="transformers#29419",
    fix="hide the keys before the start, too.",
)
def padding_is_seen(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """only the future is hidden, and padding is visible."""
    return past(num_queries, num_keys).repeat(len(starts), 1, 1)


@task.bug(
    symptom="The loss is far too low: each token attends to the next one.",
    fix="hide the keys after the query, too.",
)
def the_future_is_seen(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """padding is hidden, and all of the future is visible."""
    return _text(starts, num_keys).repeat(1, num_queries, 1)


@task.bug(
    symptom="With cached keys, each new token attends to the first one only, or to nothing.",
    origin="pytorch#108108, executorch#21749: `is_causal=True` of PyTorch's SDPA",
    fix="let the first query be at position `num_keys - num_queries`.",
)
def counted_from_the_first_key(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """queries are placed at the first positions of the keys, but they are at the last."""
    return _text(starts, num_keys) & torch.ones(num_queries, num_keys).tril().bool()


@task.bug(
    symptom="The more padding a text has, the more later tokens its queries attend to.",
    origin="a common mistake: positions for a position encoding, used for the mask",
    fix="count queries and keys from the first key, padding included: `starts` only hides keys.",
)
def queries_moved_by_the_start(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """queries are shifted by the start, and attend to later keys, one for each key of padding."""
    keys = torch.arange(num_keys)
    queries = keys[num_keys - num_queries :, None] + starts[:, None, None]
    return _text(starts, num_keys) & (keys <= queries)


@task.bug(
    symptom="A text's output changes a little with the text that it is batched with.",
    fix="the key at `starts` is the text's first: compare with `>=`.",
)
def one_key_of_padding_seen(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the last key of padding is visible."""
    return _text(starts - 1, num_keys) & past(num_queries, num_keys)


@task.bug(
    symptom="The first word of each text seems to be ignored, and its own row is empty.",
    fix="the key at `starts` is the text's first, and visible: compare with `>=`.",
)
def first_word_hidden(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the first key of each text is hidden."""
    return _text(starts + 1, num_keys) & past(num_queries, num_keys)


@task.bug(
    symptom="Each text's first word gives NaN, or zeros.",
    fix="compare with `<=`: a query attends to its own position.",
)
def own_position_hidden(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """each query attends to the keys before its own position, but not to its own key."""
    return _text(starts, num_keys) & past(num_queries, num_keys, -1)


@task.bug(
    symptom="The model attends to padding and to what it has to predict, and to nothing else.",
    origin="LLMs-from-scratch#1061, tensorflow/text#894, nn.MultiheadAttention against SDPA",
    fix="return True for what is visible.",
)
def true_means_hidden(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """what is hidden is True, and what is visible False."""
    return ~(_text(starts, num_keys) & past(num_queries, num_keys))


@task.bug(
    symptom="It is right where all texts are equally long, and for a batch of one.",
    fix="compare with all starts at once: `starts[:, None, None]`.",
)
def the_first_texts_start_for_all(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """the first text's start is used for the whole batch."""
    return _text(starts[:1].expand_as(starts), num_keys) & past(num_queries, num_keys)


@task.bug(
    symptom="With as many texts as queries it runs, but each query has its own start.",
    fix="keep the starts on the first axis: `starts[:, None, None]`.",
)
def starts_on_the_axis_of_queries(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """starts are on the axis of queries, one for each query, but each belongs to a text."""
    visible = (torch.arange(num_keys) >= starts[:, None]) & past(num_queries, num_keys)
    return visible.expand(len(starts), -1, -1)


@task.bug(
    symptom="Outputs at padding are not 0 but values of padding, and a loss may count them.",
    origin="code that lets padding attend to itself, to avoid NaN",
    fix="leave rows of padding empty: a softmax that clears them gives 0.",
)
def padding_sees_itself(starts: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """a query that is padding attends to its own key, so that one key is visible."""
    own = torch.eye(num_keys, dtype=torch.bool)[num_keys - num_queries :]
    return (_text(starts, num_keys) & past(num_queries, num_keys)) | own
