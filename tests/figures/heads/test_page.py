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
from tests.figures.shared.trained import show_with_model
from tests.tools.site.site_checks import NARROW
from tools import BUDGETS
from tools.models.decoders import lines

HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.fixture(scope="module")
def show(stage):
    return show_with_model(stage, ROOM, "long", "one symbol", "of the chapter")


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
    for start, key, chosen in ((0, "Space", 0), (0, "ArrowRight", 1), (0, "ArrowLeft", 17)):
        query(figure, start).press("Space")
        query(figure, start).press(key)
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
    headings = figure.locator(".data-tables table").first.locator("thead th")
    for text in ("a", LONG, TEXT[::-1], TEXT):
        field(figure).fill(text)
        python.set_state({"text": text, "query": len(text) - 1})
        assert disagreements(figure, python) == []
        assert headings.all_text_contents() == [f"{i} {symbol}" for i, symbol in enumerate(text)]


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
    figure.locator(".heads-line label").nth(9).tap()
    expect(query(figure, 9)).to_be_checked()
    expect(figure.locator(".readout")).to_contain_text("Query 9, “a”, attends most to key 5, “f”")
    large = figure.locator(".heat-picture")
    large.tap(position={"x": 5, "y": large.bounding_box()["height"] * 4.5 / 18})
    figure.get_by_text("remove", exact=True).nth(3).tap()
    figure.get_by_text("remove", exact=True).nth(1).tap()
    figure.locator(".heads-map").first.tap()
    names = ("query", "removed", "focus")
    assert view.get(*names) == [4, [[0, 1], [1, 1]], [0, 0]]
    assert view.saves() == saves + 5
    python.set_state(dict(zip(names, view.get(*names), strict=True)))
    assert disagreements(figure, python) == []


BOXES = """figure => {
    const top = figure.getBoundingClientRect().top;
    const parts = figure.querySelectorAll('.heads-small, .heads-small input, .heads-large');
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
    line = "figure => figure.querySelector('.heads-line').offsetTop - figure.offsetTop"
    top = figure.evaluate(line)
    for typed in (LONG + "a", "", LONG, "a"):
        field(figure).fill(typed)
        assert figure.evaluate(line) == top, typed


def test_few_symbols_do_not_make_a_huge_picture(show):
    figure = show("one symbol").figure
    for text in ("p", "abc"):
        field(figure).fill(text)
        height = figure.locator(".heat-picture").bounding_box()["height"]
        assert height == pytest.approx(24 * len(text), abs=1)


STAGES = ["Scoring", "Weighting", "Pooling"]


def test_on_a_phone_the_map_and_the_stages_are_shown_one_at_a_time(show):
    figure = show("of the chapter", NARROW).figure
    map_of_head, stages = figure.locator(".heads-large"), figure.locator(".bands")
    for name, seen, hidden in (("Stages", stages, map_of_head), ("Map", map_of_head, stages)):
        figure.get_by_role("button", name=name).click()
        expect(seen).to_be_visible()
        expect(hidden).to_be_hidden()
        for layer, head in [[0, 0], [0, 1]]:
            remove_box(figure, layer, head).set_checked(name == "Stages")
            assert figure.bounding_box()["height"] <= BUDGETS["figure"]["height"]
    figure = show("of the chapter").figure
    expect(figure.locator(".bands .stage-name b")).to_have_text(STAGES)
    for part in (".heads-large", ".bands"):
        expect(figure.locator(part)).to_be_visible()
    expect(figure.get_by_role("button", name="Stages")).to_be_hidden()


LIT = """figure => [
    figure.querySelectorAll('.bands .lit:is(rect, polygon)').length,
    figure.querySelectorAll('.heads-line .lit .symbol').length,
    figure.querySelectorAll('.heat-columns .lit').length,
    getComputedStyle(figure.querySelector('.heat-column')).display !== 'none',
    figure.querySelectorAll('td.lit').length,
]"""


def test_pointing_at_a_key_lights_it_everywhere_and_the_readout_answers(show):
    _, figure, python = show()
    readout = figure.locator(".readout")
    for position in (0, 17):  # a new query: no key is pointed at
        query(figure, position).check()
    scores, weights, added = (
        python.shown["scores"][1][0][17],
        python.reading.weights[1, 0, 17].tolist(),
        python.shown["added"][17],
    )
    best = python.shown["characters"][added.index(max(added))]
    expect(readout).to_have_text(
        f"Query 17, “d”, attends most to key 13, “k”: {decimals(max(weights))}. "
        f"The head adds most to “{best}”: +{max(added):.2f}."
    )
    key = figure.get_by_role("button", name="key 8,")
    for point in (key.hover, key.focus):
        point()
        expect(readout).to_have_text(
            f"Key 8, “k”, for query 17: score {decimals(scores[8])}, weight {decimals(weights[8])}."
        )
        assert figure.evaluate(LIT) == [2, 1, 1, True, 19]
        figure.page.mouse.move(0, 0)
    key.press("ArrowLeft")
    expect(readout).to_contain_text("Key 7, “d”")
    query(figure, 5).check()
    expect(readout).to_contain_text("Query 5, “f”, attends most to")
    key.hover()
    expect(readout).to_have_text("Key 8, “k”, comes after query 5: hidden, its weight is 0.")


def test_blanks_and_capitals_are_read_and_stay_in_the_field(show):
    view, figure, python = show()
    for typed, text in [("d k a f c d k", "dkafcdk"), ("ABCD", "abcd"), ("abcd ", "abcd")]:
        field(figure).fill(typed)
        python.set_state({"text": text, "query": len(text) - 1})
        expect(get_status(figure)).to_be_empty()
        assert disagreements(figure, python) == []
        for position in (0, len(text) - 1):
            query(figure, position).check()
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
    query(figure, 0).check()
    field(figure).press("End")
    figure.page.keyboard.type("c")
    python.set_state({"text": "abcabc", "query": 0})
    assert disagreements(figure, python) == []
