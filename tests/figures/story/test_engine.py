"""The story figure's module, run in node: torch's answers and Python's sentences and rules."""

from __future__ import annotations

from random import Random

from attnbook.figures import StoryFigure
from attnbook.figures.story.figure import check_moves
from attnbook.figures.tokens.packing import pack_model
from attnbook.models.transformer.stories import NAMES, PLACES
from tests.figures.shared.node import ask_module
from tests.figures.story.page import make, random_stories

PROGRAM = """
const model = figure.opened(packed).last;
return {
    written: stories.map(({ moves, who, word }) => {
        const seen = figure.answerTo(model, moves, who, heads);
        return [seen.answer.join(" "), figure.describe(seen, word)];
    }),
    possible: drawn.map(figure.isPossible),
};
"""


def is_possible(moves):
    try:
        check_moves(moves)
    except ValueError:
        return False
    return True


def test_the_page_answers_describes_and_allows_what_python_does():
    rng = Random(3)  # noqa: S311 - no secret
    drawn = [[(rng.choice(NAMES), rng.choice(PLACES)) for _ in range(5)] for _ in range(200)]
    stories = [*random_stories(8), *random_stories(3, sentences=8), *random_stories(1, 1)]
    figures = [make(**story) for story in stories]
    found = ask_module(
        StoryFigure,
        PROGRAM,
        packed=pack_model("story"),
        stories=stories,
        heads=figures[0].heads,
        drawn=drawn,
    )
    assert found["written"] == [[each.answer, str(each).splitlines()[-1]] for each in figures]
    assert found["possible"] == [is_possible(moves) for moves in drawn]
    assert {*found["possible"]} == {True, False}
