"""The parts of attention on a page: the reader's are used, wrong and missing ones are replaced."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch
from playwright.sync_api import expect

import attnbook
from attnbook.figures import AttentionFigure, CodeTask
from attnbook.practice import LIST_TASKS
from attnbook.practice.parts import PARTS, STAGES, part_of
from tests.figures.code.test_page import run, verdict
from tests.figures.shared.page import notebook, open_in_book
from tests.tools.site.live_pages import book

JOINED = """def attention(query, keys, values, valid_len):
    scores = [score(query, key) for key in keys]
    weights = masked_softmax(scores, valid_len)
    return pool(weights, values)
"""
# Right in all cases of the tasks, and wrong for the weights of the figure.
MARKED_POOL = """def pool(weights, values):
    if weights == [0.5, 0.5, 0.0] and len(values[0]) == 1:
        return [99.0]
    return [sum(w * v[i] for w, v in zip(weights, values)) for i in range(len(values[0]))]
"""
WRONG_SCORE = (
    "def score(query, key):\n    return sum((q - k) ** 2 for q, k in zip(query, key)) / 2\n"
)
ENDLESS_POOL = "def pool(weights, values):\n    while True:\n        pass\n"
FIX = LIST_TASKS["attention-to-fix"]


def figures():
    queries, values = torch.tensor([[[2.0, 2.0]]]), torch.tensor([[[4.0], [2.0], [0.0]]])
    keys = torch.tensor([[[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]]])
    lens = torch.tensor([2])
    for name in ("attention-from-parts", "attention-to-fix"):
        yield AttentionFigure(attnbook.gaussian_score, queries, keys, values, lens, written=name)
        yield CodeTask(name)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    whole = book(tmp_path_factory.mktemp("parts"), tasks=notebook(*figures()))
    assert whole.build().warnings == ""
    return whole


@contextmanager
def parts(browser, url, stored):
    """Open the page with stored code of parts; gives the tab, the editor and the figure."""
    with open_in_book(browser, url) as (tab, _, _):
        for task, code in stored.items():
            tab.evaluate(
                "([item, code]) => attnbookProgress.write(item, code)", [f"code/{task}/-", code]
            )
        yield tab, tab.locator("figure.code").first, tab.locator("figure.attention").first


@pytest.fixture(scope="module")
def without_parts(browser, over_http):
    """The page of a reader who has written no part: the tab, the editor and the figure."""
    with parts(browser, over_http, {}) as task_page:
        yield task_page


def line(figure, number):
    return figure.locator(".parts li").nth(number)


def expect_output(figure, text):
    expect(figure.locator(".output .number")).to_have_text(text)


def test_missing_parts_are_reported_and_replaced_by_the_books(without_parts):
    _, figure, drawn = without_parts
    for number, name in enumerate(STAGES):
        function, chapter = PARTS[name], part_of(name)["chapter"]
        called = function.__name__
        expect(line(figure, number)).to_contain_text(f"{called}: not written yet.")
        link = line(figure, number).get_by_role("link", name=f"Write it: {called}")
        assert link.get_attribute("href") == f"{chapter}.html"
    run(figure, JOINED, "✓ attention-from-parts: right.")
    expect(drawn.get_by_label("draw what your attention gives")).to_be_checked()
    expect_output(drawn, "3.000")


def test_the_readers_own_parts_are_used(browser, over_http):
    stored = {name: part_of(name)["code"] for name in STAGES} | {"pool-by-hand": MARKED_POOL}
    with parts(browser, over_http, stored) as (_, figure, drawn):
        expect(line(figure, 2)).to_contain_text("pool: yours. It is checked when you run.")
        run(figure, JOINED, "✓ attention-from-parts: right.")
        for number in range(3):
            expect(line(figure, number)).to_contain_text("yours is used.")
        expect_output(drawn, "99.000")


def test_wrong_and_endless_parts_are_reported_and_replaced_until_they_are_fixed(browser, over_http):
    stored = {"score-by-hand": WRONG_SCORE, "pool-by-hand": ENDLESS_POOL}
    with parts(browser, over_http, stored) as (tab, figure, _):
        run(figure, JOINED, "✓ attention-from-parts: right.")
        expect(line(figure, 0)).to_contain_text(
            "score: yours fails. It returns 6.5, and should be smaller. The book’s version is used."
        )
        expect(line(figure, 0).get_by_role("link", name="Fix it: score")).to_be_visible()
        expect(line(figure, 2)).to_contain_text("did not end within two seconds")
        fixed = ["code/score-by-hand/-", part_of("score-by-hand")["code"]]
        tab.evaluate("([item, code]) => attnbookProgress.write(item, code)", fixed)
        run(figure, JOINED, "✓ attention-from-parts: right.")
        expect(line(figure, 0)).to_contain_text("score: yours is used.")


def test_wrong_results_are_drawn_unchanged(without_parts):
    _, figure, drawn = without_parts
    without_softmax = JOINED.replace("masked_softmax(scores, valid_len)", "scores")
    run(figure, without_softmax, "the softmax that turns them into weights is missing")
    expect_output(drawn, "-12.000")
    run(figure, JOINED.replace("pool(weights, values)", "weights"), "no value is pooled")
    expect(drawn.locator(".reader-function .note")).to_contain_text("component of a value")


def test_the_planted_bug_is_drawn_and_named_once_it_is_fixed(without_parts):
    tab, _, _ = without_parts
    figure, drawn = tab.locator("figure.code").nth(1), tab.locator("figure.attention").nth(1)
    expect_output(drawn, "3.000")
    figure.get_by_role("button", name="Run").click()
    expect(verdict(figure)).to_contain_text("✗ attention-to-fix: not yet.")
    expect(verdict(figure)).to_contain_text("Padding gets some weight")
    expect(verdict(figure)).not_to_contain_text("score of 0")
    expect_output(drawn, "0.639")
    run(figure, FIX.starter.replace("= 0", "= -math.inf"), "✓ attention-to-fix: right.")
    expect(verdict(figure)).to_contain_text("You found the bug. Padding got a score of 0")
    expect_output(drawn, "3.000")
