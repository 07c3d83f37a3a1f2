"""A small book with this one's settings, with a prediction, a task and chapters to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbformat import v4

from tests.tools.site import published_book
from tools import ROOT

TOC = """format: jb-book
root: chapters/first
parts:
  - caption: The idea
    chapters: [{file: chapters/second}]
  - caption: More
    chapters: [{file: chapters/third}]
  - caption: Reference
    chapters: [{file: chapters/your-progress}]
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


def build_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the book; no test may change it."""
    pages = {
        "first.md": "# First\n\n```{path}\n```\n",
        "second.ipynb": CELLS,
        "third.md": "# Third\n\nNothing to do.\n",
        "your-progress.md": (ROOT / "chapters" / "your-progress.md").read_text("utf-8"),
    }
    return published_book.build_site_once(tmp_path_factory, "progress-book", TOC, pages)
