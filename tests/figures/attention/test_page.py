"""The attention figure in a browser: what moves under the finger is PyTorch's."""

from __future__ import annotations

import json
import random
from contextlib import contextmanager

import pytest
import torch

import attnbook
from attnbook.figures import AttentionFigure
from tests.figures.attention.cases import CASES, Case, traits
from tests.figures.attention.page import boundaries, disagreements, length_slider, read
from tests.figures.shared.page import (
    MOVING,
    SMALL_TEXT,
    colours_on_paper,
    handle_centre,
    ill_shown,
    opened_figure,
)
from tests.tools.site.site_checks import LOOKS, NARROW, UNFOLD, WIDE, axe_findings

SHOWN = ("toy", "planar", "additive", "nearest", "one_key")


@pytest.fixture(scope="module")
def show(alone):
    """A function that opens a page with figures and gives tab, figures and states."""

    @contextmanager
    def go(*figures: AttentionFigure, **options):
        with alone(*figures, **options) as (tab, shown):
            yield tab, shown, [traits(figure) for figure in figures]

    return go


@contextmanager
def one(show, name: str, **options):
    """One of the cases on its page."""
    with show(CASES[name]().figure(caption="A caption."), **options) as (tab, shown, states):
        yield tab, shown.first, states[0]


# Equal to torch


@pytest.mark.parametrize("case", SHOWN)
def test_each_key_press_moves_a_length_by_one_and_equals_torch(show, case):
    with one(show, case) as (_, figure, state):
        count = len(state["key_labels"])
        assert disagreements(figure, state) == []
        for example in range(len(state["scores"])):
            rest = read(figure)["examples"]
            slider = length_slider(figure, example)
            slider.press("Home")
            for length in range(count + 1):
                if length:
                    slider.press("ArrowRight")
                assert slider.input_value() == str(length)
                assert disagreements(figure, state) == []
            slider.press("End")
            assert slider.input_value() == str(count)
            slider.press("ArrowLeft")
            assert slider.input_value() == str(count - 1)
            moved = read(figure)["examples"]
            assert moved[:example] + moved[example + 1 :] == rest[:example] + rest[example + 1 :]


