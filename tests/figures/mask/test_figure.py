"""The mask figure in Python: its errors, its traits and its text."""

from __future__ import annotations

import re

import pytest
import torch
import traitlets

from attnbook.figures import MaskFigure
from attnbook.masking.interop import MaskRules
from tests.figures.attention.cases import traits
from tests.figures.mask.cases import BY_TABLE, ON_TENSORS, page_rules
from tests.masking.mask_rules import ALONE, JOINS

# Refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_queries": 0}, "a figure needs at least 1 of num_queries, got 0"),
        ({"num_keys": 33}, "a figure shows at most 32 of num_keys, got 33; show a part of it"),
        ({"num_queries": 7}, "a figure shows at most num_keys=6 queries"),
        ({"valid_len": 7}, "valid_len must lie in [0, num_keys=6], got 7"),
        ({"causal": "no"}, "causal must be 'last', 'first' or None, got 'no'"),
        ({"causal": "last", "prefix": 2}, "causal must be None with a prefix"),
        ({"groups": ["rows"]}, "groups must be some of sizes, padding, order, window, documents"),
        ({"goal": MaskRules(6, 5)}, "goal must have num_queries=6 and num_keys=6, got 6 and 5"),
        ({"goal": MaskRules(6, 6, table=((True,) * 6,) * 6)}, "goal must be made of rules"),
    ],
)
def test_wrong_arguments_raise_an_error_of_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        MaskFigure(**arguments)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("valid_len", 7, "valid_len must lie in [0, num_keys=6], got 7"),
        ("start", -1, "start must lie in [0, num_keys=6], got -1"),
        ("back", -1, "back must"),
        ("num_keys", 5, "a figure shows at most num_keys=5 queries"),
        ("num_queries", 40, "a figure shows at most 32 of num_queries, got 40"),
        ("prefix", 2, "causal must be None with a prefix"),
        ("documents", [0, 1], "documents must"),
        ("library", "numpy", "numpy"),
        ("start", 1.5, "expected an int"),
    ],
)
def test_setting_a_trait_out_of_range_raises_and_changes_nothing(name, value, message):
    figure = MaskFigure(causal="last")
    before = traits(figure)
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        setattr(figure, name, value)
    assert traits(figure) == before


# Traits


def test_visible_is_the_mask_of_the_rules():
    for rules in [*ALONE.values(), *JOINS[::4]]:
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
        ("q + k", "It gives 2 for q=0, k=2: a mask is of True and False."),
        ("None", "It gives None for q=0, k=0: a mask is of True and False."),
        ("~(q < k) and k", "Python's `~` turns the bits of a number"),
        ("~(0 <= q - k < 2)", "Python's `~` turns the bits of a number"),
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


# Text


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
    figure = MaskFigure(3, 3, goal=MaskRules(3, 3, causal="last"), written="q > k")
    assert repr(figure).splitlines()[-5:] == [
        "Wanted:",
        "query  0  ● · ·  sees 1",
        "query  1  ● ● ·  sees 2",
        "query  2  ● ● ●  sees 3",
        "3 pairs differ from it.",
    ]
    figure.predicate = "q >= k"
    assert repr(figure).endswith("This is the picture.")
    assert figure.groups[0] == "padding"  # its sizes are the goal's


def test_python_is_loaded_only_where_a_rule_can_be_written():
    assert MaskFigure().late == ["python"]
    assert MaskFigure(groups=["order"]).late == []
