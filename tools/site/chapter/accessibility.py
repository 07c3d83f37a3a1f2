"""Alternative texts of pictures, which are checked, and roles and names that axe asks for."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from docutils import nodes
from sphinx.util import logging

from tools.site import TEXT
from tools.site.page_tree import change_body, change_sidebar

# A page with others below it, in the sidebar; and a signature with a line for each argument.
TOGGLE = re.compile(r">([^<>]+)</a>\s*<details([^>]*)><summary>")
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)
CITATION_ROLES = re.compile(r' role="list" class="citation-list"| role="doc-biblioentry"')
EMPTY_HEADER = re.compile(r"<th\b[^>]*>\s*(?:<p>\s*</p>)?\s*</th>")

logger = logging.getLogger(__name__)


class PictureParser(HTMLParser):
    """Collects the pictures without a text alternative in a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.without_text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Process one opening tag."""
        names = dict(attrs)
        named = names.get("alt") or names.get("aria-label") or names.get("aria-labelledby")
        if tag in ("img", "svg") and not named and "aria-hidden" not in names:
            self.without_text.append(tag)


def pictures_without_text(html: str) -> list[str]:
    """The tags of the pictures without an alternative text."""
    parser = PictureParser()
    parser.feed(html)
    return parser.without_text


def nearest_with_line(node: nodes.Node) -> nodes.Node:
    """The nearest node around this one with a line number; an image in a sentence has none."""
    return node if node.line or not node.parent else nearest_with_line(node.parent)


def check_pictures(tree: nodes.document) -> None:
    """Warn of each picture that has no alternative text, wherever it comes from."""
    for image in tree.findall(nodes.image):
        if not image.get("alt", "").strip():
            logger.warning(
                "picture without alt text: %s", image["uri"], location=nearest_with_line(image)
            )
    for raw in tree.findall(nodes.raw):
        for tag in pictures_without_text(raw.astext()):
            logger.warning("<%s> without alt or aria-label", tag, location=nearest_with_line(raw))


def drop_citation_roles(context: dict[str, Any]) -> None:
    """Remove docutils' roles of a bibliography, which contradict one another (axe)."""
    change_body(context, lambda body: CITATION_ROLES.sub("", body))


def drop_lists_of_arguments(context: dict[str, Any]) -> None:
    """Turn the list in a long signature, which describes nothing, into lines (axe)."""

    def with_lines(signature: re.Match[str]) -> str:
        lines = re.sub(r"<(/?)d[ld]>", r"<\1span>", signature[0])
        return lines.replace("<span>", '<span class="attnbook-lines">')

    change_body(context, lambda body: SIGNATURE.sub(with_lines, body))


def name_toggles(context: dict[str, Any]) -> None:
    """Name the button that shows the pages below another one in the sidebar (axe)."""
    name = TEXT("pages_below", page=r"\1")
    named = rf'>\1</a><details\2><summary aria-label="{name}">'
    change_sidebar(context, lambda html: TOGGLE.sub(named, html))


def drop_empty_headers(context: dict[str, Any]) -> None:
    """Turn each empty table header into a plain cell (axe)."""
    change_body(context, lambda body: EMPTY_HEADER.sub("<td></td>", body))
