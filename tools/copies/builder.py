"""A builder for Sphinx: each chapter as a notebook for Colab.

The text is what Sphinx has resolved for the page; code and outputs are the chapter's own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from posixpath import basename
from typing import Any, ClassVar
from urllib.parse import urlsplit

import nbformat
from docutils import nodes
from docutils.parsers.rst import directives
from nbformat import NotebookNode, v4
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tools.book.cells import PREDICT, TO_WRITE, Answer, answers, cell_of, has_tag
from tools.book.notebooks import read
from tools.copies.leftovers import problems
from tools.copies.plain_markdown import PlainError, block, folded_text, line, linked
from tools.repository_address import COPIES, colab_address
from tools.table_of_contents import short_path

METADATA = {
    "colab": {"provenance": [], "toc_visible": True},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
DIVIDER = "You can stop here. Below: why and how."
ENTRY = re.compile(r"id\d+")  # how a work in the bibliography is anchored

logger = logging.getLogger(__name__)


def pieces(section: nodes.Element, level: int = 0) -> Iterator[tuple[nodes.Node, int]]:
    """The headings and blocks of a page in order, with how deep they stand."""
    for node in section.children:
        if isinstance(node, nodes.section):
            yield from pieces(node, level + 1)
        elif not (isinstance(node, nodes.container) and "nb_element" in node):
            yield node, level


def plain(node: nodes.Node, level: int) -> str:
    """A heading or a block in its plain form."""
    return f"{'#' * level} {line(node)}" if isinstance(node, nodes.title) else block(node)


class Deeper(SphinxDirective):
    """The end of a chapter's core, without what only its page has: minutes and the next page."""

    def run(self) -> list[nodes.Node]:
        """A rule and a sentence."""
        parts = [nodes.transition(), nodes.paragraph("", DIVIDER)]
        for part in parts:
            self.set_source_info(part)
        return parts


class ShortPath(SphinxDirective):
    """The chapters of the short path, without what only the site has: minutes and progress."""

    option_spec: ClassVar[dict[str, Any]] = {"all": directives.flag}  # as tools/site/path.py has it

    def run(self) -> list[nodes.Node]:
        """A numbered list of links, whose texts are the chapters' titles."""
        names = [basename(page) for page in short_path(Path(self.config.external_toc_path).parent)]
        lines = [f"{number}. [](./{name}.ipynb)" for number, name in enumerate(names, 1)]
        found: list[nodes.Node] = self.parse_text_to_nodes("\n".join(lines))
        return found


def cover(cell: NotebookNode, title: str) -> None:
    """Fold a cell's code away, in Colab and in JupyterLab; to run it is to see what it says."""
    cell.source = f"# @title {title}\n{cell.source}"
    cell.outputs = []
    cell.metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}


def cover_answer(cells: list[NotebookNode], answer: Answer) -> None:
    """Fold words away, and leave results to who runs the cells."""
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = folded_text("Answer", cell.source)
        elif answer.prediction:
            cell.outputs = []
        else:
            cover(cell, "Answer: run it, or open its code")


