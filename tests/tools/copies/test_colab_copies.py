"""The notebooks for Colab are complete, plain and pinned, or refused; no cell is run here."""

import ast
import re
import subprocess
import sys
from copy import deepcopy

import nbformat
import pytest
from nbformat import v4

from tests.tools.copies.small_book import COMMIT, REPOSITORY, SITE, notebook, small_book
from tests.tools.site.site_checks import anchors
from tools import ROOT
from tools.book.cells import answers
from tools.book.notebooks import read
from tools.copies.colab import CopyError, Origin, commit_to_pin, main, write_copies
from tools.copies.colab_versions import COLAB
from tools.copies.leftovers import ADDED, VIEW, problems
from tools.table_of_contents import pages

CHAPTERS = [page for page in pages() if (ROOT / f"{page}.ipynb").exists()]
each_chapter = pytest.mark.parametrize("name", [page.rpartition("/")[2] for page in CHAPTERS])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The copies of the whole book, for the readers of a published site."""
    root = tmp_path_factory.mktemp("copies")  # with fewer files to search than the checkout
    for name in ("chapters", "img", "_config.yml", "_toc.yml", "LICENSE"):
        (root / name).symlink_to(ROOT / name)
    folder = root / "colab"
    paths = write_copies(Origin(root, REPOSITORY, COMMIT, SITE), folder)
    assert [f"chapters/{path.stem}" for path in paths] == CHAPTERS
    return folder


@pytest.fixture
def copied(folder, name):
    return read(folder / "chapters" / f"{name}.ipynb")


@pytest.fixture
def chapter(name):
    return read(ROOT / "chapters" / f"{name}.ipynb")


@each_chapter
def test_every_chapter_becomes_a_valid_notebook_of_its_kernel(chapter, copied):
    nbformat.validate(copied)
    assert "widgets" not in copied.metadata
    assert copied.metadata.kernelspec == chapter.metadata.kernelspec


@each_chapter
def test_a_copy_links_to_its_origin_and_its_page_and_installs_that_commit(copied, name):
    origin, install = copied.cells[:ADDED]
    assert (origin.cell_type, install.cell_type) == ("markdown", "code")
    assert f"[`0123456789`]({REPOSITORY}/blob/{COMMIT}/chapters/{name}.ipynb)" in origin.source
    assert f"]({SITE}chapters/{name}.html)" in origin.source
    assert install.source == (
        f'%pip install --quiet "attnbook[display,figures,seq2seq] @ git+{REPOSITORY}@{COMMIT}"'
    )


@each_chapter
def test_a_copy_needs_no_package_and_no_file_that_a_reader_lacks(copied):
    present = {"attnbook", *COLAB, *sys.stdlib_module_names}
    for cell in copied.cells[ADDED:]:
        if cell.cell_type != "code":
            continue
        assert "../" not in cell.source
        assert "open(" not in cell.source
        for node in ast.walk(ast.parse(cell.source)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert {name.partition(".")[0] for name in names} <= present


def test_each_picture_of_a_copy_is_published_with_it(folder):
    texts = [path.read_text("utf-8") for path in (folder / "chapters").iterdir()]
    pictures = {
        piece.partition(")")[0].partition("?")[0]
        for text in texts
        for piece in text.split(f"]({SITE}_images/")[1:]
    }
    assert len(pictures) > 5
    assert [name for name in pictures if not (folder / "img" / name).is_file()] == []


def tagged(chapter, tag, kind):
    """The positions of the cells that have a tag."""
    return [
        position
        for position, cell in enumerate(chapter.cells)
        if tag in cell.metadata.get("tags", []) and cell.cell_type == kind
    ]


@each_chapter
def test_a_copy_shows_no_answer_before_its_cell_is_run(chapter, copied):
    cells = copied.cells[ADDED:]
    for position in tagged(chapter, "predict", "code"):
        assert cells[position].source.startswith("# @title Your prediction\n")
        assert cells[position].metadata["cellView"] == "form"
        assert cells[position].metadata["jupyter"] == {"source_hidden": True}
    worked = {cell for run in answers(chapter) if not run.prediction for cell in run.cells}
    for position in tagged(chapter, "answer", "code"):
        is_covered = cells[position].source.startswith("# @title Answer")
        assert is_covered is (position in worked)


# Each check can fail


def changing(kind, beginning="", **changes):
    """A function that changes the first cell of a kind whose source begins so."""

    def change(cells):
        own = (cell for cell in cells[ADDED:] if cell.cell_type == kind)
        first = next(cell for cell in own if cell.source.startswith(beginning))
        first.update(changes)

    return change


STREAM = [v4.new_output("stream", text="4")]
DAMAGES = {
    "dropped": (lambda cells: cells.pop(ADDED + 3), "order"),
    "other code": (changing("code", source="1"), "other code"),
    "other outputs": (changing("code", outputs=STREAM), "other outputs"),
    "verdict": (changing("code", "def my_", outputs=STREAM), "nobody has written"),
    "other text": (changing("markdown", source="# Masked"), "lost words"),
    "stored prediction": (changing("code", "# @title", outputs=STREAM), "its answer at once"),
    "open answer": (
        changing("markdown", "<details>\n<summary>Answer", source="<summary>Answer"),
        "its answer at once",
    ),
    "role": (changing("markdown", source="{term}`query`"), "still has {term}`query`"),
}


@pytest.mark.parametrize("name", ["masked-softmax"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_of_a_copy_is_reported(damage, chapter, copied):
    change, message = DAMAGES[damage]
    change(copied.cells)
    assert any(message in problem for problem in problems(chapter, copied))


def test_a_view_of_a_widget_without_a_kernel_is_reported():
    data = {VIEW: {"model_id": "1"}, "text/plain": "x"}
    cell = v4.new_code_cell("x", outputs=[v4.new_output("display_data", data=data)])
    chapter = v4.new_notebook(cells=[cell])
    copied = v4.new_notebook(cells=[v4.new_code_cell(), v4.new_code_cell(), deepcopy(cell)])
    (problem,) = problems(chapter, copied)
    assert "view of a widget" in problem


# The command


def git(root, *arguments):
    command = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


ADDRESS = re.compile(rf'{SITE}([^)#\s"\\]+)(?:#([^)\s"\\]+))?')


def test_each_address_of_a_copy_exists_in_the_published_book(folder, site):
    def is_missing(path: str, anchor: str) -> bool:
        page = site / path
        return not page.is_file() or bool(anchor and anchor not in anchors(page).ids)

    texts = [path.read_text("utf-8") for path in folder.rglob("*.ipynb")]
    found = {target for text in texts for target in ADDRESS.findall(text)}
    assert len(found) > 50
    assert is_missing("chapters/notation.html", "term-nonsense")
    assert sorted(target for target in found if is_missing(*target)) == []


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small book in a git repository with an invented address."""
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "reader/attention-book")
    monkeypatch.delenv("BOOK_SITE", raising=False)
    root = tmp_path / "book"
    root.mkdir()
    small_book(root, {"one": notebook("# One\n\n```{math}\nx\n```")})
    (root / ".gitignore").write_text("_build/\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "one")
    return root


def test_the_command_pins_the_commit_that_is_checked_out(project, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["--root", "book"]) == 0
    assert "1 copies" in capsys.readouterr().out
    copied = read(project / "_build" / "colab" / "chapters" / "one.ipynb")
    assert SITE not in copied.cells[0].source
    assert f'@{git(project, "rev-parse", "HEAD")}"' in copied.cells[1].source
    assert copied.cells[2].source == "# One\n\n$$\nx\n$$"


def test_a_tree_that_differs_from_its_commit_is_refused(project, capsys):
    (project / "chapters" / "one.ipynb").write_text(notebook("# Two"))
    (project / "new.txt").touch()
    assert main(["--root", str(project)]) == 1
    output = capsys.readouterr().out
    assert "chapters/one.ipynb" in output
    assert "new.txt" in output
    assert commit_to_pin(project, allow_dirty=True) == git(project, "rev-parse", "HEAD")


def test_without_git_there_is_no_commit_to_pin(tmp_path):
    with pytest.raises(CopyError, match="pinned to a commit"):
        commit_to_pin(tmp_path)


def test_without_a_repository_that_colab_opens_there_are_no_copies(project, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://gitlab.com")
    assert main(["--root", str(project)]) == 1
    assert "repository on github.com" in capsys.readouterr().out
    assert not (project / "_build").exists()


def test_text_without_a_plain_form_leaves_the_copies_unchanged(project, capsys):
    old = project / "_build" / "colab" / "old"
    old.parent.mkdir(parents=True)
    old.touch()
    chapter = project / "chapters" / "one.ipynb"
    chapter.write_text(notebook("# One", "{sub}`x`"))

    assert main(["--root", str(project), "--allow-dirty"]) == 1
    output = capsys.readouterr()
    assert "chapters/one.ipynb: WARNING: cell 1 has <subscript>" in output.err
    assert "No Colab copies: Sphinx reports" in output.out
    assert old.exists()
