"""The book for a class: what its chapters lack, and which commands build and serve it."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.tools.site.test_answers import whole
from tools import ROOT
from tools.book.build import main
from tools.book.without_answers import remove_answers, remove_folds


def test_a_class_gets_questions_predictions_and_hints_and_no_worked_answers():
    original, chapter = whole(), remove_answers(whole())
    text = str(chapter.cells)
    assert [words for words in ("worked-answer", "Because.") if words in text] == []
    remaining = "Look again.", "words-of-one", "result-of-two", "**2.** Write it.", "The end."
    assert [words for words in remaining if words not in text] == []
    assert len(chapter.cells) == len(original.cells) - 1


@pytest.mark.parametrize("fence", [":::", "::::", "```"])
def test_a_folded_answer_is_removed_whatever_its_fence_and_its_content(fence):
    inner = ":::{note}\nx\n:::" if fence == "::::" else "x"
    answer = f"{fence}{{dropdown}} Answer\n{inner}\n{fence}\n"
    hint = f"{fence}{{dropdown}} Hint\ny\n{fence}\n"
    assert remove_folds(f"Why?\n\n{answer}\n{hint}") == f"Why?\n\n{hint}"


def commands(*arguments, **variables):
    """The commands of `make serve`."""
    environment = {name: text for name, text in os.environ.items() if name != "ANSWERS"}
    run = subprocess.run(
        ["make", "--dry-run", "serve", *arguments], cwd=ROOT, env=environment | variables,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [
        line.split("tools.book.build ")[1]
        for line in run.stdout.splitlines()
        if "tools.book" in line
    ]


def test_make_builds_and_serves_the_same_book():
    without = ["build --without-answers", "serve --without-answers"]
    assert commands("ANSWERS=no") == commands(ANSWERS="no") == without
    assert [line.strip() for line in commands(ANSWERS="")] == ["build", "serve"]


def test_the_book_for_a_class_is_not_served_from_the_whole_one(tmp_path, capsys):
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / ".made-from").touch()
    assert main(["--root", str(tmp_path), "serve", "--without-answers"]) == 1
    assert "There is no finished book to serve" in capsys.readouterr().err
