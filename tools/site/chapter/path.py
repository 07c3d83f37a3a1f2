"""The list of chapters on which a page shows what its reader has done.

`{path}` lists the pages of the short path, and says how long they take together; with the option
`all`, it lists every chapter by its part.
Without JavaScript it is a list of links; `static/path.js` adds what this browser has stored.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from tools import table_of_contents
from tools.site import TEXT
from tools.site.chapter.minutes import core_time, parts_of, path_total
from tools.site.figures.items import Item, items_in, page_name
from tools.site.figures.live import in_script
from tools.site.page_tree import add_metatags, has_changed, page_data, root_of

ITEMS = "progress_items"  # in the data that myst-nb stores for a page
LISTS = "progress_lists"  # whether a page has such a list
STORED = "attnbook_items"  # what the environment remembers of the last build
REFERENCE = "Reference"  # the part whose pages are not chapters


class ChapterList(nodes.General, nodes.Element):  # type: ignore[misc] # docutils has no types
    """A list of chapters, to be written once all pages are read."""


class PathDirective(SphinxDirective):
    """A list of chapters with what is done in each."""

    option_spec: ClassVar[dict[str, Any]] = {"all": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Insert a node that is replaced once all pages are read."""
        node = ChapterList(every="all" in self.options)
        self.set_source_info(node)
        return [node]


def chapters(root: Path) -> dict[str, list[str]]:
    """The pages that a reader can have read, by part; the first page has none."""
    parts = table_of_contents.parts(root)
    first, *_ = table_of_contents.pages(root)
    return {"": [first]} | {part: pages for part, pages in parts.items() if part != REFERENCE}


def items_of(env: BuildEnvironment, page: str) -> list[Item]:
    """The items of a page; none for a page that was not executed."""
    found: list[Item] = page_data(env, page).get(ITEMS, [])
    return found


def store_items(app: Sphinx, tree: nodes.document) -> None:
    """Store the items of a page that was just read."""
    page, has_list = app.env.docname, any(tree.findall(ChapterList))
    NbMetadataCollector.set_doc_data(app.env, page, ITEMS, items_in(tree))
    NbMetadataCollector.set_doc_data(app.env, page, LISTS, has_list)


def pages_to_write(env: BuildEnvironment) -> list[str]:
    """The pages with a list, if what they list has changed."""
    data = NbMetadataCollector.get_doc_data(env)
    titles = {page: title.astext() for page, title in env.titles.items()}
    now = titles, {page: data[page].get(ITEMS) for page in data}
    return [page for page in data if data[page].get(LISTS)] if has_changed(env, STORED, now) else []


def entry(app: Sphinx, page: str, target: str) -> nodes.list_item:
    """One chapter of the list, with the time of its core."""
    title, address = app.env.titles[target].astext(), app.builder.get_relative_uri(page, target)
    line = [nodes.reference("", title, refuri=address, internal=True)]
    parts = parts_of(app.env, target)
    if parts and parts.is_chapter:
        line.append(nodes.Text(f" · {core_time(parts)}"))
    return nodes.list_item("", nodes.paragraph("", "", *line))


def render_list(app: Sphinx, page: str, node: ChapterList) -> list[nodes.Node]:
    """A list as its page shows it."""
    root = root_of(app)
    path = table_of_contents.short_path(root)
    parts = chapters(root) if node["every"] else {"": path}
    parts = {
        part: [name for name in pages if name in app.env.titles] for part, pages in parts.items()
    }
    kind = nodes.bullet_list if node["every"] else nodes.enumerated_list  # a path has an order
    found: list[nodes.Node] = []
    for part, pages in parts.items():
        if part:
            found.append(nodes.paragraph("", "", nodes.strong("", part)))
        found.append(kind("", *(entry(app, page, name) for name in pages)))
    if not node["every"] and (total := path_total(app.env, path)):
        found.append(nodes.paragraph("", TEXT("path_minutes", minutes=total[1])))
    for part in found:
        part.line = node.line
    items = {
        page_name(name): [
            item.name for item in items_of(app.env, name) if item.core or node["every"]
        ]
        for pages in parts.values()
        for name in pages
    }
    data = f'<script type="application/json">{in_script(items)}</script>'
    raw = nodes.raw("", data, format="html")
    return [nodes.container("", raw, *found, classes=["attnbook-path"])]


def write_lists(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Replace the nodes of a page by their lists."""
    for node in list(tree.findall(ChapterList)):
        node.replace_self(render_list(app, page, node))


def name_page(app: Sphinx, page: str, context: dict[str, Any]) -> None:
    """Name a chapter in its head, for `static/reading.js`."""
    if any(page in pages for pages in chapters(root_of(app)).values()):
        tag = f'<meta name="attnbook-page" content="{escape(page_name(page))}" />\n'
        add_metatags(context, tag)
