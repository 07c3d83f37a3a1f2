"""No answer of the book can be seen before its question is answered, and none is missing."""

from __future__ import annotations

from tests.tools.site.questions import counts


def test_every_question_of_the_book_has_an_answer_and_each_is_folded(site):
    found = counts(site)
    assert sum(it.predictions for it in found.values()) > 50
    assert sum(it.questions for it in found.values()) > 60
    for name, it in found.items():
        assert it.seen + it.unanswered + it.without_hint == [], name
        assert it.hidden <= 3, name
