"""A task on plain lists and numbers: small enough for a page that runs Python."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attnbook.practice.task import Bug, Task


@dataclass(repr=False)
class ListTask(Task):
    """A task on plain lists, whose code also runs in MicroPython.

    Args:
        in_torch: the same task on tensors.
        draws: what an `AttentionFigure` can draw with it: "score", a number for a query and a key;
            "weights", of a row of scores and a length; "weights of what is seen", of a row of
            scores only; "mask", whether the query at one position may attend to the key at another;
            "attention", an output of a query, keys, values and a length.
        parts: the tasks whose functions the code may call; `attnbook.practice.parts` has them.
        planted: the bug that the starter has. A verdict gives its symptom, and names it once it
            is fixed.
        fix_later: whether a bug's fix is the answer itself: a second wrong verdict shows it.
    """

    in_torch: Task | None = None
    draws: str = ""
    parts: tuple[str, ...] = ()
    planted: str = ""
    fix_later: bool = False

    def completed(self, bug: Bug) -> Bug:
        """Take missing texts from the bug of the same name in torch."""
        same = self.in_torch.bugs.get(bug.name) if self.in_torch else None
        if same is None:
            return bug
        texts = ("cause", "fix", "symptom", "origin")
        return replace(bug, **{text: getattr(bug, text) or getattr(same, text) for text in texts})

    @property
    def to_find(self) -> list[str]:
        """The cause and the symptom of the planted bug; empty without one."""
        return [(bug := self.bugs[self.planted]).cause, bug.symptom] if self.planted else []

    @property
    def called(self) -> str:
        """The name of the starter's last function; helpers may come before it."""
        return self.starter.rpartition("def ")[2].partition("(")[0]
