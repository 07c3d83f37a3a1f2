"""Small books with this one's settings, built as an unpacked archive for made-up addresses.

Several tests read the same book, so the first worker that needs one builds it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat import NotebookNode, v4

from tests.tools.book import forked
from tools import ROOT

COPIED = ["_config.yml", "requirements.txt", "img", "tools", "attnbook"]
OUTPUT = "output.txt"  # what the build printed

TITLE = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
REPOSITORY, SITE = "https://github.com/ada/a-fork", "https://ada.example.org/a-fork/"
PUBLISHED = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "ada/a-fork",
    "BOOK_SITE": SITE,
}

TOC = """format: jb-book
root: chapters/welcome
parts:
  - caption: The idea
    chapters: [{file: chapters/divided}, {file: chapters/last}]
  - caption: More
    chapters: [{file: chapters/outside}, {file: chapters/plain}]
"""
TASK = "look-up-by-hand"
DIVIDER = ":::{deeper}\n:::"
SETUP = (
    "import torch\nfrom attnbook.figures import CodeTask, Prediction, ScalingFigure\n"
    "q, k = torch.ones(1, 2, 4), torch.ones(1, 3, 4)\n" + "_ = 1\n" * 20
)
PRACTICE = "## Practice\n\n**1.** Why?\n\n:::{dropdown} Answer\nBecause.\n:::"


def text(source: str, *tags: str) -> NotebookNode:
    """A cell of text."""
    return v4.new_markdown_cell(source, metadata={"tags": list(tags)})


def code(source: str, *tags: str) -> NotebookNode:
    """A cell of code."""
    return v4.new_code_cell(source, metadata={"tags": list(tags)})


# The cells of a divided chapter, and the words of its core in each, counted by hand.
CELLS = [
    (text("# Divided\n\nOne, two, three $x^2$."), 5),
    (code(SETUP, "setup"), 0),
    (text("## Core\n\nFour words of **text**."), 5),
    (code('Prediction("Two and two:", 4)', "predict"), 3),
    (text("It is four.", "answer"), 3),
    (code("2 + 2"), 2),
    (code('ScalingFigure(q, k, caption="A caption here.")'), 5 + 3),
    (code(f'CodeTask("{TASK}")'), 1),
    (text(":::{dropdown} Hint\nThink.\n:::"), 0),
    (code("def look_up(query, keys, values): ...", "answer"), 0),
    (text(f"### Inside\n\nAn end.\n\n{DIVIDER}\n\n## Why\n\nBecause."), 3),
    (text("## How\n\nSo."), 0),
    (code("def yours():\n    # your code\n    ...", "to-write"), 0),
    (text(PRACTICE), 0),
    (code("def mine():\n    # your code\n    ...", "to-write"), 0),
    (text("## Summary\n\nAll."), 0),
]
HALVES = f"A link to [how](divided.ipynb).\n\n{DIVIDER}\n\n## Why\n\nSo.\n"
PAGES = {
    "welcome.md": f"# Welcome\n\nHow a page begins.\n\n{PRACTICE}\n\n- a list\n",
    "divided.ipynb": [cell for cell, _ in CELLS],
    "last.md": f"# Last\n\n{HALVES}\n[How](divided.ipynb#how)\n",
    "outside.md": f"# Outside\n\n[How](divided.ipynb#how)\n\n{HALVES}",
    "plain.ipynb": [text('# Plain & "simple"\n\nText.'), text(PRACTICE)],
}


def write(
    folder: Path, toc: str = TOC, pages: Mapping[str, str | list[NotebookNode]] = PAGES
) -> Path:
    """Write a book of Markdown pages and of notebooks, whose cells are given."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("node_modules"))
        else:
            shutil.copy(source, folder / name)
    (folder / "tools" / "node_modules").symlink_to(ROOT / "tools" / "node_modules")
    (folder / "_toc.yml").write_text(toc)
    chapters = folder / "chapters"
    chapters.mkdir()
    (chapters / "references.bib").touch()
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for name, content in pages.items():
        if isinstance(content, str):
            (chapters / name).write_text(content, "utf-8")
            continue
        cells = [nbformat.from_dict(cell | {"id": f"c{i}"}) for i, cell in enumerate(content)]
        nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": spec}), chapters / name)
    return folder


def build(book: Path, **addresses: str) -> tuple[int | None, str]:
    """The exit status and the output of a build with these addresses and no others."""
    others = {name: text for name, text in os.environ.items() if name not in PUBLISHED}
    return forked.build(book, "build", env=others | addresses)


def build_site(book: Path, **addresses: str) -> Path:
    """The folder of the site, after a build that must succeed."""
    status, output = build(book, **addresses)
    assert status == 0, output
    (book / OUTPUT).write_text(output, "utf-8")
    return book / "_build" / "html"


def build_site_once(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    toc: str = TOC,
    pages: Mapping[str, str | list[NotebookNode]] = PAGES,
    **addresses: str,
) -> Path:
    """The site of a book, built by the first worker that needs it; no test may change it."""
    base = tmp_path_factory.getbasetemp()
    book = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with book.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (book / OUTPUT).exists():
            book.mkdir()
            build_site(write(book, toc, pages), **addresses)
    return book / "_build" / "html"


def published_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the book above, whose repository and address are known."""
    return build_site_once(tmp_path_factory, "published-book", **PUBLISHED)
