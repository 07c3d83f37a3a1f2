"""The writing figure's answers and sentences, run in node."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures import WritingFigure
from attnbook.figures.tokens.packing import pack_model
from attnbook.figures.tokens.writing import write
from attnbook.figures.writing.figure import WINDOWS
from tests.figures.shared.node import ask_module
from tools.models.stories import unseen_stories

ANSWERS = """
const engine = figure.opened(packed);
return texts.map((text) => figure.answerTo(engine, text, attention));
"""
SENTENCES = """
const now = { answer: ["ben", "is", "."], chances: [[0, 0.984, 0.016], [0, 0, 1], [1, 0, 0]] };
const symbols = [".", "ben", "is"];
return {
    described: [0, 1, 2].map((step) => figure.describeWord(now, step, symbols)),
    cut: figure.describeWord({ ...now, answer: ["ben"] }, 0, symbols),
    likeliest: figure.likeliest([..."abcdefg"], [0.1, 0.2, 0, 0.4, 0.1, 0.15, 0.05]),
    sentences: figure.sentencesOf("ben goes to the park . where is ben ?"),
};
"""


@pytest.mark.parametrize("attention", WINDOWS)
def test_unseen_stories_get_the_answers_and_the_probabilities_of_torch(attention):
    texts = [story.text for story in unseen_stories(12)]
    found = ask_module(
        WritingFigure, ANSWERS, packed=pack_model("story"), texts=texts, attention=attention
    )
    for text, page in zip(texts, found, strict=True):
        expected = write("story", text, WINDOWS[attention])
        assert page["answer"] == expected.answer
        chances = torch.tensor(page["chances"], dtype=torch.float64)
        torch.testing.assert_close(chances, expected.chances, rtol=0, atol=1e-9)


def test_it_says_what_is_written_what_follows_and_which_words_are_likeliest():
    found = ask_module(WritingFigure, SENTENCES)
    assert found["described"] == [
        "The model writes “ben”: its probability is 98 %. Then it reads the whole text again.",
        "The model writes “is”: its probability is 100 %. Then it reads the whole text again.",
        "The model writes “.”: its probability is 100 %. That ends the answer.",
    ]
    assert found["cut"] == "The model writes “ben”: its probability is 98 %."
    assert [each["word"] for each in found["likeliest"]] == ["d", "b", "f", "a", "e"]
    assert found["sentences"] == ["ben goes to the park .", "where is ben ?"]
