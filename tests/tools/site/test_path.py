"""The list of chapters, with the items of each."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from docutils import nodes

from tests.tools.site.progress_book import TOC
from tools.site.items import Item
from tools.site.path import ITEMS, LISTS, ChapterList, pages_to_write, render_list

DONE = [Item("prediction/second/1", True), Item("task/walk/2", False)]


@pytest.fixture
def book(tmp_path):
    """A book whose pages are read: a chapter with two things to do, and a page with a list."""
    (tmp_path / "_toc.yml").write_text(TOC)
    titles = {f"chapters/{name}": nodes.title("", name.title()) for name in ("first", "second")}
    metadata = {"chapters/second": {ITEMS: DONE}, "chapters/first": {ITEMS: [], LISTS: True}}
    return SimpleNamespace(
        srcdir=tmp_path,
        config=SimpleNamespace(external_toc_path="_toc.yml"),
        env=SimpleNamespace(titles=titles, nb_metadata=metadata),
        builder=SimpleNamespace(get_relative_uri=lambda _, page: f"{page}.html"),
    )


def links(node):
    return [(link.astext(), link["refuri"]) for link in node.findall(nodes.reference)]


PATH = [("First", "chapters/first.html"), ("Second", "chapters/second.html")]


@pytest.mark.parametrize(
    ("every", "items"),
    [(False, ["prediction/second/1"]), (True, ["prediction/second/1", "task/walk/2"])],
)
def test_a_page_lists_what_can_be_done_in_the_cores_or_in_whole_chapters(book, every, items):
    [container] = render_list(book, "chapters/first", ChapterList(every=every))
    assert links(container) == PATH
    data = next(container.findall(nodes.raw)).astext().split(">")[1].split("<")[0]
    assert json.loads(data) == {"first": [], "second": items}


def test_pages_with_a_list_are_written_again_when_what_they_list_has_changed(book):
    assert pages_to_write(book, book.env) == ["chapters/first"]
    assert pages_to_write(book, book.env) == []
    book.env.nb_metadata["chapters/second"][ITEMS] = DONE[:1]
    assert pages_to_write(book, book.env) == ["chapters/first"]
    book.env.titles["chapters/second"] = nodes.title("", "Another")
    assert pages_to_write(book, book.env) == ["chapters/first"]
