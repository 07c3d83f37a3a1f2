"""The prediction in Python: refusals, traits and the text."""

from __future__ import annotations

import re

import pytest
import torch

from attnbook.figures import Prediction
from attnbook.practice import find_task
from tests.figures.prediction.cases import HALF, choice, number, numbers

SAME = "each wrong answer must differ, got"


@pytest.mark.parametrize(
    ("right", "options", "message"),
    [
        ("a", {}, "a choice needs wrong_answers to choose from, got none"),
        (1.0, {"wrong_answers": {"No.": 1.009}}, f"{SAME} the right answer"),
        (1, {"wrong_answers": {"A.": 2, "B.": 2}}, f"{SAME} the same as 'A.'"),
        ("a", {"wrong_answers": {"No.": "a"}}, f"{SAME} the right answer"),
        ([1, 2], {}, "labels must name each of the 2 numbers, got 0 labels"),
        (
            [1, 2],
            {"wrong_answers": {"No.": [1]}, "labels": "ab"},
            r"a wrong answer must have 2 numbers, got \[1.0\]",
        ),
        ([0] * 9, {"labels": "abcdefghi"}, "a figure shows at most 8 of numbers to type, got 9"),
        (float("nan"), {}, "an answer must be finite numbers, or a text to choose, got nan"),
        (torch.tensor([0.0, torch.inf]), {}, "an answer must be finite, got inf at index"),
    ],
)
def test_a_question_that_cannot_be_judged_is_refused(right, options, message):
    with pytest.raises(ValueError, match=message):
        Prediction("What?", right, **options)


@pytest.mark.parametrize(
    "claims",
    [
        {"a": False, "b": (False, "No.")},
        {"a": True, "b": True},
        {"a": True, "b": (True, "No.")},
        {"a": True, "b": False},
    ],
)
def test_of_claims_exactly_one_holds_and_each_other_has_a_sentence(claims):
    with pytest.raises(ValueError, match="claims must be True for the one that holds"):
        Prediction.claims("The weights …", claims)


def test_two_claims_with_one_sentence_are_refused():
    claims = {"a": True, "b": (False, "No."), "c": (False, "No.")}
    with pytest.raises(ValueError, match="must have a sentence of its own"):
        Prediction.claims("The weights …", claims)


def test_a_claim_may_be_a_tensors_truth():
    weights = torch.tensor([0.9, 0.1])
    claims = {"grow": weights[0] > weights[1], "shrink": (weights[0] < 0.5, "The first grows.")}
    figure = Prediction.claims("The weights …", claims)
    assert (figure.right, figure.wrong_answers) == ("grow", [["shrink", "The first grows."]])


BUGS = find_task("length-mask").bugs
INVERTED, SHIFTED = BUGS["mask inverted"], BUGS["one key too many"]


def test_the_checker_finds_the_right_bug_and_users_reports_explain_the_others():
    figure = Prediction.bug("length-mask", INVERTED.function, SHIFTED.name)
    assert figure.right == INVERTED.cause
    report = f"With that bug, a user would report: {SHIFTED.symptom}"
    assert figure.wrong_answers == [[SHIFTED.cause, report]]


def count_visible(length_mask):
    """How many of four keys a mask shows for a length of 3."""
    return length_mask(torch.tensor([3]), 4).sum()


def test_a_figure_shows_what_a_bug_gives_and_a_wrong_choice_what_the_other_one_does():
    figure = Prediction.bug(
        "length-mask", INVERTED.function, SHIFTED.name, run=count_visible, given="a `3`"
    )
    assert figure.wrong_answers == [[SHIFTED.cause, "That bug gives 4, not 1."]]
    assert repr(figure).splitlines()[1:4] == ["input: a `3`", "expected: 3", "got: 1"]
    assert figure.evidence.endswith('expected <b>3</b> got <b class="wrong">✗ 1</b></p>')
    assert figure.still_html.startswith(figure.evidence)


def test_a_bug_that_gives_the_same_numbers_is_no_choice():
    with pytest.raises(ValueError, match="another bug must not give 7, too, got 'one key too"):
        Prediction.bug("length-mask", INVERTED.function, SHIFTED.name, run=lambda _: 7)


@pytest.mark.parametrize(
    ("code", "other", "message"),
    [
        (
            find_task("length-mask").reference,
            SHIFTED.name,
            "one known bug of length-mask, got \\[\\]",
        ),
        (INVERTED.function, INVERTED.name, "claims must be True for the one that holds"),
        (INVERTED.function, "no bug", "bugs of length-mask are .*, got 'no bug'"),
    ],
)
def test_code_without_one_known_bug_and_choices_that_are_no_other_bug_are_refused(
    code, other, message
):
    with pytest.raises(ValueError, match=message):
        Prediction.bug("length-mask", code, other)


def test_the_text_has_every_number():
    assert repr(numbers()) == (
        "Prediction: The weights:\nright: first 0.667, second 0.333\n"
        f"first 0.500, second 0.500: {HALF}"
    )
    assert repr(number()).splitlines()[1] == "right: 1024.000"


def test_the_static_form_has_no_answer():
    assert re.findall(r">([^<]+)<", numbers().still_html) == [
        "The weights:", "first", "second", "Check",
    ]  # fmt: skip
    question, *options = re.findall(r"<p>(.*?)</p>", choice().still_html)
    assert question == "The shape of <code>output</code>:"
    assert options == choice().options
    assert "<b>a</b>" not in Prediction("<b>a</b>?", 1).still_html


def test_options_are_shuffled_and_the_same_each_time():
    assert choice().options == choice().options
    positions = set()
    for name in "abcdefgh":
        figure = Prediction(name, "right", {"No.": "x", "Nor this.": "y"})
        positions.add(figure.options.index("right"))
    assert positions == {0, 1, 2}


def test_a_tensor_becomes_a_row_of_numbers_on_any_default_device():
    figure = Prediction("Both:", torch.tensor([[1.5], [2.5]]), labels=["a", "b"])
    assert figure.right == [1.5, 2.5]
    with torch.device("meta"):
        assert repr(Prediction("Both:", [1.5, 2.5], labels=["a", "b"])) == repr(figure)
