"""Arrows and scores under the reader's hand, in a browser: what follows them is PyTorch's."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import attnbook
from tests.figures.attention.cases import differ
from tests.figures.attention.hands import LAYERS, VALUES, OwnScore, layers_own, moved_figure
from tests.figures.shared.page import ill_shown
from tests.tools.site.site_checks import LOOKS, NARROW, UNFOLD, WIDE, axe_findings

STORED = 1e-7  # a page has a layer's float32 weights in nine digits
LENS = [5, 3]
EDGE = 1.15  # how much further the plane goes than its arrows

READ = """section => [...section.querySelectorAll('tbody tr')].map(row =>
    [...row.querySelectorAll('td[data-value]')].map(cell => Number(cell.dataset.value)))"""


def trait(tab, name: str) -> Any:
    return tab.evaluate(f"models[0].get({name!r})")


def told_vectors(figure, example: int) -> list[list[float]]:
    """The vectors that an example tells in words: the query in focus, then the keys."""
    told = figure.locator("section").nth(example).locator(".beside data")
    numbers = [float(part.get_attribute("value")) for part in told.all()]
    return [numbers[i : i + 2] for i in range(0, len(numbers), 2)]


def vectors_of(tab) -> dict[str, Any]:
    return {name: trait(tab, name) for name in ("query_vectors", "key_vectors")}


def wrong_numbers(tab, figure, expected: tuple[torch.Tensor, ...]) -> list[str]:
    """Which numbers of the tables are not these scores, weights and outputs."""
    query, wrong = trait(tab, "query"), []
    for i, section in enumerate(figure.locator("section").all()):
        *keys, last = section.evaluate(READ)
        seen = ([row[0] for row in keys], [row[1] for row in keys], last[1:])
        for name, ours, theirs in zip(("score", "weight", "output"), seen, expected, strict=True):
            if differ(ours, theirs[i, query], STORED):
                wrong.append(f"{name} of example {i}")
    return wrong


def disagreements(tab, figure, name: str) -> list[str]:
    return wrong_numbers(tab, figure, layers_own(name, vectors_of(tab), LENS))


def drag(tab, figure, example: int, grip: int, to: tuple[float, float]) -> None:
    """Take the tip of an arrow (the query's is the last in the page) to a place of the plane."""
    section = figure.locator("section").nth(example)
    tip = section.locator(".grip").nth(-1 - grip)
    tip.scroll_into_view_if_needed()
    box, plane = tip.bounding_box(), section.locator(".plane").bounding_box()
    reach = EDGE * trait(tab, "moves")["reach"]
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()
    x = plane["x"] + plane["width"] * (1 + to[0] / reach) / 2
    y = plane["y"] + plane["height"] * (1 - to[1] / reach) / 2
    tab.mouse.move(x, y, steps=3)
    tab.mouse.up()


@pytest.mark.parametrize("name", LAYERS)
def test_what_follows_a_dragged_arrow_is_the_layers(alone, name):
    dice = random.Random(24)  # noqa: S311 - any numbers will do
    made = moved_figure(LAYERS[name])
    reach, step = made.moves["reach"], made.moves["step"]
    with alone(made) as (tab, figure):
        assert disagreements(tab, figure, name) == []
        figure.get_by_role("radio").nth(1).check(force=True)
        places = [(reach, -reach), *((dice.uniform(-reach, reach), 0.3) for _ in range(3))]
        for grip, to in enumerate(places):
            drag(tab, figure, 1, grip, to)
            trait_name = "key_vectors" if grip else "query_vectors"
            now = trait(tab, trait_name)[1][grip - 1 if grip else 1]
            assert now == pytest.approx(to, abs=0.03 * reach + step)
            assert told_vectors(figure, 1)[grip] == now
            assert disagreements(tab, figure, name) == []
        rest = made.moves["start"]
        assert trait(tab, "query_vectors")[0] == rest["query_vectors"][0]
        assert trait(tab, "key_vectors")[1][3:] == rest["key_vectors"][1][3:]


def test_a_tip_goes_no_further_than_its_slider(alone):
    made = moved_figure(attnbook.dot_score)
    reach = made.moves["reach"]
    with alone(made) as (tab, figure):
        drag(tab, figure, 0, 0, (3 * reach, -3 * reach))
        assert trait(tab, "query_vectors")[0][0] == [reach, -reach]


def test_a_finger_drags_a_tip_and_the_page_stays(alone):
    made = moved_figure(attnbook.dot_score)
    with alone(made, width=NARROW, has_touch=True, is_mobile=True) as (tab, figure):
        tip = figure.locator("section").first.locator(".grip").last
        tip.scroll_into_view_if_needed()
        box, scrolled = tip.bounding_box(), tab.evaluate("scrollY")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        hand = tab.context.new_cdp_session(tab)
        for kind, down in (("touchStart", 0), ("touchMove", 20), ("touchMove", 40)):
            points = [{"x": x, "y": y + down}]
            hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert trait(tab, "query_vectors")[0][0][1] < made.query_vectors[0][0][1] - 0.2
        assert tab.evaluate("scrollY") == scrolled
        assert disagreements(tab, figure, "dot") == []


def test_each_vector_can_be_moved_by_keys_alone(alone):
    made = moved_figure(LAYERS["additive"])
    labels = ["the query", *made.key_labels]
    with alone(made) as (tab, figure):
        section = figure.locator("section").first
        section.get_by_text("Move them by sliders").press("Enter")
        names = [f"{axis} of {label}" for label in labels for axis in "xy"]
        sliders = section.locator(".pair input")
        assert [s.get_attribute("aria-label") for s in sliders.all()] == names
        for name in names:
            slider = section.get_by_role("slider", name=name, exact=True)
            slider.press("End")
            slider.press("ArrowLeft")
            reach, step = made.moves["reach"], made.moves["step"]
            assert float(slider.input_value()) == pytest.approx(reach - step)
        moved = vectors_of(tab)
        reached = moved["query_vectors"][0][:1] + moved["key_vectors"][0]
        assert reached == [[pytest.approx(reach - step)] * 2] * 6
        assert disagreements(tab, figure, "additive") == []


@pytest.mark.parametrize("movable", ["vectors", "scores"])
def test_a_button_puts_back_what_was_moved_in_an_example(alone, movable):
    made = moved_figure(attnbook.DotProductAttention(), movable)
    with alone(made) as (tab, figure):
        before = [section.evaluate(READ) for section in figure.locator("section").all()]
        tab.evaluate("document.querySelectorAll('details').forEach(fold => (fold.open = true))")
        for slider in figure.locator(".pair input, .handles input").all():
            slider.press("End")
        for name, start in made.moves["start"].items():
            assert trait(tab, name) != start
        what = "arrows" if movable == "vectors" else "scores"
        first, second = figure.get_by_role("button", name=f"Put the {what} back").all()
        first.click()
        for name, start in made.moves["start"].items():
            assert trait(tab, name)[0] == start[0]
            assert trait(tab, name)[1] != start[1]
        second.click()
        for name, start in made.moves["start"].items():
            assert trait(tab, name) == start
        assert [s.evaluate(READ) for s in figure.locator("section").all()] == before


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_name_of_an_arrow_stays_on_the_plane(alone, width):
    made = moved_figure(LAYERS["dot"], key_labels=["a", "station", "at the", "very", "edge"])
    far = made.moves["reach"]
    corners = [[far, 0.0], [-far, 0.0], [far, far], [-far, -far], [0.0, far]]
    outside = """plane => [...plane.querySelectorAll('i')].map(name => name.getBoundingClientRect())
        .filter(({left, right}) => left < plane.getBoundingClientRect().left - 1
            || right > plane.getBoundingClientRect().right + 1).length"""
    with alone(made, width=width) as (tab, figure):
        tab.evaluate(f"models[0].set('key_vectors', [{corners}, {corners}])")
        plane = figure.locator(".hands .plane").first
        assert plane.locator("i").count() == 6
        assert plane.evaluate(outside) == 0


def test_a_moved_query_is_called_so_until_it_is_back(alone):
    made = moved_figure(LAYERS["dot"], query_labels=["east", "west", "north"])
    with alone(made) as (_, figure):
        title = figure.locator("section").first.locator(".title")
        assert title.inner_text().endswith("query: east")
        figure.locator("summary").first.click()
        figure.locator("section").first.locator(".pair input").first.press("End")
        assert title.inner_text().endswith("query: east, moved")
        figure.locator(".back").first.click()
        assert title.inner_text().endswith("query: east")


def test_arrows_of_the_readers_own_score_stay_still_and_say_so(alone):
    with alone(moved_figure(OwnScore())) as (_, figure):
        assert figure.locator(".grip, .pair, .back").count() == 0
        assert figure.locator(".hands .note").first.inner_text().endswith("the arrows stay still.")
        assert figure.locator(".hands .arrows").count() == 2


def test_a_change_from_python_moves_the_arrows(alone):
    made = moved_figure(LAYERS["bilinear"])
    with alone(made) as (tab, figure):
        tab.evaluate(
            "models[0].set('key_vectors', "
            "models[0].get('key_vectors').map(e => e.map(([x, y]) => [y, x])))"
        )
        assert disagreements(tab, figure, "bilinear") == []
        tab.evaluate("cleanUps[0]()")
        assert tab.evaluate("models[0].heard.length") == 0


# Scores


def handle(figure, key: int, example: int = 0):
    return figure.locator("section").nth(example).locator(".handles input").nth(key)


def scores_say(tab, figure) -> list[str]:
    scores = torch.tensor(trait(tab, "scores"), dtype=torch.float64)
    weights = attnbook.masked_softmax(scores, torch.tensor(trait(tab, "valid_lens")))
    output = attnbook.pool(weights, VALUES.double())
    return wrong_numbers(tab, figure, (scores, weights, output))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_dragged_handle_is_the_end_of_its_bar_and_moves_all_that_follows(alone, width):
    made = moved_figure(attnbook.DotProductAttention(), "scores")
    reach = made.moves["reach"]
    with alone(made, width=width) as (tab, figure):
        bars = figure.locator(".bars").first
        bars.scroll_into_view_if_needed()
        for key, share in enumerate((0.9, 0.1, 0.5, 0.3, 0.75)):
            box, column = bars.bounding_box(), handle(figure, key).bounding_box()
            x = column["x"] + column["width"] / 2
            at = (1 - made.scores[0][0][key] / reach) / 2
            tab.mouse.move(x, box["y"] + at * box["height"])
            tab.mouse.down()
            tab.mouse.move(x, box["y"] + share * box["height"], steps=3)
            tab.mouse.up()
            score = trait(tab, "scores")[0][0][key]
            assert score == pytest.approx(reach * (1 - 2 * share), abs=0.04 * reach)
            assert scores_say(tab, figure) == []
        assert trait(tab, "scores")[1] == made.scores[1]
        assert figure.locator(".stage-name").first.locator("span:visible").all_inner_texts() == [
            "your scores"
        ]


def test_handles_are_native_named_and_go_up_with_the_arrow(alone):
    made = moved_figure(attnbook.DotProductAttention(), "scores")
    reach, step = made.moves["reach"], made.moves["step"]
    with alone(made) as (tab, figure):
        for key, label in enumerate(made.key_labels):
            slider = handle(figure, key)
            assert slider.get_attribute("aria-label") == f"score of {label}"
            slider.press("Home")
            assert trait(tab, "scores")[0][0][key] == -reach
            slider.press("ArrowUp")
            assert trait(tab, "scores")[0][0][key] == pytest.approx(step - reach)
            slider.press("End")
            slider.press("ArrowDown")
            assert trait(tab, "scores")[0][0][key] == pytest.approx(reach - step)
            assert scores_say(tab, figure) == []


@pytest.mark.parametrize("width", [WIDE, NARROW, 320])
def test_nothing_moves_away_from_the_hand_at_the_first_touch(alone, width):
    made = moved_figure(attnbook.dot_score, "scores", formula="q · k")
    with alone(made, width=width) as (_, figure):
        before = handle(figure, 2).bounding_box()
        handle(figure, 2).press("End")
        assert handle(figure, 2).bounding_box() == before


def test_a_hidden_score_can_be_raised_and_changes_nothing(alone):
    made = moved_figure(attnbook.DotProductAttention(), "scores")
    with alone(made) as (_, figure):
        section = figure.locator("section").nth(1)
        before = section.evaluate(READ)
        handle(figure, 4, example=1).press("End")
        after = section.evaluate(READ)
        assert after[4][0] == made.moves["reach"]
        assert [row[1:] for row in after] == [row[1:] for row in before]
        assert section.locator(".of-scores span").nth(4).is_visible()


# Looks

LOOKED_AT = {
    "vectors": lambda **texts: moved_figure(attnbook.DotProductAttention(), **texts),
    "scores": lambda **texts: moved_figure(attnbook.DotProductAttention(), "scores", **texts),
    "still": lambda **texts: moved_figure(OwnScore(), **texts),
}


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("kind", LOOKED_AT)
def test_a_figure_under_a_hand_fits_is_legible_and_pleases_axe(
    alone, keep_picture, kind, width, scheme
):
    made = LOOKED_AT[kind](
        caption="What moves?", query_labels=["light east", "north", "south-west"]
    )
    with alone(made, width=width, scheme=scheme) as (tab, figure):
        keep_picture(tab, f"hands-{kind}-{width}-{scheme}")
        tab.evaluate(UNFOLD)
        assert ill_shown(figure) == axe_findings(tab) == []