class ColabBuilder(Builder):
    """Writes the copies; what is not as in its chapter is a warning, which fails the build."""

    name = "colab"
    format = "colab"
    epilog = "The copies are in %(outdir)s."

    def get_outdated_docs(self) -> list[str]:
        """Every page: a copy names the commit that it was made from."""
        return sorted(self.env.found_docs)

    def is_chapter(self, page: str) -> bool:
        """Whether a page is a notebook."""
        return Path(self.env.doc2path(page)).suffix == ".ipynb"

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:  # noqa: ARG002
        """The published page, else the chapter's copy, else nothing."""
        if self.config.copies_site:
            return f"{self.config.copies_site}{docname}.html"
        if not self.is_chapter(docname):
            return ""
        return colab_address(self.config.copies_repository, basename(docname))

    def get_relative_uri(self, from_: str, to: str, typ: str | None = None) -> str:  # noqa: ARG002
        """The same from everywhere."""
        return self.get_target_uri(to, typ)

    def prepare_writing(self, docnames: set[str]) -> None:
        """Know the pages by their addresses."""
        self.titles = {self.get_target_uri(page): self.title(page) for page in docnames}

    def write_doc(self, docname: str, doctree: nodes.document) -> None:
        """Write one copy; whatever is wrong in it is told, and fails the build."""
        if not self.is_chapter(docname):
            return
        chapter = read(Path(self.env.doc2path(docname)))
        copied = self.copy(chapter, docname, doctree)
        for problem in problems(chapter, copied):
            logger.warning("the copy's %s", problem, location=docname)
        path = Path(self.outdir, "chapters", f"{basename(docname)}.ipynb")
        path.parent.mkdir(exist_ok=True)
        nbformat.write(copied, path)

    def copy(self, chapter: NotebookNode, name: str, page: nodes.document) -> NotebookNode:
        """A chapter's copy: where it comes from, the installation, then every cell."""
        texts = self.texts(name, page)
        first = v4.new_markdown_cell(self.origin(name), id="copy-origin")
        install = v4.new_code_cell(self.installation(), id="copy-install")
        cells = [nbformat.from_dict(cell) for cell in chapter.cells]
        for number, cell in enumerate(cells):
            if cell.cell_type == "markdown":
                cell.source = "\n\n".join(texts[number])
            if has_tag(cell, PREDICT):
                cover(cell, "Your prediction")
            elif has_tag(cell, TO_WRITE):
                cell.outputs = []  # a verdict on what the reader has not written yet
        for answer in answers(chapter):
            cover_answer([cells[number] for number in answer.cells], answer)
        notebook: NotebookNode = v4.new_notebook(cells=[first, install, *cells], metadata=METADATA)
        nbformat.validate(notebook)
        return notebook

    def texts(self, name: str, page: nodes.document) -> dict[int, list[str]]:
        """The text of a page by its cells."""
        for picture in page.findall(nodes.image):
            picture["uri"] = self.picture(picture["uri"])
        for reference in page.findall(nodes.reference):
            if reference.get("internal") or "refid" in reference:
                self.lead(reference, name)
        found = defaultdict(list)
        for node, level in pieces(page):
            cell = cell_of(node)
            try:
                text = plain(node, level)
            except PlainError as error:
                logger.warning("cell %s %s", cell, error, location=name)
                continue
            if text and cell is not None:
                found[cell].append(text)
        return found

    def title(self, page: str) -> str:
        """A page's heading."""
        return line(self.env.titles[page])

    def origin(self, page: str) -> str:
        """Say where a copy comes from, and what its first cell does."""
        site = self.get_target_uri(page) if self.config.copies_site else ""
        published = f", which you can also {linked('read in the book', site)}" if site else ""
        commit = self.config.copies_commit
        source = f"{self.config.copies_repository}/blob/{commit}/{page}.ipynb"
        return (
            f"*This is a copy of the chapter “{self.title(page)}”{published}. "
            f"It was made from commit {linked(f'`{commit[:10]}`', source)}. "
            "Run the next cell first: it installs the book's package.*"
        )

    def installation(self) -> str:
        """Install the package at the copied commit; what is there stays as it is."""
        origin = f"git+{self.config.copies_repository}@{self.config.copies_commit}"
        return f'%pip install --quiet "attnbook[display,figures,seq2seq] @ {origin}"'

    def picture(self, path: str) -> str:
        """A picture's address, which publishing the site or the copies makes good."""
        if urlsplit(path).scheme:
            return path
        if self.config.copies_site:
            return f"{self.config.copies_site}_images/{basename(path)}"
        raw = self.config.copies_repository.replace("github.com", "raw.githubusercontent.com", 1)
        return f"{raw}/{COPIES}/{path}?sanitize=true"

    def lead(self, reference: nodes.reference, page: str) -> None:
        """Let a link within the book lead where it does from outside."""
        address, _, anchor = reference.get("refuri", "").partition("#")
        title = reference.attributes.pop("reftitle", "")
        if "refid" in reference:
            address, anchor = self.get_target_uri(page), reference["refid"]
        if ENTRY.fullmatch(anchor):  # it moves when another work is added; the title finds it
            anchor, reference["reftitle"] = "", title
        elif anchor.startswith("equation-"):
            if "refid" in reference:
                address = ""
            else:
                reference += nodes.Text(f" of {self.titles[address]}")
        reference["refuri"] = (
            f"{address}#{anchor}" if anchor and self.config.copies_site else address
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Give Sphinx the builder, and what it must be told."""
    app.add_builder(ColabBuilder)
    app.add_directive("deeper", Deeper)
    app.add_directive("path", ShortPath)
    for name in ("copies_commit", "copies_repository", "copies_site"):
        app.add_config_value(name, "", "")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
