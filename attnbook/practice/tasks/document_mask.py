"""Which positions may attend to which, where several documents are packed into one sequence."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.reference_steps import past
from attnbook.practice.task import Function, Task

task = Task(
    name="document-mask",
    statement=(
        "Several documents are packed into one sequence, one after the other. Write "
        "`document_mask(documents)`: `documents` has shape (batch, num_positions) and says to "
        "which document each token belongs, by a whole number of 0 or more. The numbers are "
        "only names, in any order, and 0 is a name like any other. In one example, no two "
        "documents have the same number. Return a boolean mask of shape (batch, num_positions, "
        "num_positions), queries before keys, True = visible: a query sees the keys of its own "
        "document up to its own position, itself included."
    ),
    starter="def document_mask(documents):\n    ...",
)


task.case("three documents, of other lengths in each example")(
    lambda: (torch.tensor([[0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2, 2]]),)
)
task.case("documents whose numbers are in no order")(
    lambda: (torch.tensor([[5, 5, 2, 2, 2, 7, 7], [1, 1, 1, 6, 6, 6, 0]]),)
)
task.case("documents of one token each")(lambda: (torch.tensor([[3, 0, 2, 1, 4]]),))
task.case("one document")(lambda: (torch.zeros(3, 5, dtype=torch.int64),))
task.case("one token")(lambda: (torch.tensor([[4], [1]]),))
task.case("as many examples as tokens")(lambda: (torch.tensor([[1, 1, 2], [4, 3, 3], [0, 0, 0]]),))
task.case("documents with high numbers")(lambda: (torch.tensor([[1, 1, 2048, 2048, 2049, 65537]]),))
task.case("2 examples of 131 positions")(
    lambda: ((torch.arange(131) // 7 + torch.arange(2)[:, None]) * 37 % 101,)
)


@task.solution("a visible key is in the book's causal mask, and in the query's own document.")
def the_packages_causal_mask(documents: Tensor) -> Tensor:
    num_positions = documents.shape[1]
    causal = attnbook.causal_mask((1, num_positions, num_positions))
    return causal & (documents.unsqueeze(2) == documents.unsqueeze(1))


@task.solution("it puts a triangle of each document's size onto the diagonal.")
def triangles_on_the_diagonal(documents: Tensor) -> Tensor:
    batch, num_positions = documents.shape
    mask = torch.zeros(batch, num_positions, num_positions, dtype=torch.bool)
    for example in range(batch):
        _, counts = torch.unique_consecutive(documents[example], return_counts=True)
        blocks = [torch.ones(int(n), int(n), dtype=torch.bool).tril() for n in counts]
        mask[example] = torch.block_diag(*blocks)  # type: ignore[no-untyped-call]
    return mask


@task.solution("the start of each document is enough: keys from there up to the query are visible.")
def from_each_beginning(documents: Tensor) -> Tensor:
    positions = torch.arange(documents.shape[1])
    begins = torch.ones_like(documents, dtype=torch.bool)
    begins[:, 1:] = documents[:, 1:] != documents[:, :-1]
    beginning = torch.where(begins, positions, 0).cummax(1).values
    return (positions >= beginning[:, :, None]) & (positions <= positions[:, None])


@task.solution("the dot product of two one-hot rows is 1 if they are equal, and 0 otherwise.")
def products_of_one_hot_rows(documents: Tensor) -> Tensor:
    rows = one_hot(documents)
    return torch.einsum("bqd,bkd->bqk", rows, rows).tril().bool()


@task.test
def test_a_single_document_has_a_causal_mask(document_mask: Function) -> None:
    triangle = torch.ones(3, 3, dtype=torch.bool).tril()
    assert torch.equal(document_mask(torch.tensor([[0, 0, 0]]))[0], triangle)


@task.test
def test_each_example_has_its_own_documents(document_mask: Function) -> None:
    first, second = document_mask(torch.tensor([[1, 1, 2], [1, 2, 2]]))
    assert first[2].tolist() == [False, False, True]
    assert second[2].tolist() == [False, True, True]


def _same(documents: Tensor) -> Tensor:
    return documents[:, :, None] == documents[:, None, :]


def _past(documents: Tensor) -> Tensor:
    return past(documents.shape[1], documents.shape[1])


def in_steps(
    mask: Function = lambda visible: visible, combine: Function = torch.logical_and
) -> Function:
    """Correct code, of which a bug changes one step."""
    return lambda documents: mask(combine(_same(documents), _past(documents)))


task.bug(
    "either is enough",
    "a key is visible if it is in the same document or in the past; it must be both.",
    symptom="Each token attends to its whole document, and to all that comes before it.",
    fix="combine masks in which True = visible by `&`: `|` is for those in which True = hidden.",
)(in_steps(combine=torch.logical_or))


task.bug(
    "earlier documents leak",
    "only the future is hidden, and a query attends to all earlier documents.",
    symptom="A document's output changes when another one is packed before it.",
    origin="transformers#46634",
    fix="compare the document of the query with the key's, too.",
)(lambda documents: _past(documents).expand(len(documents), -1, -1))

task.bug(
    "the future is seen",
    "documents are separated, and within each the future is visible.",
    symptom="The loss is far too low: each token attends to the next one.",
    fix="hide the keys after the query, too.",
)(_same)

task.bug(
    "documents with lower numbers leak",
    "documents are compared with `<=`, and those with lower numbers are visible.",
    symptom="The first document is right; later ones attend to earlier ones, in some batches only.",
    fix="compare with `==`: a lower number is another document, too.",
)(lambda documents: (documents[:, None] <= documents[:, :, None]) & _past(documents))

task.bug(
    "document 0 is taken for padding",
    "the keys of document 0 are hidden, as if 0 were padding.",
    symptom="One document of each batch is never learned, and its rows are NaN.",
    fix="hide no key because of its number: 0 is a document like any other.",
)(lambda documents: _same(documents) & _past(documents) & (documents != 0)[:, None])


@task.bug(
    symptom="Changing the last token of a document changes the next document's output.",
    fix="let a document begin at its own first token, not at the token before it.",
)
def one_token_of_the_document_before(documents: Tensor) -> Tensor:
    """each document begins one token too early, at the end of the one before."""
    same = _same(documents)
    same[:, :, :-1] |= same[:, :, 1:]
    return same & _past(documents)


@task.bug(
    symptom="A document's first token attends to itself only, the second to all earlier tokens.",
    fix="compare each query's document with each key's, not with its neighbour's.",
)
def only_neighbours_are_compared(documents: Tensor) -> Tensor:
    """only a document's first token is cut off from the past; the others attend to all of it."""
    begins = documents != documents.roll(1, 1)
    alone = begins[:, :, None] & ~torch.eye(documents.shape[1], dtype=torch.bool)
    return _past(documents) & ~alone


task.inherit(in_steps, mistakes.masking)
