"""A small Sphinx extension: what this book's site has beyond the theme."""

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
from tools.site import TEXT
from tools.site.assets import finish, icons, page_files
from tools.site.chapter import answers, code_cells, deeper, formulas, minutes, path, tables
from tools.site.figures import lazy_scripts, live
from tools.site.page_tree import change_body, change_sidebar, root_of
from tools.site.publish import descriptions, publishing, redirects
from tools.site.reference import api, api_entries, cheat_sheet, terms
from tools.site.search import excerpts

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


def check_pictures(doctree: nodes.document) -> None:
    """Warn of each picture that has no alternative text, wherever it comes from."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            logger.warning(
                "picture without alt text: %s", image["uri"], location=nearest_with_line(image)
            )
    for raw in doctree.findall(nodes.raw):
        for tag in pictures_without_text(raw.astext()):
            logger.warning("<%s> without alt or aria-label", tag, location=nearest_with_line(raw))


class Coalescing(NotebookClient):
    """Runs a chapter and stores the end of a progress bar, not each of its states.

    `tools/book/notebooks.py` sets the same option; jupyter-cache, which runs chapters for the
    page, does not offer it.
    """

    coalesce_streams = traitlets.Bool(True)


def describe_origin(app: Sphinx, config: Config) -> None:
    """Write at each page's foot what it was built from, and link to the repository if there is one.

    A site without answers has no link: the repository, its Colab copies and the pages for
    editing contain the answers.
    """
    options: dict[str, Any] = config.html_theme_options
    root = root_of(app)
    origin = TEXT("draft") if config.book_draft else repository_address.describe_commit(root)
    options["extra_footer"] = f"<p>{origin} {TEXT('licences')}</p>"
    address = repository_address.repository_address(root) if config.book_answers else ""
    options["repository_url"] = address
    for button in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        options[button] = bool(address)


def need_package() -> None:
    """Stop the build if the package is missing; else every chapter fails on its first line."""
    if not find_spec("attnbook"):
        raise ExtensionError(
            "attnbook, which every chapter imports, is not installed: "
            "run `pip install -r requirements.txt -e .` in the book's folder first"
        )


def use_executions_of_make(app: Sphinx, config: Config) -> None:
    """Let `jupyter-book build .` use what `make book` executed, in isolated kernels.

    Only `tools/book/build.py` fails on warnings and leaves a stamp; what any other command has read
    is read again.
    """
    workshop = workshop_of(Path(app.srcdir), answers=config.book_answers)
    config.nb_execution_cache_path = str(workshop.executions)
    isolate_kernels(workshop.folder / ".ipython")
    (Path(app.doctreedir).parent / workshop.stamp.name).unlink(missing_ok=True)


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


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what this module does, and those of one task each that it imports."""
    need_package()
    nbclient.client.NotebookClient = Coalescing  # type: ignore[misc]
    answers.setup(app)
    api.setup(app)
    api_entries.setup(app)
    cheat_sheet.setup(app)
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
    # A draft's pages contain nothing that a commit changes, so that none is written again for it.
    app.add_config_value("book_draft", default=False, rebuild="")
    app.add_config_value("book_answers", default=True, rebuild="env")
    app.connect("config-inited", describe_origin)
    app.connect("config-inited", use_executions_of_make)
    app.connect("doctree-resolved", lambda _app, doctree, _name: check_pictures(doctree))
    for work in (drop_citation_roles, drop_empty_headers, drop_lists_of_arguments):
        app.connect("html-page-context", lambda _app, _name, _, page, _tree, f=work: f(page))
    # After the theme has set what makes the sidebar.
    app.connect(
        "html-page-context",
        lambda _app, _name, _, page, _tree: name_toggles(page),
        priority=600,
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
