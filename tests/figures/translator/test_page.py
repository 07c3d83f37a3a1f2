"""The translator figure in a browser: it shows what the model writes, whatever is typed."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from playwright.sync_api import expect

from attnbook.figures import TranslatorFigure
from attnbook.figures.translator.packing import packed
from attnbook.figures.translator.reading import verdict
from attnbook.models.translator.dates import make_dates
from tests.figures.attention.cases import traits
from tests.figures.shared.page import MOVING, findings_by_figure, harness, opened_figure, together
from tests.tools.site.jupyterlab import START, run_all, told_by_last
from tests.tools.site.live_pages import book, cell, page, view
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE, watched

FIRST_LOAD = 19_000  # bytes of the module and its style, packed by gzip -6
CLOSE = 1e-9  # both in double precision; the contract asks for 1e-5
TEXT = "9. März 1987"
MONTH = [3, 4, 5, 6]
HEBREW = "24 באפריל 2053"
LONG = "keskiviikkona 9. syyskuuta 1987 ja 10. maaliskuuta 2011"
CASES: dict[str, dict[str, Any]] = {
    "first": {"examples": [TEXT, HEBREW]},
    "hidden": {"hidden": MONTH},
    "nothing left": {"hidden": [*range(12)]},
    "right to left": {"text": HEBREW, "hidden": [3]},
    "long": {"text": LONG, "hidden": [*range(13)]},
    "one character": {"text": "9"},
    "other model": {"name": "small"},
}
FROM_PYTHON = "([name, value]) => models[0].set(name, value)"
READ = """figure => {
    const texts = selector => [...figure.querySelectorAll(selector)].map(e => e.textContent);
    const value = cell => Number(cell.dataset.value);
    const rows = [...figure.querySelectorAll('tbody tr')];
    const before = figure.querySelector('.before-row');
    return {
        text: texts('.column bdi'),
        output: texts('.output-row bdi').join(''),
        before: before.classList.contains('same') ? '' : texts('.before-row bdi').join(''),
        verdict: figure.querySelector('.verdict').textContent,
        looked: figure.querySelector('.readout').textContent,
        chosen: [...figure.querySelectorAll('.output-row button')].findIndex(
            e => e.getAttribute('aria-current') === 'step'),
        hidden: [...figure.querySelectorAll('.column')].flatMap(
            (e, i) => e.ariaPressed === 'true' ? [i] : []),
        bars: [...figure.querySelectorAll('.bar')].map(
            e => Number(e.style.scale.split(' ').at(-1))),
        scores: rows.slice(0, -1).map(row => value(row.cells[1])),
        weights: rows.slice(0, -1).map(row => value(row.cells[2])),
        map: [...figure.querySelectorAll('.shade-path')].reduce((sum, path) => sum +
            Number(path.dataset.shade) * (path.getAttribute('d').split('z').length - 1), 0),
        mark: Number(figure.querySelector('.heat-mark').style.getPropertyValue('--at')),
    };
}"""


def disagreements(figure, python: TranslatorFigure, tolerance: float = CLOSE) -> list[str]:
    """What of the page is not what this Python half says."""
    seen, truth = figure.evaluate(READ), python.reading
    whole, step = python.shown["whole"], python.step
    close = {"rel": tolerance, "abs": tolerance}
    weights = truth.weights[step].tolist()
    rounded = [int(100 * weight + 0.5) for row in truth.weights.tolist() for weight in row]
    peak = weights.index(max(weights)) if any(weights) else -1
    expected = {
        "text": ["␣" if c.isspace() else c for c in truth.text],
        "output": truth.output,
        "before": whole if whole != truth.output else "",
        "verdict": verdict(truth.text, python.hidden, truth.output, whole),
        "chosen": step,
        "hidden": python.hidden,
        "bars": pytest.approx(weights, abs=6e-5 + tolerance),
        "scores": pytest.approx(truth.scores[step].tolist(), **close),
        "weights": pytest.approx(weights, **close),
        "map": pytest.approx(sum(rounded), abs=1e4 * tolerance),
        "mark": step,
    }
    wrong = [name for name, value in expected.items() if seen[name] != value]
    looked = f"“{expected['text'][peak]}” at {peak}: " if peak >= 0 else "its context is 0."
    return wrong + ["looked"] * (looked not in seen["looked"])


@pytest.fixture(scope="module")
def show(browser, serve, tmp_path_factory):
    """A function that opens a page with one figure, and gives tab, figure and its Python half."""
    folder = tmp_path_factory.mktemp("translator")
    home = serve(folder)

    @contextmanager
    def go(width: int = WIDE, weights: bool = True, **arguments: Any):
        python = TranslatorFigure(**arguments)
        (folder / "page.html").write_text(harness([python]), "utf-8")
        options = {"has_touch": True, "is_mobile": True} if width == NARROW else {}
        with opened_figure(browser, f"{home}page.html", width, **options) as (tab, record):
            figure = tab.locator("figure[data-attnbook-figure=translator]")
            if weights:  # as a kernel answers
                tab.wait_for_function("models[0].get('wanted')")
                tab.evaluate(FROM_PYTHON, ["weights", packed(python.name)])
            yield tab, figure, python
            assert record.complaints == []

    return go


def field(figure):
    return figure.get_by_role("textbox", name="your date")


def slider(figure, name):
    return figure.get_by_role("slider", name=name, exact=True)


def box(figure):
    return figure.get_by_role("checkbox")


def said(figure):
    return figure.locator(".translator-field [role=status]")


# What it shows


@pytest.mark.parametrize("case", CASES)
def test_before_and_after_the_model_comes_it_shows_the_same(show, case):
    with show(weights=False, **CASES[case]) as (tab, figure, python):
        assert disagreements(figure, python, 1e-3) == []
        size = figure.bounding_box()
        tab.wait_for_function("models[0].get('wanted')")
        tab.evaluate(FROM_PYTHON, ["weights", packed(python.name)])
        assert disagreements(figure, python) == []
        assert figure.bounding_box() == size


def test_each_step_shows_where_the_model_looked(show):
    with show(hidden=[3, 8]) as (_, figure, python):
        for key, step in [("Home", 0), *[("ArrowRight", step) for step in range(1, 10)]]:
            slider(figure, "step").press(key)
            python.step = step
            assert disagreements(figure, python) == []
        figure.locator(".output-row button").nth(4).click()
        python.step = 4
        assert disagreements(figure, python) == []
        rows = figure.locator(".heat-rows")
        rows.click(position={"x": 60, "y": rows.bounding_box()["height"] * 0.65})
        python.step = 6
        assert disagreements(figure, python) == []


def test_dates_of_all_languages_are_written_as_python_does(show):
    draw = Random(7)  # noqa: S311 - numbers to test with, no secrets
    with show() as (tab, figure, python):
        for date in make_dates(1, 1, 40, seed=9).test:
            field(figure).fill(date.text)
            python.set_state({"text": date.text, "hidden": []})
            assert disagreements(figure, python) == [], date
            hidden = sorted(draw.sample(range(len(date.text)), draw.randint(1, len(date.text))))
            step = draw.randrange(16)
            python.set_state({"hidden": hidden, "step": step})
            for change in (("hidden", hidden), ("step", python.step)):
                tab.evaluate(FROM_PYTHON, list(change))
            assert disagreements(figure, python) == [], (date, hidden)
        python.step = 0 if python.step else 1
        assert "chosen" in disagreements(figure, python)  # what is wrong would be noticed
        tab.evaluate("cleanUps[0]()")
        assert tab.evaluate("models[0].heard.length") == 0


def test_a_click_hides_a_character_and_a_second_shows_it(show):
    with show() as (tab, figure, python):
        column = figure.get_by_role("button", name="hide character 3, “M”")
        column.click()
        python.hidden = [3]
        assert disagreements(figure, python) == []
        expect(slider(figure, "character")).to_have_value("3")
        expect(figure.locator("[data-pointed] bdi")).to_have_text("M")
        expect(box(figure)).to_be_checked()
        column.click()
        python.hidden = []
        assert disagreements(figure, python) == []
        expect(box(figure)).not_to_be_checked()
        assert tab.evaluate("models[0].saves") == 3  # the first is that weights are wanted


def test_range_and_box_hide_by_keyboard_alone(show):
    with show() as (tab, figure, python):
        place = slider(figure, "character")
        place.press("Home")
        for _ in MONTH:
            for _ in range(3 if not python.hidden else 1):
                place.press("ArrowRight")
            box(figure).press("Space")
            python.hidden = [*python.hidden, 3 + len(python.hidden)]
            assert disagreements(figure, python) == []
        assert python.hidden == MONTH
        said_now = "Without “März” it writes 1987-09-09 instead of 1987-03-09."
        expect(figure.locator(".verdict")).to_have_text(said_now)
        expect(figure.get_by_label("hide “z” from attention")).to_be_checked()
        figure.get_by_role("button", name="show all").press("Enter")
        python.hidden = []
        assert disagreements(figure, python) == []
        expect(figure.get_by_role("button", name="show all")).to_be_disabled()
        assert tab.evaluate("models[0].get('hidden')") == []


def test_a_changed_answer_is_marked_and_the_former_one_stands_above(show):
    with show(hidden=MONTH) as (_, figure, python):
        assert figure.evaluate(READ)["before"] == "1987-03-09"
        changed = figure.locator(".output-row .changed")
        assert changed.count() == 1
        expect(changed).to_have_attribute("aria-label", "step 6: “9”, was “3”")
        figure.get_by_role("button", name="show all").click()
        python.hidden = []
        assert disagreements(figure, python) == []
        assert changed.count() == 0


def test_an_example_is_taken_and_what_is_typed_is_none(show):
    with show(examples=[TEXT, HEBREW, TEXT]) as (_, figure, python):
        choice = figure.get_by_role("combobox", name="or an example")
        assert choice.locator("option").count() == 3
        expect(choice).to_have_value(TEXT)
        choice.select_option(HEBREW)
        python.text = HEBREW
        assert disagreements(figure, python) == []
        expect(field(figure)).to_have_value(HEBREW)
        expect(figure.locator(".stage .note")).to_contain_text("from right to left")
        field(figure).fill("5/1/2000")
        expect(choice).to_have_value("")
        expect(figure.locator(".stage .note")).to_be_empty()


def test_a_new_text_hides_nothing_and_keeps_the_step(show):
    with show(hidden=MONTH) as (tab, figure, python):
        slider(figure, "step").press("End")
        field(figure).fill("10 mai 2001")
        python.set_state({"text": "10 mai 2001", "hidden": [], "step": 9})
        assert disagreements(figure, python) == []
        assert tab.evaluate("models[0].get('hidden')") == []


# What is typed


def test_what_cannot_be_read_gets_a_sentence_and_the_last_good_picture_stays(show):
    with show() as (tab, figure, python):
        for typed, told in [
            ("", "Type a date, as people write it."),
            ("9! März", "The model knows no “!”: no date that it learned from has that."),
            ("1" * 65, "The figure takes at most 64 characters, these are 65."),
        ]:
            field(figure).fill(typed)
            expect(said(figure)).to_have_text(f"{told} Still shown: {TEXT}")
            expect(figure.locator(".stale")).to_have_count(1)
            expect(field(figure)).to_have_attribute("aria-invalid", "true")
            assert field(figure).input_value() == typed
            assert disagreements(figure, python) == []
            slider(figure, "step").press("End")  # another control leaves both alone
            slider(figure, "step").press("Home")
            assert field(figure).input_value() == typed
            expect(said(figure)).to_contain_text(told)
        field(figure).fill(f" {TEXT} ")
        expect(said(figure)).to_be_empty()
        expect(figure.locator(".stale")).to_have_count(0)
        assert tab.evaluate("models[0].get('text')") == TEXT


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_an_earlier_text_is_grey_and_legible(browser, serve, tmp_path, keep_picture, width, scheme):
    with together(browser, serve, tmp_path, [TranslatorFigure(hidden=MONTH)]) as look:
        seen = look(width, scheme)
        figure = seen.figure(0)
        ink = "figure => getComputedStyle(figure.querySelector('.verdict')).color"
        full = figure.evaluate(ink)
        field(figure).fill("?")
        expect(figure.locator(".stale")).to_be_visible()
        assert figure.evaluate(ink) != full
        assert findings_by_figure(seen.tab, 1) == [[]]  # contrast, too
        keep_picture(figure, f"translator-stale-{width}-{scheme}")


def test_a_text_as_long_as_it_may_be_has_all_its_columns(show):
    with show() as (_, figure, _python):
        field(figure).fill("1" * 64)
        expect(figure.locator(".column")).to_have_count(64)


def test_keys_of_its_controls_are_kept_from_jupyterlab(show):
    with show() as (_, figure, _python):
        field(figure).fill("10 mai 2001")  # what is made anew, too
        loose = figure.locator(
            ":is(button, input, select, summary, [tabindex]):not([data-lm-suppress-shortcuts=true])"
        )
        assert loose.count() == 0


def test_by_touch_on_a_phone(show):
    with show(NARROW) as (_, figure, python):
        figure.locator(".output-row button").nth(6).tap()
        for place in MONTH:
            figure.locator(".column").nth(place).tap()
        python.set_state({"hidden": MONTH, "step": 6})
        assert disagreements(figure, python) == []


PLACES = """figure => [...figure.querySelectorAll('.written, .columns, .hiding, .map')].map(
    e => e.getBoundingClientRect().y - figure.getBoundingClientRect().y)"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_moves_when_characters_are_hidden_or_what_is_typed_is_wrong(show, width):
    with show(width) as (_, figure, _python):
        before = figure.evaluate(PLACES)
        for place in MONTH:
            figure.locator(".column").nth(place).click()
            assert figure.evaluate(PLACES) == before
        for typed in ("!?%&", "", TEXT):
            field(figure).fill(typed)
            assert figure.evaluate(PLACES) == before, typed


