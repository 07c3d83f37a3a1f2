"""The heads figure in a browser: it shows the decoder's numbers for any text and setting."""

from __future__ import annotations

from random import Random

import pytest
from playwright.sync_api import expect

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.reading import compute_stored, read
from attnbook.models.transformer.repeats import SYMBOLS
from tests.figures.heads.page import (
    LONG,
    READ,
    ROOM,
    STEPS,
    TEXT,
    differences,
    disagreements,
    field,
    get_status,
    take_away,
)
from tests.figures.shared.page import slider
from tests.figures.shared.trained import show_with_model
from tests.tools.site.site_checks import NARROW
from tools.models.decoders import lines

HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.fixture(scope="module")
def show(stage):
    return show_with_model(stage, ROOM, "long", "one symbol")


def test_at_the_ends_of_every_control_it_shows_the_decoder(show):
    _, figure, python = show()
    label = figure.locator(".heads-training .setting")
    for key, step in (("Home", STEPS[0]), ("ArrowRight", STEPS[1]), ("End", STEPS[-1])):
        slider(figure, "snapshot").press(key)
        label_text = f"step {step} of {STEPS[-1]}"
        expect(slider(figure, "snapshot")).to_have_attribute("aria-valuetext", label_text)
        expect(label).to_have_text(f"snapshot = {label_text}")
        python.step = step
        assert disagreements(figure, python) == []
    for key, query in (("Home", 0), ("ArrowRight", 1), ("End", 17)):
        slider(figure, "query").press(key)
        python.query = query
        assert disagreements(figure, python) == []
    for layer, head in HEADS:
        figure.get_by_role("radio", name=f"layer {layer}, head {head}").check()
        python.focus = [layer, head]
        assert disagreements(figure, python) == []
    for layer, head in HEADS:
        take_away(figure, layer, head).check()
        python.removed = [*python.removed, [layer, head]]
        assert disagreements(figure, python) == []
    for text in ("a", LONG, TEXT):
        field(figure).fill(text)
        python.set_state({"text": text, "query": len(text) - 1})
        assert disagreements(figure, python) == []


def choose_randomly(rng: Random, text: str) -> dict:
    return {
        "text": text,
        "step": rng.choice(STEPS),
        "focus": rng.choice(HEADS),
        "removed": sorted(rng.sample(HEADS, rng.choice([0, 1, 1, 2, 4]))),
        "query": rng.randrange(len(text)),
    }


def test_random_texts_and_settings_give_the_numbers_of_the_decoder(show):
    rng = Random(5)  # noqa: S311 - numbers to test with, no secrets
    blocks = ["".join(rng.choices(SYMBOLS, k=rng.randint(1, 11))) for _ in range(20)]
    texts = ["pa", *(line.text for line in lines("test")[::50])]
    texts += [(block * 32)[: rng.randint(2, 32)] for block in blocks]
    shown = show().shown
    changes = [choose_randomly(rng, text) for text in texts]
    assert len(changes) > 40
    for change, found in zip(changes, shown.read_all(READ, changes), strict=True):
        text, step, focus, removed, query = change.values()
        heads = [tuple(head) for head in removed]
        stored = compute_stored("copying", step, text, heads, tuple(focus))
        truth = read("copying", step, text, heads)
        assert differences(found, truth, stored, query) == [], change


def test_a_tap_chooses_the_query_the_head_and_removed_heads(show):
    shown, figure, python = show(width=NARROW)
    saves = shown.saves()
    figure.locator(".heads-line button").nth(9).tap()
    expect(slider(figure, "query")).to_have_attribute("aria-valuetext", "9, “a”")
    large = figure.locator(".heads-large svg")
    large.tap(position={"x": 5, "y": large.bounding_box()["height"] * 4.5 / 18})
    figure.get_by_text("take away").nth(3).tap()
    figure.get_by_text("take away").nth(1).tap()
    figure.locator(".heads-small").first.locator("svg").tap()
    names = ("query", "removed", "focus")
    assert shown.get(*names) == [4, [[0, 1], [1, 1]], [0, 0]]
    assert shown.saves() == saves + 5
    python.set_state(dict(zip(names, shown.get(*names), strict=True)))
    assert disagreements(figure, python) == []


