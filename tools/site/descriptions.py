"""What each page says of itself to those who have not opened it: how it begins."""

from __future__ import annotations

import re
import textwrap
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

MOST, LEAST = 200, 100  # characters
SENTENCE = re.compile(r"(?<=[.?!])\s+")


def shortened(text: str) -> str:
    """The sentences that fit; if they say next to nothing, as many words as do."""
    kept = ""
    for sentence in SENTENCE.split(text):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > MOST:
            break
        kept = longer
    enough = len(kept) >= LEAST or kept == text
    return kept if enough else textwrap.shorten(text, MOST, placeholder=" …")


def description(tree: nodes.document) -> str:
    """How a page begins: its first paragraphs; nothing if it has but tables, notes or code."""
    paragraphs = [p for p in tree.findall(nodes.paragraph) if isinstance(p.parent, nodes.section)]
    text = " ".join(paragraph.astext() for paragraph in paragraphs)
    return shortened(" ".join(text.split()))


def describe(
    app: Sphinx, page: str, _: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Put a page's description into its head; a page without sentences is named, with its book."""
    book = app.config.html_title
    if tree:
        title = next(tree.findall(nodes.title)).astext()
        text = description(tree) or f"{title}, a page of “{book}”."
    elif page == "search":
        text = f"Search all pages of “{book}”."
    else:
        return  # nobody looks for the others
    tag = f'<meta name="description" content="{escape(text)}" />\n'
    context["metatags"] = context.get("metatags", "") + tag


def setup(app: Sphinx) -> None:
    """Describe each page."""
    app.connect("html-page-context", describe)
