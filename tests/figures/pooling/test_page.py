"""The pooling figure in a browser: it shows PyTorch's numbers wherever its sliders are."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from attnbook.figures.shared.axes import positions_on
from attnbook.figures.shared.base import decimals
from tests.figures.attention.cases import differ
from tests.figures.pooling.cases import CASES, few, truth
from tests.figures.shared.page import CLOSE, LINE, reading, slider

READ = reading("""
    query: Number(figure.querySelector('[aria-label=query]').dataset.value),
    width: Number(figure.querySelector('[aria-label=width]').dataset.value),
    texts: all('[aria-label=query], [aria-label=width]').map((e) => e.ariaValueText),
    steps: all('[aria-label=query], [aria-label=width]').map((e) => Number(e.value)),
    rows: bodies()[0],
    output: figure.querySelector('.output .number').textContent,
    sum: figure.querySelector('.sum-text').textContent,
    parts: attributes('.sum :is(rect, polygon)', ['width']).flat(),
""")
DRAWN = reading("""
    stems: attributes('.stem', ['y2']).map(([y]) => 100 - y),
    scores: attributes('.scores .dot', ['y1']).flat(),
    dots: attributes('.values-plot .dot', ['stroke-opacity']).flat(),
    output: attributes('.values-plot .output-dot', ['x1', 'y1'])[0],
    curve: points('.values-plot .outputs'),
""")


def disagreements(seen: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """Where the numbers of a figure differ from PyTorch's for its query and width."""
    points = sorted(state["points"], key=lambda point: point[0])  # from left to right
    expected = truth(points, [seen["query"]], seen["width"])
    *keys, last = seen["rows"]
    output = expected["output"].item()
    pairs = {
        "points": ([row[:2] for row in keys], torch.tensor(points, dtype=torch.float64)),
        "scores": ([row[2] for row in keys], expected["scores"][0]),
        "weights": ([row[3] for row in keys], expected["weights"][0]),
        "last row": (last, torch.tensor([seen["query"], output, 1], dtype=torch.float64)),
    }
    wrong = [name for name, (drawn, true) in pairs.items() if differ(drawn, true, CLOSE)]
    return wrong + ["text"] * (decimals(output) != seen["output"])


@pytest.fixture(scope="module")
def show(stage):
    named = few(action="Drag `width`: what happens?")
    return stage({case: make() for case, make in CASES.items()} | {"named": named})


