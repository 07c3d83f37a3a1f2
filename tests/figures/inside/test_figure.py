"""The inside figure in Python: what it stores for a page, and what it refuses."""

from __future__ import annotations

import pytest

from attnbook.figures import InsideFigure
from attnbook.models.transformer.stories import make_stories


def test_it_stores_each_story_with_the_models_own_answer():
    [story] = make_stories(1, sentences=(2, 2))
    figure = InsideFigure([story], action="Press it.")
    assert figure.stories[0] == {
        "text": story.text,
        "question": f"where is {story.who} ?",
        "answer": story.answer,
    }
    assert repr(figure).splitlines()[::2] == ["Press it.", f"{story.text} {story.answer}"]


@pytest.mark.parametrize(
    ("count", "options", "message"),
    [
        (0, {}, "a figure needs at least 1 of stories, got 0"),
        (11, {}, "a figure shows at most 10 of stories, got 11"),
        (1, {"score": "pool-by-hand"}, "score must be one of score-by-hand, scaled-score-by-hand"),
    ],
)
def test_too_many_stories_and_unknown_scores_are_refused(count, options, message):
    with pytest.raises(ValueError, match=message):
        InsideFigure(make_stories(max(count, 1))[:1] * count, **options)
