"""The heads figure in a browser: it shows the decoder's numbers for any text and setting."""

from __future__ import annotations

from random import Random

import pytest
from playwright.sync_api import expect

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.reading import compute_stored, read
from attnbook.figures.shared.base import decimals
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
    query,
    remove_box,
    snapshot,
)
from tests.figures.shared.trained import open_more_controls, show_with_model
from tests.figures.tokens.page import attended_to
from tests.tools.site.site_checks import NARROW
from tools.models.decoders import lines

HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.fixture(scope="module")
def show(stage):
    return show_with_model(stage, ROOM, "long")


def test_at_the_ends_of_every_control_it_shows_the_decoder(show):
    _, figure, python = show()
    label = figure.locator(".stepper .setting")
    for key, step in (("Home", STEPS[0]), ("ArrowRight", STEPS[1]), ("End", STEPS[-1])):
        snapshot(figure).press(key)
        label_text = f"step {step} of {STEPS[-1]}"
        expect(snapshot(figure)).to_have_attribute("aria-valuetext", label_text)
        expect(label).to_have_text(f"snapshot = {label_text}")
        python.step = step
        assert disagreements(figure, python) == []
    for start, key, chosen in ((0, "Space", 0), (0, "ArrowRight", 1), (9, "ArrowLeft", 8)):
        query(figure, start).press(key)
        figure.page.keyboard.press("Enter")
        python.query = chosen
        assert disagreements(figure, python) == []
    for layer, head in HEADS:
        figure.get_by_role("radio", name=f"layer {layer}, head {head}").check()
        python.focus = [layer, head]
        assert disagreements(figure, python) == []
    for layer, head in HEADS:
        remove_box(figure, layer, head).check()
        python.removed = [*python.removed, [layer, head]]
        assert disagreements(figure, python) == []
    for text in ("a", LONG, TEXT[::-1], TEXT):
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
    blocks = ["".join(rng.choices(SYMBOLS, k=rng.randint(1, 11))) for _ in range(8)]
    texts = ["pa", *(line.text for line in lines("test")[::200])]
    texts += [(block * 32)[: rng.randint(2, 32)] for block in blocks]
    view = show().view
    changes = [choose_randomly(rng, text) for text in texts]
    assert len(changes) > 12
    for change, found in zip(changes, view.read_all(READ, changes), strict=True):
        text, step, focus, removed, query = change.values()
        heads = [tuple(head) for head in removed]
        stored = compute_stored("copying", step, text, heads, tuple(focus))
        truth = read("copying", step, text, heads)
        assert differences(found, truth, stored, query) == [], change


def test_a_tap_chooses_the_query_the_head_and_removed_heads(show):
    view, figure, python = show(width=NARROW)
    saves = view.saves()
    query(figure, 9).tap()
    expect(query(figure, 9)).to_have_attribute("aria-pressed", "true")
    expected = "At 9, “a”, the head attends to “f” at 5 ("
    expect(figure.locator(".readout")).to_contain_text(expected)
    open_more_controls(figure, ".all-weights")
    large = figure.locator(".heat-picture")
    large.tap(position={"x": 5, "y": large.bounding_box()["height"] * 4.5 / 18})
    figure.get_by_text("remove", exact=True).nth(3).tap()
    figure.get_by_text("remove", exact=True).nth(1).tap()
    figure.locator(".head-map").first.tap()
    names = ("query", "removed", "focus")
    assert view.get(*names) == [4, [[0, 1], [1, 1]], [0, 0]]
    assert view.saves() == saves + 5
    python.set_state(dict(zip(names, view.get(*names), strict=True)))
    assert disagreements(figure, python) == []


BOXES = """figure => {
    const top = figure.getBoundingClientRect().top;
    const parts = figure.querySelectorAll('.token-rows, .head-small, .heat-picture, .folds');
    return [figure, ...parts].map(part => {
        const { x, y, width, height } = part.getBoundingClientRect();
        return [x, y - top, width, height].map(Math.round).join(' ');
    });
}"""


def test_nothing_moves_when_heads_are_removed_or_a_message_appears(show):
    figure = show("long", NARROW).figure
    before = figure.evaluate(BOXES)
    for layer, head in HEADS:
        remove_box(figure, layer, head).click()
        assert figure.evaluate(BOXES) == before
    for typed in (LONG + "a", "", LONG):
        field(figure).fill(typed)
        assert figure.evaluate(BOXES) == before, typed


def test_the_readout_is_about_the_query_and_then_about_the_key_that_is_pointed_at(show):
    _, figure, python = show()
    readout = figure.locator(".readout > span").first
    for position in (0, 17):  # a new query: no key is pointed at
        query(figure, position).press("Enter")
    scores, weights, added = (
        python.shown["scores"][1][0][17],
        python.reading.weights[1, 0, 17].tolist(),
        python.shown["added"][17],
    )
    best = python.shown["characters"][added.index(max(added))]
    expect(readout).to_have_text(
        f"At 17, “d”, the head attends to {attended_to(weights, TEXT)}. "
        f"It adds most to “{best}”: +{max(added):.2f}."
    )
    key = query(figure, 8)
    for point in (key.hover, key.focus):
        point()
        expect(readout).to_have_text(
            f"At query 17, “k” at position 8 has the score {decimals(scores[8])} "
            f"and the weight {decimals(weights[8])}."
        )
        figure.page.mouse.move(0, 0)
    key.press("ArrowLeft")
    expect(readout).to_contain_text("“d” at position 7")
    query(figure, 5).press("Enter")
    expect(readout).to_contain_text("At 5, “f”, the head attends")
    key.hover()
    expect(readout).to_have_text(
        "At query 5, “k” at position 8 is hidden, because it comes later: its weight is 0."
    )


def test_blanks_and_capitals_are_read_and_stay_in_the_field(show):
    view, figure, python = show()
    for typed, text in [("d k a f c d k", "dkafcdk"), ("ABCD", "abcd"), ("abcd ", "abcd")]:
        field(figure).fill(typed)
        python.set_state({"text": text, "query": len(text) - 1})
        expect(get_status(figure)).to_be_empty()
        assert disagreements(figure, python) == []
        for position in (0, len(text) - 1):
            query(figure, position).press("Enter")
        assert field(figure).input_value() == typed
        assert view.get("text") == [text]
    view.set(text="abc")
    expect(field(figure)).to_have_value("abc")


# Like a notebook's model, which sends no event if a value does not change.
WITHOUT_EQUAL_EVENTS = """() => {
    const { set } = models[0];
    models[0].set = (name, value) =>
        String(models[0].get(name)) === String(value) || set.call(models[0], name, value);
}"""


def test_the_grey_disappears_when_the_text_is_right_again(open_figures):
    with open_figures(HeadsFigure(text="ab")) as (tab, figure):
        tab.evaluate(WITHOUT_EQUAL_EVENTS)
        field(figure).fill("abz")
        expect(figure.locator(".stale")).to_have_count(1)
        field(figure).fill("ab")
        expect(figure.locator(".stale")).to_have_count(0)
        expect(get_status(figure)).to_be_empty()


def test_positions_beyond_those_of_training_are_marked(show):
    figure = show("long").figure
    expect(figure.locator(".token-field > [role=status]")).to_have_text(
        "It was trained on 24 tokens at a time: positions from 24 on are new to it."
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
    query(figure, 0).press("Enter")
    field(figure).press("End")
    figure.page.keyboard.type("c")
    python.set_state({"text": "abcabc", "query": 0})
    assert disagreements(figure, python) == []
