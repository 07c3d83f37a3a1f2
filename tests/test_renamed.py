"""Old public names work for one version, and warn."""

import pytest

from attnbook import practice
from attnbook.figures import Prediction
from attnbook.masking import masks

TASK = practice.find_task("masked-softmax")
BUG = next(iter(TASK.bugs.values()))


@pytest.mark.parametrize(
    ("holder", "old", "new"),
    [
        (masks, "given_mask", "check_mask"),
        (masks, "seen_keys", "count_visible"),
        (masks, "reach", "last_visible"),
        (practice, "slips", "wrong_answers"),
        (TASK, "rights", "solutions"),
        (BUG, "sentence", "cause"),
        (BUG, "mend", "fix"),
    ],
)
def test_an_old_name_gives_the_new_one_and_warns(holder, old, new):
    with pytest.warns(DeprecationWarning, match=f"{old} is called {new} now") as warned:
        assert getattr(holder, old) is getattr(holder, new)
    assert warned[0].filename == __file__


def test_an_old_argument_is_accepted_and_warns():
    with pytest.warns(DeprecationWarning, match="slips is called wrong_answers now") as warned:
        prediction = Prediction("Which?", "a", slips={"No.": "b"})
    assert prediction.wrong_answers == [["b", "No."]]
    assert warned[0].filename == __file__


@pytest.mark.parametrize("module", [masks, practice])
def test_an_unknown_name_is_refused(module):
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018 - it raises
