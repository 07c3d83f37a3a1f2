"""A page as docutils, myst-nb and the theme have it: what several rooms read or change of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tools import repository_address
from tools.book.cells import cell_of


class Divider(nodes.General, nodes.Element):  # type: ignore[misc]  # docutils has no types
    """The end of the core."""


def root_of(app: Sphinx) -> Path:
    """The folder with `_toc.yml`."""
    return Path(app.srcdir, app.config.external_toc_path).parent


def colab_copy(app: Sphinx, page: str) -> str:
    """The address of a chapter's Colab copy; empty if there is none."""
    repository = app.config.html_theme_options.get("repository_url", "")
    return repository_address.colab_address(repository, page.removeprefix("chapters/"))


# What docutils and myst-nb have of a page.


def first_section(tree: nodes.document) -> nodes.section | None:
    """The section that is a whole page."""
    return next(iter(tree.findall(nodes.section)), None)


def title_text(tree: nodes.document) -> str:
    """The title of a page."""
    return str(next(iter(tree.findall(nodes.title))).astext())


def nb_elements(tree: nodes.Element, name: str) -> list[nodes.Element]:
    """The parts of a page that myst-nb calls so."""
    return [part for part in tree.findall(nodes.container) if part.get("nb_element") == name]


def cells(tree: nodes.Element) -> list[nodes.Element]:
    """The code cells of a page."""
    return nb_elements(tree, "cell_code")


def tags_of(cell: nodes.Element) -> list[str]:
    """The tags of a code cell."""
    tags: list[str] = cell["cell_metadata"].get("tags", [])
    return tags


def bold_start(node: nodes.Node) -> str:
    """The bold words that a text begins with; the parser may begin with an empty text."""
    first = next((child for child in node.children if child.astext()), None)
    return first.astext() if isinstance(first, nodes.strong) else ""


def start_of_question(parent: nodes.Element, figure: int, cell: int) -> int:
    """The index of the paragraph that puts the question of the figure at this index.

    It begins with bold words, such as "Predict.", and is in the Markdown cell `cell`, just before
    the figure; where there is none, the figure itself begins.
    """
    for index in range(figure - 1, -1, -1):
        node = parent[index]
        if isinstance(node, nodes.title) or "cell_index" in node or cell_of(node) != cell:
            break
        if isinstance(node, nodes.paragraph) and bold_start(node):
            return index
    return figure


# What a build remembers, and what the theme is given.


def page_data(env: BuildEnvironment, page: str) -> dict[str, Any]:
    """What myst-nb remembers of a page."""
    data: dict[str, Any] = NbMetadataCollector.get_doc_data(env).get(page, {})
    return data


def has_changed(env: BuildEnvironment, name: str, now: object) -> bool:
    """Remember something under a name; whether the last build remembered something else."""
    before, vars(env)[name] = vars(env).get(name), now
    return bool(before != now)


def add_metatags(context: dict[str, Any], tags: str) -> None:
    """Add tags to the head of a page."""
    context["metatags"] = context.get("metatags", "") + tags


def change_body(context: dict[str, Any], change: Callable[[str], str]) -> None:
    """Change the HTML of a page's text."""
    context["body"] = change(context.get("body", ""))


def change_sidebar(context: dict[str, Any], change: Callable[[str], str]) -> None:
    """Change the HTML of a page's sidebar, once the theme has added what makes it."""
    toctree = context.get("generate_toctree_html")
    if not toctree:
        return

    def generate(kind: str, **options: Any) -> Any:  # noqa: ANN401 - as in the theme
        html = toctree(kind, **options)
        return change(str(html)) if kind == "sidebar" else html

    context["generate_toctree_html"] = generate
