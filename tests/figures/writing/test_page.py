"""The writing figure in a browser: each word and each choice is what torch writes."""

from __future__ import annotations

from random import Random

import pytest
from playwright.sync_api import expect

from attnbook.figures import WritingFigure
from attnbook.figures.tokens.writing import write
from attnbook.figures.writing.figure import WINDOWS
from tests.figures.shared.page import slider
from tests.figures.shared.test_trained_page import POSITIONS
from tests.figures.shared.trained import Trained
from tests.figures.writing.page import READ, RIGHT, STORY, differences
from tests.tools.site.site_checks import NARROW, WIDE
from tools.models.stories import unseen_stories

NAMES = ["all words so far", "the word itself and the one before", "no word"]


@pytest.fixture(scope="module")
def show(stage):
    """A function that shows the figure in its first state, with or without its model."""
    show_first = stage({"": WritingFigure(STORY, right=RIGHT), "loaded": WritingFigure(STORY)})

    def go(name="loaded", width=WIDE):
        view = show_first(name, width)
        trained = Trained(view, view.figure, WritingFigure(STORY))
        if name and not view.get("weights")[0]:
            trained.send_weights()
        return trained

    return go


def test_each_word_of_each_choice_is_what_torch_writes(show):
    view, figure, _ = show()
    for (attention, window), name in zip(WINDOWS.items(), NAMES, strict=True):
        figure.get_by_role("radio", name=name).check()
        slider(figure, "word").press("Home")
        expected = write("story", STORY, window)
        for step, _ in enumerate(expected.answer):
            if step:
                figure.get_by_role("button", name="Next").click()
            assert differences(figure.evaluate(READ), expected, step, attention) == []
            assert view.get("attention", "step") == [attention, step]


def test_random_stories_and_settings_give_what_torch_writes(show):
    rng = Random(5)  # noqa: S311 - numbers to test with, no secrets
    changes = [
        {"attention": rng.choice([*WINDOWS]), "step": rng.randrange(5), "text": story.text}
        for story in unseen_stories(12)
    ]
    for change, found in zip(changes, show().view.read_all(READ, changes), strict=True):
        attention, step, text = change.values()
        expected = write("story", text, WINDOWS[attention])
        step = min(step, len(expected.answer) - 1)
        assert differences(found, expected, step, attention) == [], change


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_before_the_model_is_loaded_all_words_are_there_and_nothing_moves_then(show, width):
    view, figure, python = show("", width)
    sent = view.get("weights")[0]
    for step, _ in enumerate(python.written.answer):
        view.set(step=step)
        assert differences(figure.evaluate(READ), python.written, step, "all", 1e-4) == []
    before = figure.evaluate(POSITIONS)
    Trained(view, figure, python).send_weights()
    assert figure.evaluate(POSITIONS) == pytest.approx(before, abs=0.1)
    assert bool(sent) == (width == WIDE)  # the first width loads it for both


def test_the_shares_of_right_answers_are_next_to_their_choices_and_in_their_names(show):
    figure = show("").figure
    rows = figure.locator(".attention-choice label")
    shares = [["100 %", "100 %"], ["13 %", "17 %"], ["2 %", "4 %"]]
    for row, name, percent in zip(rows.all(), NAMES, shares, strict=True):
        assert row.locator(".share").all_inner_texts() == percent
        spoken = f"attention to {name}: {percent[0]} right as it is, {percent[1]} if"
        expect(row.get_by_role("radio")).to_have_accessible_name(f"{spoken} trained so")
    assert show().figure.locator(".share").count() == 0
