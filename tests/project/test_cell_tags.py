"""Tags and figures of the chapters: set-up, cells to write, and what a figure asks for."""

from __future__ import annotations

import ast
import re

import pytest

from attnbook import figures
from tools.book.cells import ANSWER, SETUP, TO_WRITE, has_tag
from tools.book.notebooks import chapters, read
from tools.table_of_contents import short_path

CHAPTERS = {path.stem: read(path).cells for path in chapters()}
each_chapter = pytest.mark.parametrize("name", CHAPTERS)

# The part of the contents that a reader reads in 90 minutes.
FIRST_PART = [page.rpartition("/")[2] for page in short_path()]
ASK_BY_THEMSELVES = {"Prediction", "CodeTask"}
LIVE = {*figures.__all__} - ASK_BY_THEMSELVES

# What teaches: a function, a layer, a training step, an error, a judge.
TEACHES = ast.FunctionDef | ast.ClassDef | ast.Try | ast.While | ast.With
JUDGES = {"check", "grade_tests"}


def code(name):
    return [cell for cell in CHAPTERS[name] if cell.cell_type == "code"]


def verdicts(cell):
    """The verdicts that a cell stores."""
    texts = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return [text for text in texts if text.startswith(("✓", "✗"))]


def called(tree):
    """Each function that a program calls, as the parts of its dotted name, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).split("."), node


@each_chapter
def test_what_a_checker_refuses_is_tagged_for_the_reader_to_write_and_nothing_else_is(name):
    for cell in code(name):
        refused = any(verdict.startswith("✗") for verdict in verdicts(cell))
        wanted = refused and not has_tag(cell, ANSWER)
        assert has_tag(cell, TO_WRITE) == wanted, cell.id


@each_chapter
def test_set_up_only_imports_names_and_draws(name):
    for cell in code(name):
        if has_tag(cell, SETUP):
            tree = ast.parse(cell.source)
            taught = [node for node in ast.walk(tree) if isinstance(node, TEACHES)]
            names = {part for parts, _ in called(tree) for part in parts}
            assert (taught, names & (JUDGES | {"backward"})) == ([], set()), cell.id


ONLY_PREPARES = re.compile(r"import |from |device = |torch\.set_num_threads\(")


@each_chapter
def test_imports_and_the_choice_of_a_device_are_set_up(name):
    for cell in code(name):
        lines = [ast.unparse(node) for node in ast.parse(cell.source).body]
        if lines and all(ONLY_PREPARES.match(line) for line in lines):
            assert has_tag(cell, SETUP), cell.id


@pytest.mark.parametrize("name", FIRST_PART)
def test_each_live_figure_of_the_first_part_begins_by_asking_for_one_action(name):
    shown = 0
    for cell in code(name):
        for (figure, *_), call in called(ast.parse(cell.source)):
            if figure not in LIVE:
                continue
            asked = [ast.literal_eval(it.value) for it in call.keywords if it.arg == "action"]
            assert asked, f"{cell.id}: {figure} has no action"
            assert asked[0].endswith("?"), cell.id
            texts = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
            assert any(text.startswith(f"{asked[0]}\n{figure}: ") for text in texts), cell.id
            shown += 1
    assert shown, "a chapter of the first part has a live figure"
