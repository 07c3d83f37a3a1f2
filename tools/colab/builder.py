"""A builder for Sphinx: each chapter as a notebook for Colab.

The text is the page that Sphinx has resolved; code and outputs come from the chapter.
"""

from __future__ import annotations

import ast
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

from attnbook.messages import Messages
from tools.book.cells import PREDICT, SETUP, Answer, answers, cell_of, has_tag
from tools.book.keys import KeyRole
from tools.book.notebooks import read
from tools.colab.leftovers import problems
from tools.colab.page_sentences import in_notebook
from tools.colab.plain_markdown import PlainError, block, folded_text, line, link_to
from tools.repository_address import COPIES, colab_address
from tools.table_of_contents import pages, short_path

METADATA = {
    "colab": {"provenance": [], "toc_visible": True},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TEXT = Messages(__file__)
ENTRY = re.compile(r"id\d+")  # the anchor of a work in the bibliography

logger = logging.getLogger(__name__)


def list_blocks(section: nodes.Element, level: int = 0) -> Iterator[tuple[nodes.Node, int]]:
    """The headings and blocks of a page in order, with their levels."""
    for node in section.children:
        if isinstance(node, nodes.section):
            yield from list_blocks(node, level + 1)
        elif not (isinstance(node, nodes.container) and "nb_element" in node):
            yield node, level


def plain(node: nodes.Node, level: int) -> str:
    """A heading or a block in its plain form."""
    return f"{'#' * level} {line(node)}" if isinstance(node, nodes.title) else block(node)


class Deeper(SphinxDirective):
    """The end of a chapter's core, without the minutes and the next page, which only a page has."""

    def run(self) -> list[nodes.Node]:
        """A rule and a sentence."""
        parts = [nodes.transition(), nodes.paragraph("", TEXT("end_of_core"))]
        for part in parts:
            self.set_source_info(part)
        return parts


class ShortPath(SphinxDirective):
    """The chapters of the short path, without minutes and progress, which only the site has."""

    option_spec: ClassVar[dict[str, Any]] = {"all": directives.flag}  # as the site's path.py has it

    def run(self) -> list[nodes.Node]:
        """A numbered list of links, whose texts are the chapters' titles."""
        names = [basename(page) for page in short_path(Path(self.config.external_toc_path).parent)]
        lines = [f"{number}. [](./{name}.ipynb)" for number, name in enumerate(names, 1)]
        parts: list[nodes.Node] = self.parse_text_to_nodes("\n".join(lines))
        return parts


def fold(cell: NotebookNode, title: str) -> None:
    """Fold a cell's code in Colab and in JupyterLab; VS Code stores no such state in a file."""
    cell.source = f"# @title {title}\n{cell.source}"
    cell.metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}


def cover(cell: NotebookNode, title: str) -> None:
    """Fold a cell's code, and remove its outputs, which appear when it runs."""
    fold(cell, title)
    cell.outputs = []


def title_of_setup(cell: NotebookNode) -> str:
    """What a set-up cell shows, and what it defines."""
    kinds = {kind for output in cell.outputs for kind in output.get("data", {"stream": ""})}
    shows = "figure" if kinds == {"text/plain"} else "result" if kinds else "nothing"
    title, names = TEXT.group("setup")[shows], ", ".join(dict.fromkeys(names_bound_by(cell.source)))
    return TEXT("setup_defines", title=title, names=names) if names else title


