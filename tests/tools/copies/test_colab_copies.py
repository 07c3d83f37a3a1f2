"""The notebooks for Colab: whole, plain, pinned, or refused."""

import os
import subprocess
import sys
from copy import deepcopy

import nbformat
import pytest
from nbformat import v4

from tools import ROOT
from tools.book.notebooks import read
from tools.copies.colab import (
    ADDED,
    VIEW,
    CopyError,
    commit_to_pin,
    copy,
    main,
    problems,
    write_copies,
)
from tools.copies.links import Book
from tools.copies.myst_text import MystError

REPOSITORY = "https://github.com/reader/attention-book"
SITE = "https://reader.github.io/attention-book/"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CHAPTERS = Book(ROOT, REPOSITORY).chapters


@pytest.fixture(params=["", SITE], ids=["unpublished", "published"])
def book(request):
    return Book(ROOT, REPOSITORY, request.param)


@pytest.fixture
def chapter():
    return read(ROOT / "chapters" / "masked-softmax.ipynb")


@pytest.fixture
def copied(chapter):
    return copy(deepcopy(chapter), "chapters/masked-softmax", Book(ROOT, REPOSITORY), COMMIT)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small book under git, in a repository of a made-up name."""
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "reader/attention-book")
    monkeypatch.delenv("BOOK_SITE", raising=False)
    root = tmp_path / "book"
    for folder in ("chapters", "img"):
        (root / folder).mkdir(parents=True)
    (root / "_toc.yml").write_text("format: jb-book\nroot: chapters/one\n")
    (root / "LICENSE").write_text("MIT")
    (root / ".gitignore").write_text("_build/\n")
    cells = [v4.new_markdown_cell("# One\n\n```{math}\nx\n```"), v4.new_code_cell("1")]
    nbformat.write(v4.new_notebook(cells=cells), root / "chapters" / "one.ipynb")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "one")
    return root


def git(root, *arguments):
    command = ["git", "-C", root, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_every_chapter_becomes_a_whole_and_plain_copy(book, tmp_path):
    paths = write_copies(book, COMMIT, tmp_path / "colab")

    assert [f"chapters/{path.stem}" for path in paths] == CHAPTERS
    for path in paths:
        stored = read(ROOT / "chapters" / path.name)
        assert list(problems(stored, read(path))) == []


def test_each_picture_of_a_copy_is_published_beside_it(tmp_path):
    paths = write_copies(Book(ROOT, REPOSITORY), COMMIT, tmp_path)
    raw = "https://raw.githubusercontent.com/reader/attention-book/colab/"
    shown = {
        piece.split("?")[0]
        for path in paths
        for piece in path.read_text("utf-8").split(f"]({raw}")[1:]
    }

    assert len(shown) > 5
    assert [name for name in shown if not (tmp_path / name).is_file()] == []


def test_a_copy_says_where_it_comes_from_and_installs_that_commit(copied):
    origin, install = copied.cells[:ADDED]

    assert f"[`0123456789`]({REPOSITORY}/blob/{COMMIT}/chapters/masked-softmax.ipynb)" in (
        origin.source
    )
    assert install.source == (
        f'%pip install --quiet "attnbook[display,figures,seq2seq] @ git+{REPOSITORY}@{COMMIT}"'
    )


def test_a_copy_leads_to_its_published_page_when_that_is_known(chapter):
    made = copy(chapter, "chapters/masked-softmax", Book(ROOT, REPOSITORY, SITE), COMMIT)

    assert f"]({SITE}chapters/masked-softmax.html)" in made.cells[0].source


def test_a_copy_opens_with_the_chapters_outputs(chapter, copied):
    stored = [cell.outputs for cell in chapter.cells if cell.cell_type == "code"]
    shown = [cell.outputs for cell in copied.cells[ADDED:] if cell.cell_type == "code"]

    assert shown == stored
    assert "widgets" not in copied.metadata


def test_a_cell_that_needs_a_kernel_is_an_ordinary_cell_there():
    stored = read(ROOT / "chapters" / "welcome.ipynb")
    made = copy(stored, "chapters/welcome", Book(ROOT, REPOSITORY), COMMIT)
    live = [cell.source for cell in made.cells if "notebook-only" in cell.metadata.get("tags", [])]

    assert any("IntSlider" in source for source in live)


# Each guard can fail.


def break_by_dropping(cells):
    del cells[ADDED + 3]


def break_by_swapping(cells):
    cells[ADDED + 2], cells[ADDED + 3] = cells[ADDED + 3], cells[ADDED + 2]


def break_by_adding(cells):
    cells.append(v4.new_code_cell("1"))


def first(cells, kind):
    return next(cell for cell in cells[ADDED:] if cell.cell_type == kind)


def break_the_code(cells):
    first(cells, "code").source += "\n1"


def break_the_outputs(cells):
    next(cell for cell in cells if cell.get("outputs")).outputs = []


def break_the_text(cells):
    first(cells, "markdown").source = "# Masked"


def break_by_leaving_a_role(cells):
    first(cells, "markdown").source += " {term}`query`"


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (break_by_dropping, "order"),
        (break_by_swapping, "order"),
        (break_by_adding, "order"),
        (break_the_code, "other code"),
        (break_the_outputs, "other outputs"),
        (break_the_text, "lost words"),
        (break_by_leaving_a_role, "still has {term}`query`"),
    ],
)
def test_what_a_copy_lost_is_found(damage, told, chapter, copied):
    damage(copied.cells)

    assert any(told in problem for problem in problems(chapter, copied))


def test_a_view_of_a_widget_without_a_kernel_is_found(chapter, copied):
    for cells in (chapter.cells, copied.cells[ADDED:]):
        shown = v4.new_output("display_data", data={VIEW: {"model_id": "1"}, "text/plain": "x"})
        first([None] * ADDED + list(cells), "code").outputs = [shown]

    assert [problem for problem in problems(chapter, copied) if "view of a widget" in problem]


def test_what_has_no_plain_form_is_named_with_chapter_and_cell():
    strange = v4.new_notebook(cells=[v4.new_markdown_cell("a"), v4.new_markdown_cell("{sub}`x`")])

    with pytest.raises(MystError, match="chapters/summary, cell 1: has the role sub"):
        copy(strange, "chapters/summary", Book(ROOT, REPOSITORY), COMMIT)


# The command.


def test_the_command_pins_the_commit_that_is_checked_out(project, capsys):
    assert main(["--root", str(project)]) == 0
    assert "1 copies" in capsys.readouterr().out
    written = read(project / "_build" / "colab" / "chapters" / "one.ipynb")
    assert f'@{git(project, "rev-parse", "HEAD")}"' in written.cells[1].source
    assert written.cells[2].source == "# One\n\n$$\nx\n$$"


@pytest.mark.parametrize("name", ["chapters/one.ipynb", "new.txt"])
def test_a_tree_that_differs_from_its_commit_is_refused(project, capsys, name):
    with (project / name).open("a") as file:
        file.write("\n")

    assert main(["--root", str(project)]) == 1
    assert name in capsys.readouterr().out
    assert main(["--root", str(project), "--allow-dirty"]) == 0


def test_without_git_there_is_no_commit_to_pin(tmp_path):
    with pytest.raises(CopyError, match="pinned to a commit"):
        commit_to_pin(tmp_path)


@pytest.mark.parametrize("server", [None, "https://gitlab.com"])
def test_without_a_repository_that_colab_opens_there_are_no_copies(
    project, capsys, monkeypatch, server
):
    if server:
        monkeypatch.setenv("GITHUB_SERVER_URL", server)
    else:
        monkeypatch.delenv("GITHUB_SERVER_URL")

    assert main(["--root", str(project)]) == 1
    assert "repository on github.com" in capsys.readouterr().out
    assert not (project / "_build").exists()


def test_the_command_runs_from_anywhere(project, tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tools.copies.colab", "--root", project]
    assert subprocess.run(command, cwd=tmp_path, env=env, check=False).returncode == 0