@pytest.mark.parametrize("case", CASES)
def test_start_ends_and_middle_of_each_slider_equal_torch(show, case):
    view = show(case)
    state, queries = view.state, positions_on(view.state["axis"])
    widths = state["widths"]
    changes = [
        {"query": queries[query], "width": widths[width]}
        for query in (0, len(queries) // 2, len(queries) - 1)
        for width in (0, len(widths) // 2, len(widths) - 1)
    ]
    first, *others = view.read_all(READ, [{}, *changes])
    assert (first["query"], first["width"]) == (state["query"], state["width"])
    numbers = [float(text) for text in first["texts"]]
    assert numbers == [pytest.approx(state["query"], rel=1e-9), float(f"{state['width']:.3g}")]
    assert disagreements(first, state) == []
    for change, seen in zip(changes, others, strict=True):
        assert seen.items() >= change.items()
        query, width = seen["steps"]
        assert (queries[query], widths[width]) == (change["query"], change["width"])
        assert disagreements(seen, state) == []


def test_keys_move_query_and_width_by_a_step_and_to_their_ends(show):
    _, figure, state, _ = view = show("named")
    saves = view.saves()
    low, high, step = state["axis"]
    for name, key, value in (
        ("query", "ArrowRight", state["query"] + step),
        ("query", "Home", low),
        ("query", "End", high),
        ("width", "ArrowLeft", 0.9),
        ("width", "Home", state["widths"][0]),
        ("width", "End", state["widths"][-1]),
    ):
        slider(figure, name).press(key)
        seen = figure.evaluate(READ)
        assert seen[name] == pytest.approx(value, abs=1e-12)
        assert disagreements(seen, state) == []
    assert view.saves() == saves + 6
    assert view.get("query", "width") == [high, state["widths"][-1]]


def test_the_picture_follows_the_numbers(show):
    figure = show("named").figure
    for at in ("-15", "3", "-2"):
        slider(figure, "width").fill(at)
        slider(figure, "query").press("ArrowLeft")
        drawn = figure.evaluate(DRAWN)
        *rows, _ = figure.evaluate(READ)["rows"]
        weights, largest = [row[3] for row in rows], max(row[3] for row in rows)
        shares = [stem / max(drawn["stems"]) for stem in drawn["stems"]]
        assert shares == pytest.approx([weight / largest for weight in weights], abs=1e-3)
        assert drawn["dots"] == pytest.approx(shares, abs=1e-3)
        nearest = max(range(5), key=lambda i: rows[i][2])
        assert drawn["scores"].index(min(drawn["scores"])) == nearest
        assert min(math.dist(point, drawn["output"]) for point in drawn["curve"]) < 0.02


def test_values_from_python_between_two_steps_are_shown_as_they_are(show):
    _, figure, state, _ = view = show("few")
    view.set(query=2.0123, width=0.777)
    seen = figure.evaluate(READ)
    assert (seen["query"], seen["width"]) == (2.0123, 0.777)
    assert seen["texts"] == ["2.0123", "0.777"]
    assert state["widths"][seen["steps"][1]] == 0.8  # the nearest
    assert disagreements(seen, state) == []


def test_the_output_is_written_as_a_sum_of_its_largest_parts(show):
    view = show("few")
    exact = [{"query": 2.0, "width": 0.01}, {"query": 6.0, "width": 0.1}]
    for change, seen in zip([{}, *exact], view.read_all(READ, [{}, *exact]), strict=True):
        *rows, (_, output, _) = seen["rows"]
        parts = [weight * value for _, value, _, weight in rows]
        sizes = [abs(part) for part in parts]
        assert seen["parts"] == pytest.approx([size / 6 for size in sizes], abs=1e-4)  # -1 to 5
        terms = [term.split(" · ") for term in seen["sum"].partition(" = ")[0].split(" + ")]
        terms = [term for term in terms if term != ["…"]]
        assert len(terms) == min(4, sum(weight >= 5e-4 for *_, weight in rows)), change
        largest = sorted(sorted(range(5), key=lambda key: -sizes[key])[: len(terms)])
        assert [weight for weight, _ in terms] == [decimals(rows[key][3]) for key in largest]
        assert [float(value.strip("()")) for _, value in terms] == [rows[k][1] for k in largest]
        assert seen["sum"].endswith(f"= {decimals(output)}")


LIT = reading("""
    lit: all('.lit').map((part) => [part.dataset.key, part.tagName.toLowerCase()]),
""")


def test_pointing_at_a_key_lights_it_everywhere_and_shows_its_numbers(show):
    _, figure, state, _ = show("few")
    readout, graph = figure.locator(LINE), figure.locator(".scores")
    rows = figure.evaluate(READ)["rows"]
    box, (low, high, _) = graph.bounding_box(), state["axis"]

    def sentence(key):
        name, value, score, weight = rows[key]
        return f"age {name}: score {score:.3f}, weight {weight:.3f}, height {value}"

    def position(key):
        return {"x": box["width"] * (rows[key][0] - low) / (high - low) + 2, "y": 5}

    heaviest = max(range(5), key=lambda key: rows[key][3])
    assert readout.inner_text() == f"Largest weight at {sentence(heaviest)}"
    graph.hover(position=position(2))
    assert readout.inner_text() == sentence(2)
    walk = slider(figure, "key")
    walk.focus()
    assert readout.inner_text() == sentence(0)
    walk.press("ArrowRight")
    assert readout.inner_text() == sentence(1)
    assert walk.get_attribute("aria-valuetext") == f"age {rows[1][0]}"
    graph.tap(position=position(3))
    assert readout.inner_text() == sentence(3)
    tags = ["line", "line", "line", "rect", "tr"]  # a bar is in each stage, then the sum's, a row
    assert figure.evaluate(LIT)["lit"] == [["3", tag] for tag in tags]
    marks = [mark.bounding_box() for mark in figure.locator(".spot").all()]
    centres = [mark["x"] + mark["width"] / 2 for mark in marks]
    assert centres == pytest.approx([box["x"] + position(3)["x"] - 2] * 3, abs=1)


def test_the_keyboard_selects_keys_from_left_to_right(show):
    _, figure, state, _ = show("noisy")
    slider(figure, "key").press("End")
    slider(figure, "key").press("Home")
    text = figure.locator(LINE).inner_text()
    first = min(key for key, _ in state["points"])
    assert float(text.removeprefix("key ").partition(":")[0]) == pytest.approx(first, abs=0.01)


def test_the_width_folds_unless_the_action_names_it(show):
    figure = show("few").figure
    assert not slider(figure, "width").is_visible()
    figure.get_by_text("More controls").click()
    assert slider(figure, "width").is_visible()
    figure.get_by_text("More controls").click()
    assert slider(show("named").figure, "width").is_visible()
