"""Check a finished copy: no word, cell or output is lost, and no raw MyST is left.

The written texts are compared, so this does not depend on how a copy is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import yaml  # type: ignore[import-untyped]  # it has no types
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from nbformat import NotebookNode

from tools import ROOT
from tools.book.cells import ANSWER, PREDICT, has_tag
from tools.colab.page_sentences import OF_THE_PAGE, in_notebook

ADDED = 2  # cells before those of the chapter: the origin of the copy, and the installation
VIEW = "application/vnd.jupyter.widget-view+json"
MARKS = re.compile(r":::|\{[A-Za-z][\w:+-]*\}")
ADDRESS = re.compile(r"https://|mailto:")
INVISIBLE = re.compile(
    r"^[ ]*(?::{3,}|`{3,})(?:\{[\w:+-]+\})? | ^[ ]*:[\w-]+:.*$ | ^\([\w-]+\)=$"
    r"| \{(?:cite:[pt]|eq)\}`[^`]*` | \{[\w:+-]+\} | \{\.[\w-]+\}"
    r"| (?<=\S)[ ]*<[^<>`]+>(?=`) | (?<=\])\([^()\s]*\)",
    re.MULTILINE | re.VERBOSE,
)


@cache
def parser() -> MarkdownIt:
    """The book's parser, with the extensions that _config.yml names."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    extensions = set(settings["parse"]["myst_enable_extensions"])
    return create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)


def leftovers(text: str) -> Iterator[str]:
    """The MyST that a reader outside the book would see raw, and links that lead nowhere."""
    for token in parser().parse(text):
        if token.type == "colon_fence" or token.info.strip().startswith("{"):
            yield token.info
        for child in [token, *(token.children or [])]:
            if child.type == "myst_role":
                yield f"{{{child.meta['name']}}}`{child.content}`"
            elif child.type in ("text", "html_block", "html_inline"):
                yield from MARKS.findall(child.content)
            address = child.attrs.get("href") or child.attrs.get("src")
            if address and not ADDRESS.match(str(address)):
                yield str(address)


def words(text: str) -> list[str]:
    """The words, formulas and code of a text, without the syntax of MyST."""
    return re.findall(r"\w+", INVISIBLE.sub(" ", text))


def lost_words(before: str, after: str) -> list[str]:
    """The first words of a cell that are not in the same order in its plain form."""
    there = iter(re.findall(r"\w+", after))
    return [word for word in words(before) if word not in there][:5]


def problems(chapter: NotebookNode, copied: NotebookNode) -> Iterator[str]:
    """Yield what a copy has lost of its chapter, and what in it is not plain Markdown."""
    cells = copied.cells[ADDED:]
    if [cell.id for cell in cells] != [cell.id for cell in chapter.cells]:
        yield "does not have the chapter's cells in the chapter's order"
    for number, (before, after) in enumerate(zip(chapter.cells, cells, strict=False)):
        yield from (f"cell {number} {problem}" for problem in cell_problems(before, after))


def cell_problems(before: NotebookNode, after: NotebookNode) -> Iterator[str]:
    """Yield what is wrong with one cell of a copy."""
    if of_the_page := OF_THE_PAGE.search(after.source):
        yield f"speaks of the page: {of_the_page[0]!r}"
    if before.cell_type != after.cell_type:
        yield f"was {before.cell_type} and is {after.cell_type}"
    elif before.cell_type == "markdown":
        yield from (f"still has {raw}" for raw in leftovers(after.source))
        lost = lost_words(in_notebook(before.source), after.source)
        if lost:
            yield f"lost words, from {lost[0]!r} on"
        if has_tag(before, ANSWER) and not after.source.startswith("<details>\n"):
            yield "shows its answer at once"
    elif not f"\n{after.source}".endswith(f"\n{before.source}"):
        yield "has other code"
    elif has_tag(before, PREDICT) or has_tag(before, ANSWER):
        if after.outputs:
            yield "shows its answer at once"
    elif before.outputs != after.outputs:
        yield "has other outputs"
    elif any(VIEW in output.get("data", {}) for output in after.get("outputs", [])):
        yield "stores the view of a widget without a kernel"
