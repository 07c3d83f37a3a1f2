"""Verdicts and grades, as text and as HTML, and the sentences about known bugs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from attnbook.messages import Messages
from attnbook.practice.judge.lists import paragraphs
from attnbook.practice.list_task import ListTask
from attnbook.practice.registry import find_bugs
from attnbook.practice.task import Bug, Case, Solution, Task

TEXT = Messages(__file__)
BOX = "border-left: 4px solid currentColor; padding: 0.2em 1em; margin: 0.5em 0"


class Message:
    """Paragraphs as text or as HTML, where `code` is marked; a table may follow the first.

    The last paragraph is the reader's progress, if it is known.
    """

    progress = ""

    def paragraphs(self) -> list[str]:
        """The paragraphs without the table."""
        raise NotImplementedError

    def _all_paragraphs(self) -> list[str]:
        return self.paragraphs() + [self.progress] * bool(self.progress)

    def _rows(self) -> list[str]:
        """The table as text."""
        return []

    def _table(self) -> str:
        """The table as HTML."""
        return ""

    def __repr__(self) -> str:
        first, *rest = self._all_paragraphs()
        return "\n".join([first, *self._rows(), *rest])

    def _repr_html_(self) -> str:
        first, *rest = (f"<p>{as_html(text)}</p>" for text in self._all_paragraphs())
        inner = "".join([first, self._table(), *rest])
        return f'<div class="attnbook-verdict" style="{BOX}">{inner}</div>'


def as_html(text: str) -> str:
    """Text with `code` in it, for a page."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


@dataclass(repr=False)
class Verdict(Message):
    """The result of `check`; `bool(verdict)` is whether all cases hold.

    Args:
        task: that was checked.
        held: the names of the cases that hold, in order.
        failed: the first case that fails, or None.
        wrong: what is wrong with it, in words.
        printed: what the reader's code printed in it.
        bugs: the known bugs that give the same.

    Example:
        >>> from attnbook.practice import check
        >>> verdict = check("split-heads", split_heads)
        >>> bool(verdict), verdict.failed, verdict.bugs
        (True, None, [])
    """

    task: Task
    held: list[str]
    failed: Case | None = None
    wrong: str = ""
    printed: str = ""
    bugs: list[Bug] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.failed is None

    def paragraphs(self) -> list[str]:
        """The verdict, a paragraph each."""
        case = "" if self.failed is None else self.failed.name
        bugs = [(bug.cause, bug.fix) for bug in self.bugs]
        planted = self.task.to_find if isinstance(self.task, ListTask) else []
        task = {"name": self.task.name, "planted": planted}
        return paragraphs(task, len(self.held), case, self.wrong, bugs, self.printed)

    def as_dict(self) -> dict[str, str | bool | None]:
        """The verdict for programs: always these seven keys, and values that JSON has.

        `case` is the first that fails, `wrong` is what is wrong there; `bug`, `cause` and `fix`
        are those of the known bug that gives the same, the first if there are two. None: no such.

        Example:
            >>> from attnbook.practice import check
            >>> check("split-heads", split_heads).as_dict()
            {'task': 'split-heads', 'passed': True, 'case': None, 'wrong': None,
             'bug': None, 'cause': None, 'fix': None}
        """
        bug = self.bugs[0] if self.bugs else None
        return {
            "task": self.task.name,
            "passed": bool(self),
            "case": self.failed.name if self.failed else None,
            "wrong": self.wrong or None,
            "bug": bug.name if bug else None,
            "cause": bug.cause if bug else None,
            "fix": bug.fix if bug else None,
        }


class NotWritten(Verdict):
    """The result of `check` where the reader has not changed the task's starter."""

    def __init__(self, task: Task) -> None:
        text = TEXT("not_written", task=task.name)
        super().__init__(task, [], next(iter(task.cases.values())), text)

    def paragraphs(self) -> list[str]:
        """What is missing."""
        return [self.wrong]


