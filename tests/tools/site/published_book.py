"""A small book with this one's settings, built as an unpacked archive for made-up addresses."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nbformat
import yaml
from nbformat import v4

from tests.tools.book import forked
from tools import ROOT

COPIED = ["_config.yml", "requirements.txt", "img", "tools", "attnbook"]
TOC = "format: jb-book\nroot: chapters/first\nchapters:\n  - file: chapters/second\n"
FIRST = "# First\n\nHow a page begins.\n\n## A part\n\n- in a list\n"
SECOND = '# Second & "last"\n\nA page without code, & with <b>signs</b>.\n'

TITLE = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
REPOSITORY, SITE = "https://github.com/ada/a-fork", "https://ada.example.org/a-fork/"
PUBLISHED = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "ada/a-fork",
    "BOOK_SITE": SITE,
}


def write(folder: Path) -> Path:
    """Write the book: a notebook and a Markdown page."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("node_modules"))
        else:
            shutil.copy(source, folder / name)
    (folder / "tools" / "node_modules").symlink_to(ROOT / "tools" / "node_modules")
    (folder / "_toc.yml").write_text(TOC)
    chapters = folder / "chapters"
    chapters.mkdir()
    (chapters / "references.bib").touch()
    (chapters / "second.md").write_text(SECOND)
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [v4.new_markdown_cell(FIRST, id="c0")]
    notebook = v4.new_notebook(cells=cells, metadata={"kernelspec": spec})
    nbformat.write(notebook, chapters / "first.ipynb")
    return folder


def build(book: Path, **addresses: str) -> tuple[int | None, str]:
    """The exit status and the output of a build with these addresses and no others."""
    others = {name: text for name, text in os.environ.items() if name not in PUBLISHED}
    return forked.build(book, "build", env=others | addresses)


def built(book: Path, **addresses: str) -> Path:
    """The folder of the site, after a build that must succeed."""
    status, output = build(book, **addresses)
    assert status == 0, output
    return book / "_build" / "html"
