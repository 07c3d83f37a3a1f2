"""The book for a class: what its chapters lack, and which commands build and serve it."""

from __future__ import annotations

import re
import subprocess
from contextlib import contextmanager

import nbformat
import pytest
from jupyter_cache import get_cache
from nbformat import v4

from tests.tools.site.chapter.test_answers import whole
from tools import ROOT
from tools.book.build import main
from tools.book.notebooks import read
from tools.book.state import QUESTIONS, BuildFolder
from tools.book.without_answers import prepare, remove_answers, remove_folds


@contextmanager
def open_cache(folder):
    """The stored executions of a book."""
    cache = get_cache(folder.executions)
    yield cache
    cache.db.dispose()


def test_a_class_gets_questions_predictions_and_hints_and_no_worked_answers():
    original, chapter = whole(), remove_answers(whole())
    text = str(chapter.cells)
    assert [words for words in ("worked-answer", "Because.") if words in text] == []
    remaining = "Look again.", "words-of-one", "result-of-two", "**2.** Write it.", "The end."
    assert [words for words in remaining if words not in text] == []
    assert len(chapter.cells) == len(original.cells) - 1


def test_the_outputs_are_those_of_the_whole_chapter_and_are_found_without_a_run(tmp_path):
    """A cell after an answer may call it, so the chapter without answers cannot be run."""
    (tmp_path / "chapters").mkdir()
    path = tmp_path / "chapters" / "first.ipynb"
    cells = whole().cells
    for cell in cells:
        cell.metadata.setdefault("tags", [])
    nbformat.write(v4.new_notebook(cells=cells), path)
    folder = BuildFolder(tmp_path, QUESTIONS)
    with open_cache(BuildFolder(tmp_path)) as cache:
        cache.cache_notebook_file(path, check_validity=False)
    prepare(folder)

    written = read(folder.source / "chapters" / "first.ipynb")
    with open_cache(folder) as cache:
        _, found = cache.merge_match_into_notebook(written)
    assert "worked-answer" not in str(found)
    outputs = [cell.outputs for cell in read(path).cells if cell.get("outputs")]
    assert [cell.outputs for cell in found.cells if cell.get("outputs")] == outputs[:-1]


@pytest.mark.parametrize("fence", [":::", "::::", "```"])
def test_a_folded_answer_is_removed_whatever_its_fence_and_its_content(fence):
    inner = ":::{note}\nx\n:::" if fence == "::::" else "x"
    answer = f"{fence}{{dropdown}} Answer\n{inner}\n{fence}\n"
    hint = f"{fence}{{dropdown}} Hint\ny\n{fence}\n"
    assert remove_folds(f"Why?\n\n{answer}\n{hint}") == f"Why?\n\n{hint}"


def test_make_builds_and_serves_the_same_book():
    command = ["make", "--dry-run", "serve", "ANSWERS=no"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = re.findall(r"tools\.book\.build (.*)", run.stdout)
    assert found == ["build --without-answers", "serve --without-answers"]


def test_the_book_for_a_class_is_not_served_from_the_whole_one(tmp_path, capsys):
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / ".made-from").touch()
    assert main(["--root", str(tmp_path), "serve", "--without-answers"]) == 1
    assert "There is no finished book to serve" in capsys.readouterr().err
