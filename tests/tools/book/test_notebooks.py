"""The checks of the chapters, each of which can fail, and the chapters themselves."""

from __future__ import annotations

import re
import sys

import nbformat
import pytest

from tests.conftest import needs_cuda
from tools import ROOT
from tools.book import notebooks


def code(source, **changes):
    cell = nbformat.v4.new_code_cell(source, execution_count=1)
    cell.update(changes)
    return cell


def stream(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


def error(name="ValueError"):
    return nbformat.v4.new_output("error", ename=name, evalue="", traceback=[])


def make_tags(tag):
    return nbformat.from_dict({"tags": [tag]})


def book_with(folder, *cells):
    """Write a book of one chapter; gives the chapter's path."""
    (folder / "chapters").mkdir(parents=True)
    (folder / "chapters" / "first.md").write_text("# First\n")
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/first\nchapters:\n  - file: chapters/second\n"
    )
    path = folder / "chapters" / "second.ipynb"
    notebook = nbformat.v4.new_notebook(cells=list(cells))
    for number, cell in enumerate(notebook.cells):
        cell.id = f"second-{number}"
    nbformat.write(notebook, path)
    return path


def problems_in(folder):
    return list(notebooks.problems_of_book(folder))


@pytest.mark.parametrize(
    "cell",
    [
        code("print(1)", outputs=[stream("1\n")]),
        code("steps = 3  # one at a time\nprint('for the time being')"),
        code("f()", outputs=[error()], metadata=make_tags("raises-exception")),
    ],
    ids=["clean", "words", "expected error"],
)
def test_a_clean_chapter_passes_every_check(tmp_path, cell):
    book_with(tmp_path, cell)
    assert problems_in(tmp_path) == []


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (code("1", execution_count=None), "has no stored output"),
        (code("f()", outputs=[error()]), "stores an error"),
        (code("1", metadata=make_tags("raises-exception")), "raised none"),
        (code("w()", outputs=[stream("UserWarning: no\n", "stderr")]), "UserWarning: no"),
        (code("1", metadata=make_tags("nbval-ignore-output")), "nbval-ignore-output"),
        (code("1", metadata=make_tags("NBVAL_SKIP")), "NBVAL_SKIP"),
        (code("def masked_softmax(scores):\n    pass"), "defines masked_softmax again"),
        (code("class AdditiveAttention:\n    pass"), "defines AdditiveAttention again"),
        (code("from time import perf_counter"), "reads a clock (time)"),
        (code("%timeit f(x)"), "reads a clock (timeit)"),
        (code("print(result.times_as_fast('ours').low > 2)"), "reads a clock (times_as_fast)"),
    ],
)
def test_a_check_names_the_cell_and_what_is_wrong(tmp_path, cell, sentence):
    book_with(tmp_path, code("1"), cell)

    (problem,) = problems_in(tmp_path)

    assert problem.startswith("chapters/second.ipynb: cell 1 ")
    assert sentence in problem


def test_a_notebook_missing_from_the_contents_and_stored_widget_state_are_named(tmp_path):
    path = book_with(tmp_path, code("1"))
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: chapters/first\n")
    notebook = notebooks.read(path)
    notebook.metadata["widgets"] = {}
    nbformat.write(notebook, path)

    found = problems_in(tmp_path)
    assert "chapters/second.ipynb: is missing from _toc.yml" in found
    assert "chapters/second.ipynb: stores widget state" in found


def test_the_book_itself_passes_every_check():
    assert problems_in(ROOT) == []
    for path in notebooks.chapters():  # or each run would change the ids
        assert all(cell.id.startswith(path.stem) for cell in notebooks.read(path).cells)


def test_cells_with_random_ids_are_named_after_their_chapter_and_others_stay():
    names = ["topic-1", "5f3a", "topic-extra", "a77e"]
    cells = [nbformat.v4.new_code_cell("1", id=name) for name in names]
    notebook = nbformat.v4.new_notebook(cells=cells)

    notebooks.name_cells(notebook, "topic")

    assert [cell.id for cell in cells] == ["topic-1", "topic-0", "topic-extra", "topic-2"]


@pytest.mark.slow
def test_an_execution_stores_outputs_and_a_failed_one_changes_nothing(tmp_path):
    unfinished = code("print('✗')", metadata=make_tags("to-write"))
    path = book_with(tmp_path, code("sum([1, 2])"), code("print('x')"), unfinished)
    notebooks.execute(path)
    once = path.read_bytes()
    assert b'"3"' in once
    assert notebooks.read(path).cells[2].outputs == []

    path.write_bytes(once.replace(b"sum([1, 2])", b"1 / 0"))
    before = path.read_bytes()
    with pytest.raises(Exception, match="ZeroDivisionError"):
        notebooks.execute(path)
    assert path.read_bytes() == before


@pytest.mark.few(100)  # all
@pytest.mark.slow
@needs_cuda
@pytest.mark.parametrize("path", notebooks.chapters(), ids=lambda path: path.stem)
def test_a_chapter_uses_a_gpu_and_gives_what_it_stores(path):
    assert notebooks.works_on(path, "cuda")
    assert notebooks.compare([path], "cuda") == 0


def test_an_unknown_chapter_is_refused_with_those_that_exist(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["notebooks", "execute", "nonsense"])
    with pytest.raises(SystemExit, match="2"):
        notebooks.main()
    message = "no chapter named nonsense; there are: welcome, where-attention-comes-in"
    assert message in capsys.readouterr().err


CALL = """import torch
from attnbook import *
x = torch.ones(1, {size}, 5)
print(len({layer}(x, x, x, torch.tensor([7]))))"""
LAYERS = ["DotProductAttention()", "AdditiveAttention(5, 5, 5)"]


@pytest.mark.weekly
def test_a_wrong_digit_and_a_layer_that_runs_other_lines_than_the_book_shows_fail(
    tmp_path, capfd, monkeypatch
):
    monkeypatch.setattr(notebooks, "SIDE_BY_SIDE", ["--numprocesses=0"])
    calls = [CALL.format(layer=layer, size=size) for size in (9, 300) for layer in LAYERS]
    cells = [code(call, outputs=[stream("1\n")]) for call in calls]
    wrong = code("print(0.3333)", outputs=[stream("0.3334\n")])
    unfinished = code("print('✗')", metadata=make_tags("to-write"))
    assert notebooks.compare_as_shown([book_with(tmp_path, wrong, *cells, unfinished)]) == 1
    pattern = r"^FAILED .*chapters/second\.ipynb::Cell (\d)"
    failed = re.findall(pattern, capfd.readouterr().out, re.MULTILINE)
    assert sorted(failed) == ["0", "3", "4"]
