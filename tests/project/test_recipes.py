"""The recipes: short cells that run on their own, and that messages name."""

from __future__ import annotations

import ast
import builtins
import re

import pytest

from tools import BUDGETS, ROOT
from tools.book.notebooks import read

CELLS = read(ROOT / "chapters" / "recipes.ipynb").cells
SECTION = re.compile(r"^\(recipe-([a-z-]+)\)=\n## (.+)\n", re.MULTILINE)
LISTED = re.compile(r"^- \[(.+)\]\(#recipe-([a-z-]+)\) \((.+)\)$", re.MULTILINE)
CODE = {cell.id: cell for cell in CELLS if cell.cell_type == "code"}

sections = [
    match.groups()
    for cell in CELLS
    if cell.cell_type == "markdown"
    for match in SECTION.finditer(cell.source)
]
each_recipe = pytest.mark.parametrize("cell", CODE.values(), ids=CODE)


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


def test_the_list_at_the_top_has_each_question_and_each_has_one_cell_or_two():
    listed = LISTED.findall(CELLS[0].source)
    assert [(of, title) for title, of, _ in listed] == sections
    assert [label(name) for _, _, name in listed] == [of for of, _ in sections]
    assert len(sections) >= 16
    assert all(title.endswith("?") for _, title in sections)
    # One letter per cell: a question begins at Q, and C is code.
    kinds = "".join(
        "Q" * len(SECTION.findall(cell.source)) if cell.cell_type == "markdown" else "C"
        for cell in CELLS
    )
    assert re.fullmatch("(QCC?)+", kinds)


@each_recipe
def test_a_recipe_is_short_runs_on_its_own_and_shows_a_result(cell):
    assert len(cell.source.splitlines()) <= BUDGETS["recipe"]["lines"]
    assert list_undefined(cell.source) == set()
    assert cell.outputs
