"""The heads figure in a browser: what it shows is the decoder's, whatever is typed and chosen."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch
from playwright.sync_api import expect

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.reading import counted, read
from attnbook.models.transformer.repeats import SYMBOLS
from tests.figures.heads.page import (
    READ,
    ROOM,
    STEPS,
    disagreements,
    field,
    said,
    slider,
    take_away,
)
from tests.figures.shared.page import FROM_PYTHON, MOVING, UNKEPT, colours_on_paper
from tests.figures.shared.trained import answer, check_refusal, shown_alone
from tests.tools.site.jupyterlab import START, run_all, told_by_last
from tests.tools.site.site_checks import LOOKS, NARROW, UNFOLD, WIDE

TEXT = "gbdkafcdkafcdkafcd"
LONG = "abcdefgh" * 4
HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]]
CASES: dict[str, dict[str, Any]] = {
    "first": {},
    "broken": {"removed": [(0, 1)], "focus": (0, 1)},
    "unborn": {"step": STEPS[0], "removed": [(1, 0), (1, 1)]},
    "long": {"text": LONG, "focus": (0, 0)},
    "one symbol": {"text": "p"},
    "one layer": {"name": "copying-one-layer", "text": "abcabcabc", "focus": (0, 1)},
}


@pytest.fixture(scope="module")
def show(alone):
    return shown_alone(alone, HeadsFigure)


# What it shows


def test_before_the_model_is_there_it_shows_what_python_stored(show):
    for arguments in CASES.values():
        with show(weights=False, **arguments) as (_, figure, python):
            assert disagreements(figure, python, 1e-4) == []


PLACES = """figure => [...figure.querySelectorAll('*')].filter(
    e => e.checkVisibility() && !e.closest('svg') && !e.closest('tbody')).map(e => {
        const { x, y, width, height } = e.getBoundingClientRect();
        const numbers = e.closest('.stage, details') || e.querySelector('details');
        const text = numbers ? '' : e.textContent;
        return [e.tagName, x, y, width, height, text].join(' ');
    })"""


def test_nothing_moves_when_the_model_comes(show):
    with show(weights=False, removed=[(1, 0)]) as (tab, figure, python):
        before = figure.evaluate(PLACES)
        answer(tab, python)
        assert figure.evaluate(PLACES) == before
        assert disagreements(figure, python) == []


def test_at_the_ends_of_every_control_it_shows_the_decoder(show):
    with show() as (_, figure, python):
        for key, step in (("Home", STEPS[0]), ("ArrowRight", STEPS[1]), ("End", STEPS[-1])):
            slider(figure, "snapshot").press(key)
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


def test_anywhere_else_it_shows_the_decoder_and_hears_python(show):
    rng = Random(5)  # noqa: S311 - numbers to test with, no secrets
    with show() as (tab, figure, python):
        for _ in range(25):
            block = "".join(rng.choices(SYMBOLS, k=rng.randint(1, 11)))
            text = (block * 32)[: rng.randint(1, 32)]
            changes = {
                "text": text,
                "step": rng.choice(STEPS),
                "focus": rng.choice(HEADS),
                "removed": sorted(rng.sample(HEADS, rng.randint(0, 4))),
                "query": rng.randrange(len(text)),
            }
            python.set_state(changes)
            for change in changes.items():
                tab.evaluate(FROM_PYTHON, list(change))
            assert disagreements(figure, python) == [], changes
        python.query = 0 if python.query else len(python.text) - 1
        if len(python.text) > 1:
            assert "query" in disagreements(figure, python)  # what is wrong would be noticed
        tab.evaluate("cleanUps[0]()")
        assert tab.evaluate("models[0].heard.length") == 0


def test_a_click_on_a_symbol_or_a_row_chooses_the_query(show):
    with show() as (_, figure, python):
        figure.locator(".heads-line button").nth(9).click()
        python.query = 9
        assert disagreements(figure, python) == []
        expect(slider(figure, "query")).to_have_attribute("aria-valuetext", "9, “a”")
        big = figure.locator(".heads-large svg")
        box = big.bounding_box()
        big.click(position={"x": 5, "y": box["height"] * 4.5 / 18})
        python.query = 4
        assert disagreements(figure, python) == []


def test_the_hand_is_saved_for_python(show):
    with show() as (tab, figure, _python):
        field(figure).fill("abcab")
        take_away(figure, 1, 1).check()
        take_away(figure, 0, 1).check()
        figure.locator(".heads-small").first.locator("svg").click()
        names = ["text", "query", "removed", "focus"]
        found = tab.evaluate("names => names.map(name => models[0].get(name))", names)
        assert found == ["abcab", 4, [[0, 1], [1, 1]], [0, 0]]
        assert tab.evaluate("models[0].saves") == 5  # the first is that weights are wanted
        HeadsFigure().set_state(dict(zip(names, found, strict=True)))


def test_without_the_head_that_looks_back_the_prediction_breaks(show):
    with show() as (_, figure, _python):
        expect(figure.locator(".readout")).to_have_text(
            "10 of 10 symbols that can be foreseen are right."
        )
        take_away(figure, 0, 1).check()
        told = figure.locator(".readout").inner_text()
        guesses = read("copying", STEPS[-1], TEXT, [(0, 1)]).guesses
        whole = read("copying", STEPS[-1], TEXT).guesses
        assert told == counted(TEXT, guesses, whole, [[0, 1]])
        assert "✗" in figure.evaluate(READ)["marks"]
        expect(figure.locator(".adds .stage-name")).not_to_contain_text("taken away")
        figure.get_by_role("radio", name="layer 0, head 1").check()
        expect(figure.locator(".adds .stage-name")).to_contain_text("taken away: nothing is added")
        take_away(figure, 0, 1).uncheck()
        expect(figure.locator(".readout")).to_have_text(
            "10 of 10 symbols that can be foreseen are right."
        )


def test_the_label_of_the_snapshots_says_their_steps(show):
    with show() as (_, figure, _python):
        control, label = slider(figure, "snapshot"), figure.locator(".heads-training .setting")
        for key, place in (("Home", 0), ("ArrowRight", 1), ("End", -1)):
            control.press(key)
            told = f"step {STEPS[place]} of {STEPS[-1]}"
            expect(control).to_have_attribute("aria-valuetext", told)
            expect(label).to_have_text(f"snapshot = {told}")


def test_a_lucky_hit_of_what_nobody_can_foresee_looks_like_no_copy(show):
    with show(removed=HEADS, step=STEPS[0]) as (_, figure, python):
        python.text = "a" + read("copying", STEPS[0], "a", HEADS).guesses
        field(figure).fill(python.text)
        python.query = 1
        assert disagreements(figure, python) == []
        seen = figure.evaluate(READ)
        assert seen["guesses"][0] == python.text[1]
        assert (seen["marks"], figure.locator(".heads-line .right").count()) == (["", ""], 0)


# Its places

BOXES = """figure => {
    const top = figure.getBoundingClientRect().top;
    const parts = figure.querySelectorAll('.heads-small, .heads-small input, .heads-large');
    return [figure, ...parts].map(part => {
        const { x, y, width, height } = part.getBoundingClientRect();
        return [x, y - top, width, height].map(Math.round).join(' ');
    });
}"""
TOUCHING = """figure => {
    const range = document.createRange();
    const box = symbol => {
        range.selectNodeContents(symbol);
        return range.getBoundingClientRect();
    };
    return [...figure.querySelectorAll('.across, .heads-axis')].filter(axis => {
        const boxes = [...axis.children].filter(symbol =>
            symbol.checkVisibility({ visibilityProperty: true })).map(box);
        return boxes.some((each, i) => i && each.left - boxes[i - 1].right < 1);
    }).map(axis => axis.className);
}"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_head_moves_when_heads_are_taken_away(show, width):
    with show(width, text=LONG) as (_, figure, python):
        for query in (31, 0):
            figure.locator(".heads-line button").nth(query).click()
            for focus in (0, 3):
                figure.get_by_role("radio").nth(focus).check()
                before = figure.evaluate(BOXES)
                for layer, head in [*HEADS, *HEADS[::-1]]:
                    take_away(figure, layer, head).click()
                    assert figure.evaluate(BOXES) == before
        assert python.removed == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_line_stays_in_its_place_whatever_is_said_of_it(show, width):
    with show(width, text=LONG) as (_, figure, _python):
        place = figure.locator(".heads-line").bounding_box()["y"]
        for typed in (LONG + "a", "xyz", "", LONG, "m" * 25, "xyz", "a"):
            field(figure).fill(typed)
            assert figure.locator(".heads-line").bounding_box()["y"] == place, typed


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_symbols_along_an_axis_do_not_touch(show, width):
    for count in (20, 21, 32):
        with show(width, text="m" * count) as (_, figure, _python):
            assert figure.evaluate(TOUCHING) == [], count


