"""Which bug is named, with numbers as outcomes: 0 is right, None all NaN, -1 does not end."""

import pytest

from attnbook.practice.judge.judging import judge


def near(one, other):
    return one is other if None in (one, other) else abs(one - other) <= 0.5


class Numbers:
    """An answer and bugs by their outcomes."""

    def __init__(self, outcomes, *bugs):
        self.outcomes, self.bugs = outcomes, bugs
        self.num_cases, self.num_bugs = len(outcomes), len(bugs)

    def run(self, case):
        return self.outcomes[case]

    def difference(self, _case, outcome):
        return "" if near(outcome, 0) else f"It is {outcome}."

    def is_same(self, case, outcome, bug):
        return near(self.bugs[bug][case], outcome)

    def is_wrong(self, case, bug):
        return not near(self.bugs[bug][case], 0)

    def needs_no_name(self, outcome):
        return outcome == -1

    def is_all_nan(self, outcome):
        return outcome is None

    def describe_constant(self, outcome):
        return f"It is {CONSTANT}." if outcome == CONSTANT else ""

    def needed(self, _case, counted):
        return counted / 2


CONSTANT = 7  # of all outcomes, only this one may be constant
NAMED = {
    "the one that does the same": ([0, 1, 1, 1], [[0, 1, 1, 1], [0, 2, 2, 2]], [0]),
    "not one that differed before": ([0, 1, 1], [[3, 1, 1]], []),
    "not one that is right there": ([0.6, 1], [[0.3, 1]], []),
    "the one that does it more often": ([1, 2, 2, 3], [[1, 2, 2, 3], [1, 2, 4, 4]], [0]),
    "both, if equally often": ([1, 2, 2], [[1, 2, 2], [1, 2, 2]], [0, 1]),
    "none of three": ([1, 2], [[1, 2], [1, 2], [1, 2]], []),
    "half of the others is enough": ([1, 2, 3], [[1, 2, 9]], [0]),
    "less than half is not enough": ([1, 2, 3, 4], [[1, 2, 9, 9]], []),
    "right where the bug is wrong is a vote against it": ([1, 2, 0], [[1, 2, 5]], []),
    "right where the bug is right is a vote for it": ([1, 2, 0, 7], [[1, 2, 0, 5]], [0]),
    "NaN in others does not count": ([1, 2, None], [[1, 2, 9]], [0]),
    "NaN alone names nothing": ([None, None], [[None, None]], []),
    "the only case is enough": ([1], [[1]], [0]),
    "a constant only if it is the same in each case": ([7, 7, 7], [[7, 7, 7], [7, 7, 0]], [0]),
    "none for a constant that differs once": ([7, 7, 7], [[7, 7, 0]], []),
    "another, if it is no constant": ([7, 7, 0], [[7, 7, 0]], [0]),
    "none for a call that does not end": ([-1, 1], [[-1, 1]], []),
    "none if a later call does not end": ([1, 1, -1], [[1, 1, 1]], []),
}


@pytest.mark.parametrize(("outcomes", "bugs", "expected"), NAMED.values(), ids=NAMED)
def test_a_bug_is_named_by_what_it_does(outcomes, bugs, expected):
    assert judge(Numbers(outcomes, *bugs))["bugs"] == expected


@pytest.mark.parametrize(
    ("outcomes", "bugs", "sentence"),
    [
        ([7, 7], [], "It is 7. It is 7."),
        ([7, 7], [[7, 7]], "It is 7."),
        ([7, 5], [], "It is 7."),
        ([7], [], "It is 7."),
        ([7, -1], [], "It is 7."),
    ],
)
def test_a_constant_that_is_no_known_bug_is_reported_as_one(outcomes, bugs, sentence):
    assert judge(Numbers(outcomes, *bugs))["wrong"] == sentence


def test_the_first_case_that_fails_is_reported_before_the_answer_runs_on():
    events = []
    answer = Numbers([0, 0, 4, 5], [0, 0, 4, 5])
    found = judge(answer, lambda: events.append("naming begins"))
    assert found == {"held": 2, "wrong": "It is 4.", "outcome": 4, "bugs": [0]}
    assert events == ["naming begins"]
    right = judge(Numbers([0, 0]), lambda: events.append("never"))
    assert right == {"held": 2, "wrong": "", "outcome": None, "bugs": []}
    assert len(events) == 1
