"""The page with all figures: the states of a built book in, figures of this tree out."""

from __future__ import annotations

import pytest

from tests.figures.shared.page import open_in_book
from tests.tools.site.questions import states
from tools.site.figures.gallery import gallery


def test_figures_of_the_built_book_start_on_a_page_of_their_own(site, browser, tmp_path):
    page = gallery(site, ["mask"])
    stored = [states(path.read_text("utf-8")) for path in site.glob("chapters/*.html")]
    count = sum(state["kind"] == "mask" for each in stored for state in each.values())
    assert "../_static" not in page
    file = tmp_path / "gallery.html"
    file.write_text(page, "utf-8")
    with open_in_book(browser, file.as_uri()) as (tab, figures, _):
        assert tab.title() == "Gallery of figures"
        assert figures.count() == count > 1
    with pytest.raises(SystemExit, match=r"no figure of ghost in .* run make book"):
        gallery(site, ["ghost"])
