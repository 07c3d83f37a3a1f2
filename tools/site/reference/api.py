"""The index of the API: what its pages list, with the first sentence of each docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective
from sphinx.util.inspect import stringify_signature

from tools import ROOT
from tools.site.page_tree import root_of
from tools.table_of_contents import pages

PAGE = "chapters/api-"  # how the name of each page with entries begins
TITLE = re.compile(r"^(#{1,2}) (?:API: )?(.+)$")
LISTED = re.compile(r"^\.\. auto(?:class|function|data):: ([\w.]+)(?:\(\))?$")
MARKED = re.compile(r"(`[^`]+`|(?<!\w)\*\w+\*(?!\w))")  # code, and words that are stressed
SENTENCE = re.compile(r".+?\.(?=\s|$)", re.DOTALL)


class Room(NamedTuple):
    """A page of the API: its public names by section."""

    page: str
    title: str
    sections: dict[str, list[str]]

    @property
    def names(self) -> list[str]:
        """All its names, in order."""
        return [name for names in self.sections.values() for name in names]


def read_room(root: Path, page: str) -> Room:
    """Read what a page lists."""
    title, section = "", ""
    sections: dict[str, list[str]] = {}
    for line in (root / f"{page}.md").read_text("utf-8").splitlines():
        if heading := TITLE.match(line):
            level, section = heading.groups()
            title = section[0].upper() + section[1:] if level == "#" else title
        elif listed := LISTED.match(line):
            sections.setdefault(section, []).append(listed[1])
    return Room(page, title, sections)


def rooms(root: Path = ROOT) -> list[Room]:
    """The pages of the API, in the order of the table of contents."""
    return [read_room(root, page) for page in pages(root) if page.startswith(PAGE)]


def summary(name: str) -> str:
    """The first sentence of what a public name documents."""
    thing, (module, _, attribute) = resolve_name(name), name.rpartition(".")
    if callable(thing):
        text = inspect.getdoc(thing) or ""
    else:
        text = " ".join(ModuleAnalyzer.for_module(module).find_attr_docs()["", attribute])
    first = text.partition("\n\n")[0]
    sentence = SENTENCE.match(first)
    return re.sub(r":$", ".", " ".join((sentence[0] if sentence else first).split()))


def call(name: str) -> str:
    """How a public name is called, without types."""
    signature = inspect.signature(resolve_name(name))
    return stringify_signature(signature, show_annotation=False, show_return_annotation=False)


def imports(names: Sequence[str]) -> list[str]:
    """How public names are imported: a line for each module, with at most two of its names."""
    modules: dict[str, list[str]] = {}
    for name in names:
        module, _, attribute = name.rpartition(".")
        modules.setdefault(module, []).append(attribute)
    return [
        f"from {module} import {', '.join([*found[:2], *(['…'] if found[2:] else [])])}"
        for module, found in modules.items()
    ]


def link(env: BuildEnvironment, name: str) -> addnodes.pending_xref:
    """A link to the entry of a public name."""
    text = nodes.literal("", name.rpartition(".")[2], classes=["xref", "py"])
    return addnodes.pending_xref(
        "",
        text,
        refdomain="py",
        reftype="obj",
        reftarget=name,
        refdoc=env.docname,
        refexplicit=True,
        refwarn=True,
    )


def inline(text: str) -> list[nodes.Node]:
    """A sentence of a docstring, with its code and its stress."""
    kinds: dict[str, type[nodes.TextElement]] = {"`": nodes.literal, "*": nodes.emphasis}
    return [
        kinds[part[0]]("", part[1:-1]) if MARKED.fullmatch(part) else nodes.Text(part)
        for part in MARKED.split(text)
        if part
    ]


class Index(SphinxDirective):
    """What lists names: a page with one is read again when one of their sources changes."""

    def depend_on(self, names: Sequence[str], *files: str) -> None:
        """Note the files that this list comes from."""
        for file in files:
            self.env.note_dependency(file)
        for name in names:
            thing = resolve_name(name)
            module = thing.__module__ if callable(thing) else name.rpartition(".")[0]
            self.env.note_dependency(str(resolve_name(module).__file__))


class FirstNames(Index):
    """`:::{api-first}`: the names in it, with signatures."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Write a list of definitions."""
        names = [line.strip() for line in self.content if line.strip()]
        self.depend_on(names)
        items = nodes.definition_list(classes=["attnbook-api-first"])
        for name in names:
            term = nodes.term("", "", link(self.env, name), nodes.literal("", call(name)))
            meaning = nodes.definition("", nodes.paragraph("", "", *inline(summary(name))))
            items += nodes.definition_list_item("", term, meaning)
        return [items]


class AllNames(Index):
    """`:::{api-index}`: a line for each public name, by page and section."""

    def run(self) -> list[nodes.Node]:
        """Write a section for each page."""
        found = rooms(root_of(self.env.app))
        for room in found:
            self.depend_on(room.names, f"{room.page}.md")
        return [self.section(room) for room in found]

    def section(self, room: Room) -> nodes.section:
        """The names of one page."""
        # The prefix leaves the sections' own names to the redirects of old addresses.
        anchor = room.page.removeprefix("chapters/")
        section = nodes.section("", nodes.title("", room.title), ids=[anchor])
        for title, names in room.sections.items():
            if len(room.sections) > 1:
                section += nodes.rubric("", title)
            lines = [nodes.line("", "", nodes.literal("", text)) for text in imports(names)]
            section += nodes.line_block("", *lines)
            section += nodes.bullet_list("", *map(self.line, names), classes=["attnbook-api-names"])
        return section

    def line(self, name: str) -> nodes.list_item:
        """One name and what it is."""
        text = [link(self.env, name), nodes.Text(" · "), *inline(summary(name))]
        return nodes.list_item("", nodes.paragraph("", "", *text))