def names_bound_by(source: str) -> Iterator[str]:
    """The names that code defines, without those that it imports."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        for target in getattr(node, "targets", []):
            yield from (it.id for it in ast.walk(target) if isinstance(it, ast.Name))


def cover_answer(cells: list[NotebookNode], answer: Answer) -> None:
    """Fold the text of an answer, and remove the outputs of its code."""
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = folded_text(TEXT("answer"), cell.source)
        elif answer.prediction:
            cell.outputs = []
        else:
            cover(cell, TEXT("run_for_answer"))


class ColabBuilder(Builder):
    """Writes the copies; a difference from the chapter is a warning, which fails the build."""

    name = "colab"
    format = "colab"
    epilog = "The copies are in %(outdir)s."

    def get_outdated_docs(self) -> list[str]:
        """Every page, because a copy names its commit."""
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
        """Store the titles of the pages by their addresses."""
        self.titles = {self.get_target_uri(page): self.title(page) for page in docnames}

    def write_doc(self, docname: str, doctree: nodes.document) -> None:
        """Write one copy; each problem in it is a warning, which fails the build."""
        if not self.is_chapter(docname):
            return
        chapter = read(Path(self.env.doc2path(docname)))
        copied = self.copy(chapter, docname, doctree)
        for problem in problems(chapter, copied):
            logger.warning("the copy's %s", problem, location=docname)
        path = Path(self.outdir, "chapters", f"{basename(docname)}.ipynb")
        path.parent.mkdir(exist_ok=True)
        nbformat.write(copied, path)

    def finish(self) -> None:
        """Write the page that GitHub shows of the copies, to which the README leads."""
        book = self.config.copies_site
        lines = [f"# {TEXT('run_in_colab')}", *([link_to(TEXT("read_book"), book)] if book else [])]
        for page in filter(self.is_chapter, pages(Path(self.config.external_toc_path).parent)):
            address = colab_address(self.config.copies_repository, basename(page))
            lines.append(f"- {link_to(self.title(page), address)}")
        Path(self.outdir, "README.md").write_text("\n\n".join([*lines, ""]), "utf-8")

    def copy(self, chapter: NotebookNode, name: str, page: nodes.document) -> NotebookNode:
        """A chapter's copy: its origin, the installation, then every cell."""
        texts = self.texts(name, page)
        first = v4.new_markdown_cell(self.origin(name), id="copy-origin")
        install = v4.new_code_cell(self.installation(), id="copy-install")
        cells = [nbformat.from_dict(cell) for cell in chapter.cells]
        for number, cell in enumerate(cells):
            if cell.cell_type == "markdown":
                cell.source = in_notebook("\n\n".join(texts[number]))
            if has_tag(cell, PREDICT):
                cover(cell, TEXT("your_prediction"))
            elif has_tag(cell, SETUP):
                fold(cell, title_of_setup(cell))
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
                self.redirect(reference, name)
        texts = defaultdict(list)
        for node, level in list_blocks(page):
            cell = cell_of(node)
            try:
                text = plain(node, level)
            except PlainError as error:
                logger.warning("cell %s %s", cell, error, location=name)
                continue
            if text and cell is not None:
                texts[cell].append(text)
        return texts

    def title(self, page: str) -> str:
        """A page's heading."""
        return line(self.env.titles[page])

    def origin(self, page: str) -> str:
        """Name the origin of a copy, and explain its first cell."""
        site = self.get_target_uri(page) if self.config.copies_site else ""
        commit = self.config.copies_commit
        source = f"{self.config.copies_repository}/blob/{commit}/{page}.ipynb"
        fields = {"chapter": self.title(page), "commit": link_to(f"`{commit[:10]}`", source)}
        if not site:
            return f"*{TEXT('origin', **fields)}*"
        return f"*{TEXT('origin_with_book', book=link_to(TEXT('read_in_book'), site), **fields)}*"

    def installation(self) -> str:
        """Install the released version or the copied commit without changing other packages."""
        version, commit = self.config.copies_version, self.config.copies_commit
        origin = f"=={version}" if version else f" @ git+{self.config.copies_repository}@{commit}"
        return f'%pip install --quiet "attnbook[display,figures,seq2seq]{origin}"'

    def picture(self, path: str) -> str:
        """A picture's address, which exists once the site or the copies are published."""
        if urlsplit(path).scheme:
            return path
        if self.config.copies_site:
            return f"{self.config.copies_site}_images/{basename(path)}"
        raw = self.config.copies_repository.replace("github.com", "raw.githubusercontent.com", 1)
        return f"{raw}/{COPIES}/{path}?sanitize=true"

    def redirect(self, reference: nodes.reference, page: str) -> None:
        """Change a link within the book so that it works from outside."""
        address, _, anchor = reference.get("refuri", "").partition("#")
        title = reference.attributes.pop("reftitle", "")
        if "refid" in reference:
            address, anchor = self.get_target_uri(page), reference["refid"]
        # It changes when a work is added, so the link leads to the page and has the title.
        if ENTRY.fullmatch(anchor):
            anchor, reference["reftitle"] = "", title
        elif anchor.startswith("equation-"):
            if "refid" in reference:
                address = ""
            else:
                reference += nodes.Text(f" of {self.titles[address]}")
        reference["refuri"] = (
            f"{address}#{anchor}" if anchor and self.config.copies_site else address
        )


class NotCopied(SphinxDirective):
    """A list on a page that has no copy."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Write nothing."""
        return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the builder, its directives and its settings to Sphinx."""
    app.add_builder(ColabBuilder)
    app.add_directive("deeper", Deeper)
    app.add_directive("path", ShortPath)
    app.add_role("key", KeyRole())
    for name in ("api-first", "api-index"):
        app.add_directive(name, NotCopied)
    for name in ("copies_commit", "copies_repository", "copies_site", "copies_version"):
        app.add_config_value(name, "", "")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
