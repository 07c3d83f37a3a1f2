"""What readers wrote, and what the judge said of it, to be compared with what it says now.

`python -m tests.practice.replay` writes down what it says now; read the difference.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

from attnbook.practice import check, grade_tests

FOLDER = Path(__file__).parent / "readers"
TRIED = re.compile(
    r"## (check|grade) ([\w-]+)\n\n````python\n(.*?)````\n\n````text\n(.*?)````\n", re.S
)


class Tried(NamedTuple):
    """One attempt: code to check, or tests to grade."""

    call: str
    task: str
    source: str
    said: str


def stored(path: Path) -> list[Tried]:
    """What a reader tried, in order."""
    return [Tried(*found) for found in TRIED.findall(path.read_text("utf-8"))]


def written(before: str, attempts: list[Tried]) -> str:
    """A reader's file: what stands before the first attempt, and the attempts."""
    return before + "\n".join(
        f"## {it.call} {it.task}\n\n````python\n{it.source}````\n\n````text\n{it.said}````\n"
        for it in attempts
    )


def replayed(tried: Tried) -> str:
    """What is said of it now: of the last function or class, or of all tests."""
    scope: dict[str, Any] = {}
    defined = [
        node.name
        for node in ast.parse(tried.source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    exec(compile(tried.source, "<reader>", "exec"), scope)  # noqa: S102 - stored beside this
    if tried.call == "check":
        return f"{check(tried.task, scope[defined[-1]])}\n"
    tests = [scope[name] for name in defined if name.startswith("test_")]
    return f"{grade_tests(tried.task, tests)}\n"


def main() -> None:
    """Write down what is said now."""
    for path in sorted(FOLDER.glob("*.md")):
        attempts = [it._replace(said=replayed(it)) for it in stored(path)]
        before = path.read_text("utf-8").partition("## ")[0]
        path.write_text(written(before, attempts), "utf-8")


if __name__ == "__main__":
    main()
