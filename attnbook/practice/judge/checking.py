"""Check a reader's answer: which case fails and how, and which known bug does the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

from attnbook.messages import Messages
from attnbook.practice.judge import judging, lists, tensors
from attnbook.practice.judge.data import data_of
from attnbook.practice.judge.progress import CHECKED, is_own, progress_after, remember
from attnbook.practice.judge.reading import (
    class_name,
    error_text,
    has_xor,
    is_unwritten,
    to_plain_value,
)
from attnbook.practice.judge.run_safely import Rehearsal, run, run_ours, session
from attnbook.practice.judge.tensors import ENDLESS, UNREADABLE, Outcome
from attnbook.practice.judge.verdicts import NotWritten, Verdict
from attnbook.practice.list_task import ListTask
from attnbook.practice.registry import find_task
from attnbook.practice.task import Bug, Case, Function, Task

TEXT = Messages(__file__)
# Kinds of problems that explain themselves.
NEEDS_NO_NAME = ("call", ENDLESS, UNREADABLE, "returned NoneType")
# Kinds that no function of ours has unless the machine is at its limits.
UNEXPECTED = (UNREADABLE, "MemoryError", "RecursionError")


def check(task: str, written: Function) -> Verdict:
    """Check a reader's own implementation against every case of a task.

    Args:
        task: its name; `attnbook.practice.TASKS` holds them all.
        written: the function, or for a layer the class, that the task asks for. It runs in
            its own thread for at most ten seconds a case. On Linux, a copy of the process runs it
            first, and there code in C that never returns is stopped, too. Elsewhere, or with CUDA
            in use, you must stop such code by hand: restart Python. What a reader's code changes by
            mistake is restored; code that deceives the judge on purpose is not detected.

    Returns:
        Whether all cases hold, else the first case that fails, in words, and the known bugs
        that give the same. It never shows the right numbers.

    Raises:
        ValueError: there is no such task.
        TypeError: `written` cannot be called.

    Example:
        >>> from attnbook.practice import check
        >>> check("split-heads", split_heads)
        ✓ split-heads: right. All ... cases hold.
    """
    found = find_task(task)
    if not callable(written):
        raise TypeError(
            f"written must be the function itself, got {type(written).__name__}: "
            f"check({task!r}, {found.called})"
        )
    if is_unwritten(found, written):
        verdict: Verdict = NotWritten(found)
    elif isinstance(found, ListTask):
        verdict = judge_lists(found, written)
    else:
        verdict = judge(found, written)
    verdict.progress = progress_after(CHECKED, task, [written], is_right=bool(verdict))
    if not isinstance(verdict, NotWritten):
        remember(task, written)
    return verdict


def judge_lists(task: ListTask, written: Function) -> Verdict:
    """Judge an answer on plain lists as on the book's page, with a time limit for each call."""

    def call_function(function: Function, arguments: list[Any]) -> dict[str, Any]:
        problem = rehearsal.problem()
        if problem:
            return {"refused": problem, "printed": ""}
        result = run(lambda: lists.outcome_of(function, arguments, to_plain_value))
        outcome: dict[str, Any] = result.value
        if result.endless:
            outcome = {"refused": result.endless}
        elif result.error is not None:
            outcome = {"refused": TEXT("cannot_be_read", reason=class_name(result.error))}
        return {**outcome, "printed": result.printed}

    with session():
        data = data_of(task.name)
        if is_own(written):
            data = {**data, "called": written.__name__}
        given = (case["arguments"] for case in data["cases"])
        with _rehearse(written, partial(lists.outcome_of, written), given) as rehearsal:
            found = lists.judge(data, written, call_function=call_function)
    return _verdict(task, found, found["outcome"]["printed"] if found["wrong"] else "")


def call_safely(call: Callable[[], Any]) -> tuple[Any, str]:
    """Make a call of the reader's code for a figure: its value, or a sentence why there is none."""
    with session():
        result = run(call)
    error = result.error
    reason = "" if error is None else f"{class_name(error)}: {error_text(error)}"
    return result.value, result.endless or reason


def judge(task: Task, written: Function) -> Verdict:
    """Run the cases in order, up to the first that fails; then search for its bug."""
    given = (case.make() for case in task.cases.values())
    with session(), _rehearse(written, lambda it: task.as_function(written)(*it), given) as copy:
        answer = TensorAnswer(task, written, copy)
        found = judging.judge(answer)
        if not found["wrong"]:
            found |= answer.first_write()
        elif has_xor(written) and any(it.is_floating_point() for it in found["outcome"].outputs):
            found["wrong"] += f" {TEXT.group('hints')['power']}"
    return _verdict(task, found, found["outcome"].printed if found["wrong"] else "")


