"""All tasks with their bugs: those of each module in the folder `tasks`."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module

import torch

from attnbook.practice import tasks
from attnbook.practice.example_inputs import with_other_numbers
from attnbook.practice.list_task import ListTask
from attnbook.practice.task import Bug, Case, Task

_NAMES = [module.name for module in pkgutil.iter_modules(tasks.__path__)]
_MODULES = [import_module(f"{tasks.__name__}.{name}") for name in _NAMES]
TASKS: dict[str, Task] = {
    module.task.name: module.task for module in _MODULES if hasattr(module, "task")
}
LIST_TASKS: dict[str, ListTask] = {
    module.by_hand.name: module.by_hand for module in _MODULES if hasattr(module, "by_hand")
}


def _repeat_a_case(task: Task) -> None:
    """Repeat a case with other numbers: what an answer stored in an earlier call must not matter.

    It is the first case in which most arguments change; a number or a size alone does not.
    """

    def count_changed(case: Case) -> int:
        pairs = ((each, with_other_numbers(each)) for each in case.make())
        return sum(
            not torch.equal(one, other) if isinstance(one, torch.Tensor) else one != other
            for one, other in pairs
        )

    case = max(task.cases.values(), key=count_changed)
    if count_changed(case):
        task.case("the same shapes again, with other numbers", gradients=case.gradients)(
            lambda: tuple(map(with_other_numbers, case.make()))
        )


for _task in (*TASKS.values(), *LIST_TASKS.values()):
    _repeat_a_case(_task)


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


def find_bugs(task: str, names: Sequence[str]) -> list[Bug]:
    """Give known bugs of a task by their names; raises a ValueError for any other name."""
    known = find_task(task).bugs
    for name in names:
        if name not in known:
            raise ValueError(f"bugs of {task} are {', '.join(known)}, got {name!r}")
    return [known[name] for name in names]


def find_list_task(name: str) -> ListTask:
    """Give a task on plain lists by its name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in LIST_TASKS:
        raise ValueError(f"task must be one of {', '.join(LIST_TASKS)}, got {name!r}")
    return LIST_TASKS[name]
