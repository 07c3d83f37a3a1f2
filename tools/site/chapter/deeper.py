"""The divider of a chapter: above it the core, which is enough; below it why and how.

A writer puts `:::{deeper}` and `:::` once into a chapter, as a Markdown cell of its own. A chapter
that has it is held to the limits of a core, and all of them together to those of the short path.
Each section below it is a fold, written open, which `deeper.js` closes: paper, pages without
scripts and Colab copies show everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from posixpath import basename

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from tools import BUDGETS
from tools.book.state import REPORT
from tools.site import TEXT
from tools.site.chapter.minutes import Parts, parts_of, path_total
from tools.site.page_tree import Divider, first_section, root_of
from tools.table_of_contents import pages, short_path

ANCHOR = "deeper"
CORE, PATH = BUDGETS["core"], BUDGETS["path"]

ONWARD = TEXT.group("onward")

logger = logging.getLogger(__name__)


class Deeper(SphinxDirective):
    """`:::{deeper}`: the end of the core."""

    def run(self) -> list[nodes.Node]:
        """Insert a divider."""
        divider = Divider(ids=[ANCHOR])
        self.set_source_info(divider)
        return [divider]


class Fold(nodes.General, nodes.Element):  # type: ignore[misc]  # docutils has no types
    """What is below the heading of a deeper section."""


# Position


def move_divider(divider: Divider, page: nodes.section) -> bool:
    """Move a divider between two sections of level 2; False if anything else follows it."""
    node, after = divider, []
    while node.parent is not page:
        after += node.parent[node.parent.index(node) + 1 :]
        node = node.parent
    index = page.index(node) + 1
    sections = [each for each in page[index:] if isinstance(each, nodes.section)]
    after += [each for each in page[index:] if each not in sections]
    if node is not divider:
        divider.parent.remove(divider)
        page.insert(index, divider)
    # The first page ends with the contents of the sidebar, as Sphinx has them.
    hidden = (nodes.Invisible, nodes.compound)
    return bool(sections) and all(isinstance(each, hidden) for each in after)


def place_divider(app: Sphinx, tree: nodes.document) -> None:
    """Place the one divider of a page that was just read between two sections."""
    page = app.env.docname
    dividers = [*tree.findall(Divider)]
    for divider in dividers[1:]:
        logger.warning("a chapter has one divider, and this is another", location=divider)
        divider.parent.remove(divider)
    section = first_section(tree)
    inside = [*section.findall(Divider)] if section else []
    if dividers and not (inside and move_divider(inside[0], section)):
        logger.warning("a heading of level 2 must follow the divider", location=page)


# Limits


def word_limit(page: str) -> int:
    """How many words the core of a chapter may have."""
    most: int = CORE["other_words"].get(basename(page), CORE["words"])
    return most


def core_problems(page: str, parts: Parts) -> Iterator[str]:
    """Describe each limit that the core of a chapter exceeds."""
    allowed = {
        "word": word_limit(page),
        "prediction": CORE["predictions"],
        "editor": CORE["other_editors"].get(basename(page), CORE["editors"]),
    }
    for what, most in allowed.items():
        if parts.core[what] > most:
            yield f"the core has {parts.core[what]} {what}s, and may have {most}"
    for cell, lines in parts.cells.items():
        if lines > (most := CORE["lines"]):
            yield f"cell {cell} of the core shows {lines} lines of code, and may show {most}"


def check_core(app: Sphinx) -> None:
    """Warn of a core that is too large."""
    page = app.env.docname
    parts = parts_of(app.env, page)
    if parts and parts.divided:
        for problem in core_problems(page, parts):
            logger.warning("%s", problem, location=page)


def check_links(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Warn of a link from a core into a deeper half that does not name the section there."""
    section = first_section(tree)
    if app.builder.format != "html" or section is None:
        return
    names = {app.builder.get_relative_uri(page, name): name for name in app.env.found_docs}
    names[""] = page
    end = next((i for i, each in enumerate(section) if isinstance(each, Divider)), 0)
    for link in (link for child in section[:end] for link in child.findall(nodes.reference)):
        address, _, anchor = link.get("refuri", "").partition("#")
        target = parts_of(app.env, names.get(address, ""))
        anchor = link.get("refid", anchor)
        title = target.anchors.get(anchor) if target else None
        if title not in (None, link.astext()):
            message = "the core leads into a deeper half: the text of the link to #%s must be “%s”"
            logger.warning(message, anchor, title, location=link.parent)


