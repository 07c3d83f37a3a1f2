"""The site of a small book whose repository and address are known, in a real browser."""

from __future__ import annotations

import shutil

import pytest

from tests.tools.site.published_book import PUBLISHED, REPOSITORY, built, write
from tests.tools.site.site_checks import LOOKS, NARROW, WIDE, look, opened

COLAB = "https://colab.research.google.com/github/ada/a-fork/blob/colab/chapters/first.ipynb"
LOST = "chapters/not/there.html"

each_width = pytest.mark.parametrize("width", [WIDE, NARROW])


@pytest.fixture(scope="module")
def published(serve, tmp_path_factory):
    """Where the site is served: below the folder that its address names, as on Pages.

    Its page for lost readers stands where nothing else does, as a server would show it.
    """
    site = built(write(tmp_path_factory.mktemp("book")), **PUBLISHED)
    served = tmp_path_factory.mktemp("served")
    shutil.copytree(site, served / "a-fork")
    lost = served / "a-fork" / LOST
    lost.parent.mkdir()
    shutil.copy(site / "404.html", lost)
    return serve(served) + "a-fork/"


@pytest.mark.slow
@pytest.mark.parametrize("path", ["chapters/first.html", "chapters/second.html", LOST])
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_published_page_is_as_quiet_and_as_accessible_as_any(
    browser, published, path, width, scheme
):
    with opened(browser, published + path, width, scheme) as (page, record):
        look(page, record)
    assert record.complaints + record.failures + record.foreign(published) == []
    assert not record.findings, "\n".join(record.findings)
    assert record.scroll_width <= width, record.overflow
    assert len(record.headings) == 1


@pytest.mark.slow
@each_width
def test_the_button_to_colab_is_seen_whole_and_has_its_icon(browser, published, width):
    with opened(browser, f"{published}chapters/first.html", width) as (page, _):
        button = page.get_by_role("link", name="Colab")
        assert button.get_attribute("href") == COLAB
        box = button.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert min(box["width"], box["height"]) >= 24
        # Not hidden behind another button.
        button.click(trial=True)
        icon = "e => [getComputedStyle(e, '::before').content, getComputedStyle(e).fontFamily]"
        content, family = button.locator("i").evaluate(icon)
        assert ord(content.strip('"')) == 0xF04B
        assert "Font Awesome" in family


@pytest.mark.slow
@each_width
def test_edit_and_report_are_in_a_menu_that_opens(browser, published, width):
    with opened(browser, f"{published}chapters/first.html", width) as (page, record):
        page.get_by_role("button", name="Source repositories").click()
        edit = page.get_by_role("link", name="Suggest edit")
        report = page.get_by_role("link", name="Open issue")
        edit.wait_for()
        assert edit.get_attribute("href") == f"{REPOSITORY}/edit/main/chapters/first.ipynb"
        assert report.get_attribute("href").startswith(f"{REPOSITORY}/issues/new?title=")
        for link in (edit, report):
            box = link.bounding_box()
            assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        assert record.complaints == []


@pytest.mark.slow
@each_width
def test_a_lost_reader_finds_the_first_page(browser, published, width):
    with opened(browser, published + LOST, width) as (page, record):
        page.get_by_role("link", name="the first page").click()
        page.wait_for_url("**/a-fork/chapters/first.html")
        assert record.complaints + record.failures == []


@pytest.mark.slow
def test_a_lost_reader_can_search(browser, published):
    with opened(browser, published + LOST) as (page, record):
        page.locator(".search-button-field:visible, .search-button:visible").first.click()
        page.keyboard.type("begins")
        page.keyboard.press("Enter")
        page.wait_for_url("**/a-fork/search.html?q=begins")
        page.locator("#search-results li a").first.wait_for()
        assert record.complaints + record.failures == []
