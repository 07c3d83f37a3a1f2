"""Known bugs of the task document-mask."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.practice.tasks.document_mask import task


def _same(documents: Tensor) -> Tensor:
    return documents[:, :, None] == documents[:, None, :]


def _past(documents: Tensor) -> Tensor:
    positions = torch.arange(documents.shape[1])
    return positions[:, None] >= positions


@task.bug(
    symptom="A document's output changes when another one is packed before it.",
    origin="transformers#46634",
    mend="compare the document of the query with the key's, too.",
    case="three documents, of other lengths in each example",
)
def earlier_documents_leak(documents: Tensor) -> Tensor:
    """only the future is hidden, and a query sees all earlier documents."""
    return _past(documents).expand(len(documents), -1, -1)


@task.bug(
    symptom="The loss is far too low: each token sees the next one.",
    origin="a common slip",
    mend="hide the keys after the query, too.",
    case="three documents, of other lengths in each example",
)
def the_future_is_seen(documents: Tensor) -> Tensor:
    """documents are kept apart, and within each the future is visible."""
    return _same(documents)


@task.bug(
    symptom="The first document is right; what comes later leaks, in some batches only.",
    origin="a common slip",
    mend="compare with `==`: a lower number is another document all the same.",
    case="three documents, of other lengths in each example",
)
def documents_with_lower_numbers_leak(documents: Tensor) -> Tensor:
    """documents are compared with `<=`, and those with lower numbers are seen."""
    return (documents[:, None, :] <= documents[:, :, None]) & _past(documents)


@task.bug(
    symptom="Each token attends to all that it should not see.",
    origin="tensorflow/text#894; LLMs-from-scratch#1061",
    mend="return True for what is visible.",
    case="three documents, of other lengths in each example",
)
def true_where_it_is_hidden(documents: Tensor) -> Tensor:
    """`True` marks what is hidden."""
    return ~(_same(documents) & _past(documents))


@task.bug(
    symptom="It is right for a batch of one; in larger batches documents leak.",
    origin="a common slip",
    mend="keep the batch axis: each example has documents of its own.",
    case="three documents, of other lengths in each example",
)
def the_first_examples_documents_for_all(documents: Tensor) -> Tensor:
    """the documents of the first example are taken for all of them."""
    return (_same(documents[:1]) & _past(documents)).expand(len(documents), -1, -1)


@task.bug(
    symptom="Each token sees what comes after it, up to its document's end.",
    origin="a common slip",
    mend="let rows be queries and columns be keys: the lower triangle is visible.",
    case="three documents, of other lengths in each example",
)
def the_past_is_hidden(documents: Tensor) -> Tensor:
    """queries and keys are exchanged: the past is hidden, and the future visible."""
    return (_same(documents) & _past(documents)).transpose(1, 2)


@task.bug(
    symptom="The first token of each document gives NaN.",
    origin="a common slip",
    mend="a query sees itself: compare positions with `<=`.",
    case="three documents, of other lengths in each example",
)
def hides_the_query_itself(documents: Tensor) -> Tensor:
    """a query does not see its own position."""
    return _same(documents) & _past(documents) & ~torch.eye(documents.shape[1], dtype=torch.bool)


@task.bug(
    symptom="One document of each batch is never learned, and its rows are NaN.",
    origin="a common slip",
    mend="hide nothing for its number: 0 is a document like any other.",
    case="three documents, of other lengths in each example",
)
def document_0_is_taken_for_padding(documents: Tensor) -> Tensor:
    """the keys of document 0 are hidden, as if 0 were padding."""
    return _same(documents) & _past(documents) & (documents != 0)[:, None, :]


@task.bug(
    symptom="Changing the last token of a document changes the next document.",
    origin="a common slip",
    mend="let a document begin at its own first token, not at the token before it.",
    case="three documents, of other lengths in each example",
)
def one_token_of_the_document_before(documents: Tensor) -> Tensor:
    """each document begins one token too early, at the end of the one before."""
    same = _same(documents)
    same[:, :, :-1] |= same[:, :, 1:]
    return same & _past(documents)


@task.bug(
    symptom="The first token of a document sees its own one only, the second sees all again.",
    origin="a common slip",
    mend="compare each query's document with each key's, not with its neighbour's.",
    case="three documents, of other lengths in each example",
)
def only_neighbours_are_compared(documents: Tensor) -> Tensor:
    """only a document's first token is cut off from the past, and those after it see all."""
    begins = documents != documents.roll(1, 1)
    alone = begins[:, :, None] & ~torch.eye(documents.shape[1], dtype=torch.bool)
    return _past(documents) & ~alone
