"""`CodeTask`: a task on plain lists, written and judged in the page."""

from __future__ import annotations

from html import escape
from typing import Any

import traitlets

from attnbook.figures.shared.base import Figure, inline, module, stylesheet
from attnbook.practice.judge.data import data_of, parts_of
from attnbook.practice.list_task import ListTask
from attnbook.practice.registry import find_list_task

KEYS = "Ctrl+Enter runs it. Tab indents, Escape leaves the editor."

MISSING = "not written yet. The book’s version is used. Write it"  # of a part, as in `parts.js`


class CodeTask(Figure):
    """Asks for a function on plain lists, runs what is written, and says what is wrong.

    On the book's pages the code runs in the page itself, by MicroPython, which comes at the
    first touch. In Jupyter and Colab, which have a Python, the figure shows what is asked.

    Args:
        task: its name, one of `attnbook.practice.LIST_TASKS`.
        caption: one sentence below the figure.

    Raises:
        ValueError: there is no such task on plain lists.
    """

    _esm = module("code/figure.js")
    _css = stylesheet("shared/theme.css", "code/style.css")

    statement = traitlets.Unicode().tag(sync=True)
    starter = traitlets.Unicode().tag(sync=True)
    hint = traitlets.Unicode(KEYS).tag(sync=True)  # which do what in the editor
    in_torch = traitlets.Unicode().tag(sync=True)  # the task that asks for the same on tensors
    task: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)  # what the judge goes by
    parts: traitlets.List[Any] = traitlets.List().tag(sync=True)  # what the code may call
    still_html = traitlets.Unicode().tag(sync=True)  # on a page, until it is alive
    late: traitlets.List[str] = traitlets.List().tag(sync=True)  # what the page keeps ready

    def __init__(self, task: str, *, caption: str = "") -> None:
        asked = find_list_task(task)
        super().__init__(
            kind="code",
            statement=asked.statement,
            starter=asked.starter,
            in_torch=asked.in_torch.name if asked.in_torch else "",
            task=data_of(asked.name),
            parts=parts_of(asked),
            late=["editor", "python"],
            caption=caption,
            static_text=f"CodeTask {task}: {asked.statement}\n\n{asked.starter}",
            still_html=_still(asked),
        )


def _still(task: ListTask) -> str:
    """The question as `figure.js` will show it, so that nothing moves when it comes alive."""
    names = [part["called"] for part in parts_of(task)]
    lines = [f"<li><code>{name}</code>: {MISSING}</li>" for name in names]
    parts = f'<ul class="parts">{"".join(lines)}</ul>' if lines else ""
    return (
        f'<div class="attnbook-code"><p>{inline(task.statement)}</p>'
        f"{parts}<pre>{escape(task.starter)}</pre>"
        f"<div><b>Run</b><b>Start again</b>"
        f"<small>{KEYS} What this Python lacks.</small></div></div>"
    )
