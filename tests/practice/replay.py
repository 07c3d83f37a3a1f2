"""What readers wrote, and the verdict on it: which case fails and which bugs, or what tests catch.

In `blind/` are answers that were written from the tasks' statements alone, without
knowledge of cases and bugs; each has the author's intention, right or wrong. The answers in
`once_accepted.jsonl` are wrong and once passed, or would pass without one unusual case.
`python -m tests.practice.replay` stores the current verdicts on all of them; read the difference.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

from attnbook.practice import check, grade_tests
from attnbook.practice.judge import run_safely

READERS = sorted((Path(__file__).parent / "readers").glob("*.jsonl"))
BLIND = sorted((Path(__file__).parent / "blind").glob("*.jsonl"))
Attempt = dict[str, Any]


def read_attempts(path: Path) -> list[Attempt]:
    """The attempts of a reader, in order: a line is an attempt and its verdict."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_attempts(path: Path, attempts: list[Attempt]) -> None:
    """Store attempts."""
    lines = (json.dumps(each, ensure_ascii=False) for each in attempts)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def defined_in(code: str) -> dict[str, Any]:
    """The functions and classes of a reader's code, in their order."""
    scope: dict[str, Any] = {}
    exec(compile(code, "<reader>", "exec"), scope)  # noqa: S102 - stored next to this file
    return {
        node.name: scope[node.name]
        for node in ast.parse(code).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


def replay(attempt: Attempt) -> Attempt:
    """The verdict on the last function or class, or on all tests."""
    defined = defined_in(attempt["code"])
    if "case" in attempt:
        with patch.object(run_safely, "COPIES", False):  # they end, and copies take time
            verdict = check(attempt["task"], [*defined.values()][-1])
        case = "" if verdict.failed is None else verdict.failed.name
        return {"case": case, "bugs": [bug.name for bug in verdict.bugs]}
    tests = [test for name, test in defined.items() if name.startswith("test_")]
    grade = grade_tests(attempt["task"], tests)
    graded = {}
    for number, (test, failures) in enumerate(zip(grade.tests, grade.failures, strict=True)):
        caught = [bug for bug, row in grade.caught.items() if row[number]]
        unfair = [right.name for right, _ in failures]
        graded[test] = {"unfair": unfair} if unfair else {"caught": caught}
    return {"tests": graded}


def main() -> None:
    """Store the current verdicts."""
    for path in READERS + BLIND:
        write_attempts(path, [attempt | replay(attempt) for attempt in read_attempts(path)])


if __name__ == "__main__":
    main()
