"""The story figure's Python half: its answer, its weights, its text and its traits."""

from __future__ import annotations

import pytest
import torch
import traitlets

from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.transformer.stories import answers
from tests.figures.story.page import make, random_stories, weights_by_torch


def test_it_shows_the_answer_and_the_weights_of_the_model():
    for story in random_stories(6):
        figure = make(**story)
        assert [figure.answer] == answers(book_decoder("story"), [figure.story])
        for word, stored in enumerate(figure.shown["weights"]):
            expected = torch.tensor(weights_by_torch(figure, word)).T
            torch.testing.assert_close(torch.tensor(stored), expected, rtol=1e-4, atol=1e-9)


def test_its_text_is_the_story_the_question_the_answer_and_the_words_looked_at():
    figure = make(moves=[("anna", "park"), ("ben", "school")], who="ben", word=0)
    *lines, last = str(figure).splitlines()
    assert lines == [
        "StoryFigure: story",
        "anna goes to the park .",
        "ben goes to the school .",
        "where is ben ?",
        figure.answer,
    ]
    assert last.startswith("To write “ben” (")
    mean = torch.tensor(weights_by_torch(figure, 0)).mean(-1)
    most = int(mean.argmax())
    where = f"in sentence {most // 6 + 1}" if most < 12 else "in the question"
    word = figure.story.text.split()[most]
    assert f"it looked at “{word}” {where} ({100 * mean[most]:.0f} %)" in last


def test_a_story_can_be_set_together_with_another_person():
    figure = make()
    moves = [["dan", "park"], ["ben", "park"]]
    with pytest.raises(traitlets.TraitError, match="who must be in the story"):
        figure.set_state({"moves": moves})
    figure.set_state({"moves": moves, "who": "dan"})
    assert figure.answer == "dan is in the park ."
