"""The figures with charts: their order, their names, and their height on a phone."""

from __future__ import annotations

import pytest

from attnbook.figures import CostFigure, PositionFigure
from tests.figures.pooling.cases import noisy
from tests.figures.position.cases import random
from tests.tools.site.site_checks import NARROW, UNFOLD, WIDE

# Three lines on a phone, as the longest actions and captions of the book.
TEXTS = {
    "action": "Drag it across a wide gap between two of them: what happens in the gap?",
    "caption": "100 measured heights, and the width that the layer learned. The dashed line is it.",
}
FIGURES = {
    "cost": lambda: CostFigure(**TEXTS),
    "pooling": lambda: noisy(100, **TEXTS),
    "position": lambda: PositionFigure(8, **TEXTS),
    "position, rotary": lambda: PositionFigure.rotary(*random(8), **TEXTS),
}
NAMES = {
    "cost": ["Time", "Memory"],
    "pooling": ["Scoring", "Weighting", "Pooling"],
    "position": ["Vectors", "Dot product"],
}
CHANGES = {
    "cost": {"num_queries": 4096, "num_keys": 4096},
    "pooling": {"query": 0.1},
    "position": {"distance": -24},
}
HIGHEST = 740  # px: less than a phone's screen
# The parts of a figure from top to bottom, with their top and bottom ends.
PARTS = """figure => [...figure.querySelectorAll(
        '.action, input:not([type=radio], .key-walk), .with-axes, .readout, summary, figcaption')]
    .filter((part) => part.checkVisibility())
    .map((part) => [part.matches('summary') ? part.textContent : part.tagName.toLowerCase(),
        part.getBoundingClientRect().top])
    .sort(([, a], [, b]) => a - b).map(([name]) => name)"""
# Whether each stage's name is to the left of its picture, or else above it.
LEFT = """figure => [...figure.querySelectorAll('.stage')].map((stage) => {
    const [name, picture] = [...stage.children].map((part) => part.getBoundingClientRect());
    const [left, above] = [name.right <= picture.left, name.bottom <= picture.top];
    return left === above ? 'both' : left;
})"""


@pytest.fixture(scope="module")
def show(stage):
    return stage({name: make() for name, make in FIGURES.items()})


@pytest.mark.parametrize("name", FIGURES)
def test_controls_come_first_then_charts_then_what_is_read_and_folded(show, name):
    shown, (kind, _, _) = show(name), name.partition(",")
    parts = shown.figure.evaluate(PARTS)
    sliders, charts = parts.count("input"), parts.count("div")
    more = [] if kind == "position" else ["More controls"]
    assert sliders == (1 if kind == "pooling" else 2)
    middle = ["input"] * sliders + ["div"] * charts
    assert parts == ["p", *middle, "p", *more, "Show numbers", "figcaption"]
    stages = shown.figure.locator(".stage > .stage-name > b").all_inner_texts()
    assert stages == NAMES[kind]


@pytest.mark.parametrize("name", FIGURES)
def test_names_are_to_the_left_and_above_on_a_phone(show, name):
    assert set(show(name, WIDE).figure.evaluate(LEFT)) == {True}
    assert set(show(name, NARROW).figure.evaluate(LEFT)) == {False}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_fits_a_phone_before_and_after_its_main_control_is_used(show, name):
    shown = show(name, NARROW)
    heights = []
    for change in ({}, CHANGES[name.partition(",")[0]]):
        shown.set(**change)
        heights.append(shown.figure.bounding_box()["height"])
    assert max(heights) <= HIGHEST


def test_a_handle_is_high_enough_for_a_finger_on_a_phone(show):
    for name in FIGURES:
        shown = show(name, NARROW)
        shown.tab.evaluate(UNFOLD)
        sliders = shown.figure.locator("input[type=range]:not(.key-walk)").all()
        assert all(slider.bounding_box()["height"] >= 40 for slider in sliders)
