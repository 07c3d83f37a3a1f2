"""The heads figure in a browser: what it shows is the decoder's, whatever is typed and chosen."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
import torch
from playwright.sync_api import expect
from sphinx.errors import ExtensionError

from attnbook.figures import HeadsFigure
from attnbook.figures.heads.packing import packed, steps_of
from attnbook.figures.heads.reading import counted, read
from attnbook.models.transformer.repeats import SYMBOLS
from tests.figures.attention.cases import traits
from tests.figures.shared.page import MOVING, findings_by_figure, harness, opened_figure, together
from tests.tools.site.jupyterlab import START, run_all, told_by_last
from tests.tools.site.live_pages import book, cell, page, view
from tests.tools.site.site_checks import LOOKS, NARROW, UNFOLD, WIDE, watched
from tools.site.late import write_models

STEPS = steps_of("copying")
FIRST_LOAD = 21_000  # bytes of the module and its style, packed by gzip -6
CLOSE = 1e-5
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
NAME = "symbols, from a to p"
FROM_PYTHON = "([name, value]) => models[0].set(name, value)"
READ = """figure => {
    const [weights, added] = figure.querySelectorAll('tbody');
    const numbers = row => [...row.cells].slice(1).map(cell => cell.dataset.value)
        .filter(value => value !== '').map(Number);
    const told = name => [...figure.querySelectorAll('.heads-line .' + name)].map(
        part => part.textContent);
    return {
        rows: [...weights.rows].map(numbers),
        added: added && added.closest('table').hidden ? null : numbers(added.rows[0]),
        symbols: told('symbol').join(''),
        guesses: told('guess').map(guess => guess[0]).join(''),
        marks: told('guess').map(guess => guess[1] ?? ''),
        percent: told('chance').map(Number),
        chosen: [...figure.querySelectorAll('.heads-line button')].findIndex(
            button => button.ariaPressed === 'true'),
        count: figure.querySelector('.readout').textContent,
        gone: [...figure.querySelectorAll('[type=checkbox]')].map(box => box.checked),
    };
}"""


def disagreements(figure, python: HeadsFigure, tolerance: float = CLOSE) -> list[str]:
    """What of the page is not what this Python half says."""
    seen, truth, text = figure.evaluate(READ), python.reading, python.text
    layer, head = python.focus
    weights = truth.weights[layer, head]
    rows = [weights[q, : q + 1].tolist() for q in range(len(text))]
    rows.append(python.shown["scores"][layer][head][python.query])
    added = python.shown["added"][python.query]
    close = [tolerance] * len(text) + [1e-3]  # Python stores few digits of the scores
    same = {
        "symbols": seen["symbols"] == text,
        "guesses": seen["guesses"] == truth.guesses,
        "percent": all(
            abs(shown - 100 * chance) <= 0.5 + 1e-3
            for shown, chance in zip(
                seen["percent"], truth.probabilities.amax(-1).tolist(), strict=True
            )
        ),
        "weights": all(
            len(found) == len(row) and max(abs(a - b) for a, b in zip(found, row, strict=True)) < c
            for found, row, c in zip(seen["rows"], rows, close, strict=True)
        ),
        "added": seen["added"] == pytest.approx(added, rel=1e-4, abs=1e-9),
        "marks": [mark or "·" for mark in seen["marks"]]
        == python.static_text.splitlines()[4].split()[1:],
        "count": seen["count"]
        == counted(text, truth.guesses, python.shown["whole"], python.removed),
        "query": seen["chosen"] == python.query,
        "gone": sum(seen["gone"]) == len(python.removed),
    }
    return [name for name, holds in same.items() if not holds]


@pytest.fixture(scope="module")
def show(browser, serve, tmp_path_factory):
    """A function that opens a page with one figure, and gives tab, figure and its Python half."""
    folder = tmp_path_factory.mktemp("heads")
    home = serve(folder)

    @contextmanager
    def go(width: int = WIDE, weights: bool = True, **arguments: Any):
        python = HeadsFigure(**arguments)
        (folder / "page.html").write_text(harness([python]), "utf-8")
        options = {"has_touch": True, "is_mobile": True} if width == NARROW else {}
        with opened_figure(browser, f"{home}page.html", width, **options) as (tab, record):
            figure = tab.locator("figure[data-attnbook-figure=heads]")
            if weights:  # as a kernel answers
                tab.wait_for_function("models[0].get('wanted')")
                tab.evaluate(FROM_PYTHON, ["weights", packed(python.name)])
            yield tab, figure, python
            assert record.complaints == []

    return go


def field(figure):
    return figure.get_by_role("textbox", name=NAME)


def slider(figure, name):
    return figure.get_by_role("slider", name=name, exact=True)


def take_away(figure, layer, head):
    return figure.get_by_role("checkbox", name=f"take away layer {layer}, head {head}")


def said(figure):
    return figure.locator(".heads-field [role=status]")


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
        tab.evaluate(FROM_PYTHON, ["weights", packed("copying")])
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


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_an_earlier_line_is_grey_and_legible(browser, serve, tmp_path, keep_picture, width, scheme):
    with together(
        browser, serve, tmp_path, [HeadsFigure(text="gbdkafgbda", removed=[(0, 1)])]
    ) as look:
        seen = look(width, scheme)
        figure = seen.figure(0)
        ink = "figure => getComputedStyle(figure.querySelector('.symbol')).color"
        full = figure.evaluate(ink)
        field(figure).fill("xyz")
        expect(figure.locator(".stale")).to_be_visible()
        assert figure.evaluate(ink) != full
        assert findings_by_figure(seen.tab, 1) == [[]]  # contrast, too
        keep_picture(figure, f"heads-stale-{width}-{scheme}")


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
            field(figure).fill(typed)
            expect(said(figure)).to_have_text(f"{told} Still shown: {TEXT}.")
            expect(figure.locator(".stale")).to_have_count(1)
            expect(field(figure)).to_have_attribute("aria-invalid", "true")
            assert field(figure).input_value() == typed
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
        loose = figure.locator(
            ":is(button, input, select, summary, [tabindex]):not([data-lm-suppress-shortcuts=true])"
        )
        assert loose.count() == 0


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


# On a page of the book


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The built page of a small book with two figures, the first far down, and one with none."""
    figures = [HeadsFigure(), HeadsFigure(text="abcabcabc", removed=[(0, 1)])]
    states = [traits(each) | {"_esm": each._esm, "_css": each._css} for each in figures]
    models = {f"no{i}": {"model_name": "AnyModel", "state": s} for i, s in enumerate(states)}
    cells = [cell(view(name, repr(each))) for name, each in zip(models, figures, strict=True)]
    pages = {"two": page(*cells, models=models), "none": page()}
    whole = book(tmp_path_factory.mktemp("heads-book"), **pages)
    assert whole.build().warnings == ""
    html = whole.read("two")
    (whole.html / "far.html").write_text(
        html.replace("<body>", '<body><div style="height: 5000px"></div>'), "utf-8"
    )
    return whole


