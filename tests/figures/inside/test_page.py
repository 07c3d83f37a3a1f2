"""The reader's attention inside the story model, in a browser: run, stopped, loaded again."""

from __future__ import annotations

import sys

import pytest
from playwright.sync_api import expect

from attnbook import gaussian_score
from attnbook.figures import CodeTask, InsideFigure
from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.transformer.stages import replace_stage
from attnbook.models.transformer.stories import answers, make_stories
from attnbook.practice import parts
from attnbook.practice.judge import progress
from attnbook.practice.parts import part_of
from tests.figures.shared.page import SMALL_TEXT, TOO_WIDE, notebook, open_in_book
from tests.tools.site.live_pages import book
from tests.tools.site.site_checks import JUDGED, OF_LOOK, axe_findings, change_view

TASK = "attention-from-parts"
NAME = "story"
TEN = make_stories(10, sentences=(2, 2))
ENDLESS = "def attention(query, keys, values, valid_len):\n    while True:\n        pass\n"
SCALED = part_of("scaled-score-by-hand")["code"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    figures = (
        InsideFigure(TEN, name=NAME),
        InsideFigure(TEN, name=NAME, score="scaled-score-by-hand"),
    )
    whole = book(tmp_path_factory.mktemp("inside"), tasks=notebook(CodeTask(TASK), *figures))
    assert whole.build().warnings == ""
    return whole


LEAKING = """
def my_attention(query, keys, values, valid_len):
    scores = [score(query, key) for key in keys]
    return pool(masked_softmax(scores, len(keys)), values)
"""


def store(tab, task, code):
    item = ["code/" + task + "/-", code]
    tab.evaluate("([item, code]) => attnbookProgress.write(item, code)", item)


def ask(figure):
    figure.get_by_role("button", name="Answer with my attention").click()


def status(figure):
    return figure.get_by_role("status")


def own_answers(figure):
    return figure.locator("td.own").all_text_contents()


def test_the_gaussian_score_gives_torchs_answers_and_the_scaled_score_the_models_own(
    browser, address
):
    with open_in_book(browser, f"{address}tasks.html") as (tab, figures, _):
        near, scaled = figures.nth(1), figures.nth(2)
        expect(near.locator(".parts li").first).to_contain_text("score: not written yet.")
        ask(near)
        expect(status(near)).to_contain_text("the model’s own.", timeout=60_000)
        with replace_stage(model := book_decoder(NAME).double(), "score", gaussian_score):
            given = answers(model, TEN)
        expected = [
            "✓ the same" if answer == story["answer"] else f"✗ {answer}"
            for answer, story in zip(given, InsideFigure(TEN, name=NAME).stories, strict=True)
        ]
        assert own_answers(near) == expected
        same = expected.count("✓ the same")
        verb = "is" if same == 1 else "are"
        expect(status(near)).to_have_text(f"{same} of 10 answers {verb} the model’s own.")
        store(tab, "scaled-score-by-hand", SCALED)
        ask(scaled)
        expect(status(scaled)).to_contain_text("All 10 answers are the", timeout=60_000)
        expect(scaled.locator(".parts li").first).to_contain_text("yours is used.")


def test_stored_code_is_used_after_a_reload_and_can_be_stopped(browser, over_http):
    with open_in_book(browser, over_http) as (tab, figures, _):
        figure = figures.nth(2)
        store(tab, TASK, ENDLESS)
        store(tab, "scaled-score-by-hand", SCALED.replace("/ math.sqrt(len(query))", ""))
        tab.reload()
        expect(figure.locator(".joined")).to_contain_text("attention: yours")
        ask(figure)
        figure.get_by_role("button", name="Stop").click()
        expect(status(figure)).to_have_text("Stopped.")
        ask(figure)
        expect(status(figure)).to_contain_text("did not end within two seconds", timeout=30_000)
        expect(figure.locator(".parts li").first).to_contain_text("yours fails. It returns")
        expect(figure.get_by_role("button", name="Stop")).to_be_hidden()
        store(tab, TASK, "attention = lambda query, keys, values, valid_len: keys[0][:3]")
        ask(figure)
        expect(status(figure)).to_contain_text("a list of 8 numbers here")
        expect(status(figure)).to_contain_text("it returns a list of 3.")


def test_it_fits_its_column_and_axe_finds_nothing(browser, over_http, save_picture):
    with open_in_book(browser, over_http) as (tab, figures, _):
        figure = figures.nth(1)
        ask(figure)
        expect(status(figure)).to_contain_text("the model’s own.", timeout=60_000)
        for width, scheme in JUDGED:
            change_view(tab, width, scheme)
            save_picture(figure, f"inside-{width}-{scheme}")
            for problems in (TOO_WIDE, SMALL_TEXT):
                assert figure.evaluate(problems) == [], (width, scheme)
            assert axe_findings(tab, [*OF_LOOK, "label", "aria-progressbar-name"]) == []


def test_in_a_notebook_python_answers_with_what_the_reader_has_checked(monkeypatch):
    monkeypatch.setattr(progress, "_latest", {})
    figure = InsideFigure(TEN, name=NAME, score="scaled-score-by-hand")
    figure.asked = 1
    own = [story["answer"] for story in figure.stories]
    books = [False, False, False, False]
    assert figure.result == {"asked": 1, "own": books, "given": own}
    progress._latest["scaled-score-by-hand"] = parts.score
    figure.asked = 2
    with replace_stage(model := book_decoder(NAME).double(), "score", gaussian_score):
        expected = answers(model, TEN)
    assert figure.result == {"asked": 2, "own": [False, True, False, False], "given": expected}
    del progress._latest["scaled-score-by-hand"]
    # What it calls is found in the notebook under the names of the book's parts.
    names = {}
    exec(LEAKING, names)  # noqa: S102
    progress._latest["attention-from-parts"] = names["my_attention"]
    figure.asked = 3
    with replace_stage(model, "weigh", lambda scores, _: scores.softmax(dim=-1)):
        expected = answers(model, TEN)
    assert figure.result == {"asked": 3, "own": [True, False, False, False], "given": expected}
    for wrong, reason in (
        (lambda *_: 1 / 0, "one query; ZeroDivisionError: division by zero"),
        (lambda *_: sys.exit(), "SystemExit"),
    ):
        progress._latest["attention-from-parts"] = wrong
        figure.asked += 1
        assert reason in figure.result["refusal"]
        assert "given" not in figure.result