def check_path(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn if all cores together are too long."""
    path = short_path(root_of(app))
    total = path_total(env, path)
    if total and total[0] > PATH["words"] and not app.config.book_draft:
        message = "the short path has %s words, and may have %s"
        logger.warning(message, total[0], PATH["words"], location=path[0])


# Output


def fold_sections(app: Sphinx, tree: nodes.document) -> None:
    """Fold each section after the divider; its heading and its anchor stay outside."""
    page = first_section(tree)
    if app.builder.format != "html" or page is None:
        return
    divider = next((i for i, each in enumerate(page) if isinstance(each, Divider)), len(page))
    for section in page[divider:]:
        if isinstance(section, nodes.section):
            title = section[0].astext()
            time = section.get("minutes", 0)
            section[1:] = [Fold("", *section[1:], title=title, minutes=time)]


def open_fold(translator: HTML5Translator, node: Fold) -> None:
    """Write the start of a fold, open; its summary has the section's minutes."""
    time = TEXT("minutes", minutes=node["minutes"]) if node["minutes"] else TEXT("section")
    translator.body.append(
        '<details class="attnbook-section" open><summary class="attnbook-section-minutes">'
        f'<span class="visually-hidden">{escape(node["title"])}, </span>{time}</summary>'
    )


def close_fold(translator: HTML5Translator, _node: Fold) -> None:
    """Write the end of a fold."""
    translator.body.append("</details>")


def next_page(page: str, path: list[str], book: list[str]) -> tuple[str, str] | None:
    """The key of the text that leads on from a chapter's core, and where to.

    None at the end of the path, whose chapter itself says what to read next.
    """
    if page == path[-1]:
        return None
    key, order = ("next_on_path", path) if page in path else ("next_in_book", book)
    after = order[order.index(page) + 1 :]
    return (key, after[0]) if after else ("back_to_first", book[0])


def write_divider(translator: HTML5Translator, _node: Divider) -> None:
    """Write a divider: a rule, a sentence and the link that leads on."""
    builder = translator.builder
    page, root = builder.current_docname, root_of(builder.app)
    onward = next_page(page, short_path(root), pages(root))
    parts = parts_of(builder.env, page) or Parts()
    _, deeper, practice = parts.times
    below = TEXT("below_is_why" if deeper else "below_is_practice", count=deeper or practice)
    link = ""
    if onward:
        title = builder.env.titles[onward[1]].astext()
        text = escape(ONWARD[onward[0]].format(page=title))
        link = f'<p><a href="{builder.get_relative_uri(page, onward[1])}">{text}</a></p>'
    translator.body.append(
        f'<div class="attnbook-divider" id="{ANCHOR}" role="region" '
        f'aria-label="{TEXT("end_of_core")}">'
        f"<p><strong>{TEXT('can_stop')}</strong> {below}</p>"
        f"{link}"
        f'<p><button type="button" aria-pressed="false">{TEXT("open_all")}</button></p></div>'
    )
    raise nodes.SkipNode


def report(env: BuildEnvironment, book: list[str], path: list[str]) -> str:
    """A table of words and minutes of the chapters, and of the short path once it is divided."""
    halves = ("deeper", "practice")
    rows = [["", "words: core", "limit", *halves, "minutes: core", *halves]]
    for page in book:
        parts = parts_of(env, page)
        if parts and (parts.is_chapter or page in path):
            limit = word_limit(page) if parts.divided else "-"
            core, *others = (each["word"] for each in (parts.core, parts.deeper, parts.practice))
            rows.append([basename(page), *map(str, (core, limit, *others, *parts.times))])
    if total := path_total(env, path):
        limits = (total[0], PATH["words"], "", "", total[1], "", "")
        rows.append(["short path", *map(str, limits)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ([name.ljust(widths[0]), *map(str.rjust, row, widths[1:])] for name, *row in rows)
    return "".join(f"{'  '.join(line).rstrip()}\n" for line in lines)


def write_report(app: Sphinx) -> None:
    """Write the report for `make book`."""
    root = root_of(app)
    text = report(app.env, pages(root), short_path(root))
    Path(app.doctreedir, REPORT).write_text(text, "utf-8")
