"""The recognize figure in a browser: inputs to copy, and an output that is pasted."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from attnbook.figures import RecognizeFigure
from attnbook.practice import recognize
from attnbook.practice.recognition import code_for, data_of
from tests.figures.shared.page import SMALL_TEXT, TOO_WIDE, notebook, open_in_book
from tests.practice.test_recognition import as_tensor, right
from tests.tools.site.live_pages import book, page
from tests.tools.site.site_checks import JUDGED, OF_LOOK, axe_findings, change_view

BUG = next(bug for bug in data_of("grouped-heads")["bugs"] if bug["name"] == "KV heads tiled")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A small book: a page with the figure, and one without."""
    figure = RecognizeFigure("grouped-heads", caption="A caption.")
    whole = book(tmp_path_factory.mktemp("recognize"), pasted=notebook(figure), none=page())
    assert whole.build().warnings == ""
    return whole


@pytest.fixture(scope="module")
def address(address):
    """The page with the figure, on a server and in a folder."""
    return f"{address}pasted.html"


@contextmanager
def open_task(browser, url, **options):
    with open_in_book(browser, url, **options) as (tab, figures, _):
        yield tab, figures.first


def paste(figure, text):
    figure.get_by_label("What your code prints").fill(text)
    figure.get_by_role("button", name="Find the bug").click()


def verdict(figure):
    return figure.locator(".verdict")


def test_a_pasted_output_gets_the_verdict_of_python_and_the_scripts_load_late(browser, address):
    with open_task(browser, address) as (tab, figure):
        requests = []
        tab.on("request", lambda request: requests.append(request.url))
        text = str(as_tensor(BUG["output"]))
        paste(figure, text)
        expect(verdict(figure)).to_contain_text("To fix it")
        expected = recognize("grouped-heads", text).paragraphs()
        paragraphs = [each.replace("`", "") for each in expected]
        assert verdict(figure).locator("p").all_inner_texts() == paragraphs
        names = [url.rsplit("/", 1)[1].split("?")[0] for url in requests if "live/" in url]
        assert sorted(names) == ["python.js", "recognition.js"]
        figure.get_by_label("Task").select_option("split-heads")
        expect(verdict(figure)).to_be_empty()
        assert figure.get_by_label("What your code prints").input_value() == text
        paste(figure, str(right("split-heads").tolist()))
        expect(verdict(figure)).to_have_text("✓ split-heads: right on these inputs.")
        figure.get_by_label("What your code prints").fill("x")
        expect(verdict(figure)).to_be_empty()
        paste(figure, "no number")
        expect(verdict(figure)).to_contain_text("There are no numbers")


def test_the_inputs_are_shown_and_copied_as_torch_code_and_as_lists(browser, serve, pages):
    url, permissions = f"{serve(pages.html)}pasted.html", ["clipboard-read", "clipboard-write"]
    with open_task(browser, url, permissions=permissions) as (tab, figure):
        figure.get_by_role("button", name="Copy").click()
        expect(figure.get_by_text("Copied.")).to_be_visible()
        assert tab.evaluate("navigator.clipboard.readText()") == code_for("grouped-heads")
        figure.get_by_label("Inputs as").select_option("lists")
        code = figure.get_by_label("Code with the inputs")
        assert code.inner_text().startswith("queries = [")
        figure.get_by_label("Task").select_option("layer-norm")
        assert code.inner_text().startswith("numbers = [2.0")


def test_it_is_legible_and_accessible_with_a_verdict(browser, serve, pages, save_picture):
    rules = [*OF_LOOK, "label", "select-name", "button-name"]
    with open_task(browser, f"{serve(pages.html)}pasted.html") as (tab, figure):
        paste(figure, str(as_tensor(BUG["output"])))
        expect(verdict(figure)).to_contain_text("To fix it")
        for width, scheme in JUDGED:
            change_view(tab, width, scheme)
            assert axe_findings(tab, rules) == [], (width, scheme)
            for problems in (TOO_WIDE, SMALL_TEXT):
                assert figure.evaluate(problems) == [], (width, scheme)
            save_picture(figure, f"recognize-{width}-{scheme}")


def test_a_notebook_shows_which_function_finds_the_bug(open_figures):
    with open_figures(RecognizeFigure("layer-norm")) as (_, figures):
        assert 'recognize("layer-norm", output)' in figures.first.inner_text()
        assert figures.first.get_by_role("textbox").count() == 0
