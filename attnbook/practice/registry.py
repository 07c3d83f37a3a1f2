"""All tasks with their bugs: those of each module in the folder `tasks`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

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
