"""Wide tables of the text: stacked rows on a phone, and long names that break between words."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tools.site.page_tree import change_body

FITS = 3  # columns that a phone has room for
STACKED, COLUMN_NAME = "attnbook-stacked", "attnbook-column"  # classes that site.css styles
TABLE = re.compile(rf'<table class="[^"]*{STACKED}.*?</table>', re.DOTALL)
NAME = re.compile(r'(?<=<span class="pre">)[^<]+')
BETWEEN_WORDS = re.compile(r"(?<=[_.])(?=\w)|(?<=[a-z])(?=[A-Z])")


def stack_wide_tables(app: Sphinx, tree: nodes.document) -> None:
    """Mark each table with too many columns for a phone, and put column names into its cells."""
    for table in tree.findall(nodes.tgroup) if app.builder.format == "html" else ():
        head = next(table.findall(nodes.thead), None)
        if head is None or table["cols"] <= FITS:
            continue
        table.parent["classes"].append(STACKED)
        names = head[-1].children
        for row in next(table.findall(nodes.tbody)).children:
            for name, cell in list(zip(names, row.children, strict=True))[1:]:
                name_column(name, cell)


def name_column(name: nodes.Node, cell: nodes.Node) -> None:
    """Put the name of a column before what a cell holds; wide screens do not show it."""
    label = nodes.inline(classes=[COLUMN_NAME])
    for paragraph in name.children:
        label.extend(child.deepcopy() for child in paragraph.children)
    for part in label.findall(nodes.Element):
        part["ids"] = []  # they stay in the head
    label.append(nodes.Text(": "))
    if not cell.children:
        cell.append(nodes.paragraph())
    cell[0].insert(0, label)


def break_names(context: dict[str, Any]) -> None:
    """Let code in wide tables break at `_`, at a point, and before a capital.

    The tree stays as it is, because the search index reads it.
    """

    def broken(table: re.Match[str]) -> str:
        return NAME.sub(lambda name: BETWEEN_WORDS.sub("<wbr>", name[0]), table[0])

    change_body(context, lambda body: TABLE.sub(broken, body))
