"""What shared parts promise in every figure: sums in numbers, Play, no motion while dragging."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from attnbook.figures import PoolingFigure
from tests.figures.attention.cases import CASES
from tests.figures.online.cases import figure_of
from tests.figures.shared.node import ask_module

# Weights, values, an output, and what the figure writes. The sums are worked out by hand.
SUMS = {
    "rounded terms give it": ([0.5, 0.25], [8, -4], 3, "0.500 · 8 + 0.250 · (-4) = 3.000"),
    "rounded terms do not": (
        [0.8044, 0.1956],
        [10, 20],
        11.956,
        "0.804 · 10 + 0.196 · 20 ≈ 11.956",
    ),
    "a reader's own output": ([0.5, 0.5], [1, 3], 5, "0.500 · 1 + 0.500 · 3 ≠ 5.000"),
    "four largest of five": (
        [0.2] * 5,
        [5, 1, 4, 3, 2],
        3,
        "0.200 · 5 + 0.200 · 4 + 0.200 · 3 + 0.200 · 2 + … = 3.000",
    ),
    "no weight": ([0, 0], [1, 2], 0, ""),
}


@pytest.mark.parametrize("case", SUMS)
def test_a_sum_in_numbers_says_whether_its_rounded_terms_add_up_to_the_output(case):
    weights, values, output, text = SUMS[case]
    body = "return figure.sumText(weights, values, output);"
    task = {"weights": weights, "values": values, "output": output}
    assert ask_module(PoolingFigure, body, **task) == text


def test_play_goes_to_the_end_and_stops_and_is_not_offered_to_who_wants_no_motion(open_figures):
    made = figure_of("a small last block")
    with open_figures(made, reduced_motion="no-preference") as (tab, figures):
        play = figures.first.get_by_role("button", name="Play")
        steps = figures.first.get_by_role("slider", name="step")
        tab.clock.install()
        play.click()
        stop = figures.first.get_by_role("button", name="Stop")
        tab.clock.run_for(1000)
        expect(steps).to_have_value("1")
        stop.click()
        tab.clock.run_for(5000)
        expect(steps).to_have_value("1")
        play.click()
        tab.clock.run_for(60_000)
        expect(steps).to_have_value(steps.get_attribute("max"))
        expect(play).to_be_visible()  # it has stopped by itself
    with open_figures(made) as (_, figures):
        assert figures.first.get_by_role("button", name="Next").is_visible()
        assert not figures.first.get_by_role("button", name="Play").is_visible()


def test_bars_follow_a_handle_at_once_while_it_is_dragged(open_figures):
    long = "bar => getComputedStyle(bar).transitionDuration"
    with open_figures(CASES["toy"]().figure(), reduced_motion="no-preference") as (_, figures):
        bar = figures.first.locator(".bars rect").first
        slider = figures.first.get_by_role("slider").first
        assert "0.15s" in bar.evaluate(long)
        slider.evaluate("slider => slider.dispatchEvent(new Event('input', { bubbles: true }))")
        assert bar.evaluate(long) == "0s"
        slider.evaluate("slider => slider.dispatchEvent(new Event('change', { bubbles: true }))")
        figures.first.page.wait_for_function("!document.querySelector('.dragged')")
        assert "0.15s" in bar.evaluate(long)
