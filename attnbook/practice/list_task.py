"""A task on plain lists and numbers: small enough for a page that runs Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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
            if self.in_torch and not (bug.cause and bug.fix):
                same = self.in_torch.bugs[name]
                bug = replace(bug, cause=bug.cause or same.cause, fix=bug.fix or same.fix)
            self.bugs[name] = bug
            return function

        return register

    @property
    def called(self) -> str:
        """The name of the starter's last function: others may come before it, as help."""
        return self.starter.rpartition("def ")[2].partition("(")[0]
