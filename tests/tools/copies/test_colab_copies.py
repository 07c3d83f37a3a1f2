"""The notebooks for Colab: whole, plain, pinned, or refused."""

import os
import subprocess
import sys

import pytest
from nbformat import v4

from tests.tools.copies.small_book import COMMIT, REPOSITORY, SITE, notebook, small_book
from tools import ROOT
from tools.book.cells import answers
from tools.book.notebooks import read
from tools.contents import pages
from tools.copies.colab import CopyError, Origin, commit_to_pin, main, write_copies
from tools.copies.guards import ADDED, VIEW, problems

CHAPTERS = [page for page in pages() if (ROOT / f"{page}.ipynb").exists()]


@pytest.fixture(scope="module", params=["", SITE], ids=["unpublished", "published"])
def copies(request, tmp_path_factory):
    """The copies of the whole book, by name, and the address of the site that they know."""
    folder = tmp_path_factory.mktemp("copies")
    paths = write_copies(Origin(ROOT, REPOSITORY, COMMIT, request.param), folder / "colab")
    assert [f"chapters/{path.stem}" for path in paths] == CHAPTERS
    return request.param, {path.stem: path for path in paths}


@pytest.fixture
def chapter():
    return read(ROOT / "chapters" / "masked-softmax.ipynb")


@pytest.fixture
def copied(copies):
    return read(copies[1]["masked-softmax"])


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small book under git, in a repository of a made-up name."""
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "reader/attention-book")
    monkeypatch.delenv("BOOK_SITE", raising=False)
    root = tmp_path / "book"
    root.mkdir()
    small_book(root, {"one": notebook("# One\n\n```{math}\nx\n```")})
    (root / ".gitignore").write_text("_build/\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "one")
    return root


def git(root, *arguments):
    command = ["git", "-C", root, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_every_chapter_becomes_a_whole_and_plain_copy(copies):
    for name, path in copies[1].items():
        stored = read(ROOT / "chapters" / f"{name}.ipynb")
        assert list(problems(stored, read(path))) == []


def test_each_picture_of_a_copy_is_published_with_it(copies):
    site, paths = copies
    raw = "https://raw.githubusercontent.com/reader/attention-book/colab/img/"
    before, folder = (f"]({site}_images/", "img") if site else (f"]({raw}", "img")
    texts = [path.read_text("utf-8") for path in paths.values()]
    shown = {
        piece.split(")")[0].split("?")[0] for text in texts for piece in text.split(before)[1:]
    }
    beside = next(iter(paths.values())).parents[1] / folder

    assert len(shown) > 5
    assert [name for name in shown if not (beside / name).is_file()] == []


def test_a_copy_says_where_it_comes_from_and_installs_that_commit(copied):
    origin, install = copied.cells[:ADDED]

    assert f"[`0123456789`]({REPOSITORY}/blob/{COMMIT}/chapters/masked-softmax.ipynb)" in (
        origin.source
    )
    assert install.source == (
        f'%pip install --quiet "attnbook[display,figures,seq2seq] @ git+{REPOSITORY}@{COMMIT}"'
    )


def test_a_copy_leads_to_its_published_page_when_that_is_known(copies, copied):
    address = f"]({SITE}chapters/masked-softmax.html)"

    assert (address in copied.cells[0].source) == bool(copies[0])


def test_a_copy_opens_with_the_chapters_outputs(chapter, copied):
    covered = {"predict", "answer"}
    for stored, shown in zip(chapter.cells, copied.cells[ADDED:], strict=True):
        if stored.cell_type == "code":
            is_covered = covered & {*stored.metadata.get("tags", [])}
            assert shown.outputs == ([] if is_covered else stored.outputs)
    assert "widgets" not in copied.metadata


def test_a_cell_that_needs_a_kernel_is_an_ordinary_cell_there(copies):
    made = read(copies[1]["welcome"])
    live = [cell.source for cell in made.cells if "notebook-only" in cell.metadata.get("tags", [])]

    assert any("IntSlider" in source for source in live)


def tagged(chapter, tag, kind):
    """The places of the cells that have a tag."""
    return [
        place
        for place, cell in enumerate(chapter.cells)
        if tag in cell.metadata.get("tags", []) and cell.cell_type == kind
    ]


def test_a_copy_tells_no_answer_before_its_cell_is_run(chapter, copied):
    cells = copied.cells[ADDED:]
    for place in tagged(chapter, "predict", "code"):
        assert cells[place].source.startswith("# @title Your prediction\n")
        assert cells[place].metadata["cellView"] == "form"
        assert cells[place].metadata["jupyter"] == {"source_hidden": True}
        assert cells[place + 1].source.startswith("<details>\n<summary>Answer</summary>")
    confirming = {run.cells.start for run in answers(chapter) if run.prediction}
    worked = {run.cells.start for run in answers(chapter) if not run.prediction}
    assert len(confirming) >= 5
    assert len(worked) >= 3
    for place in tagged(chapter, "answer", "code"):
        is_worked = place in worked or place - 1 in worked
        assert cells[place].source.startswith("# @title Answer") is is_worked


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


def covered(cells, kind, beginning):
    return next(c for c in cells if c.cell_type == kind and c.source.startswith(beginning))


def break_by_changing_a_prediction(cells):
    covered(cells, "code", "# @title").source += "\n1"


def break_by_telling_what_a_prediction_knows(cells):
    covered(cells, "code", "# @title").outputs = [v4.new_output("stream", text="4")]


def break_by_opening_an_answer(cells):
    answer = covered(cells, "markdown", "<details>\n<summary>Answer")
    answer.source = answer.source.removeprefix("<details>")


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
        (break_by_changing_a_prediction, "other code"),
        (break_by_telling_what_a_prediction_knows, "tells its answer at once"),
        (break_by_opening_an_answer, "tells its answer at once"),
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


# The command.


@pytest.mark.slow
def test_the_command_pins_the_commit_that_is_checked_out(project, tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tools.copies.colab", "--root", project]
    said = subprocess.run(
        command, check=True, cwd=tmp_path, env=env, capture_output=True, text=True
    ).stdout

    assert "1 copies" in said
    written = read(project / "_build" / "colab" / "chapters" / "one.ipynb")
    assert f'@{git(project, "rev-parse", "HEAD")}"' in written.cells[1].source
    assert written.cells[2].source == "# One\n\n$$\nx\n$$"


@pytest.mark.parametrize("name", ["chapters/one.ipynb", "new.txt"])
def test_a_tree_that_differs_from_its_commit_is_refused(project, capsys, name):
    with (project / name).open("a") as file:
        file.write("\n")

    assert main(["--root", str(project)]) == 1
    assert name in capsys.readouterr().out
    assert commit_to_pin(project, allow_dirty=True) == git(project, "rev-parse", "HEAD")


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


def test_what_has_no_plain_form_leaves_the_copies_as_they_were(project, capsys):
    kept = project / "_build" / "colab" / "kept"
    kept.parent.mkdir(parents=True)
    kept.touch()
    chapter = project / "chapters" / "one.ipynb"
    chapter.write_text(notebook("# One", "{sub}`x`"))

    assert main(["--root", str(project), "--allow-dirty"]) == 1
    heard = capsys.readouterr()
    assert "chapters/one.ipynb: WARNING: cell 1 has <subscript>" in heard.err
    assert "No Colab copies: Sphinx says" in heard.out
    assert kept.exists()
