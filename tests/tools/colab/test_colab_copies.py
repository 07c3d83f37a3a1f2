"""The notebooks for Colab are complete, plain and pinned, or refused; no cell is run here."""

import ast
import re
import subprocess
import sys
from contextlib import redirect_stdout
from copy import deepcopy
from io import StringIO

import nbformat
import pytest
from nbformat import v4

from tests.tools.colab.small_book import COLAB as COLAB_ADDRESS
from tests.tools.colab.small_book import COMMIT, REPOSITORY, SITE, notebook, small_book
from tests.tools.site.site_checks import anchors
from tools import ROOT
from tools.book.cells import ANSWER, PREDICT, SETUP, TO_WRITE
from tools.book.notebooks import read
from tools.colab.leftovers import ADDED, VIEW, problems
from tools.colab.page_sentences import OF_THE_PAGE, SENTENCES, in_notebook
from tools.colab.versions import COLAB
from tools.colab.write import CopyError, Origin, commit_to_pin, main, write_copies
from tools.table_of_contents import pages

CHAPTERS = [page for page in pages() if (ROOT / f"{page}.ipynb").exists()]


def code(source, *tags, outputs=()):
    return v4.new_code_cell(source, metadata={"tags": [*tags]}, outputs=[*outputs])


STREAM = [v4.new_output("stream", name="stdout", text="4")]
VIEWED = [v4.new_output("display_data", data={VIEW: {"model_id": "1"}, "text/plain": "x"})]
ON_PAGE = SENTENCES["first_editor"]
# A chapter with each kind of cell.
CELLS = [
    v4.new_markdown_cell(f"# One\n\nA {{term}}`query`. {ON_PAGE['page']}\n\n```{{math}}\nx\n```"),
    code("# @title none", PREDICT, outputs=STREAM),
    code("print(4)", ANSWER, outputs=STREAM),
    code("print(5)", outputs=STREAM),
    code("import math\nx, y = 1, 2\n\n\ndef f(): ...\n\n\nprint(x)", SETUP, outputs=STREAM),
    v4.new_markdown_cell("## Practice\n\n**1.** Why?"),
    code("def my_sum(): ...", TO_WRITE),
    v4.new_markdown_cell(":::{dropdown} Answer\nBecause.\n:::", metadata={"tags": [ANSWER]}),
    code("print(6)", ANSWER, outputs=STREAM),
]


