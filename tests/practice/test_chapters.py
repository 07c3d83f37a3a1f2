"""*Write it* and *Find it*: each chapter's exercises are tasks of the judge."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

from attnbook.practice import LIST_TASKS, TASKS, find_task
from attnbook.practice.parts import CHAPTERS
from tools import ROOT
from tools.book.cells import ANSWER, EDITOR, PREDICT, has_tag
from tools.book.notebooks import read
from tools.table_of_contents import pages

# These chapters consist of tasks only.
OF_TASKS = ("attention-from-nothing", "bug-clinic")


def chapters():
    """The chapters before the bug clinic, in their order."""
    names = [Path(page).name for page in pages()]
    return names[names.index("queries-keys-values") : names.index("bug-clinic")]


# All but the first ask for a function, then for a bug.
_, *OTHERS = chapters()
WITH_EXERCISES = [name for name in OTHERS if name not in OF_TASKS]
each_chapter = pytest.mark.parametrize("name", WITH_EXERCISES)


@cache
def cells_of(name):
    """The cells of a chapter, which no test changes."""
    return read(ROOT / "chapters" / f"{name}.ipynb").cells


def cells_below(name, heading):
    """The cells below a heading of the practice."""
    cells = cells_of(name)
    start = next(i for i, cell in enumerate(cells) if cell.source.startswith(heading))
    is_within = lambda cell: not (cell.cell_type == "markdown" and cell.source.startswith("#"))  # noqa: E731
    return [*takewhile(is_within, cells[start + 1 :])]


def code_after(name, heading, *, answers=False):
    """The code cells there: exercises, or their answers."""
    code = (cell for cell in cells_below(name, heading) if cell.cell_type == "code")
    return [cell for cell in code if has_tag(cell, ANSWER) is answers]


def output_of(cell):
    """The result of a cell, as text."""
    (output,) = (output for output in cell.outputs if output.output_type == "execute_result")
    return output.data["text/plain"]


def find_call(cell, call):
    return re.search(rf'{call}\("([\w-]+)", (\w+)\)', cell.source).groups()


def first_definition(source):
    """The name of the first function or class in a cell."""
    definitions = ast.FunctionDef | ast.ClassDef
    return next(it.name for it in ast.parse(source).body if isinstance(it, definitions))


def signature(source):
    (function,) = (it for it in ast.parse(source).body if isinstance(it, ast.FunctionDef))
    return function.name, ast.unparse(function.args)


# Its bug is one of the additive score, which "Additive attention" asks for.
WRITTEN_LATER = {"scoring-functions"}


@pytest.mark.parametrize("name", [name for name in WITH_EXERCISES if name not in WRITTEN_LATER])
def test_write_it_shows_a_task_and_its_unfinished_starter(name):
    *_, statement, cell = code_after(name, "### Write it")
    task, written = find_call(cell, "check")
    assert output_of(statement) == repr(find_task(task))
    starter = find_task(task).starter
    if "class" not in starter:
        name, arguments = signature(starter)
        assert signature(cell.source) == (f"my_{name}", arguments)
    assert f" {written}(" in cell.source


ASKED = re.compile(r'Prediction\.bug\(\n    "([\w-]+)",\n    (\w+),')


@each_chapter
def test_find_it_asks_which_bug_its_code_has_and_then_for_a_fix_and_a_test(name):
    broken, asked, written = code_after(name, "### Find it")
    task, code = ASKED.search(asked.source).groups()
    assert broken.outputs, "its symptom is shown"
    assert code == first_definition(broken.source)
    assert has_tag(asked, PREDICT)
    assert find_call(written, "check")[0] == find_call(written, "grade_tests")[0] == task


@each_chapter
def test_find_it_has_answers_that_the_judge_accepts(name):
    _, asked, _ = code_after(name, "### Find it")
    task, _ = ASKED.search(asked.source).groups()
    fixed, *tested = code_after(name, "### Find it", answers=True)
    assert f"✓ {task}" in output_of(fixed)
    assert output_of(tested[-1]).startswith(f"✓ {task}, ")


IS_FAIR = re.compile(r"is caught\. (It passes|They pass) on every correct implementation\.")
# A line that ends a cell with a verdict.
JUDGED = re.compile(r"^(check|grade_tests)\(", re.MULTILINE)


@pytest.mark.parametrize("name", OF_TASKS)
def test_a_chapter_of_tasks_refuses_its_starters_and_accepts_its_answers(name):
    cells = cells_of(name)
    judged = [cell for cell in cells if cell.cell_type == "code" and JUDGED.search(cell.source)]
    exercises = [
        cell for cell in judged if "# your code" in cell.source or "# a test:" in cell.source
    ]
    answers = [cell for cell in judged if has_tag(cell, ANSWER)]
    assert len(exercises) >= 2
    assert len(answers) >= len(exercises)
    # One answer shows the verdict on a bug on purpose.
    assert sum(is_accepted(output_of(cell)) for cell in answers) >= len(exercises)


def is_accepted(verdict):
    """Whether code is right, or a test catches something and is fair."""
    return "✓" in verdict or ("✗" not in verdict and bool(IS_FAIR.search(verdict)))


@pytest.mark.parametrize("task", TASKS)
def test_a_chapter_asks_for_each_task_with_a_hint_and_an_answer(task):
    found = [
        # In *Find it*, a prediction with its answer is between the hint and the code.
        (cells[max(0, index - 4) : index + 2], cells[index:])
        for cells in map(cells_of, [*chapters(), "bug-clinic"])
        for index, cell in enumerate(cells)
        if "# your code" in cell.source and f'check("{task}"' in cell.source
    ]
    assert found, f"no chapter asks for {task}"
    for near, (_, *after) in found:
        answer = next(cell for cell in after if has_tag(cell, ANSWER) and "check(" in cell.source)
        assert any(":::{dropdown} Hint" in cell.source for cell in near)
        assert f"✓ {task}: right." in output_of(answer)


# Tasks on plain lists, for the editor in the page

ON_PAGE = [
    (name, task) for name, asks in CHAPTERS.items() for _, task in asks if task in LIST_TASKS
]
# The score has no task in torch; pooling in torch is a task of "Scaled dot-product attention".
NO_TASK_IN_TORCH_AFTER = {"score-by-hand", "look-up-by-hand"}


def test_every_task_on_plain_lists_is_in_one_chapter():
    assert sorted(task for _, task in ON_PAGE) == sorted(LIST_TASKS)


def test_every_chapter_before_the_clinic_has_a_task_on_plain_lists():
    assert {name for name, _ in ON_PAGE} == {*chapters()}


def index_of(name, task):
    """The position of the cell with a task's editor in a chapter."""
    return next(
        index
        for index, cell in enumerate(cells_of(name))
        if has_tag(cell, EDITOR) and f'check("{task}"' in cell.source
    )


