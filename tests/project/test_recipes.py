"""The recipes: short cells that run on their own, and that messages name."""

from __future__ import annotations

import ast
import builtins
import re

import pytest

from tests.project.recipes import programs
from tools import BUDGETS, ROOT
from tools.book.notebooks import read

CELLS = read(ROOT / "chapters" / "recipes.ipynb").cells
SECTION = re.compile(r"^\(recipe-([a-z-]+)\)=\n## (.+)\n", re.MULTILINE)
LISTED = re.compile(r"^- \[(.+)\]\(#recipe-([a-z-]+)\) \((.+)\)$", re.MULTILINE)
CODE = [cell for cell in CELLS if cell.cell_type == "code"]
PROGRAMS = {cell.id: code for cell, code in programs(CELLS)}

sections = [
    match.groups()
    for cell in CELLS
    if cell.cell_type == "markdown"
    for match in SECTION.finditer(cell.source)
]
each_program = pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)


def titles(cell):
    """The questions that begin in a cell of text."""
    return SECTION.findall(cell.source)


def label(name):
    """The label of the recipe with this short name, without "recipe-"."""
    return re.sub(r"[ .]", "-", name.lower())


def names_in_messages():
    """Each short name that a message of the package ends with, and the file that has it."""
    for path in sorted((ROOT / "attnbook").rglob("*.py")):
        text = path.read_text("utf-8")
        tree = ast.parse(text if "see_recipe(" in text else "")
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("see_recipe"):
                yield from ((name, path.name) for name in written(node.args[0], tree))


def written(name, tree):
    """The short names that an expression may be: a literal, or a value of a table of literals."""
    if isinstance(name, ast.Subscript):
        table = ast.unparse(name.value)
        found = [it for it in tree.body if isinstance(it, ast.Assign)]
        (values,) = [it.value for it in found if ast.unparse(it.targets[0]) == table]
        return list(ast.literal_eval(values).values())
    return [ast.literal_eval(name)]


def list_undefined(code):
    """The names that a program reads, and neither imports nor defines."""
    nodes = list(ast.walk(ast.parse(code)))
    known = {*vars(builtins)}
    known |= {it.asname or it.name for it in nodes if isinstance(it, ast.alias)}
    known |= {it.arg for it in nodes if isinstance(it, ast.arg)}
    known |= {it.name for it in nodes if isinstance(it, ast.FunctionDef | ast.ClassDef)}
    names = [it for it in nodes if isinstance(it, ast.Name)]
    known |= {it.id for it in names if isinstance(it.ctx, ast.Store)}
    return {it.id for it in names} - known


def test_each_recipe_that_a_message_names_is_a_section():
    labels, named = {of for of, _ in sections}, list(names_in_messages())
    assert ("convert a mask", "conversion.py") in named
    assert [it for it in named if label(it[0]) not in labels] == []


def test_the_list_at_the_top_has_each_question():
    listed = LISTED.findall(CELLS[0].source)
    assert [(of, title) for title, of, _ in listed] == sections
    assert [label(name) for _, _, name in listed] == [of for of, _ in sections]
    assert len(sections) >= 16
    assert all(title.endswith("?") for _, title in sections)


@each_program
def test_a_recipe_runs_on_its_own(code):
    assert list_undefined(code) == set()


def test_cells_are_short_and_a_cell_without_result_is_followed_by_one_with_it():
    long = BUDGETS["recipe"]["lines"]
    assert [cell.id for cell in CODE if len(cell.source.splitlines()) > long] == []
    # One letter per cell: N shows nothing, R a result; a recipe begins with a question, Q.
    kinds = "".join(
        ("R" if cell.outputs else "N") if cell.cell_type == "code" else "Q" * len(titles(cell))
        for cell in CELLS
    )
    assert re.fullmatch("(Q(R|RR|NR))+", kinds)


def test_the_chapter_on_caches_shows_the_test_that_the_recipe_has():
    [recipe] = [cell.source for cell in CODE if "def check_cache" in cell.source]
    chapter = read(ROOT / "chapters" / "writing-with-a-cache.ipynb")
    assert recipe in [cell.source for cell in chapter.cells]
