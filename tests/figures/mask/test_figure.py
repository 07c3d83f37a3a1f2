"""The mask figure in Python: its errors, its traits and its text."""

from __future__ import annotations

import pytest
import torch
from traitlets import TraitError

from attnbook.figures import MaskFigure
from attnbook.masking.interop import MaskRules
from tests.figures.mask.cases import BY_TABLE, ON_TENSORS, page_rules
from tests.masking.mask_rules import ALONE, JOINS


def test_visible_is_the_mask_of_the_rules():
    for rules in [*ALONE.values(), *JOINS[::10]]:
        if rules.num_queries <= rules.num_keys and rules.table is None:
            figure = MaskFigure(**page_rules(rules))
            assert torch.equal(figure.visible, rules.visible())
            assert figure.rules == rules


def test_rules_that_change_together_arrive_together():
    figure = MaskFigure(causal="last", valid_len=6)
    figure.set_state({"causal": None, "prefix": 2})  # what a front end sends
    assert torch.equal(figure.visible, MaskRules(6, 6, prefix=2, valid_len=6).visible())
    figure.set_state({"num_queries": 3, "num_keys": 4, "valid_len": 4})
    assert figure.visible.shape == (3, 4)


@pytest.mark.parametrize("text", [*ON_TENSORS, *BY_TABLE])
def test_a_written_rule_is_joined_with_the_others(text):
    figure = MaskFigure(4, 6, causal="last", written=text)
    allowed = MaskRules(4, 6, causal="last").visible()
    truth = text.replace("~", "not ").replace("&", "and").replace("|", "or")
    names = {"num_keys": 6, "documents": [0] * 6}
    own = [[bool(eval(truth, names, {"q": q, "k": k})) for k in range(6)] for q in range(2, 6)]  # noqa: S307 - written above
    assert torch.equal(figure.visible, allowed & torch.tensor(own))
    assert f"\nand {text}\n" in repr(figure)
    figure.predicate = ""
    assert torch.equal(figure.visible, allowed)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("q >=", "SyntaxError: invalid syntax"),
        ("q >= x", "NameError: name 'x' is not defined"),
        ("q // k", "ZeroDivisionError"),
        ("q + k", "It gives 2 for q=0, k=2: a mask holds True or False."),
        ("None", "It gives None for q=0, k=0: a mask holds True or False."),
        ("~(q < k) and k", "Python’s `~` inverts the bits of a number"),
        ("~(0 <= q - k < 2)", "Python’s `~` inverts the bits of a number"),
    ],
)
def test_a_written_rule_without_a_mask_has_an_error_and_hides_nothing(text, error):
    figure = MaskFigure(written=text)
    assert figure.error.startswith(error)
    assert figure.visible.all()
    assert f"and {text}: {error}" in repr(figure)


def test_a_written_rule_follows_the_sizes():
    figure = MaskFigure(written="q >= k")
    figure.set_state({"num_queries": 2, "num_keys": 9})
    assert torch.equal(figure.visible, MaskRules(2, 9, causal="last").visible())


def test_the_text_draws_the_mask():
    figure = MaskFigure(3, 4, causal="first", start=1)
    assert repr(figure) == (
        "MaskFigure: num_queries=3, num_keys=4, start=1, causal='first'\n"
        "position  – 0 1 2\n"
        "query  1  · · · ·  sees 0\n"
        "query  2  · ● · ·  sees 1\n"
        "query  3  · ● ● ·  sees 2\n"
        "3 of 12 pairs are visible (25 %).\n"
        "Query 1 sees nothing: weights 0, output 0 in this book."
    )


def test_the_text_draws_the_goal_and_counts_the_differences():
    figure = MaskFigure(3, 3, goal=MaskRules(3, 3, causal="last"), written="q <= k")
    assert repr(figure).splitlines()[-5:] == [
        "Wanted:",
        "query  0  ● · ·  sees 1",
        "query  1  ● ● ·  sees 2",
        "query  2  ● ● ●  sees 3",
        "6 pairs differ from it. Queries and keys are exchanged.",
    ]
    figure.predicate = "q >= k"
    assert repr(figure).endswith("This is the picture.")
    assert figure.groups[0] == "padding"  # its sizes are the goal's


def test_the_text_draws_the_observed_map_and_explains_it():
    observed = MaskRules(3, 3, causal="last").visible()
    figure = MaskFigure(3, 3, causal="first", valid_len=2, observed=observed)
    for rows in (observed.tolist(), tuple(map(tuple, observed.tolist())), observed.numpy()):
        assert MaskFigure(3, 3, observed=rows).observed == figure.observed == observed.tolist()
    assert repr(figure).splitlines()[-5:] == [
        "Observed:",
        "query  0  ● · ·  sees 1",
        "query  1  ● ● ·  sees 2",
        "query  2  ● ● ●  sees 3",
        "1 pair differs from it. One key too many is visible: a length of 2 ends before key 2.",
    ]
    figure.valid_len = None
    assert repr(figure).endswith("These rules give the observed map.")
    figure.causal = None
    assert repr(figure).endswith("3 pairs differ from it.")
    assert "sizes" not in figure.groups
    with pytest.raises(TraitError, match=r"num_keys must stay 3, .*, got 4"):
        figure.num_keys = 4


def test_python_is_loaded_only_where_a_rule_can_be_written():
    assert MaskFigure().late == ["python"]
    assert MaskFigure(groups=["order"]).late == []
