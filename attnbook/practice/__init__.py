"""Practice that answers: `check` for what a reader writes, `grade_tests` for a reader's tests."""

from attnbook.practice.checking import check
from attnbook.practice.grading import grade_tests
from attnbook.practice.guard import remember_names
from attnbook.practice.registry import LIST_TASKS, TASKS, find_task, slips

remember_names()

__all__ = ["LIST_TASKS", "TASKS", "check", "find_task", "grade_tests", "slips"]