@contextmanager
def on_page(browser, url, script="", **options):
    """The page and its first figure; nothing may complain or come from elsewhere."""
    context = browser.new_context(viewport={"width": WIDE, "height": 800}, **options)
    tab, record = watched(context)
    if script:
        tab.add_init_script(script)
    tab.goto(url, wait_until="load")
    figure = tab.locator("figure[data-attnbook-figure=heads]").first
    figure.wait_for()
    try:
        yield tab, figure, record
        assert record.complaints == []
        assert record.foreign(url.rsplit("/", 1)[0]) == []
    finally:
        context.close()


@pytest.fixture(scope="module", params=["http", "file"])
def address(request, built, serve):
    """The site, from a server and from a folder."""
    return serve(built.html) if request.param == "http" else built.html.as_uri() + "/"


def asked_for(record):
    return [url for url in record.requests if "live/copying.js" in url]


def test_on_a_page_the_model_reads_what_is_typed(browser, address):
    with on_page(browser, f"{address}two.html") as (tab, figure, record):
        python = HeadsFigure(text="ponmponmponm")
        field(figure).fill(python.text)
        expect(figure.locator(".heads-line button")).to_have_count(12)
        assert disagreements(figure, python) == []
        slider(figure, "snapshot").press("Home")
        take_away(figure, 1, 0).check()
        python.set_state({"step": STEPS[0], "removed": [[1, 0]]})
        assert disagreements(figure, python) == []
        other = tab.locator("figure[data-attnbook-figure=heads]").nth(1)
        assert disagreements(other, HeadsFigure(text="abcabcabc", removed=[(0, 1)])) == []
        assert len(asked_for(record)) == 1


def test_the_model_comes_when_its_figure_comes_near_the_view(browser, address):
    with on_page(browser, f"{address}far.html") as (tab, figure, record):
        tab.wait_for_timeout(300)
        assert asked_for(record) == []
        figure.scroll_into_view_if_needed()
        tab.wait_for_function("window.attnbookLate?.copying")
        assert len(asked_for(record)) == 1