def test_few_symbols_make_no_huge_picture(show):
    with show(text="p") as (_, figure, python):
        for picture, most in ((".heads-large", 60), (".heads-small", 60)):
            box = figure.locator(f"{picture} .seen").first.bounding_box()
            assert 10 < box["width"] < most
        height = figure.locator(".heads-large svg").bounding_box()["height"]
        assert figure.locator(".down span").first.bounding_box()["height"] < 60
        python.set_state({"text": "abc", "query": 1})
        field(figure).fill(python.text)
        big = figure.locator(".heads-large svg")
        assert big.bounding_box()["height"] == pytest.approx(height, abs=1)
        big.click(position={"x": 5, "y": height * 1.5 / 6})
        assert disagreements(figure, python) == []
        big.click(position={"x": 5, "y": height * 5.5 / 6})  # below the last row
        python.query = 2
        assert disagreements(figure, python) == []


# What is typed


def test_blanks_and_capitals_are_read_and_stay_in_the_field(show):
    with show() as (tab, figure, python):
        for typed, text in [("d k a f c d k", "dkafcdk"), ("ABCD", "abcd"), ("abcd ", "abcd")]:
            field(figure).fill(typed)
            python.set_state({"text": text, "query": len(text) - 1})
            expect(said(figure)).to_be_empty()
            assert disagreements(figure, python) == []
            slider(figure, "query").press("Home")
            slider(figure, "query").press("End")
            assert field(figure).input_value() == typed
            assert tab.evaluate("models[0].get('text')") == text
        tab.evaluate(FROM_PYTHON, ["text", "abc"])
        expect(field(figure)).to_have_value("abc")


