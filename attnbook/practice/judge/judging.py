"""Go through the cases up to the first that fails, then search for the bug that does the same.

An `Answer`, on tensors or on plain lists, defines what outcomes are and when two are the same.
 MicroPython runs this in the reader's page, so it imports nothing.
"""

try:
    from collections.abc import Callable
    from typing import Any, Protocol
except ImportError:  # in MicroPython
    Protocol = object  # type: ignore[assignment]

MOST_NAMED = 2  # if more bugs than these do the same, none is named


class Answer(Protocol):
    """What a reader wrote for a task; cases and bugs are numbers from 0."""

    num_cases: int
    num_bugs: int

    def run(self, case: int) -> Any:
        """Run the answer in a case."""

    def difference(self, case: int, outcome: Any) -> str:
        """Describe in a sentence how an outcome differs from the right one; empty if equal."""

    def is_same(self, case: int, outcome: Any, bug: int) -> bool:
        """Whether a known bug does the same."""

    def is_wrong(self, case: int, bug: int) -> bool:
        """Whether a known bug is wrong there."""

    def needs_no_name(self, outcome: Any) -> bool:
        """Whether it failed in a way that needs no bug's name: it did not end, for instance."""

    def is_all_nan(self, outcome: Any) -> bool:
        """Whether all of it is NaN, which is the result of many bugs."""

    def describe_constant(self, outcome: Any) -> str:
        """Report in a sentence that all of it is one number; empty if it is not."""

    def needed(self, case: int, counted: int) -> float:
        """How many of the later cases must agree with a bug."""


def judge(answer: Answer, before_naming: Callable[[], object] = list) -> dict[str, Any]:
    """Run the cases in their order.

    Args:
        answer: to judge.
        before_naming: is called before the later cases run, which only serve to name the bug.

    Returns:
        How many cases hold (`held`); of the first that does not, what is `wrong`, its `outcome`,
        and the numbers of the `bugs` that do the same.
    """
    outcomes: list[Any] = []
    for case in range(answer.num_cases):
        outcome = answer.run(case)
        outcomes.append(outcome)
        wrong = answer.difference(case, outcome)
        if wrong:
            before_naming()
            named = ([], "") if answer.needs_no_name(outcome) else find_bugs(answer, outcomes)
            wrong = f"{wrong} {named[1]}" if named[1] else wrong
            return {"held": case, "wrong": wrong, "outcome": outcome, "bugs": named[0]}
    return {"held": len(outcomes), "wrong": "", "outcome": None, "bugs": []}


def find_bugs(answer: Answer, outcomes: list[Any]) -> tuple[list[int], str]:
    """Find the known bugs that agree with the wrong outcomes in more cases than all others.

    If all outcomes are one and the same number, only a bug that does the same in each case is
    named, and without one the sentence of `describe_constant` is given.

    A bug must do the same in the case that failed and in all before it. Of the cases after it,
    those where all is NaN do not count; each where both do the same is a vote for the bug, each
    where the answer is right and the bug wrong is a vote against it, and the sum must be as large
    as needed. One such case alone does not exclude a bug: many readers who make it handle an empty
    row separately.
    """
    failed = len(outcomes) - 1
    same = [
        bug
        for bug in range(answer.num_bugs)
        if all(answer.is_same(case, outcomes[case], bug) for case in range(failed, -1, -1))
        and answer.is_wrong(failed, bug)
    ]
    constant = answer.describe_constant(outcomes[failed]) if answer.num_cases > 1 else ""
    if any(constant and answer.describe_constant(each) != constant for each in outcomes):
        constant = ""
    votes = [0 for _ in same]
    counted = 0
    for case in range(failed + 1, answer.num_cases):
        if not (same or constant):
            return [], ""
        outcome = answer.run(case)
        if answer.needs_no_name(outcome):
            return [], ""
        if constant and answer.describe_constant(outcome) != constant:
            constant = ""
        if answer.is_all_nan(outcome):
            continue
        counted += 1
        right = not answer.difference(case, outcome)
        for i in range(len(same)):
            if right and answer.is_wrong(case, same[i]):
                votes[i] -= 1
            elif answer.is_same(case, outcome, same[i]):
                votes[i] += 1
    needed = counted if constant else answer.needed(failed, counted)
    most = max(votes + [needed - 1])  # noqa: RUF005 - MicroPython
    best = [same[i] for i in range(len(same)) if votes[i] == most]
    is_unclear = len(best) > MOST_NAMED or (counted == 0 and answer.is_all_nan(outcomes[failed]))
    if most < needed or is_unclear:
        return [], constant
    return best, ""
