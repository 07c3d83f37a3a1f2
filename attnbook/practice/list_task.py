"""A task on plain lists and numbers: small enough for a page that runs Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from attnbook.practice.plain import as_plain, outcome_of
from attnbook.practice.task import Function, Task


@dataclass
class ListTask(Task):
    """Something to write on plain lists. What right code and bugs use, MicroPython knows.

    Args:
        in_torch: the task that asks for the same on tensors.
        draws: what an `AttentionFigure` can draw of it: "score", a number for a query and a key;
            "weights", of a row of scores and a length; "weights of what is seen", of a row of
            scores alone; "mask", whether the query at one position may see the key at another.
    """

    in_torch: Task | None = None
    draws: str = ""

    def bug(self, **texts: str) -> Callable[[Function], Function]:
        """Register a bug; a text that is not given is that of the same bug in torch."""

        def register(function: Function) -> Function:
            super(ListTask, self).bug(**texts)(function)
            name, bug = self.bugs.popitem()
            if self.in_torch and not (bug.sentence and bug.mend):
                same = self.in_torch.bugs[name]
                bug = replace(
                    bug, sentence=bug.sentence or same.sentence, mend=bug.mend or same.mend
                )
            self.bugs[name] = bug
            return function

        return register

    @property
    def called(self) -> str:
        """The name of the starter's last function: others may stand before it, as help."""
        return self.starter.rpartition("def ")[2].partition("(")[0]

    def as_data(self) -> dict[str, Any]:
        """All that `plain.judge` needs, as JSON can hold it."""
        bugs = [bug.function for bug in self.bugs.values()]
        return {
            "name": self.name,
            "called": self.called,
            "arguments": self.arguments,
            "bugs": [[bug.sentence, bug.mend] for bug in self.bugs.values()],
            "cases": [
                {
                    "name": case.name,
                    "arguments": (handed := as_plain(case.make())),
                    "right": (right := _does(self.reference, handed)),
                    "bugs": [
                        None if (done := _does(bug, handed)) == right else done for bug in bugs
                    ],
                }
                for case in self.cases.values()
            ],
        }


def _does(function: Function, arguments: list[Any]) -> dict[str, Any]:
    done = outcome_of(function, arguments)
    return {what: _short(value) for what, value in done.items() if what != "error"}


def _short(value: Any) -> Any:  # noqa: ANN401 - whatever was given
    """The same with seven digits, which are more than the judge looks at."""
    if isinstance(value, list):
        return [_short(each) for each in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value
