"""Tags of cells in the chapters: set-up, code to write, and the actions of figures."""

from __future__ import annotations

import ast
import re

import pytest

from attnbook import figures
from tools.book.cells import EDITOR, SETUP, TO_WRITE, has_tag
from tools.book.notebooks import FOLDED, chapters, read
from tools.table_of_contents import short_path

CHAPTERS = {path.stem: read(path).cells for path in chapters()}
each_chapter = pytest.mark.parametrize("name", CHAPTERS)

FIRST_PART = [page.rpartition("/")[2] for page in short_path()]
WITHOUT_ACTION = {"Prediction"}
INTERACTIVE = {*figures.__all__} - WITHOUT_ACTION

# Code that teaches: a function, a layer, a training step, an error, a check.
TEACHES = ast.FunctionDef | ast.ClassDef | ast.Try | ast.While | ast.With
# On the path, functions of torch that their paragraph does not explain are folded, too.
TEACHES_ON_THE_PATH = ast.ClassDef | ast.Try | ast.While
JUDGES = {"check", "grade_tests"}


def code(name):
    return [cell for cell in CHAPTERS[name] if cell.cell_type == "code"]


def list_calls(tree):
    """Each function that a program calls, as the parts of its dotted name, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).split("."), node


@each_chapter
def test_exactly_the_code_that_the_reader_completes_is_tagged_so_and_stores_no_output(name):
    for cell in code(name):
        marks = "# your code" in cell.source or "# a test: " in cell.source
        is_unfinished = marks or has_tag(cell, EDITOR)
        assert has_tag(cell, TO_WRITE) == is_unfinished, cell.id
        assert not (is_unfinished and cell.outputs), cell.id


@each_chapter
def test_what_is_folded_on_a_page_is_folded_in_jupyterlab(name):
    for cell in code(name):
        is_folded = any(has_tag(cell, tag) for tag in FOLDED)
        assert cell.metadata.get("jupyter", {}).get("source_hidden", False) == is_folded, cell.id


@each_chapter
def test_set_up_code_does_not_teach(name):
    for cell in code(name):
        if has_tag(cell, SETUP):
            tree = ast.parse(cell.source)
            kinds = TEACHES_ON_THE_PATH if name in FIRST_PART else TEACHES
            taught = [node for node in ast.walk(tree) if isinstance(node, kinds)]
            names = {part for parts, _ in list_calls(tree) for part in parts}
            assert (taught, names & (JUDGES | {"backward"})) == ([], set()), cell.id


ONLY_PREPARES = re.compile(r"import |from |device = |torch\.set_num_threads\(")


@each_chapter
def test_imports_and_the_choice_of_a_device_are_set_up(name):
    for cell in code(name):
        lines = [ast.unparse(node) for node in ast.parse(cell.source).body]
        if lines and all(ONLY_PREPARES.match(line) for line in lines):
            assert has_tag(cell, SETUP), cell.id


@pytest.mark.parametrize("name", FIRST_PART)
def test_each_live_figure_of_the_first_part_begins_with_one_action(name):
    count = 0
    for cell in code(name):
        for (figure, *_), call in list_calls(ast.parse(cell.source)):
            if figure not in INTERACTIVE:
                continue
            actions = [ast.literal_eval(it.value) for it in call.keywords if it.arg == "action"]
            assert actions, f"{cell.id}: {figure} has no action"
            assert actions[0].endswith("?"), cell.id
            texts = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
            assert any(text.startswith(f"{actions[0]}\n{figure}: ") for text in texts), cell.id
            count += 1
    assert count, "a chapter of the first part has a live figure"