def _rehearse(
    written: Function, call: Function, given: Iterable[Any]
) -> AbstractContextManager[Rehearsal]:
    """Make these calls in a copy of the process, unless they are of the book's own code."""
    is_code = type(written) in {FunctionType, type}
    is_ours = is_code and str(written.__module__).startswith("attnbook.")
    return closing(Rehearsal([] if is_ours else [partial(call, each) for each in given]))


def _verdict(task: Task, found: dict[str, Any], printed: str) -> Verdict:
    names, bugs = [*task.cases], [*task.bugs.values()]
    held, wrong = found["held"], found["wrong"]
    if found.get("hides_fix"):
        bugs = [replace(bug, fix="") for bug in bugs]
    failed = task.cases[names[held]] if wrong else None
    return Verdict(task, names[:held], failed, wrong, printed, [bugs[i] for i in found["bugs"]])


class TensorAnswer:
    """An answer to a task on tensors, as `judging` needs it."""

    def __init__(self, task: Task, written: Function, rehearsal: Rehearsal | None = None) -> None:
        self.task, self.written, self.rehearsal = task, written, rehearsal
        self.cases, self.bugs = [*task.cases.values()], [*task.bugs.values()]
        self.num_cases, self.num_bugs = len(self.cases), len(self.bugs)
        self.outcomes: list[Outcome] = []

    def run(self, case: int) -> Outcome:
        """Run the answer; a known bug, as the book's figures pass it, is not run again."""
        for bug in self.bugs:
            if bug.function is self.written:
                return known_outcome(self.task, self.cases[case], bug)
        problem = self.rehearsal.problem() if self.rehearsal else ""
        if problem:
            return Outcome(problem, ENDLESS)
        self.outcomes.append(tensors.outcome_of(self.task, self.cases[case], self.written))
        return self.outcomes[-1]

    def first_write(self) -> dict[str, Any]:
        """Give the verdict on an answer that is right but for a write that changes no number."""
        for case, outcome in enumerate(self.outcomes):
            right = known_outcome(self.task, self.cases[case])
            names = [name for name in outcome.written if name not in right.written]
            if names:
                wrong = TEXT("writes_into_tensor", names="`, `".join(names))
                return {"held": case, "wrong": wrong, "outcome": outcome}
        return {}

    def difference(self, case: int, outcome: Outcome) -> str:
        right = known_outcome(self.task, self.cases[case])
        return tensors.difference(self.task, self.cases[case], outcome, right)

    def is_same(self, case: int, outcome: Outcome, bug: int) -> bool:
        other = known_outcome(self.task, self.cases[case], self.bugs[bug])
        return tensors.same(self.cases[case], outcome, other)

    def is_wrong(self, case: int, bug: int) -> bool:
        return (
            self.difference(case, known_outcome(self.task, self.cases[case], self.bugs[bug])) != ""
        )

    def needs_no_name(self, outcome: Outcome) -> bool:
        return outcome.kind in NEEDS_NO_NAME

    def is_all_nan(self, outcome: Outcome) -> bool:
        return bool(outcome.outputs) and all(
            output.numel() > 0 and bool(output.isnan().all()) for output in outcome.outputs
        )

    def describe_constant(self, outcome: Outcome) -> str:
        return tensors.describe_constant(outcome)

    def needed(self, case: int, counted: int) -> float:
        return counted / 2


_OUTCOMES: dict[tuple[str, str, str], Outcome] = {}


def known_outcome(task: Task, case: Case, bug: Bug | None = None) -> Outcome:
    """Give the outcome of a known bug, or of the reference, which is computed once.

    An outcome that the machine has spoilt is not stored.
    """
    key = task.name, case.name, bug.name if bug else ""
    if key in _OUTCOMES:
        return _OUTCOMES[key]
    outcome = tensors.outcome_of(task, case, bug.function if bug else task.reference, run_ours)
    if outcome.kind.startswith("KeyboardInterrupt"):  # by the reader, while our code ran
        raise KeyboardInterrupt
    if not outcome.kind.startswith(UNEXPECTED) and (bug or not outcome.problem or case.refused):
        _OUTCOMES[key] = outcome
    return outcome
