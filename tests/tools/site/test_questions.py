"""No answer of the book can be seen before its question is answered, and none is missing."""

from __future__ import annotations

import pytest

from tests.tools.site.live_pages import book, cell, page, printed
from tests.tools.site.questions import count, counts
from tests.tools.site.test_answers import SETTINGS, whole, words


def test_every_question_of_the_book_has_an_answer_and_each_is_folded(site):
    found = counts(site)
    assert sum(it.predictions for it in found.values()) > 50
    assert sum(it.questions for it in found.values()) > 60
    for name, it in found.items():
        assert it.seen + it.unanswered + it.without_hint == [], name
        assert it.hidden <= 3, name


# The count itself can fail


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    missing = page(words("**Predict.** What comes?"), cell(printed("42")))
    as_list = page(words("## Practice\n\n1. Why?\n2. How?"))
    folder = tmp_path_factory.mktemp("questions")
    return book(folder, index=whole(), missing=missing, as_list=as_list).build(**SETTINGS)


@pytest.mark.parametrize(
    ("old", "new", "seen", "unanswered"),
    [
        ("", "", 0, []),
        ("<details", "<details open", 2, ["1. Why?", "2. Write it."]),
        ('attnbook-question">', 'attnbook-question">right: 4\n', 2, []),
        (">Answer<", ">More<", 0, ["1. Why?", "2. Write it."]),
        ("<p><strong>1.", "<p><strong>0.</strong> What?</p><p><strong>1.", 0, ["0. What?"]),
    ],
)
def test_open_and_missing_answers_are_found(built, old, new, seen, unanswered):
    found = count(built.read().replace(old, new) if old else built.read())
    assert (found.predictions, found.hidden, found.questions) == (2, 1, 2 + ("0." in new))
    assert (len(found.seen), found.unanswered) == (seen, unanswered)
    assert "2. Write it." in found.without_hint


def test_a_missing_prediction_and_a_list_of_questions_are_found(built):
    assert count(built.read("missing")).seen == ["Predict. What comes?"]
    assert count(built.read("as_list")).unanswered == ["Why? How?"]
