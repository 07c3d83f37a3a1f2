"""The description of each page for search engines and previews: how it begins."""

from __future__ import annotations

import re
import textwrap
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tools.site import TEXT
from tools.site.page_tree import add_metatags, title_text

MOST, LEAST = 200, 100  # characters
SENTENCE = re.compile(r"(?<=[.?!])\s+")


def shorten(text: str) -> str:
    """The first sentences that fit; if these are too short, as many words as fit."""
    sentences = ""
    for sentence in SENTENCE.split(text):
        longer = f"{sentences} {sentence}".strip()
        if len(longer) > MOST:
            break
        sentences = longer
    enough = len(sentences) >= LEAST or sentences == text
    return sentences if enough else textwrap.shorten(text, MOST, placeholder=" …")


def description(tree: nodes.document) -> str:
    """How a page begins: its first paragraphs; empty if it has only tables, notes or code."""
    paragraphs = [p for p in tree.findall(nodes.paragraph) if isinstance(p.parent, nodes.section)]
    text = " ".join(paragraph.astext() for paragraph in paragraphs)
    return shorten(" ".join(text.split()))


def add_description(
    app: Sphinx, page: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Put a page's description into its head; a page without sentences is named, with its book."""
    book = app.config.html_title
    if tree:
        text = description(tree) or TEXT("page_of_book", page=title_text(tree), book=book)
    elif page == "search":
        text = TEXT("search_all_pages", book=book)
    else:
        return
    add_metatags(context, f'<meta name="description" content="{escape(text)}" />\n')
