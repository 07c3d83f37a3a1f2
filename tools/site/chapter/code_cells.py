"""Code cells as a page shows them: set-up is folded, a cell to write has an editor or no output."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

from tools.book.cells import EDITOR, SETUP, TO_WRITE
from tools.site import TEXT
from tools.site.page_tree import cells, colab_copy, nb_elements, tags_of

OPENING = f'<details class="attnbook-setup"><summary>{TEXT("show_setup")}</summary>'


def collapse_source(cell: nodes.Element) -> None:
    """Collapse a cell's code, below its outputs, which stay in view."""
    for source in nb_elements(cell, "cell_code_source"):
        start, end = (nodes.raw("", html, format="html") for html in (OPENING, "</details>"))
        cell.remove(source)
        cell += [start, source, end]


def show_tagged(tree: nodes.document) -> None:
    """Change the tagged cells of a page that was just read."""
    for cell in cells(tree):
        tags = tags_of(cell)
        if SETUP in tags:
            collapse_source(cell)
        if TO_WRITE in tags:
            removed = "cell_code_source" if EDITOR in tags else "cell_code_output"
            for part in nb_elements(cell, removed):
                cell.remove(part)


def link_to_notebook(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Say once in a section, below its first cell to write, where the reader can run its code."""
    text, address = TEXT("run_elsewhere"), colab_copy(app, page)
    to_write = [cell for cell in cells(tree) if {TO_WRITE, EDITOR} & {*tags_of(cell)} == {TO_WRITE}]
    for cell in {id(cell.parent): cell for cell in reversed(to_write)}.values():
        link = nodes.reference("", text, refuri=address) if address else nodes.Text(text)
        note = nodes.paragraph("", "", link, classes=["attnbook-notebook-only"])
        output = nodes.container("", note, nb_element="cell_code_output", classes=["cell_output"])
        cell.append(output)
