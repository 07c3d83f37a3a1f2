"""Check what a reader wrote: which case fails and how, and which known bug does the same."""

from __future__ import annotations

from functools import cache
from typing import Any

from attnbook.practice import plain
from attnbook.practice.guard import own_names, run, session
from attnbook.practice.list_task import ListTask
from attnbook.practice.outcome import (
    ENDLESS,
    UNREADABLE,
    Outcome,
    difference,
    outcome_of,
    same,
    says_nothing,
)
from attnbook.practice.reading import name_of, plain_value
from attnbook.practice.registry import find_list_task, find_task
from attnbook.practice.showing import Verdict
from attnbook.practice.task import Bug, Case, Function, Task

MOST_NAMED = 2  # more bugs than these that do the same name nothing
# Kinds of problems that say enough by themselves.
UNLIKE = ("call", ENDLESS, UNREADABLE, "returned NoneType")
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
        TypeError: what was handed over cannot be called.
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
        ran = run(lambda: plain.outcome_of(function, arguments, plain_value))
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
        found = plain.judge(_data(task.name), written, before_naming, does)
    cases, bugs = [*task.cases.values()], [*task.bugs.values()]
    return Verdict(
        task,
        held=[case.name for case in cases[: found["held"]]],
        failed=None if found["case"] is None else cases[found["case"]],
        wrong=found["wrong"],
        printed=printed,
        bugs=[bugs[number] for number in found["bugs"]],
    )


@cache
def _data(task: str) -> dict[str, Any]:
    return find_list_task(task).as_data()


def judge(task: Task, written: Function) -> Verdict:
    """Run the cases in their order, up to the first that fails; then look for its bug."""
    done: dict[str, Outcome] = {}
    with session():
        for case in task.cases.values():
            right = expected(task, case)
            done[case.name] = outcome = _outcome(task, case, written)
            wrong = difference(task, case, outcome, right)
            if wrong:
                bugs = [] if outcome.kind in UNLIKE else named(task, case, written, done)
                return Verdict(task, [*done][:-1], case, wrong, outcome.printed, bugs)
    return Verdict(task, [*done])


def _outcome(task: Task, case: Case, written: Function) -> Outcome:
    """What was written does; a known bug, as the book's figures hand it over, is not run again."""
    for bug in task.bugs.values():
        if bug.function is written:
            return of_bug(task, case, bug)
    return outcome_of(task, case, written)


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


def named(task: Task, failed: Case, written: Function, done: dict[str, Outcome]) -> list[Bug]:
    """The known bugs that do what was done, wrong as it is, in more cases than all others.

    A bug must do the same in the case that failed and in all before it. Of the cases after it,
    those where all is NaN say nothing; each where both do the same counts for it, and each where
    what was written is right and the bug wrong against it, and the sum must be half of them. One
    such case alone does not speak against a bug: many who make it treat an empty row by itself.
    """
    alike = [
        bug
        for bug in task.bugs.values()
        if all(_alike(task, task.cases[name], bug, done[name]) for name in reversed(done))
        and _is_wrong(task, failed, bug)
    ]
    votes = dict.fromkeys([bug.name for bug in alike], 0)
    counted = 0
    if not alike:
        return []
    for case in [case for case in task.cases.values() if case.name not in done]:
        outcome = _outcome(task, case, written)
        if outcome.kind == ENDLESS:
            return []
        if says_nothing(outcome):
            continue
        counted += 1
        right = not difference(task, case, outcome, expected(task, case))
        for bug in alike:
            if right and _is_wrong(task, case, bug):
                votes[bug.name] -= 1
            else:
                votes[bug.name] += _alike(task, case, bug, outcome)
    if counted == 0 and says_nothing(done[failed.name]):
        return []
    best = [bug for bug in alike if votes[bug.name] == max(votes.values()) >= counted / 2]
    return best if len(best) <= MOST_NAMED else []


def _alike(task: Task, case: Case, bug: Bug, outcome: Outcome) -> bool:
    return same(task, case, outcome, of_bug(task, case, bug))


def _is_wrong(task: Task, case: Case, bug: Bug) -> bool:
    return bool(difference(task, case, of_bug(task, case, bug), expected(task, case)))
