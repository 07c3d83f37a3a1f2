"""Tables of the text: wide ones are stacked rows on a phone, and names break after points only."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tools.site.page_tree import change_body

FITS, LETTERS = 3, 36  # columns, and letters of the longest words in them, that fit on a phone
STACKED, COLUMN_NAME = "attnbook-stacked", "attnbook-column"  # classes that site.css styles
TABLE = re.compile(r"<table .*?</table>", re.DOTALL)
NAME = re.compile(r'(?<=<span class="pre">)[^<]+')
AFTER_POINT = re.compile(r"(?<=\w\.)(?=[a-zA-Z])")


def stack_wide_tables(app: Sphinx, tree: nodes.document) -> None:
    """Mark each table with too many columns for a phone, and put column names into its cells."""
    for table in tree.findall(nodes.tgroup) if app.builder.format == "html" else ():
        head = next(table.findall(nodes.thead), None)
        if head is None or (table["cols"] <= FITS and letters(table) <= LETTERS):
            continue
        table.parent["classes"].append(STACKED)
        names = head[-1].children
        for row in next(table.findall(nodes.tbody)).children:
            for name, cell in list(zip(names, row.children, strict=True))[1:]:
                name_column(name, cell)


def letters(table: nodes.tgroup) -> int:
    """How many letters wide a table is whose cells break between words and in names."""
    columns = zip(*(row.children for row in table.findall(nodes.row)), strict=True)
    texts = (" ".join(cell.astext() for cell in column) for column in columns)
    return sum(max(map(len, AFTER_POINT.sub(" ", text).split()), default=0) for text in texts)


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
    """Let code in tables break after the point in a name.

    The tree stays as it is, because the search index reads it.
    """

    def broken(table: re.Match[str]) -> str:
        return NAME.sub(lambda name: AFTER_POINT.sub("<wbr>", name[0]), table[0])

    change_body(context, lambda body: TABLE.sub(broken, body))
