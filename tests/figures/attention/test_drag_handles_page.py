"""Dragged vectors and scores in a browser: the numbers equal PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from playwright.sync_api import expect

import attnbook
from tests.figures.attention.cases import differ
from tests.figures.attention.drag_handles import (
    LAYERS,
    VALUES,
    OwnScore,
    compute_by_layer,
    moved_figure,
    random_positions,
)
from tests.figures.attention.page import READ, read
from tests.tools.site.site_checks import NARROW, UNFOLD

STORED = 1e-7  # a page stores a layer's float32 weights with nine digits
EDGE = 1.15  # the size of the plane relative to the reach of its vectors


@pytest.fixture(scope="module")
def show(stage):
    figures = {name: moved_figure(layer) for name, layer in LAYERS.items()}
    figures["scores"] = moved_figure(attnbook.DotProductAttention(), "scores", formula="q · k")
    figures["own score"] = moved_figure(OwnScore())
    return stage(figures)


def disagreements(view, name: str) -> list[str]:
    """List the numbers of the tables that differ from PyTorch's for the traits of now."""
    names = ("valid_lens", "temperature", "query", "scores", "query_vectors", "key_vectors")
    state = dict(zip(names, view.get(*names), strict=True))
    return differences(read(view.figure), state, name)


def differences(seen: dict[str, Any], state: dict[str, Any], name: str) -> list[str]:
    if name == "scores":
        scores = torch.tensor(state["scores"], dtype=torch.float64)
    else:
        scores, _, _ = compute_by_layer(name, state, state["valid_lens"])
    lens, query = torch.tensor(state["valid_lens"]), state["query"]
    weights = attnbook.masked_softmax(scores / state["temperature"], lens)
    expected, wrong = (scores, weights, attnbook.pool(weights, VALUES.double())), []
    for i, example in enumerate(seen["examples"]):
        *keys, last = example["rows"]
        numbers = ([row[0] for row in keys], [row[1] for row in keys], last[1:])
        for part, ours, theirs in zip(
            ("score", "weight", "output"), numbers, expected, strict=True
        ):
            if differ(ours, theirs[i, query], STORED):
                wrong.append(f"{part} of example {i}")
    return wrong


def vectors_in_text(figure, example: int) -> list[list[float]]:
    """Read the vectors in an example's text: the query in focus, then the keys."""
    data = figure.locator(".example").nth(example).locator(".vectors data")
    numbers = [float(part.get_attribute("value")) for part in data.all()]
    return [numbers[i : i + 2] for i in range(0, len(numbers), 2)]


def drag(view, example: int, arrow: int, to: tuple[float, float], *, offset: float = 0.0) -> None:
    """Drag a vector (the query is 0) to a point, by a pixel `offset` from its middle."""
    section, mouse = view.figure.locator(".example").nth(example), view.tab.mouse
    tip = section.locator(".drag-handle").nth(-1 - arrow)
    tip.scroll_into_view_if_needed()
    box, plane = tip.bounding_box(), section.locator(".plane").bounding_box()
    reach = EDGE * view.state["moves"]["reach"]
    mouse.move(box["x"] + box["width"] / 2 + offset, box["y"] + box["height"] / 2)
    mouse.down()
    x = plane["x"] + plane["width"] * (1 + to[0] / reach) / 2 + offset
    y = plane["y"] + plane["height"] * (1 - to[1] / reach) / 2
    mouse.move(x, y, steps=3)
    mouse.up()


@pytest.mark.parametrize("name", [*LAYERS, "scores"])
def test_the_numbers_equal_the_layers_for_any_vectors_or_scores(show, name):
    view = show(name)
    changes = [
        position
        | {"temperature": [1, 0.1, 10, 2.5][i % 4], "query": i % 3}
        | {"valid_lens": [i, 5 - i]}
        for i, position in enumerate(random_positions(view.state["moves"], 5))
    ]
    for change, seen in zip(changes, view.read_all(READ, changes), strict=True):
        assert differences(seen, change, name) == [], change


def test_after_a_vector_is_dragged_the_numbers_equal_the_layers(show):
    view, name = show("additive"), "additive"
    figure, first = view.figure, view.state["moves"]["start"]
    reach, step = (view.state["moves"][name] for name in ("reach", "step"))
    assert disagreements(view, name) == []
    figure.get_by_role("radio").nth(1).check(force=True)
    for arrow, to in enumerate([(reach, -reach), (-0.4 * reach, 0.3), (0.7 * reach, 0.3)]):
        drag(view, 1, arrow, to, offset=9.0 * (arrow - 1))
        [vectors] = view.get("key_vectors" if arrow else "query_vectors")
        now = vectors[1][arrow - 1 if arrow else 1]
        assert now == pytest.approx(to, abs=0.03 * reach + step)
        assert vectors_in_text(figure, 1)[arrow] == now
        assert disagreements(view, name) == []
    queries, keys = view.get("query_vectors", "key_vectors")
    assert queries[0] == first["query_vectors"][0]
    assert keys[1][2:] == first["key_vectors"][1][2:]
    drag(view, 0, 0, (3 * reach, -3 * reach))  # beyond the range of its sliders
    assert view.get("query_vectors")[0][0][1] == [reach, -reach]


