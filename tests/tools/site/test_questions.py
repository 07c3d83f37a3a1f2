"""No answer of the book can be seen before it is asked for, and none is missing."""

from __future__ import annotations

import pytest

from tests.tools.site.live_pages import book, cell, page, printed
from tests.tools.site.questions import count, counts, report
from tests.tools.site.test_answers import SETTINGS, whole, words


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return book(tmp_path_factory.mktemp("questions"), index=whole()).build(**SETTINGS)


def test_every_question_of_the_book_is_answered_and_no_answer_stands_open(site):
    found = counts(site)
    said = report(found)
    assert sum(it.predictions for it in found.values()) > 50, said
    assert sum(it.questions for it in found.values()) > 60, said
    for it in found.values():
        assert it.seen + it.unanswered + it.without_hint == [], said
        assert it.veils <= 3, said


def test_a_whole_page_counts_as_it_should(built):
    found = count(built.read())
    assert (found.predictions, found.veils, found.questions) == (2, 1, 2)
    assert found.seen == found.unanswered == []
    assert found.without_hint == ["2. Write it."]


@pytest.mark.parametrize(
    ("old", "new", "seen", "unanswered"),
    [
        ("<details", "<details open", 2, 2),
        ('attnbook-question">', 'attnbook-question">right: 4\n', 2, 0),
        (">Answer<", ">More<", 0, 2),
    ],
)
def test_what_stands_open_is_found(built, old, new, seen, unanswered):
    found = count(built.read().replace(old, new))
    assert (len(found.seen), len(found.unanswered)) == (seen, unanswered)


def test_a_question_whose_answer_comes_after_the_next_one_is_found(built):
    html = built.read()
    assert count(html.replace("<strong>2.</strong>", "<strong>2</strong>")).questions == 1
    first = "<p><strong>1.</strong>"
    moved = html.replace(first, f"<p><strong>0.</strong> What?</p>{first}")
    assert count(moved).unanswered == ["0. What?"]


def test_a_promise_to_ask_that_is_not_kept_is_found(tmp_path):
    plain = words("**Predict.** What comes?"), cell(printed("42"))
    html = book(tmp_path, index=page(*plain)).build(**SETTINGS).read()
    assert count(html).seen == ["Predict. What comes?"]


def test_a_list_of_questions_is_found(tmp_path):
    html = book(tmp_path, index=page(words("## Practice\n\n1. Why?\n2. How?"))).build().read()
    assert count(html).unanswered == ["Why? How?"]
