"""The story figure in a browser: torch's answers and weights, lines, menus and the keyboard."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.figures.shared.page import FRAMES, LINE, UNSUPPRESSED
from tests.figures.shared.trained import Trained
from tests.figures.story.page import (
    LINES,
    READ,
    differences,
    disagreements,
    make,
    random_stories,
    word,
)
from tests.figures.tokens.page import ends_at_borders, touched
from tests.tools.site.site_checks import NARROW, WIDE

LONG = random_stories(1, sentences=8)[0]
FEW_DIGITS = 1e-4


@pytest.fixture(scope="module")
def show(stage):
    show_first = stage({"first": make(), "long": make(**LONG)})

    def go(case="first", width=WIDE):
        view = show_first(case, width)
        trained = Trained(view, view.figure, make(**(LONG if case == "long" else {})))
        if not view.get("weights")[0]:
            trained.send_weights()
        return trained

    return go


def test_when_the_model_is_loaded_the_stored_picture_stays(stage):
    view = stage({"first": make()})("first")
    trained = Trained(view, view.figure, make())
    assert disagreements(view.figure, trained.python, FEW_DIGITS) == []
    before = view.figure.evaluate(LINES)
    trained.send_weights()
    assert disagreements(view.figure, trained.python) == []
    after = view.figure.evaluate(LINES)
    assert after["boxes"] == before["boxes"]


def test_random_stories_get_the_answers_and_the_weights_of_torch(show):
    stories = random_stories(12)
    found = show().view.read_all(READ, stories)
    for story, page in zip(stories, found, strict=True):
        assert differences(page, make(**story)) == [], story


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("case", ["first", "long"])
def test_lines_end_at_the_borders_of_their_words_and_touch_no_other_word(show, case, width):
    view, figure, python = show(case, width)
    # The widest of the fonts that the book may have.
    figure.page.add_style_tag(content="body { font-family: DejaVu Sans, sans-serif !important }")
    count = 0
    for position in range(6):
        view.set(word=position)
        figure.page.evaluate(FRAMES)
        found = figure.evaluate(LINES)
        boxes = found["boxes"]
        start = boxes[len(python.moves) * 6 + 4 + position]
        for key, (path, thick) in enumerate(found["paths"]):
            if path is None:
                continue
            count += 1
            assert float(thick) >= 1
            assert ends_at_borders(path, start, boxes[key]), (position, key)
            assert touched(path, float(thick), boxes) == [], (position, key)
    assert count > 6


def test_menus_offer_what_a_story_may_say_and_a_change_is_answered(show):
    view, figure, python = show()
    menu = {each.get_attribute("aria-label"): each for each in figure.get_by_role("combobox").all()}
    offered = {
        name: {*each.locator("option:not([disabled])").all_inner_texts()}
        for name, each in menu.items()
    }
    assert "kitchen" not in offered["place in sentence 3"]  # she is there
    assert "park" not in offered["place in sentence 1"]  # she goes there next
    assert offered["person in the question"] == {"anna", "ben", "carla"}
    assert len(offered["place in sentence 2"]) == 6
    saves = view.saves()
    for name, value in [
        ("place in sentence 3", "market"),
        ("person in the question", "carla"),
        ("name in sentence 4", "dan"),  # now nobody else can be asked about instead of carla
    ]:
        menu[name].select_option(value)
        python.set_state(dict(zip(("moves", "who"), view.get("moves", "who"), strict=True)))
        expect(figure.locator(".readout > .spoken")).to_have_text(f"Its answer: {python.answer}")
        assert disagreements(figure, python) == []
    assert view.get("who", "moves") == [
        "dan",
        [["anna", "kitchen"], ["ben", "garden"], ["anna", "market"], ["dan", "school"]],
    ]
    assert view.saves() == saves + 3
    assert (
        "carla"
        not in menu["person in the question"].locator("option:not([disabled])").all_inner_texts()
    )
    assert figure.locator(UNSUPPRESSED).count() == 0


def test_words_of_the_answer_are_chosen_by_keyboard_pointer_and_finger(show):
    view, figure, python = show()
    figure.get_by_role("combobox").last.focus()
    figure.page.keyboard.press("Tab")
    expect(word(figure, 4)).to_be_focused()
    figure.page.keyboard.press("ArrowLeft")
    expect(word(figure, 3)).to_be_focused()
    for chosen, choose in ((3, None), (0, word(figure, 0).hover), (5, word(figure, 5).tap)):
        if choose:
            choose()
        python.word = chosen
        assert view.get("word") == [chosen]
        assert disagreements(figure, python) == []
    figure.page.mouse.move(0, 0)  # what was pointed at last stays
    assert disagreements(figure, python) == []


# What of the answer is there each time that something appears in the page.
WATCH = """figure => {
    window.written = [];
    new MutationObserver(() => window.written.push(
        figure.querySelectorAll('.story-answer > :not([hidden])').length))
        .observe(figure, { subtree: true, attributes: true, attributeFilter: ['hidden'] });
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_answer_is_written_word_by_word_for_readers_who_accept_motion(open_figures, motion):
    figure_first = make(word=1)
    figure_first.set_state({"wanted": True})
    with open_figures(figure_first, reduced_motion=motion) as (tab, figure):
        figure.evaluate(WATCH)
        figure.get_by_role("combobox", name="person in the question").select_option("ben")
        expect(word(figure, 5)).to_be_visible()
        written = tab.evaluate("written")
        assert [a <= b for a, b in pairwise(written)] == [True] * (len(written) - 1)
        assert ({*written} >= {0, 1, 2, 3, 4, 5, 6}) == (motion == "no-preference")
        assert disagreements(figure, make(who="ben", word=1)) == []


DAMAGED = """document.head.append(Object.assign(document.createElement('script'),
    { type: 'text/at-touch', src: 'data:text/javascript,0' }));
    document.head.lastChild.dataset.attnbookLate = 'story';"""


def test_without_its_model_the_stored_answer_stays_and_one_line_says_why(open_figures):
    with open_figures(make()) as (tab, figure):
        tab.evaluate(DAMAGED)
        before = figure.evaluate(READ)
        menu = figure.get_by_role("combobox", name="place in sentence 3")
        menu.select_option("market")
        expect(figure.locator(LINE)).to_have_text(
            "The model cannot be loaded, so what was computed before stays: "
            "a part of this page is damaged."
        )
        assert figure.evaluate(READ)["answer"] == before["answer"]
        expect(figure.locator(".story-answer.stale")).to_have_count(1)
        menu.select_option("park")
        assert figure.evaluate(READ) == before
