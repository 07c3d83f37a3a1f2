"""Code cells as a page shows them: collapsed set-up, and cells that the reader is to write."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from nbformat import v4

from tests.tools.site.live_pages import book, cell, page, printed
from tests.tools.site.published_book import published_site
from tools import ROOT
from tools.site.chapter import code_cells
from tools.site.figures import live

SETTINGS = {
    "html_static_path": [str(ROOT / "tools" / "site" / "static")],
    "html_css_files": ["site.css"],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    cells = [
        cell(printed("drawn"), tags=("setup",), source="draw()"),
        *(cell(printed("✗ refused"), tags=("to-write",), source="check(it)") for _ in range(2)),
        v4.new_markdown_cell("## Another section"),
        cell(printed("✗ refused"), tags=("to-write",), source="check(other)"),
        cell(printed("plain"), source="plain()"),
    ]
    built_book = book(tmp_path_factory.mktemp("cells"), index=page(*cells)).build(
        live, code_cells, **SETTINGS
    )
    assert built_book.warnings == ""
    return built_book


def test_set_up_is_collapsed_below_its_output_which_is_not(pages):
    html = BeautifulSoup(pages.read(), "html.parser")
    (fold,) = html.find_all("details")
    assert not fold.has_attr("open")
    assert fold.summary.get_text() == "Show the set-up"
    assert "draw()" in fold.get_text()
    assert "drawn" not in fold.get_text()
    assert "drawn" in fold.find_previous(class_="cell_output").get_text()


def test_each_section_says_once_where_to_run_its_code_and_no_search_finds_a_verdict(pages):
    shown = BeautifulSoup(pages.read(), "html.parser").find_all(class_="cell")
    notes = [
        [it.get_text().strip() for it in each.find_all(class_="cell_output")] for each in shown
    ]
    sentence = ["Run this in Colab or Jupyter."]
    assert notes == [["drawn"], sentence, [], sentence, ["plain"]]
    assert "check(it)" in shown[1].get_text()
    assert pages.read().count(sentence[0]) == 2
    assert "refused" not in pages.read()
    index = (pages.html / "searchindex.js").read_text("utf-8")
    assert ("plain" in index, "refus" in index) == (True, False)


def test_where_to_run_code_is_a_link_if_the_page_has_a_copy_in_colab(tmp_path_factory, pages):
    html = (published_site(tmp_path_factory) / "chapters" / "divided.html").read_text("utf-8")
    button, *links = re.findall(r'href="(https://colab[^"]*)"', html)
    assert (len(links), {*links}) == (2, {button})
    note = BeautifulSoup(pages.read(), "html.parser").find(class_="attnbook-notebook-only")
    assert note.find("a") is None
