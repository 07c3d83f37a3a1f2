"""Check what a reader wrote: which case fails and how, and which known bug does the same."""

from __future__ import annotations

from functools import cache

from attnbook.practice import plain
from attnbook.practice.difference import difference, same
from attnbook.practice.guard import run
from attnbook.practice.list_task import ListTask
from attnbook.practice.outcome import Outcome, outcome_of
from attnbook.practice.registry import find_task
from attnbook.practice.showing import Verdict
from attnbook.practice.task import Bug, Case, Function, Task

MOST_NAMED = 2  # more bugs than these that do the same name nothing
# Kinds of problems that say enough by themselves.
UNLIKE = ("call", "endless", "returned NoneType")


def check(task: str, written: Function) -> Verdict:
    """Check a reader's own implementation against every case of a task.

    Args:
        task: its name; `attnbook.practice.TASKS` holds them all.
        written: the function, or for a layer the class, that the task asks for. It runs in
            a thread of its own for at most ten seconds a case.

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
    """Let the judge of plain lists do it, as on the book's page."""
    ran = run(lambda: plain.judge(task.as_data(), written))
    cases = [*task.cases.values()]
    if ran.endless:
        return Verdict(task, [], cases[0], ran.endless, ran.said)
    if ran.error is not None:
        raise ran.error
    found, bugs = ran.value, [*task.bugs.values()]
    return Verdict(
        task,
        held=[case.name for case in cases[: found["held"]]],
        failed=None if found["case"] is None else cases[found["case"]],
        wrong=found["wrong"],
        said=ran.said,
        bugs=[bugs[number] for number in found["bugs"]],
    )


def judge(task: Task, written: Function) -> Verdict:
    """Run the cases in their order, up to the first that fails; then look for its bug."""
    done: dict[str, Outcome] = {}
    for case in task.cases.values():
        done[case.name] = outcome = outcome_of(task, case, written)
        wrong = difference(task, case, outcome, expected(task.name, case.name))
        if wrong:
            bugs = [] if outcome.kind in UNLIKE else named(task, case, written, done)
            return Verdict(task, [*done][:-1], case, wrong, outcome.said, bugs)
    return Verdict(task, [*done])


@cache
def expected(task: str, case: str) -> Outcome:
    """What the reference does."""
    found = find_task(task)
    return outcome_of(found, found.cases[case], found.reference)


@cache
def of_bug(task: str, case: str, bug: str) -> Outcome:
    """What a known bug does."""
    found = find_task(task)
    return outcome_of(found, found.cases[case], found.bugs[bug].function)


def named(task: Task, failed: Case, written: Function, done: dict[str, Outcome]) -> list[Bug]:
    """The known bugs that do what was done, wrong as it is, in more cases than all others.

    A bug is one of them if it does the same in the case that failed and in all before it.
    """
    alike = [
        bug
        for bug in task.bugs.values()
        if all(_alike(task, task.cases[name], bug, outcome) for name, outcome in done.items())
        and difference(task, failed, of_bug(task.name, failed.name, bug.name), _right(task, failed))
    ]
    if len(alike) > 1:
        rest = [case for case in task.cases.values() if case.name not in done]
        outcomes = {case.name: outcome_of(task, case, written) for case in rest}
        score = {
            bug.name: sum(_alike(task, case, bug, outcomes[case.name]) for case in rest)
            for bug in alike
        }
        alike = [bug for bug in alike if score[bug.name] == max(score.values())]
    return alike if len(alike) <= MOST_NAMED else []


def _alike(task: Task, case: Case, bug: Bug, outcome: Outcome) -> bool:
    return same(task, case, outcome, of_bug(task.name, case.name, bug.name))


def _right(task: Task, case: Case) -> Outcome:
    return expected(task.name, case.name)
