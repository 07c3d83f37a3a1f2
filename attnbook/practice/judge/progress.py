"""What a reader has done of a chapter in a notebook, known as long as its Python runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from attnbook.messages import Messages
from attnbook.practice.parts import CHAPTERS

TEXT = Messages(__file__)
CHECKED, GRADED = "check", "grade_tests"
# What cells to write in call the reader's code, or begin its name with; answers have other names.
NAMES, BEGINNINGS = ("fixed", "Fixed", "test_mine"), ("my_", "My")
_results: dict[tuple[str, str], bool] = {}  # of the reader's code, by what was asked for
_latest: dict[str, Callable[..., Any]] = {}  # the reader's code itself, by its task
_listeners: dict[str, list[Callable[[], object]]] = {}  # what draws it, by its task


def progress_after(
    judge: str, task: str, written: Iterable[Callable[..., Any]], *, is_right: bool
) -> str:
    """A sentence on what is done in this chapter and what comes next.

    It is empty after an answer of the book, and while several chapters have what was tried.
    """
    if not any(map(is_own, written)):
        return ""
    _results[judge, task] = is_right
    asked = [{*map(tuple, asks)} for asks in CHAPTERS.values()]
    found = [i for i, each in enumerate(asked) if _results.keys() <= each]
    if len(found) != 1:
        return ""
    to_do = [ask for ask in [*CHAPTERS.values()][found[0]] if not _results.get((ask[0], ask[1]))]
    fields = {"done": len(asked[found[0]]) - len(to_do), "total": len(asked[found[0]])}
    if not to_do:
        return TEXT("chapter_done", **fields)
    next_judge, next_task = to_do[0]
    if next_judge == GRADED:
        return TEXT("chapter_next_tests", task=next_task, **fields)
    return TEXT("chapter_next", task=next_task, **fields)


def is_own(written: Callable[..., Any]) -> bool:
    """Whether code has a name that a cell to write in gives it."""
    name = str(getattr(written, "__name__", ""))
    return name in NAMES or name.startswith(BEGINNINGS)


def remember(task: str, written: Callable[..., Any]) -> None:
    """Keep a reader's function for the figures that draw it."""
    if is_own(written):
        _latest[task] = written
        for listener in _listeners.get(task, []):
            listener()


def latest_function(task: str) -> Callable[..., Any] | None:
    """What the reader of this notebook checked last for a task; None before that."""
    return _latest.get(task)


def listen(task: str, listener: Callable[[], object]) -> None:
    """Call a function whenever the reader's code for a task has been checked."""
    _listeners.setdefault(task, []).append(listener)
