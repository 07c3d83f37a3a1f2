"""Practice that answers: `check` for what a reader writes, `grade_tests` for a reader's tests."""

from attnbook.practice.judge.checking import check
from attnbook.practice.judge.grading import grade_tests
from attnbook.practice.judge.run_safely import remember_names
from attnbook.practice.registry import LIST_TASKS, TASKS, find_task, slips

remember_names()

__all__ = ["LIST_TASKS", "TASKS", "check", "find_task", "grade_tests", "slips"]
