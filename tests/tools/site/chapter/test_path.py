"""The list of chapters, with the items of each."""

from __future__ import annotations

from types import SimpleNamespace

from docutils import nodes

from tools.site.chapter.path import ITEMS, LISTS, pages_to_write
from tools.site.figures.items import Item

DONE = [Item("prediction/second/1", True), Item("task/walk/2", False)]


def test_pages_with_a_list_are_written_again_when_what_they_list_has_changed():
    titles = {f"chapters/{name}": nodes.title("", name.title()) for name in ("first", "second")}
    metadata = {"chapters/second": {ITEMS: DONE}, "chapters/first": {ITEMS: [], LISTS: True}}
    env = SimpleNamespace(titles=titles, nb_metadata=metadata)
    assert pages_to_write(env) == ["chapters/first"]
    assert pages_to_write(env) == []
    env.nb_metadata["chapters/second"][ITEMS] = DONE[:1]
    assert pages_to_write(env) == ["chapters/first"]
    env.titles["chapters/second"] = nodes.title("", "Another")
    assert pages_to_write(env) == ["chapters/first"]
