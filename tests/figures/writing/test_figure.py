"""The writing figure's Python half: its refusals, its traits and its text."""

from __future__ import annotations

import re

import pytest
import traitlets

from attnbook.figures import WritingFigure
from attnbook.figures.tokens.writing import write
from tests.figures.writing.page import RIGHT, STORY

BAD = {
    "text": [
        ("", "text must hold at least one word, got ''"),
        ("where is eve ?", "text must hold words of the vocabulary, got 'eve' at index 2"),
        (f"{STORY} " * 3, "a figure shows at most 64 of words, got "),
    ],
    "step": [(6, "step must lie in [0, words=6), got 6")],
    "attention": [("some", "attention must be one of all, near, none, got 'some'")],
}
ARGUMENTS = [
    ({"text": 3}, TypeError, "text must be a string, got int"),
    ({"name": "no"}, ValueError, "name must be one of "),
    ({"name": "copying"}, ValueError, "name must be a decoder of words, got 'copying', a decoder"),
    ({"right": [1, 1]}, TypeError, "right must be a Mapping, got list"),
    ({"right": {"all": (1, 1)}}, ValueError, "right must have a row for each of all, near, none"),
    ({"right": RIGHT | {"near": (0.1, 2)}}, ValueError, "right must hold two shares in [0, 1]"),
    ({"right": RIGHT | {"near": (0.1,)}}, ValueError, "right must hold two shares in [0, 1]"),
    *(
        ({trait: value}, ValueError, message)
        for trait, rows in BAD.items()
        for value, message in rows
    ),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), ARGUMENTS)
def test_a_wrong_argument_is_refused_with_its_name_the_rule_and_the_value(arguments, kind, message):
    with pytest.raises(kind, match=f"^{re.escape(message)}"):
        WritingFigure(**{"text": STORY, **arguments})


@pytest.mark.parametrize("trait", BAD)
def test_a_trait_refuses_the_same_and_keeps_its_value(trait):
    figure = WritingFigure(STORY)
    before = getattr(figure, trait)
    for value, message in BAD[trait]:
        with pytest.raises(traitlets.TraitError, match=f"^{re.escape(message)}"):
            setattr(figure, trait, value)
    assert getattr(figure, trait) == before


@pytest.mark.parametrize(("attention", "window"), [("all", None), ("near", 2), ("none", 0)])
def test_its_text_has_the_answer_the_likeliest_words_and_the_shares(attention, window):
    figure = WritingFigure(STORY, attention=attention, right=RIGHT)
    expected = write("story", STORY, window)
    text = repr(figure).splitlines()
    assert text[1] == f"{STORY} → {' '.join(expected.answer)}"
    for line, word, row in zip(text[2:], expected.answer, expected.chances, strict=False):
        assert f"→ {word} {100 * row.max():.0f} %, " in line
    assert text[-2].endswith("13 % right as it is, 17 % if trained so")
    assert figure.shown["answer"] == figure.written.answer == expected.answer


def test_a_shorter_answer_leaves_no_step_beyond_its_end():
    figure = WritingFigure(STORY, step=5)
    figure.text = "anna is in the park"  # only the full stop is left
    assert (figure.shown["answer"], figure.step) == (["."], 0)
