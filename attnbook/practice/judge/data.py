"""A task on plain lists as data for a page, which gets no bug's code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from attnbook.practice.judge.lists import as_plain, outcome_of
from attnbook.practice.list_task import ListTask
from attnbook.practice.parts import part_of
from attnbook.practice.registry import find_list_task
from attnbook.practice.task import Function


@cache
def data_of(name: str) -> dict[str, Any]:
    """The outcomes of right code and of each bug of a task in each case, for JSON."""
    return as_data(find_list_task(name))


def as_data(task: ListTask) -> dict[str, Any]:
    """The same for a task that need not be registered."""
    bugs = [bug.function for bug in task.bugs.values()]
    return {
        "name": task.name,
        "called": task.called,
        "arguments": task.arguments,
        "bugs": [[bug.cause, bug.fix] for bug in task.bugs.values()],
        "planted": task.to_find,
        "fix_later": task.fix_later,
        "cases": [
            {
                "name": case.name,
                "arguments": (inputs := as_plain(case.make())),
                "right": (right := _outcome(task.reference, inputs)),
                "bugs": [
                    None if (done := _outcome(bug, inputs)) == right else done for bug in bugs
                ],
            }
            for case in task.cases.values()
        ],
    }


def parts_of(names: Sequence[str]) -> list[dict[str, Any]]:
    """Functions that code may call, by their tasks, with the data to judge a reader's own."""
    judged = [as_data(replace(find_list_task(name), bugs={})) for name in names]
    return [{"task": each, **part_of(each["name"])} for each in judged]


def _outcome(function: Function, arguments: list[Any]) -> dict[str, Any]:
    done = outcome_of(function, arguments)
    return {what: _round_numbers(value) for what, value in done.items() if what != "error"}


def _round_numbers(value: Any) -> Any:
    """Round to seven digits, which are more than the judge compares."""
    if isinstance(value, list):
        return [_round_numbers(each) for each in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value