# As a notebook's model: what is set again is no change.
QUIET = """() => {
    const { set } = models[0];
    models[0].set = (name, value) =>
        String(models[0].get(name)) === String(value) || set.call(models[0], name, value);
}"""


def test_the_grey_goes_with_what_was_wrong(show):
    with show(text="ab") as (tab, figure, python):
        tab.evaluate(QUIET)
        field(figure).fill("abz")
        expect(figure.locator(".stale")).to_have_count(1)
        field(figure).fill("ab")
        expect(figure.locator(".stale")).to_have_count(0)
        expect(said(figure)).to_be_empty()
        expect(field(figure)).to_have_attribute("aria-invalid", "false")
        assert disagreements(figure, python) == []


def test_what_cannot_be_read_gets_a_sentence_and_the_last_good_picture_stays(show):
    with show() as (tab, figure, python):
        for typed, told in [
            ("", "Type at least one symbol, from a to p."),
            ("abz", "The model knows the symbols a to p, and no “z”."),
            (LONG + "a", "The figure shows at most 32 symbols, these are 33."),
        ]:
            check_refusal(ROOM, figure, typed, told, f"{TEXT}.")
            assert disagreements(figure, python) == []
            slider(figure, "query").press("Home")  # another control leaves both alone
            slider(figure, "query").press("End")
            assert field(figure).input_value() == typed
            expect(said(figure)).to_contain_text(told)
        field(figure).fill(LONG)
        expect(said(figure)).to_have_text(
            "It was trained on 24 symbols at a time: positions from 24 on are new to it."
        )
        assert figure.locator(".unseen").count() == 8
        expect(figure.locator(".stale")).to_have_count(0)
        field(figure).fill("ab")
        expect(said(figure)).to_be_empty()
        assert tab.evaluate("models[0].get('text')") == "ab"


def test_who_looks_from_the_last_symbol_goes_on_with_what_is_typed(show):
    with show(text="abc") as (tab, figure, python):
        field(figure).press("End")
        tab.keyboard.type("ab")
        python.text = "abcab"
        python.query = 4
        assert disagreements(figure, python) == []
        slider(figure, "query").press("Home")
        field(figure).press("End")
        tab.keyboard.type("c")
        python.text, python.query = "abcabc", 0
        assert disagreements(figure, python) == []


