"""A chapter's cells: which piece of a page came from which, and which of them answer a question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from docutils import nodes
from nbformat import NotebookNode

LINES_OF_A_CELL = 10_000  # myst-nb counts a page's lines so: cell 3 begins at 40,000
# The tags of cells: what asks, what may not be opened before one has answered, what answers.
PREDICT, HIDDEN, ANSWER = "predict", "hidden-answer", "answer"
# And of those that a page changes: code that it collapses, and code that the reader is to write.
SETUP, TO_WRITE = "setup", "to-write"


@dataclass(frozen=True)
class Answer:
    """Cells that answer the one before them: a prediction, or a question of the practice."""

    cells: range
    prediction: bool
    hidden: bool


def cell_of(node: nodes.Node) -> int | None:
    """The cell in which a piece of a page was written; an anchor does not know."""
    lines = (part.line for part in node.findall() if part.line)
    first = next(lines, None)
    return None if first is None else first // LINES_OF_A_CELL - 1


def has_tag(cell: NotebookNode, tag: str) -> bool:
    """Whether a cell has a tag."""
    return tag in cell.metadata.get("tags", [])


def answers(notebook: NotebookNode) -> Iterator[Answer]:
    """Each run of cells that answer, in their order."""
    cells = notebook.cells
    tagged = groupby(range(len(cells)), lambda number: has_tag(cells[number], ANSWER))
    for run in (list(numbers) for is_answer, numbers in tagged if is_answer):
        asking = cells[max(0, run[0] - 1)]
        yield Answer(range(run[0], run[-1] + 1), has_tag(asking, PREDICT), has_tag(asking, HIDDEN))


def unanswered(notebook: NotebookNode) -> Iterator[int]:
    """The cells that ask for a prediction, and are followed by no answer."""
    answered = {answer.cells.start - 1 for answer in answers(notebook)}
    for number, cell in enumerate(notebook.cells):
        if has_tag(cell, PREDICT) and number not in answered:
            yield number
