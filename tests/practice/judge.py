"""The judge's own grades, which tests check and `make judge-grades` prints."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from attnbook.practice import LIST_TASKS, TASKS
from attnbook.practice.judge.checking import check
from attnbook.practice.task import Solution
from tests.practice.registry_checks import (
    bugs_caught_by_shapes,
    bugs_that_tests_miss,
    differences_in_double,
    is_accepted_compiled,
    unfair_tests,
)
from tests.practice.replay import BLIND, READERS, read_attempts, replay

NAMED, BY_SHAPES = 0.9, 0.2
# Of answers that the judge has not seen: right ones accepted, wrong ones refused, names wrong.
ACCEPTED_UNSEEN, REFUSED_UNSEEN, MISNAMED = 0.99, 0.97, 0.01

verdict_on = cache(check)  # all grades need the verdicts on right code and bugs


@dataclass
class Grades:
    """How many there are, and the names of those that are judged wrongly."""

    cases: int = 0
    solutions: int = 0
    not_accepted: list[str] = field(default_factory=list)  # in single, double precision, compiled
    bugs: int = 0
    not_refused: list[str] = field(default_factory=list)
    not_named: list[str] = field(default_factory=list)  # on its own or in a pair
    not_tested: list[str] = field(default_factory=list)  # not caught by the book's own tests
    unfair: list[str] = field(default_factory=list)  # the book's tests that fail on right code
    caught_by_shapes: int = 0  # bugs that a test of shapes alone catches

    def __add__(self, other: Grades) -> Grades:
        return Grades(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})


@dataclass
class Verdicts:
    """How many answers there are, right and wrong ones, and how they are judged."""

    right: int = 0
    accepted: int = 0
    wrong: int = 0
    refused: int = 0
    named: int = 0  # with the name of the bug that it has
    misnamed: int = 0  # only with the name of another bug

    def __add__(self, other: Verdicts) -> Verdicts:
        return Verdicts(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})

    def add(self, *, right: bool, accepted: bool, names: list[str], known: list[str]) -> None:
        """Count one more answer, which is known to be right or wrong."""
        self.right += right
        self.wrong += not right
        self.accepted += right and accepted
        self.refused += not right and not accepted
        self.named += bool({*names} & {*known})
        self.misnamed += bool(names) and not {*names} & {*known}

    @property
    def faults(self) -> list[str]:
        """What is not good enough, in sentences."""
        rules = {
            "a hundredth of the right answers is refused": (
                self.accepted >= ACCEPTED_UNSEEN * self.right
            ),
            "three hundredths of the wrong answers are accepted": (
                self.refused >= REFUSED_UNSEEN * self.wrong
            ),
            "a hundredth of the names is wrong": (
                self.misnamed <= MISNAMED * (self.named + self.misnamed)
            ),
        }
        return [fault for fault, holds in rules.items() if not holds]


def verdicts_on_registry() -> Verdicts:
    """The verdicts on right implementations and bugs, those on plain lists included."""
    verdicts = Verdicts()
    for task in [*TASKS.values(), *LIST_TASKS.values()]:
        for known in [*task.solutions.values(), *task.bugs.values()]:
            found, right = verdict_on(task.name, known.function), isinstance(known, Solution)
            names = [bug.name for bug in found.bugs]
            bugs = [] if right else [known.name]
            verdicts.add(right=right, accepted=bool(found), names=names, known=bugs)
    return verdicts


def verdicts_on_answers(paths: list[Path], *, judge_again: bool = False) -> Verdicts:
    """The verdicts on stored answers: those that are stored with them, or what the judge says now.

    The name of a bug is right if it is the one that is stored.
    """
    verdicts = Verdicts()
    for stored in (each for path in paths for each in read_attempts(path) if "case" in each):
        now = stored | replay(stored) if judge_again else stored
        right = stored["meant"].startswith("right") if "meant" in stored else stored["case"] == ""
        accepted = now["case"] == ""
        verdicts.add(right=right, accepted=accepted, names=now["bugs"], known=stored["bugs"])
    return verdicts


def format_verdicts(sets: dict[str, Verdicts]) -> str:
    """The verdicts as text, a row for each set of answers."""
    lines = [f"{'':24} right accepted  wrong refused  named rightly  wrongly"]
    for name, it in sets.items():
        accepted, refused = f"{it.accepted}/{it.right}", f"{it.refused}/{it.wrong}"
        lines.append(f"{name:24} {accepted:>14} {refused:>14} {it.named:>14} {it.misnamed:>8}")
    return "\n".join(lines)


def grades_of(name: str, *, compiled: int | None = None) -> Grades:
    """The grades of one task.

    Args:
        name: of the task.
        compiled: how many of its right implementations are compiled; None means all.
    """
    task = TASKS[name]
    bugs, solutions = [*task.bugs.values()], [*task.solutions.values()]
    verdicts = {bug.name: verdict_on(name, bug.function) for bug in bugs}
    return Grades(
        cases=len(task.cases),
        solutions=len(solutions),
        not_accepted=[
            *(right.name for right in solutions if not verdict_on(name, right.function)),
            *(
                f"{right.name}, in double precision"
                for right in solutions
                if differences_in_double(task, right.function)
            ),
            *(
                f"{right.name}, compiled"
                for right in solutions[:compiled]
                if not is_accepted_compiled(task, right.function)
            ),
        ],
        bugs=len(bugs),
        not_refused=[bug for bug, verdict in verdicts.items() if verdict],
        not_named=[
            bug
            for bug, verdict in verdicts.items()
            if bug not in [known.name for known in verdict.bugs]
        ],
        not_tested=bugs_that_tests_miss(task),
        unfair=unfair_tests(task),
        caught_by_shapes=len(bugs_caught_by_shapes(task)),
    )


def faults(total: Grades) -> list[str]:
    """What is not good enough, in sentences."""
    rules = {
        "a right implementation is refused": not total.not_accepted,
        "a known bug is accepted": not total.not_refused,
        "a tenth of the bugs is not named": (
            total.bugs - len(total.not_named) >= NAMED * total.bugs
        ),
        "the book's own tests miss a bug": not total.not_tested,
        "the book's own tests fail on right code": not total.unfair,
        "a test of shapes catches a fifth of the bugs": total.caught_by_shapes
        < BY_SHAPES * total.bugs,
    }
    return [fault for fault, holds in rules.items() if not holds]


NAMED_CELL, UNNAMED, NO_CHANGE = "●", "○", "·"


def mistakes_of(name: str, *, left_out: bool = False) -> dict[str, str]:
    """What becomes of each mistake in the steps of a task, or only of those that it leaves out."""
    task, cells = TASKS[name], {}
    for step, in_steps in task.inherited:
        for mistake in step.bugs.values():
            known = task.bugs.get(mistake.name)
            if known and left_out:
                continue
            whole = known.function if known else in_steps(**{step.name: mistake.function})
            verdict = verdict_on(name, whole)
            cells[mistake.name] = NO_CHANGE if verdict else NAMED_CELL if verdict.bugs else UNNAMED
    return cells


def format_mistakes(cells: dict[str, dict[str, str]]) -> str:
    """A table of mistakes and tasks, which are numbered."""
    tasks = [*cells]
    rows = dict.fromkeys(mistake for row in cells.values() for mistake in row)
    marks = "".join(mark for row in cells.values() for mark in row.values())
    lines = [
        f"Mistakes in shared steps: {NAMED_CELL} named {marks.count(NAMED_CELL)}, {UNNAMED} not "
        f"named {marks.count(UNNAMED)}, {NO_CHANGE} changes nothing {marks.count(NO_CHANGE)}",
        f"{'':37}" + " ".join(f"{number:2}" for number in range(1, len(tasks) + 1)),
    ]
    for mistake in rows:
        row = (f"{cells[name].get(mistake, ''):>2}" for name in tasks)
        lines.append(f"{mistake:37}{' '.join(row)}".rstrip())
    return "\n".join([*lines, *(f"{number:2} {name}" for number, name in enumerate(tasks, 1))])


def format_grades(grades: dict[str, Grades]) -> str:
    """The grades as text, a row for each task."""
    heads = "cases  right accepted  bugs refused named tested  by shapes".split("  ")
    lines = [" ".join([" " * 24, *heads])]
    for name, g in grades.items():
        accepted = g.solutions - len({one.split(",")[0] for one in g.not_accepted})
        refused, named, tested = (
            g.bugs - len(missing) for missing in (g.not_refused, g.not_named, g.not_tested)
        )
        cells = (
            f"{g.cases}",
            f"{accepted}/{g.solutions}",
            f"{g.bugs} {refused} {named} {tested}",
            f"{g.caught_by_shapes}",
        )
        filled = (cell.rjust(len(head)) for cell, head in zip(cells, heads, strict=True))
        lines.append(" ".join([name.ljust(24), *filled]))
    return "\n".join(lines)


def main() -> int:
    """Print the grades; the first right implementation is also compiled, with `--full` all."""
    compiled = None if "--full" in sys.argv else 1
    grades = {name: grades_of(name, compiled=compiled) for name in TASKS}
    total = sum(grades.values(), Grades())
    print(format_grades({**grades, "all": total}))  # noqa: T201 - what a command is for
    sets = {
        "the registry": verdicts_on_registry(),
        "what readers tried": verdicts_on_answers(READERS, judge_again=True),
        "written blind": verdicts_on_answers(BLIND, judge_again=True),
    }
    cells = {name: mistakes_of(name) for name, task in TASKS.items() if task.inherited}
    print(f"\n{format_verdicts(sets)}\n\n{format_mistakes(cells)}")  # noqa: T201
    wrong = faults(total) + [f"{name}: {fault}" for name, it in sets.items() for fault in it.faults]
    for fault in wrong:
        print(f"The judge fails: {fault}.")  # noqa: T201
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
