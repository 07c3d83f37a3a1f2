"""The cells of a chapter: which cell a part of a page comes from, and which cells are answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from docutils import nodes
from nbformat import NotebookNode

LINES_OF_A_CELL = 10_000  # myst-nb counts a page's lines so: cell 3 begins at 40,000
# Tags: a question, a question whose answer stays closed until the reader has answered, an answer.
PREDICT, HIDDEN, ANSWER = "predict", "hidden-answer", "answer"
# Tags of code that a page collapses, of code that the reader writes, and of such code for which a
# page has an editor.
SETUP, TO_WRITE, EDITOR = "setup", "to-write", "editor"


@dataclass(frozen=True)
class Answer:
    """Cells that answer the one before them: a prediction, or a question of the practice."""

    cells: range
    prediction: bool
    hidden: bool


def cell_of(node: nodes.Node) -> int | None:
    """The cell that a part of a page comes from; None for an anchor."""
    lines = (part.line for part in node.findall() if part.line)
    first = next(lines, None)
    return None if first is None else first // LINES_OF_A_CELL - 1


def has_tag(cell: NotebookNode, tag: str) -> bool:
    """Whether a cell has a tag."""
    return tag in cell.metadata.get("tags", [])


def task_in(source: str) -> str:
    """The task that a cell checks; empty if it checks none."""
    found = re.search(r'\bcheck\("([\w-]+)"', source)
    return found[1] if found else ""


def answers(notebook: NotebookNode) -> Iterator[Answer]:
    """Each run of answer cells, in order."""
    cells = notebook.cells
    tagged = groupby(range(len(cells)), lambda number: has_tag(cells[number], ANSWER))
    for run in (list(numbers) for is_answer, numbers in tagged if is_answer):
        question = cells[max(0, run[0] - 1)]
        prediction, hidden = has_tag(question, PREDICT), has_tag(question, HIDDEN)
        yield Answer(range(run[0], run[-1] + 1), prediction, hidden)


def list_unanswered(notebook: NotebookNode) -> Iterator[int]:
    """The cells that ask for a prediction but have no answer after them."""
    answered = {answer.cells.start - 1 for answer in answers(notebook)}
    for number, cell in enumerate(notebook.cells):
        if has_tag(cell, PREDICT) and number not in answered:
            yield number
