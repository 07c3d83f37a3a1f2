"""Code cells as a page shows them: set-up is collapsed, and a cell to write has no verdict yet."""

from __future__ import annotations

from docutils import nodes

from tools.book.cells import SETUP, TO_WRITE
from tools.site import TEXT
from tools.site.page_tree import cells, nb_elements, tags_of

OPENING = f'<details class="attnbook-setup"><summary>{TEXT("show_setup")}</summary>'


def collapse_source(cell: nodes.Element) -> None:
    """Collapse a cell's code; its outputs stay in view."""
    for source in nb_elements(cell, "cell_code_source"):
        start, end = (nodes.raw("", html, format="html") for html in (OPENING, "</details>"))
        at = cell.index(source)
        cell[at : at + 1] = [start, source, end]


def replace_verdict(cell: nodes.Element) -> None:
    """Replace the output of a cell that the reader completes by a note that it was not run."""
    for output in nb_elements(cell, "cell_code_output"):
        cell.remove(output)
    note = nodes.paragraph("", TEXT("not_run"), classes=["attnbook-not-run"])
    cell.append(nodes.container("", note, nb_element="cell_code_output", classes=["cell_output"]))


def show_tagged(tree: nodes.document) -> None:
    """Change the tagged cells of a page that was just read."""
    for cell in cells(tree):
        tags = tags_of(cell)
        if SETUP in tags:
            collapse_source(cell)
        if TO_WRITE in tags:
            replace_verdict(cell)