BOXES = """figure => {
    const top = figure.getBoundingClientRect().top;
    const parts = figure.querySelectorAll('.heads-small, .heads-small input, .heads-large');
    return [figure, ...parts].map(part => {
        const { x, y, width, height } = part.getBoundingClientRect();
        return [x, y - top, width, height].map(Math.round).join(' ');
    });
}"""


def test_no_head_moves_when_heads_are_taken_away(show):
    figure = show("long", NARROW).figure
    before = figure.evaluate(BOXES)
    for layer, head in HEADS:
        take_away(figure, layer, head).click()
        assert figure.evaluate(BOXES) == before


def test_the_line_does_not_move_when_a_message_appears(show):
    figure = show("long", NARROW).figure
    line = "figure => figure.querySelector('.heads-line').offsetTop - figure.offsetTop"
    before = figure.evaluate(line)
    for typed in (LONG + "a", "", LONG, "a"):
        field(figure).fill(typed)
        assert figure.evaluate(line) == before, typed


def test_few_symbols_do_not_make_a_huge_picture(show):
    _, figure, python = show("one symbol")
    large = figure.locator(".heads-large svg")
    height = large.bounding_box()["height"]
    python.set_state({"text": "abc", "query": 1})
    field(figure).fill("abc")
    assert large.bounding_box()["height"] == pytest.approx(height, abs=1)
    for row, query in ((1, 1), (5, 2)):  # below the last row, a click chooses the last row
        large.click(position={"x": 5, "y": height * (row + 0.5) / 6})
        python.query = query
        assert disagreements(figure, python) == []


def test_blanks_and_capitals_are_read_and_stay_in_the_field(show):
    shown, figure, python = show()
    for typed, text in [("d k a f c d k", "dkafcdk"), ("ABCD", "abcd"), ("abcd ", "abcd")]:
        field(figure).fill(typed)
        python.set_state({"text": text, "query": len(text) - 1})
        expect(get_status(figure)).to_be_empty()
        assert disagreements(figure, python) == []
        slider(figure, "query").press("Home")
        slider(figure, "query").press("End")
        assert field(figure).input_value() == typed
        assert shown.get("text") == [text]
    shown.set(text="abc")
    expect(field(figure)).to_have_value("abc")


# Like a notebook's model, which sends no event if a value does not change.
WITHOUT_EQUAL_EVENTS = """() => {
    const { set } = models[0];
    models[0].set = (name, value) =>
        String(models[0].get(name)) === String(value) || set.call(models[0], name, value);
}"""


def test_the_grey_disappears_when_the_text_is_right_again(alone):
    with alone(HeadsFigure(text="ab")) as (tab, figure):
        tab.evaluate(WITHOUT_EQUAL_EVENTS)
        field(figure).fill("abz")
        expect(figure.locator(".stale")).to_have_count(1)
        field(figure).fill("ab")
        expect(figure.locator(".stale")).to_have_count(0)
        expect(get_status(figure)).to_be_empty()


def test_positions_beyond_those_of_training_are_marked(show):
    figure = show("long").figure
    expect(get_status(figure)).to_have_text(
        "It was trained on 24 symbols at a time: positions from 24 on are new to it."
    )
    assert figure.locator(".unseen").count() == 8
    expect(figure.locator(".stale")).to_have_count(0)


def test_a_query_at_the_last_symbol_follows_what_is_typed(show):
    _, figure, python = show()
    field(figure).fill("abc")
    field(figure).press("End")
    figure.page.keyboard.type("ab")
    python.set_state({"text": "abcab", "query": 4})
    assert disagreements(figure, python) == []
    slider(figure, "query").press("Home")
    field(figure).press("End")
    figure.page.keyboard.type("c")
    python.set_state({"text": "abcabc", "query": 0})
    assert disagreements(figure, python) == []
