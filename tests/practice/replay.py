"""What readers wrote, and the verdict on it: right, or which case fails and which bugs.

In `blind/` are answers that were written from the tasks' statements alone, without
knowledge of cases and bugs; each has the author's intention, right or wrong.
`python -m tests.practice.replay` stores the current verdicts on all of them; read the difference.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

from attnbook.practice import check, grade_tests

READERS = sorted((Path(__file__).parent / "readers").glob("*.md"))
BLIND = sorted((Path(__file__).parent / "blind").glob("*.md"))
ATTEMPT = re.compile(
    r"## (check|grade) ([\w-]+)\n\n(?:meant: ([^\n]+)\n\n)?"
    r"````python\n(.*?)````\n\n((?:- [^\n]*\n)+)",
    re.S,
)


class Attempt(NamedTuple):
    """One attempt: code to check or tests to grade, and the facts of the verdict."""

    call: str
    task: str
    meant: str  # "right. …" or "wrong. …", and why, where it says so
    source: str
    facts: str

    @property
    def is_right(self) -> bool:
        """Whether it is right: as intended, or else as judged when it was stored."""
        return (self.meant or self.facts.removeprefix("- ")).startswith("right")

    @property
    def names(self) -> list[str]:
        """The names of the bugs in the stored verdict."""
        return names_in(self.facts)


def names_in(facts: str) -> list[str]:
    """The names of bugs in the facts of a verdict."""
    found = re.search(r" Bugs: (.*)\.\n", facts)
    return [] if found is None or found[1] == "none" else found[1].split("; ")


def read_attempts(path: Path) -> list[Attempt]:
    """The attempts of a reader, in order."""
    return [Attempt(*found) for found in ATTEMPT.findall(path.read_text("utf-8"))]


def format_attempts(before: str, attempts: list[Attempt]) -> str:
    """A reader's file: what comes before the first attempt, and the attempts."""
    return before + "\n".join(
        f"## {it.call} {it.task}\n\n"
        + (f"meant: {it.meant}\n\n" if it.meant else "")
        + f"````python\n{it.source}````\n\n{it.facts}"
        for it in attempts
    )


def replay(attempt: Attempt) -> str:
    """The facts of the verdict on the last function or class, or of the grade of all tests."""
    scope: dict[str, Any] = {}
    defined = [
        node.name
        for node in ast.parse(attempt.source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    exec(compile(attempt.source, "<reader>", "exec"), scope)  # noqa: S102 - stored next to this file
    if attempt.call == "check":
        verdict = check(attempt.task, scope[defined[-1]])
        if verdict.failed is None:
            return "- right\n"
        bugs = "; ".join(bug.name for bug in verdict.bugs) or "none"
        return f"- case: {verdict.failed.name}. Bugs: {bugs}.\n"
    grade = grade_tests(attempt.task, [scope[name] for name in defined if name.startswith("test_")])
    facts = []
    for number, (test, failures) in enumerate(zip(grade.tests, grade.failures, strict=True)):
        unfair = "; ".join(right.name for right, _ in failures)
        caught = "; ".join(bug for bug, row in grade.caught.items() if row[number]) or "none"
        facts.append(f"- {test} {f'fails on: {unfair}' if unfair else f'catches: {caught}'}\n")
    return "".join(facts)


def main() -> None:
    """Store the current verdicts."""
    for path in READERS + BLIND:
        attempts = [it._replace(facts=replay(it)) for it in read_attempts(path)]
        before = path.read_text("utf-8").partition("## ")[0]
        path.write_text(format_attempts(before, attempts), "utf-8")


if __name__ == "__main__":
    main()
