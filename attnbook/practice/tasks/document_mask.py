"""Who sees whom where several documents are packed into one sequence."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

import attnbook
from attnbook.practice.task import Function, Task

task = Task(
    name="document-mask",
    statement=(
        "Several documents are packed into one sequence, one after the other. Write "
        "`document_mask(documents)`: `documents` has shape (batch, num_positions) and says to "
        "which document each token belongs, by a whole number of 0 or more. The numbers are "
        "mere names, in any order; 0 is one like any other; in one example no number comes back "
        "once its document has ended. Return a boolean mask of shape (batch, num_positions, "
        "num_positions), queries before keys, True = visible: a query sees the keys of its own "
        "document up to its own position, itself included."
    ),
    starter="def document_mask(documents):\n    ...",
)


@task.case("three documents, of other lengths in each example")
def _() -> tuple[Tensor]:
    return (torch.tensor([[0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2, 2]]),)


@task.case("documents whose numbers are in no order")
def _() -> tuple[Tensor]:
    return (torch.tensor([[5, 5, 2, 2, 2, 7, 7], [1, 1, 1, 6, 6, 6, 0]]),)


@task.case("documents of one token each")
def _() -> tuple[Tensor]:
    return (torch.tensor([[3, 0, 2, 1, 4]]),)


@task.case("one document")
def _() -> tuple[Tensor]:
    return (torch.zeros(3, 5, dtype=torch.int64),)


@task.case("one token")
def _() -> tuple[Tensor]:
    return (torch.tensor([[4], [1]]),)


@task.case("as many examples as tokens")
def _() -> tuple[Tensor]:
    return (torch.tensor([[1, 1, 2], [4, 3, 3], [0, 0, 0]]),)


@task.case("documents with high numbers")
def _() -> tuple[Tensor]:
    return (torch.tensor([[1, 1, 257, 257, 65537]]),)


task.case("6 examples of 131 positions")(
    lambda: ((torch.arange(131) // 7 + torch.arange(6)[:, None]) * 37 % 101,)
)


@task.right("the book's causal mask holds, and the document is the same.")
def the_packages_causal_mask(documents: Tensor) -> Tensor:
    num_positions = documents.shape[1]
    causal = attnbook.causal_mask((1, num_positions, num_positions))
    return causal & (documents.unsqueeze(2) == documents.unsqueeze(1))


@task.right("it puts a triangle of each document's size onto the diagonal.")
def triangles_on_the_diagonal(documents: Tensor) -> Tensor:
    batch, num_positions = documents.shape
    mask = torch.zeros(batch, num_positions, num_positions, dtype=torch.bool)
    for example in range(batch):
        _, counts = torch.unique_consecutive(documents[example], return_counts=True)
        blocks = [torch.ones(int(n), int(n), dtype=torch.bool).tril() for n in counts]
        mask[example] = torch.block_diag(*blocks)  # type: ignore[no-untyped-call]
    return mask


@task.right("where each document begins is enough: keys from there up to the query are visible.")
def from_each_beginning(documents: Tensor) -> Tensor:
    positions = torch.arange(documents.shape[1])
    begins = torch.ones_like(documents, dtype=torch.bool)
    begins[:, 1:] = documents[:, 1:] != documents[:, :-1]
    beginning = torch.where(begins, positions, 0).cummax(1).values
    return (positions >= beginning[:, :, None]) & (positions <= positions[:, None])


@task.right("two one-hot rows have the product 1 if they are equal, else 0.")
def products_of_one_hot_rows(documents: Tensor) -> Tensor:
    rows = one_hot(documents)
    return torch.einsum("bqd,bkd->bqk", rows, rows).tril().bool()


@task.right("it asks for each pair.")
def pair_by_pair(documents: Tensor) -> Tensor:
    batch, num_positions = documents.shape
    mask = torch.zeros(batch, num_positions, num_positions, dtype=torch.bool)
    for query in range(num_positions):
        for key in range(query + 1):
            mask[:, query, key] = documents[:, query] == documents[:, key]
    return mask


@task.test
def test_the_second_document_does_not_see_the_first(document_mask: Function) -> None:
    mask = document_mask(torch.tensor([[0, 0, 1, 1]]))[0]
    assert mask[2].tolist() == [False, False, True, False]
    assert mask[3].tolist() == [False, False, True, True]


@task.test
def test_a_single_document_has_a_causal_mask(document_mask: Function) -> None:
    triangle = torch.ones(3, 3, dtype=torch.bool).tril()
    assert torch.equal(document_mask(torch.tensor([[0, 0, 0]]))[0], triangle)


@task.test
def test_numbers_are_names_in_any_order(document_mask: Function) -> None:
    mask = document_mask(torch.tensor([[8, 8, 3, 3]]))
    assert torch.equal(mask, document_mask(torch.tensor([[1, 1, 2, 2]])))


@task.test
def test_each_example_has_documents_of_its_own(document_mask: Function) -> None:
    first, second = document_mask(torch.tensor([[1, 1, 2], [1, 2, 2]]))
    assert first[2].tolist() == [False, False, True]
    assert second[2].tolist() == [False, True, True]
