"""A small book with this one's settings, with a prediction, a task and chapters to read."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from tests.tools.site import published_book
from tools import ROOT

TOC = """format: jb-book
root: chapters/first
parts:
  - caption: The idea
    chapters:
      - file: chapters/second
  - caption: More
    chapters:
      - file: chapters/third
  - caption: Reference
    chapters:
      - file: chapters/your-progress
"""
ASK = """from attnbook.figures import CodeTask, Prediction

Prediction("How many legs?", "four", {"That is a bird.": "two", "That is an insect.": "six"})"""
CELLS = [
    v4.new_markdown_cell("# Second\n\n## A question\n\n**Predict.** It is a bat."),
    v4.new_code_cell(ASK, metadata={"tags": ["predict"]}),
    v4.new_markdown_cell("It walks on four.", metadata={"tags": ["answer"]}),
    v4.new_markdown_cell("## A task\n\nWrite it."),
    v4.new_code_cell('CodeTask("softmax-by-hand")'),
    v4.new_markdown_cell(":::{deeper}\n:::"),
    v4.new_markdown_cell("## Why\n\n**Predict.** Why?"),
    v4.new_code_cell('Prediction("Two and two:", 4, {})', metadata={"tags": ["predict"]}),
    v4.new_markdown_cell("Because.", metadata={"tags": ["answer"]}),
    v4.new_markdown_cell("## Far below\n\n" + "Text.\n\n" * 60),
]


def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the book, built by the first worker that needs it; no test may change it."""
    base = tmp_path_factory.getbasetemp()
    book = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "progress-book"
    with book.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (book / "done").exists():
            published_book.built(write(book))
            (book / "done").touch()
    return book / "_build" / "html"


def write(book: Path) -> Path:
    """Write the book into a new folder."""
    book.mkdir()
    published_book.write(book)
    (book / "_toc.yml").write_text(TOC)
    chapters = book / "chapters"
    for name in ("first.ipynb", "second.md"):
        (chapters / name).unlink()
    (chapters / "first.md").write_text("# First\n\n```{path}\n```\n")
    (chapters / "third.md").write_text("# Third\n\nNothing to do.\n")
    shutil.copy(ROOT / "chapters" / "your-progress.md", chapters)
    for number, cell in enumerate(CELLS):
        cell.id = f"c{number}"
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = v4.new_notebook(cells=CELLS, metadata={"kernelspec": spec})
    nbformat.write(notebook, chapters / "second.ipynb")
    return book