@pytest.mark.parametrize("case", ["planar", "additive"])
def test_each_step_of_the_temperature_equals_torch(show, case):
    with one(show, case) as (_, figure, state):
        slider = figure.get_by_label("temperature", exact=True)
        slider.press("Home")
        seen = [slider.get_attribute("aria-valuetext")]
        while slider.input_value() != slider.get_attribute("max"):
            assert disagreements(figure, state) == []
            slider.press("ArrowRight")
            seen.append(slider.get_attribute("aria-valuetext"))
        assert disagreements(figure, state) == []
        assert (len(seen), seen[0], seen[20], seen[40]) == (41, "0.1", "1", "10")


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("case", ["toy", "nearest"])
def test_a_dragged_boundary_equals_torch(show, case, width):
    dice = random.Random(3)  # noqa: S311 - any numbers will do
    with one(show, case, width=width) as (tab, figure, state):
        example = len(state["scores"]) - 1
        slider, edges = length_slider(figure, example), boundaries(figure, example)
        count = len(state["key_labels"])
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        middle = box["y"] + box["height"] / 2
        for length in [0, count, count // 2, *dice.sample(range(1, count), 3)]:
            tab.mouse.move(edges[int(slider.input_value())], middle)
            tab.mouse.down()
            tab.mouse.move(edges[length], middle + 3, steps=5)
            tab.mouse.up()
            assert slider.input_value() == str(length)
            assert disagreements(figure, state) == []


@pytest.mark.parametrize("case", ["toy", "planar"])
def test_a_tap_moves_the_boundary_and_equals_torch(show, case):
    with one(show, case, width=NARROW, has_touch=True, is_mobile=True) as (tab, figure, state):
        slider, count = length_slider(figure), len(state["key_labels"])
        slider.scroll_into_view_if_needed()
        edges, box = boundaries(figure), slider.bounding_box()
        for length in (count, 0, count // 2, 1, count - 1):
            tab.touchscreen.tap(edges[length], box["y"] + box["height"] / 2)
            assert slider.input_value() == str(length)
            assert disagreements(figure, state) == []


def test_seeded_combinations_of_all_controls_equal_torch(show):
    dice = random.Random(11)  # noqa: S311 - any numbers will do
    with one(show, "nearest") as (_, figure, state):
        sliders = figure.locator("input[type=range]").all()
        for _ in range(20):
            figure.get_by_role("radio").nth(dice.randrange(3)).check(force=True)
            for slider in sliders:
                if slider.is_visible():
                    ends = (int(slider.get_attribute(end)) for end in ("min", "max"))
                    slider.fill(str(dice.randint(*ends)))
            assert disagreements(figure, state) == []


def test_a_wrong_number_is_noticed(show):
    with one(show, "planar") as (_, figure, state):
        figure.locator("tbody tr").nth(1).locator("td").nth(1).evaluate(
            "cell => { cell.dataset.value = Number(cell.dataset.value) + 1e-9 }"
        )
        assert len(disagreements(figure, state)) == 1


# The boundary


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("case", ["toy", "one_key"])
def test_the_handle_is_the_edge_between_keys_and_padding(show, case, width):
    with one(show, case, width=width) as (tab, figure, state):
        tab.add_style_tag(content=".padding, .keys { visibility: hidden }")
        tab.add_style_tag(content=":focus-visible { outline: 0 !important }")
        slider, edges = length_slider(figure), boundaries(figure)
        for length in range(len(state["key_labels"]) + 1):
            slider.fill(str(length))
            line = figure.locator(".axis .padding").first.bounding_box()["x"] + 1
            assert handle_centre(tab, slider) == pytest.approx(edges[length], abs=1)
            assert line == pytest.approx(edges[length], abs=1)


def test_sliders_are_native_named_and_hold_every_length(show):
    with one(show, "planar") as (_, figure, state):
        for query in range(3):
            figure.get_by_role("radio").nth(query).check(force=True)
            slider = length_slider(figure)
            assert slider.get_attribute("aria-label") == f"valid_lens[0][{query}]"
            ends = [slider.get_attribute(name) for name in ("min", "max", "step")]
            assert ends == ["0", "5", "1"]
            assert slider.input_value() == str(state["valid_lens"][0][query])
            assert f"valid_lens[0][{query}] = " in figure.locator(".lengths").inner_text()


# The focus


@pytest.mark.parametrize("how", ["click", "keys", "tap"])
def test_the_focus_moves_to_another_query(show, how):
    with one(show, "additive", has_touch=how == "tap") as (_, figure, state):
        queries = figure.locator("section").first.get_by_role("radio")
        for query in (1, 2):
            if how == "keys":
                queries.nth(query - 1).press("ArrowDown")
            elif how == "tap":
                queries.nth(query).tap()
            else:
                queries.nth(query).click()
            assert [e["query"] for e in read(figure)["examples"]] == [query, query]
            assert f"query {query}" in figure.locator(".title").first.inner_text()
            assert disagreements(figure, state) == []


def test_two_figures_on_a_page_do_not_meddle_with_each_other(show):
    figures = [CASES["planar"]().figure() for _ in range(2)]
    with show(*figures) as (tab, shown, states):
        shown.nth(0).get_by_role("radio").nth(1).check(force=True)
        length_slider(shown.nth(0)).press("Home")
        shown.nth(1).get_by_role("radio").nth(2).check(force=True)
        queries = [read(shown.nth(i))["examples"][0]["query"] for i in (0, 1)]
        assert queries == [1, 2]
        assert read(shown.nth(1))["examples"][0]["lens"] == [5, 2, 0]
        assert [disagreements(shown.nth(i), states[i]) for i in (0, 1)] == [[], []]
        assert tab.evaluate("document.querySelectorAll('main [id]').length") == 0


# What it says


ON_TOP = """name => {
    const box = name.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    return document.elementFromPoint(x, y) === name;
}"""


def test_a_pointed_key_says_its_numbers(show):
    case = CASES["planar"]()
    keys = ["one", "two", "three", "four", "five"]
    with show(case.figure(key_labels=keys), has_touch=True) as (_, shown, states):
        figure = shown.first
        score, value = states[0]["scores"][0][0][1], states[0]["values"][0][1][0]
        weight = case.figure().attention_weights[0, 0, 1]
        said = f"two: score {score:.3f}, weight {weight:.3f}, value ({value:.3g})"
        readout, bars = figure.locator(".readout"), figure.locator(".bars").first
        edges, top = boundaries(figure), bars.bounding_box()
        assert "Point at a key" in readout.inner_text()

        def place(key):
            return {"x": (edges[key] + edges[key + 1]) / 2 - top["x"], "y": 9}

        bars.hover(position=place(1))
        assert readout.inner_text() == said
        assert figure.locator(".keys button").nth(1).evaluate(ON_TOP)  # of the band, too
        figure.locator(".keys button").nth(2).focus()
        assert readout.inner_text().startswith("three: score")
        figure.locator(".keys button").nth(2).press("ArrowRight")
        assert readout.inner_text().startswith("four: score")
        stops = figure.locator(".keys button[tabindex='0']")
        assert stops.all_inner_texts() == ["four"]
        bars.tap(position=place(1))
        assert readout.inner_text() == said
        length_slider(figure).press("Home")
        assert readout.inner_text().startswith("two, padding: score")
        assert "weight 0," in readout.inner_text()


def names(figure, example: int) -> list[str]:
    """What an example is called: its heading, to a screen reader, and in its table."""
    section = figure.locator("section").nth(example)
    heading = section.locator(".title").inner_text()
    caption = section.locator("caption").text_content()
    return [heading, section.get_attribute("aria-label"), caption]


def test_an_example_bears_its_name_wherever_it_is_named(show):
    case = CASES["additive"]()
    heads = ["head 0: colour", "head 1: shape"]
    with show(case.figure(example_labels=heads), case.figure()) as (tab, shown, states):
        for i, called in enumerate((heads, ["example 0", "example 1"])):
            for example, name in enumerate(called):
                assert tab.get_by_role("region", name=name, exact=True).count() == 1
                expected = [f"{name}, query 0", name, f"{name}, query 0"]
                assert names(shown.nth(i), example) == expected
        sliders = shown.first.locator("input[type=range]").all()[:2]
        lens = [slider.get_attribute("aria-label") for slider in sliders]
        assert lens == ["valid_lens[0]", "valid_lens[1]"]
        assert "example" not in shown.first.locator("section").first.text_content()
        assert disagreements(shown.first, states[0]) == []


def test_what_a_causal_figure_hides_is_called_future(show):
    x = torch.arange(6.0).reshape(1, 3, 2)
    figure = AttentionFigure(attnbook.DotProductAttention(), x, x, x, causal=True)
    with show(figure) as (_, shown, states):
        assert shown.locator(".padding span").all_inner_texts() == ["future"]
        assert "key 1 (future)" in shown.locator("table").first.text_content()
        assert "padding" not in shown.text_content()
        assert disagreements(shown, states[0]) == []


def test_the_total_is_always_there_and_an_empty_row_says_so(show):
    with one(show, "toy") as (_, figure, _state):
        totals = figure.locator(".total-text")
        assert totals.all_inner_texts() == ["total 1.000", "total 1.000"]
        length_slider(figure, 1).press("Home")
        assert totals.all_inner_texts() == ["total 1.000", "nothing to attend to: output 0"]
        rows = read(figure)["examples"][1]["rows"]
        assert [row[1] for row in rows[:-1]] == [0] * 10
        assert rows[-1] == [0] * 5


def test_the_picture_hands_the_share_of_a_hidden_key_to_the_others(show):
    with one(show, "toy") as (_, figure, _state):
        heights = """section => [...section.querySelectorAll('.bars')[1].querySelectorAll('rect')]
            .map(bar => Number(bar.getAttribute('height')))"""
        section = figure.locator("section").first
        assert section.evaluate(heights)[:3] == [0.5, 0.5, 0]
        length_slider(figure).press("ArrowLeft")
        assert section.evaluate(heights)[:3] == [1, 0, 0]


def test_numbers_are_a_real_table_behind_a_switch(show):
    with one(show, "planar") as (_, figure, _state):
        table = figure.get_by_role("table")
        assert table.count() == 0
        figure.get_by_text("Show numbers").click()
        assert table.count() == 1
        heads = table.get_by_role("columnheader").all_inner_texts()
        assert heads == ["key", "score", "weight", "value"]
        names = table.get_by_role("rowheader").all_inner_texts()
        assert names == [*(f"key {i}" for i in range(5)), "output"]


def test_the_caption_belongs_to_the_figure(show):
    with one(show, "planar") as (tab, figure, _):
        assert figure.locator("> figcaption").inner_text() == "A caption."
        assert figure.get_attribute("data-attnbook-figure") == "attention"
        assert tab.get_by_role("figure").count() == 1


# The model


def test_a_change_from_python_is_painted(show):
    with one(show, "toy") as (tab, figure, state):
        tab.evaluate("models[0].set('valid_lens', [0, 10])")
        tab.evaluate("models[0].set('temperature', 5.01)")
        assert [e["lens"] for e in read(figure)["examples"]] == [[0], [10]]
        assert figure.get_by_label("temperature", exact=True).input_value() == "14"
        assert disagreements(figure, state) == []


def test_a_move_is_saved_for_python(show):
    with one(show, "planar") as (tab, figure, _):
        length_slider(figure).press("ArrowLeft")
        figure.get_by_label("temperature", exact=True).press("Home")
        figure.get_by_role("radio").nth(1).check(force=True)
        saved = "models[0].saves, models[0].get('valid_lens'), models[0].get('temperature')"
        assert tab.evaluate(f"[{saved}, models[0].get('query')]") == [3, [[4, 2, 0]], 0.1, 1]


def test_a_figure_that_was_cleaned_up_follows_no_more(show):
    with one(show, "toy") as (tab, figure, _):
        before = read(figure)
        tab.evaluate("cleanUps[0]()")
        tab.evaluate("models[0].set('valid_lens', [0, 0])")
        assert tab.evaluate("models[0].heard.length") == 0
        assert read(figure) == before


# Looks


MANY = Case(
    attnbook.DotProductAttention(),
    *(CASES["most_keys"]().keys[:, :size].clone() for size in (64, 64, 64)),
    valid_lens=CASES["most_keys"]().valid_lens // 5,
)
LOOKED_AT = {name: CASES[name] for name in (*SHOWN, "most_keys", "huge_scores")} | {
    "many": lambda: MANY
}


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("case", LOOKED_AT)
def test_a_figure_fits_its_column_is_legible_and_pleases_axe(
    show, keep_picture, case, width, scheme
):
    figure = LOOKED_AT[case]().figure(caption="What the layer does, query by query.")
    with show(figure, width=width, scheme=scheme) as (tab, shown, _):
        keep_picture(tab, f"{case}-{width}-{scheme}")
        shown.first.locator("summary").first.click()
        assert ill_shown(shown.first) == axe_findings(tab) == []


@pytest.mark.parametrize("case", ["one_key", "planar"])
def test_a_query_fits_on_a_phone_held_upright(show, case):
    with one(show, case, width=NARROW) as (_, figure, _):
        parts = [figure.locator(part).first.bounding_box() for part in (".bands", ".output")]
        assert sum(part["height"] for part in parts) < 640


TIGHT = "figure => [...figure.querySelectorAll('.tight')].map(part => part.className)"


@pytest.mark.parametrize("case", ["toy", "additive"])
def test_numbers_come_and_go_with_the_width_whatever_it_was_before(show, case):
    def tour(*widths):
        with one(show, case, width=widths[0]) as (tab, figure, _):
            seen = {}
            for width in widths:
                tab.set_viewport_size({"width": width, "height": 800})
                tab.wait_for_timeout(50)  # a frame and more
                seen[width] = figure.evaluate(TIGHT)
                figure.locator("summary").first.click()
            return seen

    seen = tour(WIDE, 560, 700, NARROW)
    assert len(seen[WIDE]) < len(seen[NARROW])
    assert tour(NARROW, 700, WIDE, 560) == seen


@pytest.mark.parametrize("case", ["toy", "planar"])
def test_a_printed_figure_keeps_its_colours(show, keep_picture, case):
    with one(show, case) as (_, figure, _):
        assert colours_on_paper(figure, keep_picture, case) == "exact"
        assert figure.evaluate(SMALL_TEXT) == []


def test_nothing_moves_by_itself_for_a_reader_who_asks_for_that(show):
    with one(show, "toy") as (_, figure, _):
        assert figure.evaluate(MOVING) == 0
    with one(show, "toy", reduced_motion="no-preference") as (_, figure, _):
        assert figure.evaluate(MOVING) > 0


# In the built book

CHAPTERS = ("welcome", "masked-softmax", "scaled-dot-product-attention")
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)
FIGURES = "figure[data-attnbook-figure=attention]"


@pytest.fixture(scope="module")
def read_book(browser, home, site):
    """A function that opens a chapter and gives tab, its living figures and their states."""

    @contextmanager
    def go(chapter: str, *, server: bool = True, width: int = WIDE, scheme="light", **options):
        address = f"{home}chapters/" if server else (site / "chapters").as_uri() + "/"
        options = {"color_scheme": scheme, "reduced_motion": "reduce"} | options
        with opened_figure(browser, f"{address}{chapter}.html", width, **options) as (tab, record):
            yield tab, living(tab)
            assert record.complaints == []
            assert record.foreign(home) == []

    return go


def living(tab) -> list[tuple]:
    """The figures of a page beside the state that each was made from, out of their folds."""
    state = json.loads(tab.locator("script.attnbook-state").text_content())
    tab.wait_for_function("document.querySelectorAll('.attnbook-static').length === 0")
    tab.evaluate(UNFOLD)
    views = [
        (view, state[view.get_attribute("data-attnbook-view")])
        for view in tab.locator("[data-attnbook-view]").all()
    ]
    shown = [(view.locator(FIGURES), own) for view, own in views if own["kind"] == "attention"]
    assert tab.locator(FIGURES).count() == len(shown) > 0
    return shown


def visible_sliders(figure) -> list:
    sliders = figure.locator(".axis input[type=range], .temperature input")
    return [slider for slider in sliders.all() if slider.is_visible()]


@each_chapter
@pytest.mark.parametrize("server", [True, False], ids=["http", "file"])
def test_every_slider_of_the_book_moves_by_keyboard_and_equals_torch(read_book, chapter, server):
    dice = random.Random(5)  # noqa: S311 - any numbers will do
    with read_book(chapter, server=server) as (_, figures):
        for figure, state in figures:
            assert disagreements(figure, state) == []
            for slider in visible_sliders(figure):
                low, high = (int(slider.get_attribute(end)) for end in ("min", "max"))
                for key, value in (("Home", low), ("End", high), ("ArrowLeft", high - 1)):
                    slider.press(key)
                    assert slider.input_value() == str(value)
                    assert disagreements(figure, state) == []
                for value in ((low + high) // 2, dice.randint(low, high), dice.randint(low, high)):
                    slider.fill(str(value))
                    assert disagreements(figure, state) == []


@each_chapter
def test_every_query_of_the_book_can_be_looked_at_and_equals_torch(read_book, chapter):
    with read_book(chapter) as (_, figures):
        for figure, state in figures:
            for radio in figure.get_by_role("radio").all():
                radio.click()
                assert disagreements(figure, state) == []


def middle_at_rest(tab, slider):
    """Where the slider lies, once the page has scrolled to it and stands still."""
    slider.scroll_into_view_if_needed()
    box, before = slider.bounding_box(), None
    while box != before:
        tab.wait_for_timeout(100)
        box, before = slider.bounding_box(), box
    return box["y"] + box["height"] / 2


@each_chapter
def test_every_boundary_of_the_book_can_be_dragged_and_tapped(read_book, chapter):
    with read_book(chapter, width=NARROW, has_touch=True) as (tab, figures):
        for figure, state in figures:
            for example in range(len(state["scores"])):
                slider = length_slider(figure, example)
                middle = middle_at_rest(tab, slider)
                edges = boundaries(figure, example)
                count = len(edges) - 1
                tab.touchscreen.tap(edges[count - 1], middle)
                assert slider.input_value() == str(count - 1)
                middle = middle_at_rest(tab, slider)
                tab.mouse.move(edges[count - 1], middle)
                tab.mouse.down()
                tab.mouse.move(edges[1], middle, steps=4)
                tab.mouse.up()
                assert slider.input_value() == "1"
                assert disagreements(figure, state) == []


def test_a_page_read_again_or_returned_to_is_alive_and_true(read_book, home):
    with read_book("welcome") as (tab, figures):
        length_slider(figures[0][0]).press("Home")
        tab.reload()
        figure, state = living(tab)[0]
        assert read(figure)["examples"][0]["lens"] == state["valid_lens"]
        assert disagreements(figure, state) == []
        length_slider(figure).press("Home")
        tab.goto(f"{home}chapters/notation.html")
        tab.go_back()
        figure, state = living(tab)[0]
        assert disagreements(figure, state) == []
        length_slider(figure).press("End")
        assert disagreements(figure, state) == []


@each_chapter
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_figure_of_the_book_fits_the_text_and_is_legible(
    read_book, keep_picture, chapter, width, scheme
):
    with read_book(chapter, width=width, scheme=scheme) as (_, figures):
        for i, (figure, _state) in enumerate(figures):
            keep_picture(figure, f"{chapter}-{i}-{width}-{scheme}")
            figure.locator("summary").first.click()
            assert ill_shown(figure) == []


@each_chapter
def test_a_printed_chapter_shows_its_figures(read_book, keep_picture, chapter):
    with read_book(chapter) as (tab, figures):
        tab.emulate_media(media="print")
        for i, (figure, _) in enumerate(figures):
            keep_picture(figure, f"{chapter}-{i}-print")
            assert figure.evaluate(SMALL_TEXT) == []
            assert figure.locator(".bars").first.bounding_box()["height"] > 20