def test_a_touch_drags_a_tip_without_scrolling_the_page(show):
    view = show("dot", NARROW)
    tip = view.figure.locator(".example").first.locator(".drag-handle").last
    tip.scroll_into_view_if_needed()
    box, scrolled = tip.bounding_box(), view.tab.evaluate("scrollY")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = view.tab.context.new_cdp_session(view.tab)
    for kind, down in (("touchStart", 0), ("touchMove", 20), ("touchMove", 40)):
        points = [{"x": x, "y": y + down}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    first = view.state["query_vectors"][0][0][1]
    assert view.get("query_vectors")[0][0][0][1] < first - 0.2
    assert view.tab.evaluate("scrollY") == scrolled
    assert disagreements(view, "dot") == []


def test_each_vector_can_be_moved_with_the_keyboard_only(show):
    view = show("additive")
    moves = view.state["moves"]
    reached = moves["reach"] - moves["step"]
    view.figure.locator(".more-controls summary").press("Enter")
    labels = ["the query", *view.state["key_labels"]]
    names = [f"{axis} of {label}" for label in labels for axis in "xy"]
    query = view.figure.locator(".movable .pair").first
    keys = view.figure.locator(".pairs").first.locator(".pair")
    sliders = [one for pair in (query, keys) for one in pair.locator("input").all()]
    assert [slider.get_attribute("aria-label") for slider in sliders] == names
    for slider in sliders:
        slider.press("End")
        slider.press("ArrowLeft")
        assert float(slider.input_value()) == pytest.approx(reached)
    queries, keys = view.get("query_vectors", "key_vectors")
    assert queries[0][:1] + keys[0] == [[pytest.approx(reached)] * 2] * 6
    assert disagreements(view, "additive") == []


@pytest.mark.parametrize(("name", "what"), [("scaled dot", "vectors"), ("scores", "scores")])
def test_a_button_restores_the_first_values_of_an_example(show, name, what):
    view = show(name)
    before, start = read(view.figure), view.state["moves"]["start"]
    view.tab.evaluate(UNFOLD)
    for slider in view.figure.locator(".pair input, .handles input").all():
        slider.press("End")
    first, second = view.figure.get_by_role("button", name=f"Put the {what} back").all()
    first.click()
    for trait, now in zip(start, view.get(*start), strict=True):
        assert now[0] == start[trait][0]
        assert now[1] != start[trait][1]
    second.click()
    assert view.get(*start) == [*start.values()]
    assert read(view.figure) == before


def test_vectors_cannot_be_dragged_with_a_score_that_the_page_does_not_have(show):
    figure = show("own score").figure
    assert figure.locator(".drag-handle, .pair, .restore").count() == 0
    note = figure.locator(".movable .note").first.inner_text()
    assert note.endswith("the vectors cannot be dragged.")
    assert figure.locator(".plane .query-mark").count() == 2


def handle(view, key: int, example: int = 0):
    return view.figure.locator(".example").nth(example).locator(".handles input").nth(key)


def test_a_drag_handle_is_at_the_end_of_its_bar_and_sets_the_score(show):
    view = show("scores")
    reach, first = view.state["moves"]["reach"], view.state["scores"]
    bars, mouse = view.figure.locator(".bars").first, view.tab.mouse
    bars.scroll_into_view_if_needed()
    for key, share in ((0, 0.9), (4, 0.3)):
        box, column = bars.bounding_box(), handle(view, key).bounding_box()
        x = column["x"] + column["width"] / 2
        mouse.move(x, box["y"] + (1 - first[0][0][key] / reach) / 2 * box["height"])
        mouse.down()
        mouse.move(x, box["y"] + share * box["height"], steps=3)
        mouse.up()
        score = view.get("scores")[0][0][0][key]
        assert score == pytest.approx(reach * (1 - 2 * share), abs=0.04 * reach)
        assert disagreements(view, "scores") == []
    assert view.get("scores")[0][1] == first[1]
    name = view.figure.locator("[aria-label=Scoring] .stage-name").first.locator("span:visible")
    assert name.all_inner_texts() == ["your scores"]


def test_drag_handles_follow_the_keyboard_and_one_of_a_hidden_key_changes_no_weight(show):
    view = show("scores")
    reach, step = (view.state["moves"][name] for name in ("reach", "step"))
    for key in (0, 4):
        slider = handle(view, key)
        label = view.state["key_labels"][key]
        assert slider.get_attribute("aria-label") == f"score of {label}"
        ends = {"Home": -reach, "ArrowUp": step - reach, "End": reach, "ArrowDown": reach - step}
        for press, score in ends.items():
            slider.press(press)
            assert view.get("scores")[0][0][0][key] == pytest.approx(score)
        assert disagreements(view, "scores") == []
    before = read(view.figure)["examples"][1]["rows"]
    handle(view, 4, example=1).press("End")
    after = read(view.figure)["examples"][1]["rows"]
    assert after[4][0] == reach
    assert [row[1:] for row in after] == [row[1:] for row in before]
    expect(view.figure.locator(".example").nth(1).locator(".of-scores span").nth(4)).to_be_visible()
