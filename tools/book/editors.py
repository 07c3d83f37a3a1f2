"""The cells of notebooks for tasks on plain lists; on a page, the task's editor replaces the cell.

An author writes a cell with `check("NAME")` and the tags `to-write` and `editor`; `make notebooks`
writes the rest of it.
"""

from __future__ import annotations

import json
import re
from textwrap import fill, indent

from nbformat import NotebookNode

from attnbook.practice import LIST_TASKS
from attnbook.practice.list_task import ListTask
from attnbook.practice.parts import part_of
from tools import ROOT
from tools.book.cells import EDITOR, TO_WRITE, has_tag, task_in

WIDTH = 78  # of a line of code in a chapter
CHECK = "from attnbook.practice import check"
ASKS = re.compile(r'\b(check|grade_tests)\("([\w-]+)"')
CHAPTERS = ROOT / "attnbook" / "practice" / "chapters.json"
CODE = re.compile("`[^`]*`")
IMPORTS = re.compile(r"^(?:import|from) .*\n+", re.MULTILINE)


def cell_to_write(task: ListTask, before: str = "") -> str:
    """The code of a notebook's cell: the statement, the starter under a name of its own, a check.

    The package has functions of the same names, which later cells may call. What the code `before`
    imports is not imported again.
    """
    starters = [line.strip() for line in IMPORTS.findall(task.starter)]
    lines = [*starters, "", CHECK, *import_of_parts(task)]
    new = "\n".join(line for line in lines if not line or line not in before)
    # No line breaks within code.
    statement = CODE.sub(
        lambda it: it[0].replace(" ", "\0"), with_name(task.full_statement, task.called)
    )
    comment = indent(fill(statement, WIDTH - 2, break_on_hyphens=False), "# ").replace("\0", " ")
    starter = IMPORTS.sub("", task.starter).replace("\n    ...", "\n    # your code\n    ...")
    functions = re.sub(r"\n+(?=def )", "\n\n\n", with_name(starter, task.called))
    call = f'check("{task.name}", my_{task.called})'
    return f"{new.strip()}\n\n{comment}\n\n\n{functions}\n\n\n{call}".strip()


def import_of_parts(task: ListTask) -> list[str]:
    """The line that imports the functions that the reader's code may call."""
    called = sorted(part_of(part)["called"] for part in task.parts)
    return [f"from attnbook.practice.parts import {', '.join(called)}"] if called else []


def with_name(text: str, called: str) -> str:
    """A text in which the function has the name that it has in a notebook."""
    return re.sub(rf"\b{called}\(", f"my_{called}(", text)


def refresh(notebook: NotebookNode) -> None:
    """Write the cells of all tasks on plain lists."""
    before = ""
    for cell in notebook.cells:
        if has_tag(cell, EDITOR):
            cell.source = cell_to_write(LIST_TASKS[task_in(cell.source)], before)
        if cell.cell_type == "code":
            before += f"{cell.source}\n"


def asked_in(notebook: NotebookNode) -> list[list[str]]:
    """What the cells ask the reader for, in order: the function of the judge, and the task."""
    cells = (cell.source for cell in notebook.cells if has_tag(cell, TO_WRITE))
    found = (ask for source in cells for ask in ASKS.findall(source))
    return [list(ask) for ask in dict.fromkeys(found)]


def write_asked(asked: dict[str, list[list[str]]]) -> None:
    """Write what each chapter asks for where the judge reads it."""
    CHAPTERS.write_text(as_json(asked), "utf-8")


def as_json(asked: dict[str, list[list[str]]]) -> str:
    """A line for each chapter."""
    lines = (f"  {json.dumps(name)}: {json.dumps(asks)}" for name, asks in asked.items() if asks)
    return "{\n" + ",\n".join(lines) + "\n}\n"
