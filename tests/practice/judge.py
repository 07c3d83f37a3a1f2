"""The judge's own grades: `make judge` prints them, and fails if one is not good enough."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields

from attnbook.practice import TASKS
from attnbook.practice.checking import judge
from attnbook.practice.grading import failure
from attnbook.practice.task import Task
from tests.practice.mutants import MUTANTS
from tests.practice.registry_checks import accepted, caught, naming, shape_only

NAMED, REFUSED, BY_SHAPES = 0.9, 0.9, 0.2


@dataclass
class Grades:
    """How many there are, and how many of them are treated as they should be."""

    cases: int = 0
    rights: int = 0
    accepted: int = 0  # in single and double precision, eager and compiled
    bugs: int = 0
    refused: int = 0
    named: int = 0  # alone or in a pair
    tested: int = 0  # caught by the book's own tests
    shaped: int = 0  # caught by a look at shapes
    mutants: int = 0  # single faults that were written without sight of the cases
    stopped: int = 0  # those that are refused

    def __add__(self, other: Grades) -> Grades:
        return Grades(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Grades)))


def grades_of(task: Task) -> Grades:
    """The grades of one task."""
    tests_hold = not any(
        failure(test, right.function) for test in task.tests for right in task.rights.values()
    )
    mutants = MUTANTS.get(task.name, [])
    return Grades(
        cases=len(task.cases),
        rights=len(task.rights),
        accepted=sum(accepted(task, right.function) for right in task.rights.values()),
        bugs=len(task.bugs),
        refused=sum(not judge(task, bug.function) for bug in task.bugs.values()),
        named=sum(name in naming(task, name) for name in task.bugs),
        tested=len(caught(task, task.tests)) if tests_hold else 0,
        shaped=len(caught(task, [shape_only(task)])),
        mutants=len(mutants),
        stopped=sum(not judge(task, mutant) for mutant in mutants),
    )


def faults(total: Grades) -> list[str]:
    """What is not good enough, in sentences."""
    rules = {
        "a right implementation is refused": total.accepted == total.rights,
        "a known bug is accepted": total.refused == total.bugs,
        "fewer than nine tenths of the bugs are named": total.named >= NAMED * total.bugs,
        "the book's own tests miss a bug, or fail on right code": total.tested == total.bugs,
        "a look at shapes catches a fifth of the bugs": total.shaped < BY_SHAPES * total.bugs,
        "a tenth of the mutants is accepted": total.stopped >= REFUSED * total.mutants,
    }
    return [fault for fault, holds in rules.items() if not holds]


def table(grades: dict[str, Grades]) -> str:
    """The grades as text, a row for each task."""
    heads = "cases  right accepted  bugs refused named tested  by shapes  mutants refused".split(
        "  "
    )
    lines = [" ".join([" " * 24, *heads])]
    for name, g in grades.items():
        cells = (
            f"{g.cases}",
            f"{g.accepted}/{g.rights}",
            f"{g.bugs} {g.refused} {g.named} {g.tested}",
            f"{g.shaped}",
            f"{g.stopped}/{g.mutants}",
        )
        filled = (cell.rjust(len(head)) for cell, head in zip(cells, heads, strict=True))
        lines.append(" ".join([name.ljust(24), *filled]))
    return "\n".join(lines)


def main() -> int:
    """Print the grades."""
    grades = {task.name: grades_of(task) for task in TASKS.values()}
    total = sum(grades.values(), Grades())
    print(table({**grades, "all": total}))  # noqa: T201 - what a command is for
    wrong = faults(total)
    for fault in wrong:
        print(f"The judge fails: {fault}.")  # noqa: T201
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
