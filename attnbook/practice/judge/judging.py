"""Go through the cases up to the first that fails, then look for the bug that does the same.

What outcomes are, and when two are the same, an `Answer` says: one on tensors, or one on plain
lists. MicroPython runs this in the reader's page, so it imports nothing.
"""

try:
    from collections.abc import Callable
    from typing import Any, Protocol
except ImportError:  # in MicroPython
    Protocol = object  # type: ignore[assignment]

MOST_NAMED = 2  # more bugs than these that do the same name nothing


class Answer(Protocol):
    """What a reader wrote for a task; cases and bugs are numbers from 0."""

    num_cases: int
    num_bugs: int

    def run(self, case: int) -> Any:
        """What it does in a case."""

    def difference(self, case: int, outcome: Any) -> str:
        """How this differs from what is right, in a sentence; nothing if it does not."""

    def is_same(self, case: int, outcome: Any, bug: int) -> bool:
        """Whether a known bug does the same."""

    def is_wrong(self, case: int, bug: int) -> bool:
        """Whether a known bug is wrong there."""

    def says_enough(self, outcome: Any) -> bool:
        """Whether it failed in a way that needs no bug's name: it did not end, for instance."""

    def says_nothing(self, outcome: Any) -> bool:
        """Whether all of it is NaN, as many faults end."""

    def needed(self, case: int, counted: int) -> float:
        """How many of the later cases a bug must share."""


def judge(answer: Answer, before_naming: Callable[[], object] = list) -> dict[str, Any]:
    """Run the cases in their order.

    Args:
        answer: what was written.
        before_naming: is called before the answer runs on, for its bug's name alone.

    Returns:
        How many cases hold (`held`); of the first that does not, what is `wrong`, its `outcome`,
        and the numbers of the `bugs` that do the same.
    """
    done: list[Any] = []
    for case in range(answer.num_cases):
        outcome = answer.run(case)
        done.append(outcome)
        wrong = answer.difference(case, outcome)
        if wrong:
            before_naming()
            bugs = [] if answer.says_enough(outcome) else named(answer, done)
            return {"held": case, "wrong": wrong, "outcome": outcome, "bugs": bugs}
    return {"held": len(done), "wrong": "", "outcome": None, "bugs": []}


def named(answer: Answer, done: list[Any]) -> list[int]:
    """The known bugs that do what was done, wrong as it is, in more cases than all others.

    A bug must do the same in the case that failed and in all before it. Of the cases after it,
    those where all is NaN say nothing; each where both do the same counts for it, and each where
    what was written is right and the bug wrong against it, and the sum must be as many as needed.
    One such case alone does not speak against a bug: many who make it treat an empty row by itself.
    """
    failed = len(done) - 1
    same = [
        bug
        for bug in range(answer.num_bugs)
        if all(answer.is_same(case, done[case], bug) for case in range(failed, -1, -1))
        and answer.is_wrong(failed, bug)
    ]
    if not same:
        return []
    votes = [0 for _ in same]
    counted = 0
    for case in range(failed + 1, answer.num_cases):
        outcome = answer.run(case)
        if answer.says_enough(outcome):
            return []
        if answer.says_nothing(outcome):
            continue
        counted += 1
        right = not answer.difference(case, outcome)
        for i in range(len(same)):
            if right and answer.is_wrong(case, same[i]):
                votes[i] -= 1
            elif answer.is_same(case, outcome, same[i]):
                votes[i] += 1
    if counted == 0 and answer.says_nothing(done[failed]):
        return []
    most = max(votes)
    if most < answer.needed(failed, counted):
        return []
    best = [same[i] for i in range(len(same)) if votes[i] == most]
    return best if len(best) <= MOST_NAMED else []
