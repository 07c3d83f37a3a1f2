"""Cells of notebooks for tasks on plain lists: as their tasks say, and harmless to later cells."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

from attnbook.practice import LIST_TASKS
from attnbook.practice.judge.progress import is_own
from attnbook.practice.parts import CHAPTERS
from tests.figures.code.interpreters import as_typed
from tools.book import editors, notebooks
from tools.book.cells import EDITOR, TO_WRITE, has_tag, task_in
from tools.colab.end_to_end import texts

WITH_TASKS = [path for path in notebooks.chapters() if '"editor"' in path.read_text("utf-8")]


def is_editor(cell):
    return has_tag(cell, EDITOR)


@pytest.mark.parametrize("path", WITH_TASKS, ids=lambda path: path.stem)
def test_a_chapters_cells_are_those_that_its_tasks_give(path):
    stored, fresh = notebooks.read(path), notebooks.read(path)
    for cell in filter(is_editor, fresh.cells):
        cell.source = f'check("{task_in(cell.source)}", None)'
    editors.refresh(fresh)
    assert [cell.source for cell in fresh.cells] == [cell.source for cell in stored.cells]


def test_the_judge_knows_what_each_chapter_asks_for():
    asked = {path.stem: editors.asked_in(notebooks.read(path)) for path in notebooks.chapters()}
    assert json.loads(editors.as_json(asked)) == CHAPTERS


JUDGED = re.compile(r'\b(?:check|grade_tests)\("[\w-]+", \[?(\w+)')


def test_what_is_to_be_written_has_a_name_that_counts_and_no_answer_has():
    for path in notebooks.chapters():
        for cell in notebooks.read(path).cells:
            for name in JUDGED.findall(cell.source):
                assert is_own(SimpleNamespace(__name__=name)) == has_tag(cell, TO_WRITE), (
                    f"{path.stem}: {name}"
                )


def written_in(path, choose):
    """A chapter in which the reader has written all tasks on plain lists, by known code."""
    notebook = notebooks.read(path)
    for cell in filter(is_editor, notebook.cells):
        task = LIST_TASKS[task_in(cell.source)]
        own = f"my_{task.called}"
        code = re.sub(rf"\b{task.called}\b", own, as_typed(task, choose(task).function))
        head, _, _ = cell.source.partition("\n\n\n")  # its imports and its statement
        naming = f'{own}.__name__ = "{own}"'
        cell.source = f'{head}\n\n\n{code}\n{naming}\nprint(check("{task.name}", {own}))'
        cell.metadata.tags = [TO_WRITE]  # or the page's editor would run instead
    return notebook


def right(task):
    return next(iter(task.solutions.values()))


def wrong(task):
    return next(iter(task.bugs.values()))


CASES = [(path, choose) for path in WITH_TASKS for choose in (right, wrong)]


@pytest.mark.few(2)
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[f"{path.stem}-{it.__name__}" for path, it in CASES])
def test_what_a_reader_writes_is_judged_and_changes_no_other_output(case):
    path, choose = case
    stored = notebooks.read(path)
    executed = notebooks.run(written_in(path, choose), path.parent)
    for before, after in zip(stored.cells, executed.cells, strict=True):
        if is_editor(before):
            task, (verdict,) = LIST_TASKS[task_in(before.source)], texts(after)
            assert re.search(r"\d of \d+ done in this chapter|All \d+ done", verdict), verdict
            if choose is right:
                assert f"✓ {task.name}: right." in verdict
            else:
                assert f"✗ {task.name}: not yet." in verdict
                bug = choose(task)
                assert bug.cause in verdict or task.to_find[1] in verdict
        elif not has_tag(before, TO_WRITE):
            assert texts(after) == texts(before), before.source
