"""The book for a class: its chapters without the worked answers, but with their outputs.

The pages are rendered from these chapters, so nothing of an answer can reach the site.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbformat import NotebookNode

from tools.book.cells import answers
from tools.book.notebooks import read
from tools.book.state import BuildFolder

FOLD = re.compile(r"^(:{3,}|`{3,})\{dropdown\} Answer\n.*?^\1$\n*", re.DOTALL | re.MULTILINE)


def remove_folds(text: str) -> str:
    """Remove the folded answers from Markdown, but not the hints."""
    return FOLD.sub("", text)


def remove_answers(chapter: NotebookNode) -> NotebookNode:
    """Copy a chapter without the answers to its practice, but with those to its predictions."""
    worked = [answer for answer in answers(chapter) if not answer.prediction]
    removed = {number for answer in worked for number in answer.cells}
    copy = deepcopy(chapter)
    copy.cells = [cell for number, cell in enumerate(copy.cells) if number not in removed]
    for cell in copy.cells:
        if cell.cell_type == "markdown":
            cell.source = remove_folds(cell.source)
    copy.cells = [cell for cell in copy.cells if cell.source.strip()]
    return copy


def write_chapters(root: Path, source: Path) -> None:
    """Write the folder that Sphinx reads; each copy has the modification time of its original."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(root / "chapters", source / "chapters")
    for name in ("img", "tools"):
        (source / name).symlink_to(root / name)
    for path in (root / "chapters").iterdir():
        copy = source / "chapters" / path.name
        if path.suffix == ".ipynb":
            nbformat.write(remove_answers(read(path)), copy)
        elif path.suffix == ".md":
            copy.write_text(remove_folds(path.read_text("utf-8")), "utf-8")
        if path.is_file():
            shutil.copystat(path, copy)


def take_outputs(whole: BuildFolder, folder: BuildFolder) -> None:
    """Take the outputs from the whole chapter: a later cell may call a worked answer."""
    executed, cache = get_cache(whole.executions), get_cache(folder.executions)
    for path in (whole.root / "chapters").glob("*.ipynb"):
        with suppress(KeyError):  # it is not a page of the book
            _, chapter = executed.merge_match_into_notebook(read(path))
            bundle = CacheBundleIn(remove_answers(chapter), str(path))
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    for store in (executed, cache):
        store.db.dispose()


def prepare(folder: BuildFolder) -> None:
    """Write the chapters without answers, once the whole book has been built."""
    write_chapters(folder.root, folder.source)
    take_outputs(BuildFolder(folder.root), folder)
