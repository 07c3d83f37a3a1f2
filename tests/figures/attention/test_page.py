"""The attention figure in a browser: its numbers equal PyTorch's after every control."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import torch
from playwright.sync_api import expect

from attnbook import DotProductAttention
from tests.figures.attention.cases import CASES, Case, truth
from tests.figures.attention.page import (
    READ,
    boundaries,
    differences,
    disagreements,
    length_slider,
    read,
)
from tests.figures.shared.page import CLOSE, LINE, SMALL_TEXT, layout_problems, open_figure
from tests.tools.site.site_checks import NARROW, UNFOLD

TEMPERATURES = [float(f"{10 ** (step / 20):.2g}") for step in range(-20, 21)]
HUGE = ("huge_scores", "huge_padding")  # a score of 1e5 has its own last digit at 1e-11
KEYS = ["one", "two", "three", "four", "five"]
HEADS = ["head 0: colour", "head 1: shape"]


@pytest.fixture(scope="module")
def show(stage):
    figures = {name: make().figure() for name, make in CASES.items()}
    figures["named keys"] = CASES["planar"]().figure(key_labels=KEYS)
    keys = torch.linspace(0, 1, 12).expand(1, 2, 12).mT
    case = Case(DotProductAttention(), torch.ones(1, 1, 2), keys, keys, torch.tensor([12]))
    figures["twelve keys"] = case.figure()
    figures["named examples"] = CASES["additive"]().figure(example_labels=HEADS)
    action = "Choose a query: which key gets the most weight?"
    figures["with more"] = CASES["planar"]().figure(more=True)
    figures["without more"] = CASES["planar"]().figure(action=action)
    figures["in a plane"] = CASES["planar"]().figure(movable="vectors", action=action)
    figures["scores"] = CASES["function"]().figure(movable="scores", action=action)
    return stage(figures)


def settings(case: Case) -> list[dict[str, Any]]:
    """Positions of each slider, then random combinations; each change repaints the figure."""
    first, num_keys = case.valid_lens, case.keys.shape[1]
    lengths = range(0, num_keys + 1, 1 + num_keys // 8)
    dice = random.Random(7)  # noqa: S311 - any numbers will do
    moves = [
        {"valid_lens": first.index_put(tuple(index[:, None]), torch.tensor(length)).tolist()}
        for index in torch.ones_like(first).nonzero()
        for length in lengths
    ]
    moves += [{"temperature": temperature} for temperature in TEMPERATURES[::8]]
    for _ in range(8):
        lens = torch.tensor([dice.randint(0, num_keys) for _ in range(first.numel())])
        moves.append({"valid_lens": lens.reshape(first.shape).tolist()})
        moves[-1]["temperature"] = dice.choice(TEMPERATURES)
    rest = {"valid_lens": first.tolist(), "temperature": 1}
    num_queries = case.queries.shape[1]
    return [rest | {"query": i // 5 % num_queries} | move for i, move in enumerate(moves)]


@pytest.mark.parametrize("name", CASES)
def test_at_positions_of_each_slider_and_in_combinations_it_equals_torch(show, name):
    view, changes = show(name), settings(CASES[name]())
    assert len(changes) > 15
    for change, seen in zip(changes, view.read_all(READ, changes), strict=True):
        assert differences(seen, view.state, 1e-6 if name in HUGE else CLOSE) == [], change


EACH_STEP = """input => Array.from({ length: 41 }, (_, i) => {
    input.value = i - 20;
    input.dispatchEvent(new Event('input'));
    return Number(input.ariaValueText);
})"""


def test_the_temperature_slider_has_these_positions(show):
    slider = show("one_key").figure.get_by_label("temperature", exact=True)
    assert [slider.get_attribute(name) for name in ("min", "max", "step")] == ["-20", "20", "1"]
    assert slider.evaluate(EACH_STEP) == TEMPERATURES
    assert [TEMPERATURES[i] for i in (0, 20, 40)] == [0.1, 1, 10]


def test_keys_move_each_slider_and_no_other(show):
    _, figure, state, _ = show("toy")
    count = len(state["key_labels"])
    for example in range(len(state["scores"])):
        before, slider = read(figure)["examples"], length_slider(figure, example)
        ends = (("Home", 0), ("ArrowRight", 1), ("End", count), ("ArrowLeft", count - 1))
        for key, length in ends:
            slider.press(key)
            assert slider.input_value() == str(length)
            assert disagreements(figure, state) == []
        moved = read(figure)["examples"]
        assert moved[:example] + moved[example + 1 :] == before[:example] + before[example + 1 :]


def test_a_boundary_can_be_dragged_and_tapped(show):
    tab, figure, state, _ = show("nearest", NARROW)
    example, count = len(state["scores"]) - 1, len(state["key_labels"])
    figure.get_by_role("button", name=f"example {example}").click()
    slider = length_slider(figure, example)
    slider.scroll_into_view_if_needed()
    edges, box = boundaries(figure, example), slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    for length in (0, count, count // 2, 3):
        tab.mouse.move(edges[int(slider.input_value())], middle)
        tab.mouse.down()
        tab.mouse.move(edges[length], middle + 3, steps=5)
        tab.mouse.up()
        assert slider.input_value() == str(length)
        assert disagreements(figure, state) == []
    for length in (count, 0, 1):
        tab.touchscreen.tap(edges[length], middle)
        assert slider.input_value() == str(length)
        assert disagreements(figure, state) == []


def test_each_query_has_a_named_slider_and_a_move_is_saved_for_python(show):
    view = show("planar")
    figure, temperature = view.figure, view.figure.get_by_label("temperature", exact=True)
    for query in range(3):
        figure.get_by_role("radio").nth(query).check(force=True)
        slider, name = length_slider(figure), f"valid_lens[0][{query}]"
        attributes = [slider.get_attribute(name) for name in ("aria-label", "min", "max", "step")]
        assert attributes == [name, "0", "5", "1"]
        assert slider.input_value() == str(view.state["valid_lens"][0][query])
        assert f"{name} = " in figure.locator(".axis .stage-name").inner_text()
    view.reset()
    figure.locator(".more-controls summary").click()
    saves = view.saves()
    length_slider(figure).press("ArrowLeft")
    temperature.press("Home")
    figure.get_by_role("radio").nth(1).check(force=True)
    assert view.saves() == saves + 3
    assert view.get("valid_lens", "temperature", "query") == [[[4, 2, 0]], 0.1, 1]
    view.set(temperature=5.01)
    assert temperature.input_value() == "14"
    assert disagreements(figure, view.state) == []


def test_the_focus_moves_to_another_query_in_this_figure_only(show):
    tab, figure, state, _ = show("additive")
    checked = tab.locator("input[type=radio]:checked").count()
    queries = figure.locator(".example").first.get_by_role("radio")
    moves = {
        "click": lambda query: queries.nth(query).click(),
        "tap": lambda query: queries.nth(query).tap(),
        "key": lambda query: queries.nth(query - 1).press("ArrowDown"),
    }
    for (how, move), query in zip(moves.items(), (1, 0, 1), strict=True):
        move(query)
        assert [e["query"] for e in read(figure)["examples"]] == [query, query], how
        assert f"query {query}" in figure.locator(".query-name").first.inner_text()
        assert disagreements(figure, state) == []
    assert tab.locator("input[type=radio]:checked").count() == checked
    row = figure.locator(".heat-rows label").nth(1)
    assert row.evaluate("row => getComputedStyle(row).outlineStyle") == "solid"


ON_TOP = """name => {
    const box = name.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    return document.elementFromPoint(x, y) === name;
}"""


LIT = """figure => [...figure.querySelectorAll('.lit')].map(part =>
    part.closest('.example > *, details').className.split(' ')[0] + ' ' + part.tagName)"""


def test_pointing_at_a_key_shows_its_numbers_and_lights_it_everywhere(show):
    _, figure, state, _ = show("named keys")
    score, value = state["scores"][0][0][1], state["values"][0][1][0]
    weight = CASES["planar"]().figure().attention_weights[0, 0, 1]
    expected = f"two: score {score:.3f}, weight {weight:.3f}, value {value:.3g}"
    readout, bars = figure.locator(LINE), figure.locator(".bars").first
    edges, top = boundaries(figure), bars.bounding_box()
    position = {"x": (edges[1] + edges[2]) / 2 - top["x"], "y": 9}
    bars.hover(position=position)
    assert readout.inner_text() == expected
    # Its column; line, name, bars, numbers, share, value, line; its part of the sum; its numbers.
    bands = "path BUTTON rect SPAN rect SPAN rect rect SPAN path rect".split()
    lit = ["heatmap BDI", *(f"results {part}" for part in bands), "data-tables TR"]
    assert figure.evaluate(LIT) == lit
    assert figure.locator(".lit").first.inner_text() == "two"
    expect(figure.locator(".heat-column")).to_be_visible()
    key = figure.locator(".keys button")
    assert key.nth(1).evaluate(ON_TOP)  # of the band, too
    key.nth(2).focus()
    assert readout.inner_text().startswith("three: score")
    key.nth(2).press("ArrowRight")
    assert readout.inner_text().startswith("four: score")
    assert figure.locator(".keys button[tabindex='0']").all_inner_texts() == ["four"]
    bars.tap(position=position)
    assert readout.inner_text() == expected
    length_slider(figure).press("Home")
    assert readout.inner_text().startswith("two (padding): score")
    assert "weight 0," in readout.inner_text()
    assert figure.evaluate(LIT) == lit
    expect(figure.locator(".of-scores .hidden-key").nth(1)).to_be_visible()


def test_at_first_the_readout_names_the_keys_with_the_largest_weight(show):
    view = show("toy")
    readouts = view.figure.locator(LINE)
    view.set(valid_lens=[2, 6])
    expected = ["Largest weight: key 0 and key 1, 0.500", "Largest weight: 6 keys, 0.167"]
    assert readouts.all_inner_texts() == expected
    view.set(valid_lens=[1, 0])
    expected = ["Largest weight: key 0, 1.000", "nothing to attend to: output 0"]
    assert readouts.all_inner_texts() == expected


def test_the_sum_in_numbers_equals_the_output(show):
    view = show("planar")
    for query, lens in ((0, [5, 2, 0]), (1, [5, 2, 0]), (2, [5, 2, 3])):
        view.set(query=query, valid_lens=[lens])
        weights, output = truth(view.state, [lens])
        text = view.figure.locator(".sum-text").inner_text()
        terms, _, total = text.replace("+ …", "").replace("≈", "=").partition(" = ")
        assert total == f"{output[0, query, 0]:.3f}"
        pairs = [term.strip().split(" · ") for term in terms.split(" + ")]
        values = dict(zip(weights[0, query].tolist(), view.state["values"][0], strict=True))
        largest = sorted(values, key=lambda weight: -abs(weight * values[weight][0]))
        shares = [weight for weight in values if weight in largest[: len(pairs)] and weight]
        assert len(pairs) == min(lens[query], 4)
        assert pairs == [[f"{w:.3f}", brackets(values[w][0])] for w in shares]


def brackets(value: float) -> str:
    return f"({value:.3g})" if value < 0 else f"{value:.3g}"


def test_every_text_about_an_example_has_its_name(show):
    figure = show("named examples").figure
    for name, section in zip(HEADS, figure.locator(".example").all(), strict=True):
        assert figure.get_by_role("group", name=name, exact=True).count() == 1
        assert section.get_attribute("aria-label") == name
        assert section.locator(".title").inner_text() == name
        assert section.locator(".query-name").inner_text() == "query 0"
        assert "example" not in section.text_content()
    captions = figure.locator("caption").all_text_contents()
    assert captions == [f"{name}, query 0" for name in HEADS]


TOTAL = "[aria-label=Weighting] .stage-name > span:not(:empty)"
HEIGHTS = """section => [...section.querySelectorAll('.bars')[1].querySelectorAll('rect')]
    .map(bar => Number(bar.getAttribute('height')))"""


def test_hiding_a_key_gives_its_share_to_the_others_and_an_empty_row_has_a_message(show):
    _, figure, _, _ = show("toy")
    totals, section = figure.locator(TOTAL), figure.locator(".example").first
    assert totals.all_inner_texts() == ["softmax: sum 1.000"] * 2
    assert section.evaluate(HEIGHTS)[:3] == [0.5, 0.5, 0]
    length_slider(figure).press("ArrowLeft")
    assert section.evaluate(HEIGHTS)[:3] == [1, 0, 0]
    length_slider(figure, 1).press("Home")
    assert totals.all_inner_texts() == ["softmax: sum 1.000", "nothing to attend to: output 0"]
    rows = read(figure)["examples"][1]["rows"]
    assert [row[1] for row in rows[:-1]] == [0] * 10
    assert rows[-1] == [0] * 5
    masked = show("masked")  # its mask hides all keys from query 1
    masked.set(query=1)
    total = masked.figure.locator(TOTAL).first
    assert total.inner_text() == "nothing to attend to: output 0"


def test_a_phone_shows_one_example_at_a_time(show):
    figure = show("masked", NARROW).figure
    examples, buttons = figure.locator(".example"), figure.locator(".tabs button")
    assert buttons.all_inner_texts() == ["example 0", "example 1"]
    for chosen in (1, 0):
        buttons.nth(chosen).click()
        assert [one.is_visible() for one in examples.all()] == [chosen == 0, chosen == 1]
        pressed = [button.get_attribute("aria-pressed") for button in buttons.all()]
        assert pressed.index("true") == chosen
        expect(examples.nth(chosen).locator(".of-weights")).to_be_visible()  # once it has a width


def test_numbers_without_room_are_hidden(show):
    for width, has_room in ((NARROW, False), (1280, True)):
        figure = show("twelve keys", width).figure
        weights = figure.locator(".of-weights")
        expect(weights).to_be_visible(visible=has_room)
    figure.locator(".more-controls summary").click()
    figure.get_by_label("temperature", exact=True).press("Home")  # longer numbers, as 2.3e-6
    expect(weights).to_be_hidden()


LINES = """figure => [...figure.querySelectorAll('.axis .curve')].map(line => [
    Number(line.getAttribute('stroke-width')),
    line.hasAttribute('d') ? line.getPointAtLength(line.getTotalLength()).x
        / line.ownerSVGElement.viewBox.baseVal.width : null,
])"""


def test_a_line_to_each_key_is_as_thick_as_its_weight_and_thin_ones_are_counted(show):
    view = show("planar")
    weights = CASES["planar"]().figure().attention_weights[0, 0].tolist()
    for key, (weight, (thick, end)) in enumerate(
        zip(weights, view.figure.evaluate(LINES), strict=True)
    ):
        assert thick == pytest.approx(1 + 13 * weight, abs=0.01)
        assert end * len(weights) == pytest.approx(key + 0.5)
    view.set(query=2)  # an empty row
    assert view.figure.evaluate(LINES) == [[0, None]] * len(weights)
    many = show("most_keys").figure
    drawn = [end for _, end in many.evaluate(LINES) if end is not None]
    assert (
        many.locator(".axis small").inner_text() == f"{200 - len(drawn)} thin lines are not drawn"
    )


def test_secondary_marks_are_seen_after_more_or_from_the_start(show):
    marks = ".secondary, .weight-scale"
    for name, more in (("without more", False), ("with more", True)):
        figure = show(name).figure
        seen = [mark.is_visible() for mark in figure.locator(marks).all()]
        assert seen.count(True) == (len(seen) - 1 if more else 0)  # no line is left out
        for visible in (not more, more):
            figure.locator(".more-controls summary").press("Enter")
            expect(figure.locator(".total")).to_be_visible(visible=visible)


@pytest.mark.parametrize("column", [688, 940])
def test_one_example_is_low_enough_for_a_laptop(show, column):
    for name in ("without more", "in a plane", "scores", "function"):
        tab, figure, *_ = show(name)
        tab.evaluate(
            "width => document.querySelector('main').style.maxWidth = width", f"{column}px"
        )
        assert figure.bounding_box()["height"] <= 520, name
        tab.evaluate("document.querySelector('main').style.maxWidth = ''")


FIGURES = "figure[data-attnbook-figure=attention]"


def live_figures(tab) -> list[tuple]:
    """Unfold all, and return the figures of a page, each with its first state."""
    state = json.loads(tab.locator("script.attnbook-state").text_content())
    tab.wait_for_function("document.querySelectorAll('.attnbook-static').length === 0")
    tab.evaluate(UNFOLD)
    views = [
        (view, state[view.get_attribute("data-attnbook-view")])
        for view in tab.locator("[data-attnbook-view]").all()
    ]
    found = [(view.locator(FIGURES), own) for view, own in views if own["kind"] == "attention"]
    assert tab.locator(FIGURES).count() == len(found) > 0
    return found


def test_in_the_book_it_equals_torch_after_each_control_a_reload_and_going_back(browser, home):
    url = f"{home}chapters/masked-softmax.html"
    with open_figure(browser, url, reduced_motion="reduce") as (tab, record):
        figures = live_figures(tab)
        for figure, state in figures:
            assert layout_problems(figure) == disagreements(figure, state) == []
            for slider in figure.locator(":is(.axis, .control) input:visible").all():
                low, high = (int(slider.get_attribute(end)) for end in ("min", "max"))
                for key, value in (("Home", low), ("End", high), ("ArrowLeft", high - 1)):
                    slider.press(key)
                    assert slider.input_value() == str(value)
                    assert disagreements(figure, state) == []
            for radio in figure.get_by_role("radio").all():
                radio.click()
                assert disagreements(figure, state) == []
        tab.emulate_media(media="print")
        for figure, _ in figures:
            assert figure.evaluate(SMALL_TEXT) == []
            assert figure.locator(".bars").first.bounding_box()["height"] > 20
        tab.emulate_media(media="screen")
        tab.reload()
        figure, state = live_figures(tab)[0]
        assert read(figure)["examples"][0]["lens"] == state["valid_lens"]
        length_slider(figure).press("Home")
        assert disagreements(figure, state) == []
        tab.goto(f"{home}chapters/notation.html")
        tab.go_back()
        figure, state = live_figures(tab)[0]
        assert disagreements(figure, state) == []
        length_slider(figure).press("End")
        assert disagreements(figure, state) == []
        assert record.complaints == []
        assert record.foreign(home) == []
