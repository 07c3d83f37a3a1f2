"""What new readers typed into tasks of the built pages, and how the judge judged it.

python -m tests.figures.code.replay    stores today's case and bugs in readers/*.jsonl

A line is an attempt: `case` is the one that failed, "" for right code, "error" for code that does
not run; `bugs` are the bugs that the judge named.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attnbook.practice import LIST_TASKS
from attnbook.practice.judge.data import data_of, parts_of
from tests.figures.code.interpreters import in_micropython
from tests.practice.replay import read_attempts, write_attempts

READERS = Path(__file__).with_name("readers")
ENDLESS = "endless"  # the page stops such code after two seconds; it is not run again


def attempts() -> dict[Path, list[dict[str, Any]]]:
    """All attempts, by the file that stores them."""
    return {path: read_attempts(path) for path in sorted(READERS.glob("*.jsonl"))}


def judge_attempts(tried: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The case and the bugs of each attempt, in the Python of a page."""
    answers = in_micropython([question(each["task"], each["code"]) for each in tried])
    return [facts(each["task"], answer) for each, answer in zip(tried, answers, strict=True)]


def question(name: str, code: str) -> dict[str, Any]:
    """The question of a page to its Python, with the book's versions of a task's parts."""
    parts = {part["called"]: part["code"] for part in parts_of(LIST_TASKS[name].parts)}
    return {"code": code, "task": data_of(name), "parts": parts}


def facts(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The case that failed and the bugs that were named, whatever the wording of the verdict."""
    if "verdict" not in answer:
        return {"case": "error", "bugs": []}
    task, [first, *rest] = LIST_TASKS[name], answer["verdict"]
    cases = [case for case in task.cases if case in first]
    bugs = [bug.name for bug in task.bugs.values() if any(bug.cause in text for text in rest)]
    return {"case": max(cases, key=len, default=""), "bugs": bugs}


def main() -> None:
    """Store how the judge judges each attempt today."""
    for path, tried in attempts().items():
        finite = [each for each in tried if each["case"] != ENDLESS]
        for each, judgement in zip(finite, judge_attempts(finite), strict=True):
            each.update(judgement)
        write_attempts(path, tried)


if __name__ == "__main__":
    main()
