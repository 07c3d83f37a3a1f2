"""All tasks with their bugs: those of each module in the folder `tasks`."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from attnbook.practice import tasks
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Task

_NAMES = [module.name for module in pkgutil.iter_modules(tasks.__path__)]
_MODULES = [import_module(f"{tasks.__name__}.{name}") for name in _NAMES]
TASKS: dict[str, Task] = {
    module.task.name: module.task for module in _MODULES if hasattr(module, "task")
}
LIST_TASKS: dict[str, ListTask] = {
    module.by_hand.name: module.by_hand for module in _MODULES if hasattr(module, "by_hand")
}


def find_task(name: str) -> Task:
    """Give a task by its name.

    Raises:
        ValueError: there is none of that name.

    Example:
        >>> from attnbook.practice import find_task
        >>> find_task("masked-softmax").called
        'masked_softmax'
    """
    known = {**TASKS, **LIST_TASKS}
    if name not in known:
        raise ValueError(f"task must be one of {', '.join(known)}, got {name!r}")
    return known[name]


def find_list_task(name: str) -> ListTask:
    """Give a task on plain lists by its name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in LIST_TASKS:
        raise ValueError(f"task must be one of {', '.join(LIST_TASKS)}, got {name!r}")
    return LIST_TASKS[name]


def wrong_answers(task: str, arguments: Sequence[Any], *names: str) -> dict[str, Any]:
    """Run known bugs on these arguments; give each result by a sentence about the bug.

    `Prediction` takes the result as its `wrong_answers`.

    Raises:
        ValueError: there is no such task, or it has no such bug.

    Example:
        >>> from attnbook.practice import wrong_answers
        >>> inputs = torch.zeros(1, 1, 4), torch.tensor([2])
        >>> found = wrong_answers("masked-softmax", inputs, "padding filled with zero")
        >>> [*found.values()]
        [tensor([[[0.2500, 0.2500, 0.2500, 0.2500]]])]
    """
    known = find_task(task).bugs
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"bugs of {task} are {', '.join(known)}, got {unknown[0]!r}")
    return {
        f"This is what you get when {known[name].cause}": known[name].function(*arguments)
        for name in names
    }
