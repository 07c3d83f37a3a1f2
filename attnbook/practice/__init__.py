"""Practice with feedback: `check` for a reader's code, `grade_tests` for a reader's tests.

A known bug is in `mistakes.py` if it is one of a step that several tasks have, such as the softmax,
else in its task's module in `tasks`.
"""

from attnbook.practice.judge.checking import check
from attnbook.practice.judge.grading import grade_tests
from attnbook.practice.judge.run_safely import remember_names
from attnbook.practice.judge.verdicts import wrong_answers
from attnbook.practice.recognition import recognize
from attnbook.practice.registry import LIST_TASKS, TASKS, find_task

remember_names()

__all__ = ["LIST_TASKS", "TASKS", "check", "find_task", "grade_tests", "recognize", "wrong_answers"]
