"""Code cells as a page shows them: collapsed set-up, and cells that the reader is to write."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from tests.tools.site.live_pages import book, cell, page, printed
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
        cell(printed("✗ refused"), tags=("to-write",), source="check(mine)"),
        cell(printed("plain"), source="plain()"),
    ]
    built_book = book(tmp_path_factory.mktemp("cells"), index=page(*cells)).build(
        live, code_cells, **SETTINGS
    )
    assert built_book.warnings == ""
    return built_book


def test_set_up_is_collapsed_and_its_output_is_not(pages):
    html = BeautifulSoup(pages.read(), "html.parser")
    (fold,) = html.find_all("details")
    assert not fold.has_attr("open")
    assert fold.summary.get_text() == "Show the set-up"
    assert "draw()" in fold.get_text()
    assert "drawn" not in fold.get_text()
    assert "drawn" in html.get_text()


def test_a_cell_to_write_says_that_it_was_not_run_and_no_search_finds_its_verdict(pages):
    _, to_write, plain = BeautifulSoup(pages.read(), "html.parser").find_all(class_="cell")
    assert to_write.find(class_="cell_output").get_text().strip() == "Not run yet"
    assert "check(mine)" in to_write.get_text()
    assert plain.find(class_="cell_output").get_text().strip() == "plain"
    assert "refused" not in pages.read()
    index = (pages.html / "searchindex.js").read_text("utf-8")
    assert ("plain" in index, "refus" in index) == (True, False)