def test_by_keyboard_alone(show):
    with show() as (tab, figure, python):
        field(figure).focus()
        names = []
        for _ in range(8):
            tab.keyboard.press("Tab")
            names.append(
                tab.evaluate(
                    "document.activeElement.ariaLabel ?? document.activeElement.type"
                    " ?? document.activeElement.tagName"
                )
            )
            if names[-1] == "take away layer 0, head 1" and names.count(names[-1]) == 1:
                tab.keyboard.press("Space")
            if names[-1] == "radio":
                tab.keyboard.press("ArrowLeft")
        assert names[0] == "snapshot"
        assert {"radio", "take away layer 0, head 0", "take away layer 1, head 1"} <= {*names}
        assert "query" in names
        python.removed = [[0, 1]]
        python.focus = [0, 1]
        assert disagreements(figure, python) == []


def test_keys_of_its_controls_are_kept_from_jupyterlab(show):
    with show() as (_, figure, _python):
        field(figure).fill(LONG)  # what is made anew, too
        assert figure.locator(UNKEPT).count() == 0


def test_by_touch_on_a_phone(show):
    with show(NARROW) as (_, figure, python):
        figure.get_by_text("take away").nth(1).tap()
        figure.locator(".heads-line button").nth(3).tap()
        figure.locator(".heads-small").nth(1).locator("svg").tap()
        python.set_state({"removed": [[0, 1]], "query": 3, "focus": [0, 1]})
        assert disagreements(figure, python) == []
        small = figure.evaluate(
            """figure => [...figure.querySelectorAll('.heads-line button, .heads-away')].filter(
                e => Math.min(e.getBoundingClientRect().width, e.getBoundingClientRect().height)
                    < 24).length"""
        )
        assert small == 0


# In a notebook

LIVE = """
from attnbook.figures import HeadsFigure

figure = HeadsFigure(text="abcabcabc")
figure
"""
TELL = "print(figure.text, figure.removed, len(figure.weights['data']), figure.reading.guesses)"


@pytest.mark.slow
@pytest.mark.parametrize("lab", [(LIVE, TELL)], indirect=True, ids=["heads"])
def test_in_jupyterlab_the_kernel_brings_the_weights(browser, lab):
    tab = browser.new_page(viewport={"width": 1280, "height": 1800})
    run_all(tab, lab)
    figure = tab.locator("[data-attnbook-figure]")
    expect(field(figure)).to_have_value("abcabcabc", timeout=START * 1000)
    field(figure).fill("hgfhgfhgf")
    take_away(figure, 0, 0).check()
    python = HeadsFigure(text="hgfhgfhgf", removed=[(0, 0)])
    expect(figure.locator(".symbol").first).to_have_text("h")
    assert disagreements(figure, python) == []
    told = f"hgfhgfhgf [[0, 0]] {len(STEPS)} {python.reading.guesses}"
    told_by_last(tab, told)
    tab.close()


# Looks


@pytest.fixture(scope="module")
def looked_at(on_one_page):
    """A function that opens all cases on one page."""
    figures = [HeadsFigure(caption="A caption.", **arguments) for arguments in CASES.values()]
    return on_one_page(figures)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_they_fit_their_column_are_legible_and_please_axe(looked_at, keep_picture, width, scheme):
    seen = looked_at(width, scheme)
    for place, case in enumerate(CASES):
        keep_picture(seen.figure(place), f"heads-{case}-{width}-{scheme}")
        assert seen.problems(place) == [], case


def test_it_prints_in_its_colours_and_nothing_moves_by_itself(show, keep_picture):
    with show(**CASES["broken"]) as (_, figure, _python):
        assert figure.evaluate(MOVING) == 0
        assert colours_on_paper(figure, keep_picture, "heads") == "exact"


def test_every_weight_of_the_focus_is_in_the_table(show):
    with show() as (tab, figure, python):
        tab.evaluate(UNFOLD)
        rows = torch.tensor([len(row) for row in figure.evaluate(READ)["rows"]])
        assert rows.tolist() == [*range(1, 19), 18]
        region = figure.get_by_role("region", name="numbers of the head in focus")
        expect(region).to_be_visible()
        assert python.focus == [1, 0]