@pytest.mark.parametrize(("name", "task"), ON_PAGE)
def test_a_task_on_plain_lists_has_an_answer_and_then_the_same_task_in_torch(name, task):
    after = cells_of(name)[index_of(name, task) + 1 :]
    answer = next(cell for cell in after if has_tag(cell, ANSWER) and cell.cell_type == "code")
    between = after[: after.index(answer)]
    assert find_call(answer, "check")[0] == task
    assert output_of(answer).startswith(f"✓ {task}: right.")
    assert any(":::{dropdown} Hint" in cell.source for cell in between)
    assert not any(has_tag(cell, EDITOR) for cell in between)
    if task in NO_TASK_IN_TORCH_AFTER:
        return
    wanted = find_task(task).in_torch.name
    starters = [cell for cell in after if cell.cell_type == "code" and "# your code" in cell.source]
    assert any(f'check("{wanted}"' in cell.source for cell in starters)


@pytest.mark.parametrize("task", [task.name for task in LIST_TASKS.values() if task.draws])
def test_a_task_with_a_figure_has_it_nearby(task):
    [name] = [name for name, known in ON_PAGE if known == task]
    index = index_of(name, task)
    near = cells_of(name)[max(0, index - 2) : index + 4]
    assert any(f'written="{task}"' in cell.source for cell in near)