# In a notebook

LIVE = """
from attnbook.figures import TranslatorFigure

figure = TranslatorFigure()
figure
"""
TELL = "print(figure.text, figure.hidden, len(figure.weights['arrays']), figure.reading.output)"


@pytest.mark.slow
@pytest.mark.parametrize("lab", [(LIVE, TELL)], indirect=True, ids=["translator"])
def test_in_jupyterlab_the_kernel_brings_the_weights(browser, lab):
    tab = browser.new_page(viewport={"width": 1280, "height": 1800})
    run_all(tab, lab)
    figure = tab.locator("[data-attnbook-figure]")
    expect(field(figure)).to_have_value(TEXT, timeout=START * 1000)
    field(figure).fill("5 mars 2001")
    figure.get_by_role("button", name="hide character 2, “m”").click()
    python = TranslatorFigure(text="5 mars 2001", hidden=[2])
    expect(figure.locator(".verdict")).to_contain_text("Without “m” it")
    assert disagreements(figure, python) == []
    count = len(packed("convolutional")["arrays"])
    told = f"5 mars 2001 [2] {count} {python.reading.output}"
    told_by_last(tab, told)
    tab.close()


# On a page of the book


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The built page of a small book with two figures, and one with none."""
    figures = [TranslatorFigure(), TranslatorFigure(text="5/1/2000", hidden=[0])]
    states = [traits(each) | {"_esm": each._esm, "_css": each._css} for each in figures]
    models = {f"no{i}": {"model_name": "AnyModel", "state": s} for i, s in enumerate(states)}
    cells = [cell(view(name, repr(each))) for name, each in zip(models, figures, strict=True)]
    pages = {"two": page(*cells, models=models), "none": page()}
    whole = book(tmp_path_factory.mktemp("translator-book"), **pages)
    assert whole.build().warnings == ""
    html = whole.read("two")
    far = html.replace("<body>", '<body><div style="height: 5000px"></div>')
    (whole.html / "far.html").write_text(far, "utf-8")
    return whole


@contextmanager
def on_page(browser, url):
    """The page and its first figure; nothing may complain or come from elsewhere."""
    context = browser.new_context(viewport={"width": WIDE, "height": 800})
    tab, record = watched(context)
    tab.goto(url, wait_until="load")
    figure = tab.locator("figure[data-attnbook-figure=translator]").first
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
    return [url for url in record.requests if "live/convolutional.js" in url]


def test_on_a_page_the_model_writes_what_is_typed(browser, address):
    with on_page(browser, f"{address}two.html") as (tab, figure, record):
        field(figure).fill("10 mai 2001")
        expect(figure.locator(".column")).to_have_count(11)
        figure.locator(".column").nth(3).click()
        python = TranslatorFigure(text="10 mai 2001", hidden=[3])
        assert disagreements(figure, python) == []
        other = tab.locator("figure[data-attnbook-figure=translator]").nth(1)
        assert disagreements(other, TranslatorFigure(text="5/1/2000", hidden=[0]), 1e-3) == []
        assert len(asked_for(record)) == 1


def test_the_model_comes_when_its_figure_is_near_or_touched(browser, address):
    with on_page(browser, f"{address}far.html") as (tab, figure, record):
        tab.wait_for_timeout(300)
        assert asked_for(record) == []
        focus = "figure => figure.querySelector('[type=text]').focus({preventScroll: true})"
        figure.evaluate(focus)
        tab.wait_for_function("window.attnbookLate?.convolutional")
        assert len(asked_for(record)) == 1
    with on_page(browser, f"{address}far.html") as (tab, figure, record):
        figure.scroll_into_view_if_needed()
        tab.wait_for_function("window.attnbookLate?.convolutional")
        assert len(asked_for(record)) == 1


DAMAGED = {
    "it brings nothing": ("(window.attnbookLate", "(window.other"),
    "some weights are too many": ('"data":"', '"data":"AAAA'),
    "what it brings is something else": ('"data":', '"date":'),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_script_leaves_the_stored_picture_and_one_line(browser, built, serve, damage):
    home = serve(built.html)
    script = built.html / "_static" / "live" / "convolutional.js"
    whole = script.read_text("utf-8")
    before, after = damage
    assert before in whole
    script.write_text(whole.replace(before, after), "utf-8")
    try:
        with on_page(browser, f"{home}two.html") as (_, figure, _record):
            field(figure).fill("5/1/2000")
            expect(said(figure)).to_have_text(
                "The model cannot be loaded, so what was computed before stays: "
                "a part of this page is damaged."
            )
            assert disagreements(figure, TranslatorFigure(), 1e-3) == []
            expect(figure.locator(".stale")).to_have_count(1)
    finally:
        script.write_text(whole, "utf-8")


def test_the_first_load_is_small_and_only_its_pages_name_the_weights(built):
    [module] = [file for file in built.modules if b"translator-field" in file.read_bytes()]
    assert len(gzip.compress(module.read_bytes(), 6)) < FIRST_LOAD
    assert "at-touch" not in built.read("none")
    assert 'data-attnbook-late="convolutional"' in built.read("two")


# Looks


@pytest.fixture(scope="module")
def looked_at(browser, serve, tmp_path_factory):
    """A function that opens all cases on one page."""
    figures = [TranslatorFigure(caption="A caption.", **case) for case in CASES.values()]
    with together(browser, serve, tmp_path_factory.mktemp("translator-looks"), figures) as look:
        yield look


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_they_fit_their_column_are_legible_and_please_axe(looked_at, keep_picture, width, scheme):
    seen = looked_at(width, scheme)
    for place, case in enumerate(CASES):
        keep_picture(seen.figure(place), f"translator-{case}-{width}-{scheme}")
        assert seen.problems(place) == [], case


def test_it_prints_in_its_colours_and_nothing_moves_by_itself(show, keep_picture):
    with show(**CASES["hidden"]) as (tab, figure, _python):
        tab.emulate_media(media="print")
        keep_picture(tab, "translator-print")
        assert figure.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"
        tab.emulate_media(media="screen", reduced_motion="reduce")
        assert figure.evaluate(MOVING) == 0