@dataclass(repr=False)
class Grade(Message):
    """The result of `grade_tests`; `bool(grade)` is whether all bugs and no right code are caught.

    Args:
        task: whose bugs they are.
        tests: the names of the tests.
        failures: for each test, the right code that it fails on, and how.
        caught: for each bug, whether each test fails on it, and on no right code.
        hints: what is wrong with each test itself; empty if it can be graded.

    Example:
        >>> from attnbook.practice import grade_tests
        >>> def sums_to_one(masked_softmax):
        ...     weights = masked_softmax(torch.zeros(1, 1, 4), torch.tensor([2]))
        ...     assert weights.sum() == 1
        >>> grade = grade_tests("masked-softmax", sums_to_one)
        >>> grade.caught["masked after the softmax"]
        [True]
    """

    task: Task
    tests: Sequence[str]
    failures: list[list[tuple[Solution, str]]]
    caught: dict[str, list[bool]]
    hints: Sequence[str]

    def __bool__(self) -> bool:
        return not any(self.failures) and not any(self.hints) and self.share == 1

    @property
    def share(self) -> float:
        """The share of the bugs that some test catches."""
        return sum(any(row) for row in self.caught.values()) / len(self.caught)

    def as_dict(self) -> dict[str, Any]:
        """The grade for programs, in values that JSON has.

        `fair` is whether a test passes on all right code and can be graded; `caught` and
        `missed` hold names of bugs.

        Example:
            >>> from attnbook.practice import grade_tests
            >>> def has_two_axes(causal_mask):
            ...     assert causal_mask(2, 3).shape == (2, 3)
            >>> grade_tests("causal-mask", has_two_axes).as_dict()
            {'task': 'causal-mask', 'passed': False,
             'tests': [{'name': 'has_two_axes', 'fair': True, 'caught': [...]}], 'missed': [...]}
        """
        tests = [
            {
                "name": test,
                "fair": not self.failures[i] and not self.hints[i],
                "caught": [bug for bug, row in self.caught.items() if row[i]],
            }
            for i, test in enumerate(self.tests)
        ]
        missed = [bug for bug, row in self.caught.items() if not any(row)]
        return {"task": self.task.name, "passed": bool(self), "tests": tests, "missed": missed}

    def paragraphs(self) -> list[str]:
        """The grade around its table, a paragraph each."""
        return [self._summary(), *self._describe_unfair_tests(), *self._describe_missed_bug()]

    def _summary(self) -> str:
        """Give no totals, because chapters store this text and bugs are added."""
        # A fair test that catches something, but not all, gets no mark.
        is_wrong = any(self.failures) or any(self.hints) or not self.share
        mark = "✓ " if self else "✗ " if is_wrong else ""
        caught = TEXT(
            "all_caught" if self.share == 1 else "some_caught" if self.share else "none_caught",
            task=self.task.name,
            count=len(self.tests),
        )
        pairs = zip(self.tests, self.failures, strict=True)
        unfair = [
            f"`{test}`" if len(self.tests) > 1 else TEXT("it") for test, each in pairs if each
        ]
        fair = (
            TEXT("tests_fail", count=len(unfair), tests=", ".join(unfair))
            if unfair
            else TEXT("tests_pass", count=len(self.tests))
        )
        return f"{mark}{caught} {fair}"

    def _describe_unfair_tests(self) -> list[str]:
        lines = []
        for test, failures, hint in zip(self.tests, self.failures, self.hints, strict=True):
            if failures:
                right, error = failures[0]
                on_all = len(failures) == len(self.task.solutions)
                line = TEXT(
                    "no_grade_error" if hint else "fails_on_all" if on_all else "fails_on_some",
                    test=test,
                    error=error,
                    fault=hint,
                    code=repr(right.name),
                    why=right.why,
                )
                lines.append(line)
            elif hint:
                lines.append(TEXT("no_grade", test=test, fault=hint))
        return [*lines, TEXT("does_not_count")] if any(self.failures) else lines

    def _describe_missed_bug(self) -> list[str]:
        for name, row in self.caught.items():
            if not any(row):
                symptom = self.task.bugs[name].symptom
                return [
                    TEXT("not_caught" if symptom else "missed", bug=repr(name), symptom=symptom)
                ]
        return []

    def _heads(self) -> list[str]:
        """Number the tests; their names are too long for the heads of columns."""
        return [TEXT("test_number", number=i) for i in range(1, len(self.tests) + 1)]

    def _rows(self) -> list[str]:
        if self.share in {0, 1}:
            return []  # the summary says it all
        width, heads = max(map(len, self.caught)), self._heads()
        names = [f"  {head}: {test}" for head, test in zip(heads, self.tests, strict=True)]
        lines = [" ".join([TEXT("bug").ljust(width), *heads])]
        for name, row in self.caught.items():
            cells = (TEXT("caught") if it else "–" for it in row)
            filled = (cell.rjust(len(head)) for cell, head in zip(cells, heads, strict=True))
            lines.append(" ".join([name.ljust(width), *filled]))
        return [*names, *lines]

    def _table(self) -> str:
        if self.share in {0, 1}:
            return ""
        pairs = zip(self._heads(), self.tests, strict=True)
        names = "<br>".join(f"{head}: <code>{escape(test)}</code>" for head, test in pairs)
        heads = "".join(f'<th scope="col">{head}</th>' for head in self._heads())
        rows = "".join(
            f'<tr><th scope="row">{escape(name)}</th>'
            + "".join(f"<td>{TEXT('caught') if it else '–'}</td>" for it in row)
            + "</tr>"
            for name, row in self.caught.items()
        )
        head = f'<thead><tr><th scope="col">{TEXT("bug")}</th>{heads}</tr></thead>'
        table = f"<table>{head}<tbody>{rows}</tbody></table>"
        return f'<p>{names}</p><div style="overflow-x: auto" tabindex="0">{table}</div>'


def wrong_answers(task: str, arguments: Sequence[Any], *names: str) -> dict[str, Any]:
    """Run known bugs on these arguments; give each result by a sentence about the bug.

    `Prediction` takes the result as its `wrong_answers`.

    Raises:
        ValueError: there is no such task, or it has no such bug.

    Example:
        >>> from attnbook.practice import wrong_answers
        >>> inputs = torch.zeros(1, 1, 4), torch.tensor([2])
        >>> found = wrong_answers("masked-softmax", inputs, "hidden scores set to zero")
        >>> [*found.values()]
        [tensor([[[0.2500, 0.2500, 0.2500, 0.2500]]])]
    """
    bugs = find_bugs(task, names)
    return {TEXT("cause", cause=bug.cause): bug.function(*arguments) for bug in bugs}
