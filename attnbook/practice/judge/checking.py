"""Check what a reader wrote: which case fails and how, and which known bug does the same."""

from __future__ import annotations

from typing import Any

from attnbook.practice.judge import judging, lists
from attnbook.practice.judge.data import data_of
from attnbook.practice.judge.reading import name_of, plain_value
from attnbook.practice.judge.run_safely import own_names, run, session
from attnbook.practice.judge.tensors import (
    ENDLESS,
    UNREADABLE,
    Outcome,
    difference,
    outcome_of,
    same,
    says_nothing,
)
from attnbook.practice.judge.verdicts import Verdict
from attnbook.practice.list_task import ListTask
from attnbook.practice.registry import find_task
from attnbook.practice.task import Bug, Case, Function, Task

# Kinds of problems that say enough by themselves.
SAY_ENOUGH = ("call", ENDLESS, UNREADABLE, "returned NoneType")
# Kinds that no function of ours has unless the machine is at its limits.
UNEXPECTED = (ENDLESS, UNREADABLE, "MemoryError", "RecursionError")


def check(task: str, written: Function) -> Verdict:
    """Check a reader's own implementation against every case of a task.

    Args:
        task: its name; `attnbook.practice.TASKS` holds them all.
        written: the function, or for a layer the class, that the task asks for. It runs in
            a thread of its own for at most ten seconds a case. Practice is for the honest: what
            a reader's code does by mistake changes nothing, and what it does to deceive the
            judge on purpose is not looked for.

    Returns:
        What holds, else the first case that fails, in words, and the known bugs that give
        the same. It never shows the right numbers.

    Raises:
        ValueError: there is no such task.
        TypeError: what was given cannot be called.
    """
    found = find_task(task)
    if not callable(written):
        raise TypeError(
            f"written must be the function itself, got {type(written).__name__}: "
            f"check({task!r}, {found.called})"
        )
    return judge_lists(found, written) if isinstance(found, ListTask) else judge(found, written)


def judge_lists(task: ListTask, written: Function) -> Verdict:
    """Let the judge of plain lists do it, as on the book's page, with a limit for each call."""
    printed, decided = "", False

    def does(function: Function, arguments: list[Any]) -> dict[str, Any]:
        nonlocal printed
        ran = run(lambda: lists.outcome_of(function, arguments, plain_value))
        printed = printed if decided else ran.printed
        if ran.endless:
            return {"refused": ran.endless}
        if ran.error is not None:
            return {"refused": f"The result cannot be read: {name_of(ran.error)}."}
        outcome: dict[str, Any] = ran.value
        return outcome

    def before_naming() -> None:
        nonlocal decided
        decided = True

    with session():
        found = lists.judge(data_of(task.name), written, before_naming, does)
    cases, bugs = [*task.cases.values()], [*task.bugs.values()]
    return Verdict(
        task,
        held=[case.name for case in cases[: found["held"]]],
        failed=None if found["case"] is None else cases[found["case"]],
        wrong=found["wrong"],
        printed=printed,
        bugs=[bugs[number] for number in found["bugs"]],
    )


def judge(task: Task, written: Function) -> Verdict:
    """Run the cases in their order, up to the first that fails; then look for its bug."""
    answer = OnTensors(task, written)
    with session():
        found = judging.judge(answer)
    names, bugs = [*task.cases], [*task.bugs.values()]
    if not found["wrong"]:
        return Verdict(task, names)
    held, outcome = found["held"], found["outcome"]
    failed = task.cases[names[held]]
    same = [bugs[number] for number in found["bugs"]]
    return Verdict(task, names[:held], failed, found["wrong"], outcome.printed, same)


class OnTensors:
    """What was written for a task on tensors, as `judging` looks at it."""

    def __init__(self, task: Task, written: Function) -> None:
        self.task, self.written = task, written
        self.cases, self.bugs = [*task.cases.values()], [*task.bugs.values()]
        self.num_cases, self.num_bugs = len(self.cases), len(self.bugs)

    def run(self, case: int) -> Outcome:
        """A known bug, as the book's figures hand it over, is not run again."""
        for bug in self.bugs:
            if bug.function is self.written:
                return of_bug(self.task, self.cases[case], bug)
        return outcome_of(self.task, self.cases[case], self.written)

    def difference(self, case: int, outcome: Outcome) -> str:
        right = expected(self.task, self.cases[case])
        return difference(self.task, self.cases[case], outcome, right)

    def is_same(self, case: int, outcome: Outcome, bug: int) -> bool:
        other = of_bug(self.task, self.cases[case], self.bugs[bug])
        return same(self.task, self.cases[case], outcome, other)

    def is_wrong(self, case: int, bug: int) -> bool:
        return bool(self.difference(case, of_bug(self.task, self.cases[case], self.bugs[bug])))

    def says_enough(self, outcome: Outcome) -> bool:
        return outcome.kind in SAY_ENOUGH

    def says_nothing(self, outcome: Outcome) -> bool:
        return says_nothing(outcome)

    def needed(self, case: int, counted: int) -> float:
        return counted / 2


_OUTCOMES: dict[tuple[str, str, str], Outcome] = {}


def expected(task: Task, case: Case) -> Outcome:
    """What the reference does."""
    return _known(task, case, "", task.reference)


def of_bug(task: Task, case: Case, bug: Bug) -> Outcome:
    """What a known bug does."""
    return _known(task, case, bug.name, bug.function)


def _known(task: Task, case: Case, bug: str, function: Function) -> Outcome:
    """What a function of ours does; what went wrong for a reason of the machine is not kept."""
    key = task.name, case.name, bug
    if key in _OUTCOMES:
        return _OUTCOMES[key]
    with own_names():
        outcome = outcome_of(task, case, function)
    if not outcome.kind.startswith(UNEXPECTED) and (bug or not outcome.problem or case.refused):
        _OUTCOMES[key] = outcome
    return outcome
