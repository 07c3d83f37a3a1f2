"""Folded answers: the answer to a prediction or a question of the practice is in a fold.

A prediction is one card: its question, the figure that asks it, and its folded answer.

The fold is sphinx-design's, an ordinary `<details>`: it can be searched, linked to, printed and
opened without JavaScript. `folds.js` opens it when its prediction is answered. (sphinx-exercise
numbers exercises and can leave solutions out, but does not fold cells with outputs, as predictions
need.)
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_design.shared import create_component

from tools import BUDGETS
from tools.book.cells import PREDICT, Answer, answers, cell_of, list_unanswered
from tools.book.notebooks import read
from tools.site import TEXT
from tools.site.page_tree import cells, nb_elements, start_of_question, tags_of

CARD = "attnbook-card"

logger = logging.getLogger(__name__)


def fold(answer: Answer, children: list[nodes.Node]) -> nodes.container:
    """A folded answer with these pieces of a page in it."""
    kinds = ["attnbook-answer"] + (["attnbook-hidden-answer"] if answer.hidden else [])
    title = TEXT("hidden_answer" if answer.hidden else "answer")
    return create_component(
        "dropdown",
        opened=False,
        type="dropdown",
        has_title=True,
        icon=None,
        chevron=None,
        container_classes=["sd-mb-3", *kinds],
        title_classes=[],
        body_classes=[],
        children=[nodes.rubric("", title), *children],
    )


def cells_of(parent: nodes.Element) -> list[int | None]:
    """The cell of each child; a child without a cell belongs to the one before it."""
    found: list[int | None] = []
    for child in parent.children:
        cell = child["cell_index"] if "cell_index" in child else cell_of(child)
        found.append(cell if cell is not None or not found else found[-1])
    return found


def make_card(parent: nodes.Element, cell: int, fold_at: int) -> None:
    """Frame the prediction of this cell, its question, and its answer, folded at this index."""
    numbers = cells_of(parent)
    if cell in numbers:
        start, end = start_of_question(parent, numbers.index(cell), cell - 1), fold_at + 1
        parent[start:end] = [nodes.container("", *parent.children[start:end], classes=[CARD])]


def fold_answer(tree: nodes.document, answer: Answer) -> bool:
    """Fold an answer; False if it is not in one section of the page."""
    for parent in [tree, *tree.findall(nodes.section)]:
        indices = [i for i, cell in enumerate(cells_of(parent)) if cell in answer.cells]
        if not indices:
            continue
        children = parent.children[indices[0] : indices[-1] + 1]
        if any(isinstance(child, nodes.section) for child in children):
            return False
        parent[indices[0] : indices[-1] + 1] = [fold(answer, children)]
        if answer.prediction:
            make_card(parent, answer.cells.start - 1, indices[0])
        return True
    return False


def hide_questions_code(tree: nodes.document) -> None:
    """Remove the code of each prediction, because it contains the answer."""
    for cell in cells(tree):
        if PREDICT in tags_of(cell):
            for code in nb_elements(cell, "cell_code_source"):
                cell.remove(code)


def fold_answers(app: Sphinx, tree: nodes.document) -> None:
    """Fold the answers of a page that was just read."""
    page = app.env.docname
    path = Path(app.env.doc2path(page))
    if path.suffix == ".ipynb":
        chapter = read(path)
        hide_questions_code(tree)
        found = list(answers(chapter))
        for cell in list_unanswered(chapter):
            logger.warning("cell %s asks, and no cell after it answers", cell, location=page)
        if sum(answer.hidden for answer in found) > (most := BUDGETS["page"]["hidden_answers"]):
            logger.warning("a page has at most %s hidden answers", most, location=page)
        for answer in found:
            if not fold_answer(tree, answer):
                start = answer.cells.start
                logger.warning("the answer from cell %s on has a heading", start, location=page)
