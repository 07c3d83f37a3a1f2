"""Folded answers: how pages are built with them, and what opens them in a browser."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest
from bs4 import BeautifulSoup
from nbformat import v4
from playwright.sync_api import expect

from tests.figures.attention.cases import traits
from tests.figures.prediction.cases import choice, numbers
from tests.tools.site.live_pages import book, cell, page, printed, view
from tests.tools.site.site_checks import open_page
from tools.site.chapter import answers
from tools.site.figures import live

SETTINGS = {
    "extensions": ["myst_nb", "sphinx_design"],
    "myst_enable_extensions": ["colon_fence"],
    "html_css_files": ["site.css"],
    "html_js_files": [("folds.js", {"defer": "defer"})],
}
HINT = ":::{dropdown} Hint\nLook again.\n:::\n\n:::{dropdown} Answer\nBecause.\n:::"


def words(text: str, *tags: str):
    return v4.new_markdown_cell(text, metadata={"tags": list(tags)} if tags else {})


def asking(figure, name: str, *more: str):
    return cell(view(name, repr(figure)), tags=("predict", *more), source="ask = Prediction()")


def result(text: str):
    return cell(printed(text), tags=("answer",), source=f"print({text!r})")


def saved(figure) -> dict:
    state = traits(figure) | {"_esm": figure._esm, "_css": figure._css}
    return {"model_name": "AnyModel", "state": state}


def lesson(*cells, **models):
    return page(*cells, models={name: saved(figure) for name, figure in models.items()})


def whole():
    """A page with a fold, a hidden answer, and a question of the practice with words and code."""
    first, second = choice(), numbers()
    return lesson(
        words("**Predict.** Which?"),
        asking(first, "a"),
        words("It has 5 rows: words-of-one.", "answer"),
        result("result-of-one"),
        words("Between.\n\n**Predict.** How much?"),
        asking(second, "b", "hidden-answer"),
        result("result-of-two"),
        words("(there)=\nAnchored, in the answer.", "answer"),
        words(f"## Practice\n\n**1.** Why?\n\n{HINT}\n\n**2.** Write it."),
        result("worked-answer"),
        words("The end."),
        a=first,
        b=second,
    )


def lessons():
    ask = choice()
    hidden = [part for _ in range(4) for part in (asking(ask, "a", "hidden-answer"), result("r"))]
    heading = words("## Next\n\nText.", "answer")
    return {
        "index": whole(),
        "unanswered": lesson(asking(ask, "a"), words("Plain."), *hidden, a=ask),
        "heading": lesson(asking(ask, "a"), heading, a=ask),
        "plain": page(cell(printed("1"))),
    }


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return book(tmp_path_factory.mktemp("answers"), **lessons()).build(live, answers, **SETTINGS)


def folds(html: str) -> list[str]:
    """The content of each `<details>` of a page."""
    return [part.split("</details>")[0] for part in html.split("<details")[1:]]


# Pages


def test_each_answer_is_in_one_closed_fold_and_nothing_else_is(pages):
    one, two, hint, why, worked = folds(pages.read())
    assert "words-of-one" in one
    assert "result-of-one" in one
    assert "Between" not in one + two
    assert "attnbook-hidden-answer" in two
    assert "attnbook-hidden-answer" not in one + worked
    assert "Anchored" in two
    assert ("Look again" in hint, "Because" in why) == (True, True)
    assert "worked-answer" in worked
    assert "The end." not in worked
    assert all(" open" not in fold.split(">")[0] for fold in folds(pages.read()))
    # A prediction is one card with its question and its answer.
    cards = BeautifulSoup(pages.read(), "html.parser").find_all(class_="attnbook-card")
    expected = [("Predict. Which?", "words-of-one"), ("Predict. How much?", "result-of-two")]
    for card, (question, answer) in zip(cards, expected, strict=True):
        first, cell, last = card.find_all(recursive=False)
        assert first.get_text() == question
        assert cell.find(attrs={"data-attnbook-view": True})
        assert answer in last.get_text()


def test_no_answer_and_no_code_of_a_prediction_is_outside_the_folds(pages):
    html = pages.read()
    for fold in folds(html):
        html = html.replace(fold, "")
    visible = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    answers = "result-of|words-of-one|worked-answer|ask = Prediction|0\\.667|Right"
    assert re.findall(answers, visible) == []
    assert "<p>(1, 5, 3)</p>" in visible  # among the options, until the figure is alive


def test_a_missing_answer_a_fourth_hidden_answer_and_a_heading_in_an_answer_raise_warnings(pages):
    lines = pages.warnings.splitlines()
    found = {name: "\n".join(line for line in lines if f"/{name}." in line) for name in lessons()}
    assert "cell 1 asks, and no cell after it answers" in found["unanswered"]
    assert "a page has at most 3 hidden answers" in found["unanswered"]
    assert "the answer from cell 2 on has a heading" in found["heading"]
    assert (found["index"], found["plain"]) == ("", "")


# In a browser


@pytest.fixture
def show(browser, pages):
    """A function that opens the page."""

    @contextmanager
    def go(name: str = "index", *, anchor: str = "", **options):
        url = (pages.html / f"{name}.html").as_uri()
        with open_page(browser, url + anchor, **options) as (tab, record):
            yield tab, tab.locator("details")
            assert record.complaints + record.failures == []

    return go


def states(folds) -> list[bool]:
    return folds.evaluate_all("folds => folds.map((fold) => fold.open)")


def test_the_right_answer_opens_its_own_fold_and_a_wrong_one_none(show):
    with show() as (tab, folds):
        assert states(folds) == [False] * 5
        tab.get_by_role("button", name="(1, 7, 3)").click()
        assert states(folds) == [False] * 5
        tab.get_by_role("button", name="(1, 5, 3)").click()
        assert states(folds) == [True, False, False, False, False]
        folds.first.locator("summary").click()
        assert states(folds) == [False] * 5


def test_a_hidden_answer_opens_for_an_answer_or_by_its_button_and_not_before(show):
    with show() as (tab, folds):
        figure = tab.locator("figure[data-attnbook-figure]").nth(1)
        for opening in ("click", "Enter"):
            summary = folds.nth(1).locator("summary")
            summary.click() if opening == "click" else summary.press(opening)
            assert states(folds)[1] is False
            expect(figure.get_by_role("textbox").first).to_be_focused()
        for _ in range(2):
            figure.get_by_role("textbox").first.fill("0")
            figure.get_by_role("textbox").last.fill("0")
            figure.get_by_role("textbox").last.press("Enter")
        figure.get_by_role("button", name="Show me").click()
        assert states(folds)[1] is True
        folds.nth(1).locator("summary").click()  # from then on as any other
        assert states(folds)[1] is False
        folds.nth(1).locator("summary").click()
        assert states(folds)[1] is True


def test_nothing_stays_hidden_without_javascript(show):
    with show(java_script_enabled=False) as (_, folds):
        for fold in folds.all():
            fold.locator("summary").click()
            assert fold.locator(":scope > :not(summary)").first.is_visible()


def test_a_link_from_elsewhere_and_a_search_for_a_text_open_what_they_lead_into(show):
    with show(anchor="#there") as (tab, folds):
        assert states(folds)[1] is True
        expect(tab.get_by_text("Anchored, in the answer.")).to_be_in_viewport()
    # A link to a text makes the browser search for it, as Ctrl+F does.
    with show(anchor="#:~:text=result%2Dof%2Dtwo") as (_, folds):
        expect(folds.nth(1)).to_have_attribute("open", "")


def test_a_figure_that_could_not_start_opens_its_hidden_answer(pages, show):
    text = pages.read().replace("attnbook-state", "attnbook-lost")
    (pages.html / "lost.html").write_text(text, "utf-8")
    with show(name="lost") as (tab, folds):
        expect(tab.get_by_text("This figure could not start").first).to_be_visible()
        folds.nth(1).locator("summary").click()
        assert states(folds)[1] is True
