"""Practice with feedback: `check` for a reader's code, `grade_tests` for a reader's tests."""

from attnbook.practice.judge.checking import check
from attnbook.practice.judge.grading import grade_tests
from attnbook.practice.judge.run_safely import remember_names
from attnbook.practice.judge.verdicts import wrong_answers
from attnbook.practice.registry import LIST_TASKS, TASKS, find_task
from attnbook.renamed import warn_renamed

remember_names()

__all__ = ["LIST_TASKS", "TASKS", "check", "find_task", "grade_tests", "wrong_answers"]


def __getattr__(name: str) -> object:
    """Give an old name's value, with a warning."""
    if name != "slips":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_renamed("slips", "wrong_answers")
    return wrong_answers
