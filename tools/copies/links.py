"""Where the links of a Colab copy lead: the published site, other copies, or nowhere."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from docutils.nodes import make_id
from myst_parser.mdit_to_docutils.base import default_slugify
from pybtex.database import Entry, parse_file  # type: ignore[import-untyped]  # it has none

from tools.contents import pages
from tools.copies.myst_text import Block, MystError, blocks, labels, parser
from tools.provenance import COPIES, colab_address


@dataclass(frozen=True)
class Formula:
    """Where a labelled formula stands, and its number there."""

    page: str
    number: int


@dataclass(frozen=True)
class Citation:
    """A work as the text names it."""

    authors: str
    year: str
    title: str


def prose(path: Path) -> list[str]:
    """The Markdown of a page: its cells, or the whole file."""
    if path.suffix == ".md":
        return [path.read_text("utf-8")]
    cells = nbformat.read(path, as_version=4).cells
    return [str(cell.source) for cell in cells if cell.cell_type == "markdown"]


def citation(entry: Entry) -> Citation:
    """One work of the bibliography, its authors shortened as on the page."""
    names = [
        " ".join(str(part) for part in person.rich_prelast_names + person.rich_last_names)
        for person in entry.persons["author"]
    ]
    authors = f"{names[0]} *et al.*" if len(names) > 2 else " and ".join(names)
    title = re.sub(r'[{}"\\]', "", entry.fields["title"])
    return Citation(authors, entry.fields["year"], title)


def is_glossary(block: Block) -> bool:
    """Whether these lines explain terms."""
    return block.tokens[0].info.strip() == "{glossary}"


@dataclass(frozen=True)
class Book:
    """The book's pages, and the addresses under which a reader of a copy finds them."""

    root: Path
    repository: str
    site: str = ""

    @cached_property
    def files(self) -> dict[str, Path]:
        """The pages of the table of contents, such as chapters/welcome, in order."""
        ends = (".ipynb", ".md")
        paths = {name: [self.root / f"{name}{end}" for end in ends] for name in pages(self.root)}
        return {name: next(path for path in both if path.exists()) for name, both in paths.items()}

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        """The labelled formulas of all chapters; each page counts its own from 1."""
        found: dict[str, Formula] = {}
        for page in self.chapters:
            names = [label for text in prose(self.files[page]) for label in labels(text)]
            found |= {label: Formula(page, i) for i, label in enumerate(names, 1)}
        return found

    @cached_property
    def citations(self) -> dict[str, Citation]:
        """The works of the bibliography by their keys."""
        entries = parse_file(self.root / "chapters" / "references.bib").entries
        return {key: citation(entry) for key, entry in entries.items()}

    @cached_property
    def terms(self) -> dict[str, str]:
        """The glossary's words as it writes them, by their small letters."""
        text = self.files[self.page_with("{glossary}")].read_text("utf-8")
        bodies = [block.tokens[0].content for block in blocks(text) if is_glossary(block)]
        words = [line for body in bodies for line in body.split("\n") if re.match(r"\w", line)]
        return {word.lower(): word for word in words}

    @property
    def chapters(self) -> list[str]:
        """The pages that are notebooks."""
        return [page for page, path in self.files.items() if path.suffix == ".ipynb"]

    def title(self, page: str) -> str:
        """A page's first heading."""
        text = "\n".join(prose(self.files[page]))
        heading = re.search(r"^# (.+)$", text, re.MULTILINE)
        return heading[1] if heading else posixpath.basename(page)

    def page_with(self, directive: str) -> str:
        """The page that holds a directive, such as the one with the glossary."""
        pages = [
            page
            for page, path in self.files.items()
            if path.suffix == ".md" and directive in path.read_text("utf-8")
        ]
        if not pages:
            raise MystError(f"needs a page with {directive}; no page of _toc.yml has one")
        return pages[0]

    def address(self, page: str, anchor: str = "") -> str:
        """The published page, else the chapter's copy, else nothing."""
        if self.site:
            return f"{self.site}{page}.html" + (f"#{anchor}" if anchor else "")
        if self.files[page].suffix == ".md":
            return ""
        return colab_address(self.repository, posixpath.basename(page))

    def term(self, name: str) -> str:
        """A word's place in the glossary."""
        page = self.page_with("{glossary}")
        if name.lower() not in self.terms:
            raise MystError(f"uses the term {name}, which {page} does not explain")
        # Sphinx keeps the glossary's capitals here: term-Transformer.
        return self.address(page, f"term-{self.terms[name.lower()].replace(' ', '-')}")

    def code(self, name: str) -> str:
        """A name's place in the reference."""
        return self.address(self.page_with("automodule"), name)

    def bibliography(self) -> str:
        """The page of the bibliography: its entries' own anchors move when one is added."""
        return self.address(self.page_with("{bibliography}"))

    def link(self, target: str, page: str) -> str:
        """What a link from a page leads to; nothing where the reader cannot get there."""
        if urlsplit(target).scheme:
            return target
        path, _, anchor = target.partition("#")
        other = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        name = re.sub(r"\.(ipynb|md)$", "", other)
        if name not in self.files:
            raise MystError(f"links to {target}, which is no page of _toc.yml")
        return self.address(name, self.section(name, anchor) if anchor else "")

    def section(self, page: str, slug: str) -> str:
        """The anchor that the published page gives to a heading."""
        for text in prose(self.files[page]):
            tokens = parser().parse(text)
            for opening, heading in pairwise(tokens):
                words = heading.content
                if opening.type == "heading_open" and default_slugify(words) == slug:
                    return str(make_id(words))
        raise MystError(f"links to #{slug}, which is no heading of {page}")

    def picture(self, target: str, page: str) -> str:
        """A picture's address, which publishing the site or the copies makes good."""
        if urlsplit(target).scheme == "https":
            return target
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        folder, name = posixpath.split(path)
        if folder != "img" or not (self.root / path).is_file():
            raise MystError(f"shows {target}, which is no picture in img/")
        if self.site:
            return f"{self.site}_images/{name}"
        owner_and_name = urlsplit(self.repository).path.strip("/")
        raw = f"https://raw.githubusercontent.com/{owner_and_name}/{COPIES}/img/{name}"
        return f"{raw}?sanitize=true"
