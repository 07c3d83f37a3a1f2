"""Write the chapters as notebooks that run in Colab, each with its own install cell.

python -m tools.copies.colab [--target _build/colab] [--allow-dirty]
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from posixpath import basename

import nbformat
from nbformat import NotebookNode, v4

from tools import ROOT
from tools.book.notebooks import read
from tools.copies.links import Book
from tools.copies.myst_text import MystError
from tools.copies.plain_markdown import leftovers, linked, lost_words, plain
from tools.provenance import colab_address, git, repository_address, site_address

TARGET = Path("_build") / "colab"
ADDED = 2  # cells before the chapter's own: where the copy comes from, and the installation
METADATA = {
    "colab": {"provenance": [], "toc_visible": True},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
VIEW = "application/vnd.jupyter.widget-view+json"


class CopyError(Exception):
    """A reason why no copies can be made."""


def origin(page: str, book: Book, commit: str) -> str:
    """Say where a copy comes from, and what its first cell does."""
    site = book.address(page) if book.site else ""
    published = f", which you can also {linked('read in the book', site)}" if site else ""
    source = f"{book.repository}/blob/{commit}/{page}.ipynb"
    return (
        f"*This is a copy of the chapter “{book.title(page)}”{published}. "
        f"It was made from commit {linked(f'`{commit[:10]}`', source)}. "
        "Run the next cell first: it installs the book's package.*"
    )


def installation(book: Book, commit: str) -> str:
    """Install the package at the copied commit; what is there stays as it is."""
    package = f"attnbook[display,figures,seq2seq] @ git+{book.repository}@{commit}"
    return f'%pip install --quiet "{package}"'


def cell_in_plain(number: int, cell: NotebookNode, page: str, book: Book) -> NotebookNode:
    """A chapter's cell as the copy has it: its text in plain Markdown, its code as it is."""
    copied: NotebookNode = nbformat.from_dict(cell)
    if cell.cell_type == "markdown":
        try:
            copied.source = plain(cell.source, page, book)
        except MystError as error:
            raise MystError(f"{page}, cell {number}: {error}") from error
    return copied


def copy(chapter: NotebookNode, page: str, book: Book, commit: str) -> NotebookNode:
    """A chapter's copy: where it comes from, the installation, then every cell."""
    first = v4.new_markdown_cell(origin(page, book, commit), id="copy-origin")
    install = v4.new_code_cell(installation(book, commit), id="copy-install")
    cells = [cell_in_plain(i, cell, page, book) for i, cell in enumerate(chapter.cells)]
    notebook: NotebookNode = v4.new_notebook(cells=[first, install, *cells], metadata=METADATA)
    nbformat.validate(notebook)
    return notebook


def problems(chapter: NotebookNode, copied: NotebookNode) -> Iterator[str]:
    """Say what a copy has lost of its chapter, and what in it is not plain."""
    cells = copied.cells[ADDED:]
    if [cell.id for cell in cells] != [cell.id for cell in chapter.cells]:
        yield "has not the chapter's cells in the chapter's order"
    for number, (before, after) in enumerate(zip(chapter.cells, cells, strict=False)):
        yield from (f"cell {number} {problem}" for problem in cell_problems(before, after))


def cell_problems(before: NotebookNode, after: NotebookNode) -> Iterator[str]:
    """Say what is wrong with one cell of a copy."""
    if before.cell_type != after.cell_type:
        yield f"was {before.cell_type} and is {after.cell_type}"
    elif before.cell_type == "markdown":
        yield from (f"still has {rest}" for rest in leftovers(after.source))
        lost = lost_words(before.source, after.source)
        if lost:
            yield f"lost words, from {lost[0]!r} on"
    elif before != after:
        yield "is other code, or has other outputs"
    elif any(VIEW in output.get("data", {}) for output in after.get("outputs", [])):
        yield "stores the view of a widget that no kernel holds"


def write_copies(book: Book, commit: str, target: Path) -> list[Path]:
    """Write all copies, and the pictures that they show, into a folder made anew."""
    shutil.rmtree(target, ignore_errors=True)
    (target / "chapters").mkdir(parents=True)
    shutil.copytree(book.root / "img", target / "img")
    shutil.copy(book.root / "LICENSE", target)
    return [write_copy(page, book, commit, target) for page in book.chapters]


def write_copy(page: str, book: Book, commit: str, target: Path) -> Path:
    """Write one copy, unless something in it is wrong."""
    chapter = read(book.files[page])
    copied = copy(chapter, page, book, commit)
    found = list(problems(chapter, copied))
    if found:
        raise CopyError("\n".join(f"{page}: the copy's {problem}" for problem in found))
    path = target / "chapters" / f"{basename(page)}.ipynb"
    nbformat.write(copied, path)
    return path


def commit_to_pin(root: Path, *, allow_dirty: bool = False) -> str:
    """The commit that the copies install: all that is copied must be in it."""
    commit = git(root, "rev-parse", "HEAD")
    if not re.fullmatch(r"[0-9a-f]{40,64}", commit):
        raise CopyError(f"copies are pinned to a commit, and git knows none in {root}")
    lines = git(root, "status", "--porcelain").splitlines()
    changed = ", ".join(line.split(maxsplit=1)[1] for line in lines)
    if changed and not allow_dirty:
        raise CopyError(
            f"copies are pinned to commit {commit[:10]}, from which these files differ; "
            f"commit them first: {changed}"
        )
    return commit


def colab_book(root: Path) -> Book:
    """The book with the addresses that its copies need."""
    repository = repository_address(root)
    if not colab_address(repository, "any"):
        raise CopyError(
            "Colab opens notebooks of a repository on github.com; the git remote `origin` "
            f"(in CI: GITHUB_SERVER_URL and GITHUB_REPOSITORY) gives {repository!r}"
        )
    return Book(root, repository, site_address())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the copies; 1 and the reason if they cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with _toc.yml")
    parser.add_argument("--target", type=Path, help="default: _build/colab in the root")
    parser.add_argument("--allow-dirty", action="store_true", help="for a look: do not publish it")
    chosen = parser.parse_args(arguments)
    root, target = chosen.root.resolve(), chosen.target or chosen.root.resolve() / TARGET
    try:
        book = colab_book(root)
        commit = commit_to_pin(root, allow_dirty=chosen.allow_dirty)
        paths = write_copies(book, commit, target)
    except (CopyError, MystError, ValueError) as error:
        print(f"No Colab copies: {error}")
        return 1
    print(f"{len(paths)} copies of commit {commit[:10]} for {book.repository} in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
