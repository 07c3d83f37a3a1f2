"""The book's build gets the outputs that chapters store; this is stricter than nbval's rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from jupyter_cache import get_cache

from tools import ROOT
from tools.book import notebooks
from tools.book.cells import TO_WRITE, has_tag
from tools.book.state import BuildFolder

VIEW = "application/vnd.jupyter.widget-view+json"  # refers to a widget of one run


def outputs(notebook):
    """The outputs of each cell with code, without what differs between runs."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    of_cells = [cell.outputs for cell in code if not has_tag(cell, TO_WRITE)]
    for output in (output for of_cell in of_cells for output in of_cell):
        output.get("data", {}).pop(VIEW, None)
    return of_cells


@pytest.fixture(scope="module")
def executed(site):  # noqa: ARG001 - the book must be built
    cache = get_cache(BuildFolder(ROOT).executions)
    records = cache.list_cache_records()
    yield {Path(it.uri).name: cache.get_cache_bundle(it.pk).nb for it in records}
    cache.db.dispose()


@pytest.mark.parametrize("path", notebooks.chapters(), ids=lambda path: path.stem)
def test_the_books_execution_gives_what_the_chapter_stores(path, executed):
    stored = outputs(notebooks.read(path))
    assert any(stored)
    assert outputs(executed[path.name]) == stored
