"""`CodeTask`: a task on plain lists, written and judged in the page."""

from __future__ import annotations

from html import escape
from typing import Any

import traitlets

from attnbook.figures.shared.base import Figure, inline, module, stylesheet
from attnbook.messages import Messages
from attnbook.practice.judge.data import data_of, parts_of
from attnbook.practice.list_task import ListTask
from attnbook.practice.registry import find_list_task

TEXT = Messages(__file__)


class CodeTask(Figure):
    """A task on plain lists: the figure runs the reader's code and reports what is wrong.

    On the book's pages the code runs in the page itself, by MicroPython, which is loaded at
    the first touch. In Jupyter and Colab, which have a Python, the figure shows the statement.

    Args:
        task: its name, one of `attnbook.practice.LIST_TASKS`.
        caption: one sentence below the figure.

    Raises:
        ValueError: there is no such task on plain lists.

    Example:
        >>> from attnbook.figures import CodeTask
        >>> CodeTask("softmax-by-hand").task["name"]
        'softmax-by-hand'
    """

    _esm = module("code/figure.js")
    _css = stylesheet("shared/theme.css", "shared/question.css", "code/style.css")

    statement = traitlets.Unicode().tag(sync=True)
    starter = traitlets.Unicode().tag(sync=True)
    task: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)  # what the judge needs
    parts: traitlets.List[Any] = traitlets.List().tag(sync=True)  # functions that the code may call
    still_html = traitlets.Unicode().tag(sync=True)  # on a page, until its script runs
    # Scripts that the page loads when they are needed.
    late: traitlets.List[str] = traitlets.List().tag(sync=True)

    def __init__(self, task: str, *, caption: str = "") -> None:
        list_task = find_list_task(task)
        statement = list_task.full_statement
        title = TEXT("title", task=task, statement=statement)
        super().__init__(
            kind="code",
            statement=statement,
            starter=list_task.starter,
            task=data_of(list_task.name),
            parts=parts_of(list_task.parts),
            late=["editor", "python"],
            caption=caption,
            static_text=f"{title}\n\n{list_task.starter}",
            still_html=_static_html(list_task),
        )


def _static_html(task: ListTask) -> str:
    """Lay the task out as `figure.js` does, so that nothing moves when the script runs."""
    missing = f"{TEXT.group('part')['missing']} {TEXT.group('part_link')['missing']}"
    lines = [f"<li><code>{it['called']}</code>: {missing}</li>" for it in parts_of(task.parts)]
    parts = f'<ul class="parts">{"".join(lines)}</ul>' if lines else ""
    return (
        f'<div class="attnbook-code"><p>{inline(task.full_statement)}</p>'
        f"{parts}<pre>{escape(task.starter)}</pre>"
        f"<div><b>{TEXT('run')}</b><b>{TEXT('start_again')}</b>"
        f"<small>{TEXT('keys')} {TEXT('what_python_lacks')}</small></div></div>"
    )
