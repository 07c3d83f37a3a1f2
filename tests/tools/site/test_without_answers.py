"""The site for a class, built from this book's own chapters, contains no worked answer.

It is a second build of the whole book, so it runs weekly; `test_build.py` makes a small one.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.tools.site.worked_answers import answers, find_answers
from tools import ROOT
from tools.book.state import QUESTIONS, BuildFolder

# Its own process, as `make book` has; the whole book, whose outputs it shows, is there already.
BUILD = """
import sys
from tools import ROOT
from tools.book.build import build
from tools.book.state import QUESTIONS, BuildFolder
sys.exit(build(BuildFolder(ROOT, QUESTIONS), book_answers=False))
"""
GITHUB = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "ada/a-fork"}
# Answers with no word that is not elsewhere in the chapter, too.
ORDINARY = 1


@pytest.fixture(scope="module")
def class_site(site):  # noqa: ARG001 - the whole book must be built
    run = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=ROOT, env=os.environ | GITHUB,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return BuildFolder(ROOT, QUESTIONS).html


@pytest.mark.weekly
def test_no_file_of_it_holds_the_code_or_the_prose_of_an_answer(class_site):
    searched = answers()
    assert len(searched) >= 240
    assert searched.count(()) == ORDINARY
    assert find_answers(class_site, searched) == []
    # Nor does a link lead to the chapters that hold them.
    pages = [path for path in class_site.rglob("*.html") if "_static" not in path.parts]
    assert len(pages) > 20
    assert [page.name for page in pages if "a-fork" in page.read_text("utf-8")] == []
