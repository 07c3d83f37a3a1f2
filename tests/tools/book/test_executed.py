"""The book's build gets the outputs that the chapters store, pictures included."""

from __future__ import annotations

from pathlib import Path

import pytest
from jupyter_cache import get_cache

from tools import ROOT
from tools.book import notebooks
from tools.book.cells import TO_WRITE, has_tag
from tools.book.state import Workshop

VIEW = "application/vnd.jupyter.widget-view+json"  # refers to a widget of one run


def outputs(notebook):
    """The outputs of all cells, without what differs between runs."""
    stored = [cell for cell in notebook.cells if not has_tag(cell, TO_WRITE)]
    all_outputs = [output for cell in stored for output in cell.get("outputs", [])]
    for output in all_outputs:
        output.get("data", {}).pop(VIEW, None)
    return all_outputs


@pytest.fixture(scope="module")
def executed(site):  # noqa: ARG001 - the book must be built
    cache = get_cache(Workshop(ROOT).executions)
    records = cache.list_cache_records()
    yield {Path(it.uri).name: cache.get_cache_bundle(it.pk).nb for it in records}
    cache.db.dispose()


@pytest.mark.parametrize("path", notebooks.chapters(), ids=lambda path: path.stem)
def test_the_books_execution_gives_what_the_chapter_stores(path, executed):
    stored = outputs(notebooks.read(path))
    assert stored
    assert outputs(executed[path.name]) == stored