def write_project(root):
    """A small book in a git repository."""
    cells = deepcopy(CELLS)
    for number, cell in enumerate(cells):
        cell.id = f"one-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    chapter = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    small_book(root, {"one": nbformat.writes(chapter)})
    (root / ".gitignore").write_text("_build/\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "one")
    return root


def git(root, *arguments):
    command = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A project with an invented address whose copies are written, and what this printed."""
    folder = tmp_path_factory.mktemp("project")
    project = write_project(folder / "book")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as output:
        patch.chdir(folder)
        patch.setenv("GITHUB_SERVER_URL", "https://github.com")
        patch.setenv("GITHUB_REPOSITORY", "reader/attention-book")
        patch.delenv("BOOK_SITE", raising=False)
        assert main(["--root", "book"]) == 0
    return project, output.getvalue()


@pytest.fixture
def chapter(written):
    return read(written[0] / "chapters" / "one.ipynb")


@pytest.fixture
def copied(written):
    return read(written[0] / "_build" / "colab" / "chapters" / "one.ipynb")


def test_the_command_pins_the_commit_that_is_checked_out(written, copied):
    project, output = written
    assert "1 copies" in output
    assert SITE not in copied.cells[0].source
    assert f'@{git(project, "rev-parse", "HEAD")}"' in copied.cells[1].source
    assert copied.metadata.kernelspec.name == "python3"
    assert copied.cells[2].source == f"# One\n\nA query. {ON_PAGE['notebook']}\n\n$$\nx\n$$"


def test_copies_of_a_tag_install_the_released_version_and_all_others_their_commit(
    written, tmp_path, monkeypatch
):
    project, _ = written
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "reader/attention-book")
    monkeypatch.setenv("GITHUB_REF_NAME", "v0.1.0")
    for kind, origin in (("tag", '==0.1.0"'), ("branch", f'{git(project, "rev-parse", "HEAD")}"')):
        monkeypatch.setenv("GITHUB_REF_TYPE", kind)
        assert main(["--root", str(project), "--target", str(tmp_path / kind)]) == 0
        install = read(tmp_path / kind / "chapters" / "one.ipynb").cells[1].source
        assert install.startswith('%pip install --quiet "attnbook[display,figures,seq2seq]')
        assert install.endswith(origin)


def test_the_branch_begins_with_a_page_that_opens_each_copy_in_colab(written):
    page = (written[0] / "_build" / "colab" / "README.md").read_text("utf-8")
    assert page == f"# Run a chapter in Colab\n\n- [One]({COLAB_ADDRESS}/one.ipynb)\n\n"


def test_a_copy_shows_no_answer_before_its_cell_is_run(copied):
    _, prediction, answer, example, setup, _, _, folded, worked = copied.cells[ADDED:]
    titles = "Your prediction", "Answer", "Result: defines x, y, f\n"
    for cell, title in zip((prediction, worked, setup), titles, strict=True):
        assert cell.source.startswith(f"# @title {title}")
        assert cell.metadata["cellView"] == "form"
        assert cell.metadata["jupyter"] == {"source_hidden": True}
    assert folded.source.startswith("<details>\n<summary>Answer")
    assert answer.source == "print(4)"
    with_output = [cell for cell in copied.cells[ADDED:] if cell.get("outputs")]
    assert with_output == [example, setup]


# Each check can fail


def changing(beginning, **changes):
    """A function that changes the first cell of the chapter whose source begins so."""

    def change(cells):
        next(cell for cell in cells[ADDED:] if cell.source.startswith(beginning)).update(changes)

    return change


DAMAGES = {
    "dropped": (lambda cells: cells.pop(ADDED + 3), "order"),
    "other code": (changing("print(5)", source="1"), "other code"),
    "other outputs": (changing("print(5)", outputs=[]), "other outputs"),
    "other text": (changing("# One", source="# Other"), "lost words"),
    "stored prediction": (changing("# @title", outputs=STREAM), "its answer at once"),
    "open answer": (changing("<details>", source="<summary>Answer"), "its answer at once"),
    "page": (changing("# One", source="Press *Run*."), "speaks of the page: '*Run*'"),
    "role": (changing("# One", source="{term}`query`"), "still has {term}`query`"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_of_a_copy_is_reported(damage, chapter, copied):
    assert [*problems(chapter, copied)] == []
    change, message = DAMAGES[damage]
    change(copied.cells)
    assert any(message in problem for problem in problems(chapter, copied))


def test_each_sentence_about_the_page_is_in_a_chapter_and_has_another_form():
    chapters = "\n".join(
        cell.source for page in CHAPTERS for cell in read(ROOT / f"{page}.ipynb").cells
    )
    for key, forms in SENTENCES.items():
        assert forms["page"] in chapters, key
        assert not OF_THE_PAGE.search(in_notebook(f"A. {forms['page']} B.")), key


def test_a_view_of_a_widget_without_a_kernel_is_reported(chapter, copied):
    for cells in (chapter.cells, copied.cells[ADDED:]):
        cells[3].outputs = VIEWED
    (problem,) = problems(chapter, copied)
    assert "view of a widget" in problem


# The chapters. `make test` also writes all copies, checks them as above, and runs two.


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_copy_needs_no_package_and_no_file_that_a_reader_lacks(page):
    present = {"attnbook", *COLAB, *sys.stdlib_module_names}
    for cell in read(ROOT / f"{page}.ipynb").cells:
        if cell.cell_type != "code":
            continue
        assert "../" not in cell.source
        assert "open(" not in cell.source
        for node in ast.walk(ast.parse(cell.source)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert {name.partition(".")[0] for name in names} <= present


@pytest.mark.weekly
def test_each_copy_is_valid_and_leads_to_pages_of_the_published_book(tmp_path, site):
    for name in ("chapters", "img", "_config.yml", "_toc.yml", "LICENSE"):
        (tmp_path / name).symlink_to(ROOT / name)
    paths = write_copies(Origin(tmp_path, REPOSITORY, COMMIT, SITE), tmp_path / "colab")
    assert [f"chapters/{path.stem}" for path in paths] == CHAPTERS
    found = set()
    for path in paths:
        copied = read(path)
        nbformat.validate(copied)
        assert "widgets" not in copied.metadata
        origin = copied.cells[0].source
        assert f"[`0123456789`]({REPOSITORY}/blob/{COMMIT}/chapters/{path.name})" in origin
        assert f"]({SITE}chapters/{path.stem}.html)" in origin
        found |= {*ADDRESS.findall(path.read_text("utf-8"))}

    def is_missing(path: str, anchor: str) -> bool:
        page = site / path
        return not page.is_file() or bool(anchor and anchor not in anchors(page).ids)

    assert len(found) > 50
    assert is_missing("chapters/notation.html", "term-nonsense")
    assert sorted(target for target in found if is_missing(*target)) == []


ADDRESS = re.compile(rf'{SITE}([^)#\s"\\]+)(?:#([^)\s"\\]+))?')


# What is refused


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "reader/attention-book")
    return write_project(tmp_path / "book")


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
