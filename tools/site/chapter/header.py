"""The header of a page: its part of the book, its station on the short path, and its minutes."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from tools import table_of_contents
from tools.site import TEXT
from tools.site.chapter.minutes import core_time, parts_of, times_in_words
from tools.site.page_tree import root_of


def describe_page(app: Sphinx, page: str, context: dict[str, Any]) -> None:
    """Pass on to the templates of the header what they show of this page."""
    root, parts = root_of(app), parts_of(app.env, page)
    of_book = table_of_contents.parts(root).items()
    _, *path = table_of_contents.short_path(root)
    context["texts"] = {
        "menu": TEXT("page_menu"),
        "answers": TEXT("show_all_answers"),
        "full_screen": TEXT("full_screen"),
    }
    context["part"] = next((name for name, pages in of_book if page in pages), "")
    if page in path:
        context["station"] = TEXT("station", number=path.index(page) + 1, count=len(path))
    if parts and parts.is_chapter:
        context |= {"core": (parts.times[0], core_time(parts)), "times": times_in_words(parts)}