def test_the_model_comes_at_the_first_touch(browser, address):
    with on_page(browser, f"{address}far.html") as (tab, figure, record):
        figure.evaluate(
            "figure => figure.querySelector('[type=text]').focus({preventScroll: true})"
        )
        tab.wait_for_function("window.attnbookLate?.copying")
        assert len(asked_for(record)) == 1


def stands_still(figure, told):
    """Whether the stored picture stays and one line says why, whatever the reader does."""
    before = figure.evaluate(READ)
    field(figure).fill("abab")
    expect(said(figure)).to_have_text(
        f"The model cannot be loaded, so what was computed before stays: {told}."
    )
    assert figure.evaluate(READ) == before
    assert disagreements(figure, HeadsFigure(), 1e-4) == []


DAMAGED = {
    "it brings nothing": ("(window.attnbookLate", "(window.other"),
    "some weights are too many": ('"data":["', '"data":["AAAA'),
    "what it brings is something else": ('"data":', '"date":'),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_script_leaves_the_stored_picture_and_one_line(browser, built, serve, damage):
    home = serve(built.html)
    script = built.html / "_static" / "live" / "copying.js"
    whole = script.read_text("utf-8")
    before, after = damage
    assert before in whole
    script.write_text(whole.replace(before, after), "utf-8")
    try:
        with on_page(browser, f"{home}two.html") as (_, figure, _record):
            stands_still(figure, "a part of this page is damaged")
    finally:
        script.write_text(whole, "utf-8")


def test_a_denied_script_leaves_the_stored_picture_and_can_come_later(browser, built, serve):
    home = serve(built.html)
    context = browser.new_context(viewport={"width": WIDE, "height": 800})
    tab, _record = watched(context)
    tab.route("**/live/copying.js*", lambda route: route.abort())
    tab.goto(f"{home}two.html")
    figure = tab.locator("figure[data-attnbook-figure=heads]").first
    figure.wait_for()
    stands_still(figure, "a part of this page cannot be loaded")
    tab.unroute("**/live/copying.js*")
    field(figure).fill("ababab")
    expect(figure.locator(".heads-line button")).to_have_count(6)
    expect(said(figure)).to_be_empty()
    assert disagreements(figure, HeadsFigure(text="ababab")) == []
    context.close()


def test_the_first_load_is_small_and_only_its_pages_name_the_weights(built):
    [module] = [file for file in built.modules if b"heads-training" in file.read_bytes()]
    assert len(gzip.compress(module.read_bytes(), 6)) < FIRST_LOAD
    assert "at-touch" not in built.read("none")
    assert 'data-attnbook-late="copying"' in built.read("two")


def test_a_figure_that_asks_for_what_nobody_makes_stops_the_build(tmp_path):
    told = "^a figure may ask for one of editor, python, copying.*, got 'shouting'$"
    with pytest.raises(ExtensionError, match=told):
        write_models(tmp_path, ["copying", "shouting"])
    assert [file.name for file in tmp_path.iterdir()] == ["copying.js"]


# Looks


@pytest.fixture(scope="module")
def looked_at(browser, serve, tmp_path_factory):
    """A function that opens all cases on one page."""
    figures = [HeadsFigure(caption="A caption.", **arguments) for arguments in CASES.values()]
    with together(browser, serve, tmp_path_factory.mktemp("heads-looks"), figures) as look:
        yield look


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_they_fit_their_column_are_legible_and_please_axe(looked_at, keep_picture, width, scheme):
    seen = looked_at(width, scheme)
    for place, case in enumerate(CASES):
        keep_picture(seen.figure(place), f"heads-{case}-{width}-{scheme}")
        assert seen.problems(place) == [], case


def test_it_prints_in_its_colours_and_nothing_moves_by_itself(show, keep_picture):
    with show(**CASES["broken"]) as (tab, figure, _python):
        assert figure.evaluate(MOVING) == 0
        tab.emulate_media(media="print")
        keep_picture(tab, "heads-print")
        assert figure.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"


def test_every_weight_of_the_focus_is_in_the_table(show):
    with show() as (tab, figure, python):
        tab.evaluate(UNFOLD)
        rows = torch.tensor([len(row) for row in figure.evaluate(READ)["rows"]])
        assert rows.tolist() == [*range(1, 19), 18]
        region = figure.get_by_role("region", name="numbers of the head in focus")
        expect(region).to_be_visible()
        assert python.focus == [1, 0]
