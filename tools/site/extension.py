"""What this book asks of its site beyond the theme: a small Sphinx extension."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbclient.client
import traitlets
from docutils import nodes
from nbclient import NotebookClient
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util import logging

from tools import repository_address
from tools.book.state import isolate_kernels, workshop_of
from tools.site import (
    answers,
    code_cells,
    deeper,
    descriptions,
    excerpts,
    finish,
    formulas,
    icons,
    lazy_scripts,
    live,
    minutes,
    page_files,
    path,
    publishing,
    redirects,
    tables,
    terms,
)

LICENSES = "Text: CC BY 4.0. Code: MIT."

EMPTY_HEADER = re.compile(r"<th\b[^>]*>\s*(?:<p>\s*</p>)?\s*</th>")

logger = logging.getLogger(__name__)


class PictureParser(HTMLParser):
    """Collects the pictures in a piece of HTML that say nothing to those who cannot see."""

    def __init__(self) -> None:
        super().__init__()
        self.silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one opening tag."""
        names = dict(attrs)
        named = names.get("alt") or names.get("aria-label") or names.get("aria-labelledby")
        if tag in ("img", "svg") and not named and "aria-hidden" not in names:
            self.silent.append(tag)


def silent_pictures(html: str) -> list[str]:
    """The tags of the pictures without an alternative text."""
    parser = PictureParser()
    parser.feed(html)
    return parser.silent


def place(node: nodes.Node) -> nodes.Node:
    """The nearest node around this one that knows its line; an image in a sentence does not."""
    return node if node.line or not node.parent else place(node.parent)


def check_pictures(doctree: nodes.document) -> None:
    """Warn of each picture that has no alternative text, wherever it comes from."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            logger.warning("picture without alt text: %s", image["uri"], location=place(image))
    for raw in doctree.findall(nodes.raw):
        for tag in silent_pictures(raw.astext()):
            logger.warning("<%s> without alt or aria-label", tag, location=place(raw))


class Coalescing(NotebookClient):
    """Runs a chapter and keeps the end of a progress bar, not each of its states.

    `tools/book/notebooks.py` asks for the same; jupyter-cache, which runs chapters for the page,
    cannot be asked.
    """

    coalesce_streams = traitlets.Bool(True)


def describe_origin(app: Sphinx, config: Config) -> None:
    """Say at each page's foot what made it, and link to the repository if there is one.

    The repository, the Colab copies in it and the pages for editing have the answers.
    """
    options: dict[str, Any] = config.html_theme_options
    root = workshop_of(Path(app.srcdir), answers=config.book_answers).root
    origin = "A draft." if config.book_draft else repository_address.made_from(root)
    options["extra_footer"] = f"<p>{origin} {LICENSES}</p>"
    address = repository_address.repository_address(root) if config.book_answers else ""
    options["repository_url"] = address
    for button in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        options[button] = bool(address)


def need_package() -> None:
    """Stop before every chapter fails on its first line."""
    if not find_spec("attnbook"):
        raise ExtensionError(
            "attnbook, which every chapter imports, is not installed: "
            "run `pip install -r requirements.txt -e .` in the book's folder first"
        )


def work_as_make_does(app: Sphinx, config: Config) -> None:
    """Let `jupyter-book build .` take what `make book` executed, in kernels kept apart as there.

    Only `tools/book/build.py` fails on warnings and leaves a stamp; what any other command has read
    is read again.
    """
    workshop = workshop_of(Path(app.srcdir), answers=config.book_answers)
    config.nb_execution_cache_path = str(workshop.executions)
    isolate_kernels(workshop.folder / ".ipython")
    (Path(app.doctreedir).parent / workshop.stamp.name).unlink(missing_ok=True)


def drop_citation_roles(context: dict[str, Any]) -> None:
    """Let a bibliography be plain text: docutils' roles for it contradict one another (axe)."""
    body = context.get("body", "")
    for role in (' role="list" class="citation-list"', ' role="doc-biblioentry"'):
        body = body.replace(role, "")
    context["body"] = body


def drop_empty_headers(context: dict[str, Any]) -> None:
    """Let a table's corner be a plain cell: a header without text names nothing (axe)."""
    context["body"] = EMPTY_HEADER.sub("<td></td>", context.get("body", ""))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what this module does, and those of one task each that it imports."""
    need_package()
    nbclient.client.NotebookClient = Coalescing  # type: ignore[misc]
    answers.setup(app)
    code_cells.setup(app)
    deeper.setup(app)
    descriptions.setup(app)
    excerpts.setup(app)
    finish.setup(app)
    formulas.setup(app)
    icons.setup(app)
    lazy_scripts.setup(app)
    live.setup(app)
    minutes.setup(app)
    page_files.setup(app)
    path.setup(app)
    publishing.setup(app)
    redirects.setup(app)
    tables.setup(app)
    terms.setup(app)
    # A draft's pages say nothing that a commit changes, so that none is written anew for it.
    app.add_config_value("book_draft", default=False, rebuild="")
    app.add_config_value("book_answers", default=True, rebuild="env")
    app.connect("config-inited", describe_origin)
    app.connect("config-inited", work_as_make_does)
    app.connect("doctree-resolved", lambda _app, doctree, _name: check_pictures(doctree))
    app.connect("html-page-context", lambda _app, _name, _, page, _tree: drop_citation_roles(page))
    app.connect("html-page-context", lambda _app, _name, _, page, _tree: drop_empty_headers(page))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
