"""The page with all figures: the states of a built book in, figures of this tree out."""

from __future__ import annotations

import json

import pytest

from attnbook.figures import AttentionFigure, MaskFigure, Prediction
from tests.figures.attention.cases import CASES, traits
from tests.figures.prediction.cases import CASES as PREDICTION
from tests.figures.shared.page import open_in_book
from tools.site.gallery import classes, gallery

EVIL = "</script><script>document.title = 'evil'</script>"


def make_page(states, late=""):
    """A page as Sphinx writes it, with the states of its figures."""
    data = json.dumps(states).replace("<", r"\u003c")
    return (
        "<html><head><title>A chapter</title></head><body>"
        "<article class='bd-article'>Words of a chapter.</article>"
        f'<script class="attnbook-state" type="application/json">{data}</script>\n'
        f'<script src="../_static/live/old.js"></script>\n{late}</body></html>'
    )


LATE = '<script data-attnbook-late="copying" type="text/at-touch" src="../_static/c.js"></script>'


@pytest.fixture(scope="module")
def tiny_book(tmp_path_factory):
    """Two chapters with figures, and one without."""
    folder = tmp_path_factory.mktemp("gallery")
    (folder / "chapters").mkdir()
    (folder / "_static").mkdir()
    (folder / "_static" / "c.js").write_text("")
    prediction = traits(PREDICTION["choice"]())
    first = {
        "figure-0": traits(CASES["planar"]().figure(caption=EVIL)),
        "figure-1": prediction,
        "figure-2": prediction,
    }
    second = {"figure-0": traits(MaskFigure())}
    for name, text in {
        "a": make_page(first),
        "b": make_page(second, LATE),
        "c": "<html><body><article>Words only.</article></body></html>",
    }.items():
        (folder / "chapters" / f"{name}.html").write_text(text, "utf-8")
    return folder


def test_it_shows_each_figure_once_and_one_prediction_of_a_chapter(tiny_book):
    page = gallery(tiny_book, [])
    for view in ("a/figure-0", "a/figure-1", "b/figure-0"):
        assert page.count(f'data-attnbook-view="{view}"') == 1
    assert "a/figure-2" not in page
    assert "old.js" not in page
    assert "Words of a chapter" not in page
    assert page.count('data-attnbook-late="copying"') == 1
    assert "../_static" not in page


def test_it_can_show_figures_of_some_kinds_only(tiny_book):
    page = gallery(tiny_book, ["mask"])
    assert 'data-attnbook-view="b/figure-0"' in page
    assert "a/figure-0" not in page
    assert {name: each for name, each in classes().items() if name in ("attention", "mask")} == {
        "attention": AttentionFigure,
        "mask": MaskFigure,
    }
    assert classes()["prediction"] is Prediction


@pytest.mark.parametrize(("kinds", "named"), [(["cost"], "cost"), (["cost", "ghost"], "ghost")])
def test_it_says_what_to_run_when_the_book_has_no_such_figure(tiny_book, kinds, named):
    with pytest.raises(SystemExit, match=f"no figure of .*{named}.* run make book"):
        gallery(tiny_book, kinds)


def test_the_figures_start_from_a_folder(tiny_book, browser, tmp_path):
    page = tmp_path / "gallery.html"
    page.write_text(gallery(tiny_book, []), "utf-8")
    with open_in_book(browser, page.as_uri()) as (tab, figures, _):
        assert tab.title() == "Gallery of figures"
        assert figures.count() == 3
        assert figures.first.locator("figcaption").inner_text() == EVIL
