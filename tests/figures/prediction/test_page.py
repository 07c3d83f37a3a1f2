"""The prediction in a browser: wrong and right answers, the shown answer, mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.figures.attention.cases import traits
from tests.figures.prediction.cases import CASES, HALF
from tests.figures.shared.page import open_figure
from tests.tools.site.live_pages import book, cell, page, view
from tests.tools.site.site_checks import NARROW, OPEN_SECTIONS, WIDE


@pytest.fixture(scope="module")
def show(open_figures):
    """A function that opens a page with one case and gives tab and figure."""
    return lambda case, **options: open_figures(CASES[case](), **options)


def type_in(figure, *texts):
    """Fill the fields, and press Enter in the last."""
    fields = figure.get_by_role("textbox")
    for i, text in enumerate(texts):
        fields.nth(i).fill(text)
    fields.last.press("Enter")


def pick(figure, name):
    figure.get_by_role("button", name=name).click()


def model(tab, name):
    return tab.evaluate("name => models[0].get(name)", name)


def test_a_wrong_choice_is_struck_out_and_explained_and_the_reader_tries_again(show):
    with show("choice") as (tab, figure):
        assert figure.locator(".attnbook-evidence b").all_text_contents() == [
            "(1, 5, 7)",
            "✗ (1, 7, 3)",
        ]
        pick(figure, "(1, 7, 3)")
        wrong = figure.get_by_role("button", name="✗ (1, 7, 3)")
        assert wrong.get_attribute("aria-disabled") == "true"
        assert "line-through" in wrong.locator("span").last.evaluate(
            "e => getComputedStyle(e).textDecorationLine"
        )
        expect(figure.locator("small").filter(has_text="num_keys is summed over.")).to_be_visible()
        assert figure.get_by_role("status").inner_text().startswith("Not “(1, 7, 3)”.")
        wrong.press("Enter")  # once more changes nothing
        assert model(tab, "tried") == ["(1, 7, 3)"]
        pick(figure, "(1, 5, 3)")
        assert figure.get_by_role("button", name="✓ (1, 5, 3)").is_visible()
        assert model(tab, "done") == "right"
        assert figure.get_by_role("status").inner_text() == "Right."
        figure.get_by_role("button", name="(1, 5, 7)").press("Enter")  # too late
        assert model(tab, "tried") == ["(1, 7, 3)"]


def test_after_two_tries_the_reader_can_ask_for_the_answer(show):
    with show("numbers") as (tab, figure):
        button = figure.get_by_role("button", name="Show me")
        type_in(figure, "0.5", "0.5")
        assert button.is_hidden()
        assert HALF in figure.locator(".tried").inner_text()
        type_in(figure, "0.7", "1/3")
        expect(figure.locator(".tried s")).to_have_text(["0.5, 0.5", "0.7, 0.333"])
        button.press("Enter")
        assert model(tab, "done") == "shown"
        status = figure.get_by_role("status").filter(has_text="The answer: 0.667, 0.333.")
        expect(status).to_be_focused()
        assert button.is_hidden()
        fields = figure.get_by_role("textbox").all()
        assert [field.input_value() for field in fields] == ["0.667", "0.333"]


def test_a_missing_number_does_not_count_as_a_try(show):
    with show("numbers") as (tab, figure):
        type_in(figure, "2/3", "a third")
        expect(figure.get_by_role("textbox", name="second")).to_be_focused()
        assert figure.get_by_role("textbox").last.get_attribute("aria-invalid") == "true"
        assert "A number is missing" in figure.inner_text()
        assert model(tab, "tried") == []
        type_in(figure, "2/3", "1/3")
        assert model(tab, "done") == "right"
        assert "A number is missing" not in figure.inner_text()


def test_it_can_be_answered_with_the_keyboard_only(show):
    with show("number") as (tab, figure):
        tab.keyboard.press("Tab")
        tab.keyboard.type("1030")
        tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        assert model(tab, "done") == "right"
        assert figure.get_by_role("button").is_hidden()
    with show("choice") as (tab, figure):
        for key in ["Tab"] * (1 + CASES["choice"]().options.index("(1, 5, 3)")) + ["Space"]:
            tab.keyboard.press(key)
        assert model(tab, "done") == "right"


def test_two_views_of_one_prediction_agree(browser, serve, tmp_path):
    figure = CASES["choice"]()
    state = traits(figure) | {"_esm": figure._esm, "_css": figure._css}
    cells = [cell(view("a", repr(figure))) for _ in range(2)]
    two = page(*cells, models={"a": {"model_name": "AnyModel", "state": state}})
    url = f"{serve(book(tmp_path, two=two).build().html)}two.html"
    with open_figure(browser, url) as (tab, visit):
        one, other = tab.locator("figure[data-attnbook-figure]").all()
        pick(one, "(1, 7, 3)")
        pick(other, "(1, 5, 3)")
        for figure in (one, other):
            expect(figure.get_by_role("button", name="✗ (1, 7, 3)")).to_be_visible()
            expect(figure.get_by_role("button", name="✓ (1, 5, 3)")).to_be_visible()
        assert visit.complaints == []


# On the book's pages

MEASURED = """() => [...document.querySelectorAll('[data-attnbook-view]')]
    .filter(view => view.querySelector('.attnbook-question, .prediction'))
    .map(view => view.firstElementChild.getBoundingClientRect().height)"""


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_nothing_moves_when_the_script_of_a_question_runs(browser, site, width):
    context = browser.new_context(viewport={"width": width, "height": 800})
    tab = context.new_page()
    tab.add_init_script(OPEN_SECTIONS)
    tab.add_init_script(
        f"addEventListener('DOMContentLoaded', () => {{ window.still = ({MEASURED})() }})"
    )
    tab.goto((site / "chapters" / "masked-softmax.html").as_uri())
    tab.locator(".attnbook-question").first.wait_for(state="detached")
    assert len(tab.evaluate("still")) >= 4
    assert tab.evaluate("still") == pytest.approx(tab.evaluate(MEASURED), abs=1)
    context.close()
