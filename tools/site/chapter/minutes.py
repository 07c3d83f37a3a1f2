"""How long a chapter takes, computed from what is on its page, and shown to the reader.

A page is counted once it is read: after its figures and its folded answers are in place. A chapter
that this build did not run has no minutes, because its figures are not known.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tools.book.cells import PREDICT, SETUP
from tools.site import TEXT
from tools.site.figures.live import VIEW
from tools.site.page_tree import (
    Divider,
    bold_start,
    first_section,
    has_changed,
    nb_elements,
    page_data,
    tags_of,
)

# Seconds that a newcomer spends on each in a deeper half and in the practice. Fitted to one
# newcomer, who read the nine first chapters of November 2026 in about ten hours, and needed about
# fourteen more for their practice. Words of code count as words.
SECONDS = {
    "word": 0.6,  # 100 words a minute: prose, formulas and code, in a second language
    "formula": 20,  # on a line of its own
    "picture": 20,
    "figure": 60,  # a live one
    "prediction": 45,
    "editor": 150,  # a function on plain lists, written in the page
    "code": 900,  # a starter to complete: a task in torch, a bug to fix, a test to write
    "question": 360,  # of the practice
}
# In a core, each thing at which a reader stops to work takes the same time. Fitted to one newcomer
# who read the eight cores of the short path in a second language, in 6, 21, 26, 29, 26, 14, 20 and
# 22 minutes. These constants give 7, 21, 24, 29, 24, 16, 19 and 23. (A number of its own for each
# of words and STOPS fits a little better, but misses a core left out by 4 instead of 1.5 minutes.)
STOPS = ("formula", "figure", "prediction", "editor")
CORE_SECONDS = SECONDS | dict.fromkeys(STOPS, 200)

WORDS = re.compile(r"\S*\w\S*")
VIEWED = re.compile(r'data-attnbook-view="([^"]*)"')
TAG = re.compile(r"<[^>]*>")
CAPTION = re.compile(r"<figcaption.*?</figcaption>", re.DOTALL)
TO_COMPLETE = re.compile(r"^\s*\.\.\.$", re.MULTILINE)
NUMBER = re.compile(r"\d+\.")
PRACTICE = "practice"  # the id of a section
KEY = "attnbook_parts"  # among what myst-nb remembers of a page
SHOWN = "attnbook_shown"  # what the environment remembers of the last build

Amounts = Counter[str]


def minutes(amounts: Amounts, seconds_of: Mapping[str, float] = SECONDS) -> int:
    """Whole minutes that a reader needs for so many words, figures, …; 0 only for nothing."""
    seconds = sum(seconds_of[name] * count for name, count in amounts.items())
    return max(1, round(seconds / 60)) if seconds else 0


@dataclass
class Parts:
    """What a page asks of its reader: core and deeper half, and the practice of both."""

    core: Amounts = field(default_factory=Counter)  # without a divider, all that is read
    deeper: Amounts = field(default_factory=Counter)
    practice: Amounts = field(default_factory=Counter)
    divided: bool = False
    practiced: bool = False  # there is a section of practice
    cells: dict[int, int] = field(default_factory=dict)  # of the core: lines of code by cell
    anchors: dict[str, str] = field(default_factory=dict)  # of the deeper half, with their titles

    @property
    def is_chapter(self) -> bool:
        """Whether the page shows its minutes; a page for reference does not."""
        return self.divided or self.practiced

    @property
    def times(self) -> tuple[int, int, int]:
        """Minutes of core, deeper half and practice."""
        core = minutes(self.core, CORE_SECONDS if self.divided else SECONDS)
        return core, minutes(self.deeper), minutes(self.practice)


def words(text: str) -> int:
    """How many words a text or a piece of code has."""
    return len(WORDS.findall(text))


def text_of(node: nodes.Node) -> str:
    """The text that a reader sees in one line; a formula is one word."""
    if isinstance(node, nodes.Text):
        return str(node.astext())
    if isinstance(node, nodes.math):
        return "x"
    if isinstance(node, nodes.raw | nodes.Invisible):
        return ""
    return "".join(map(text_of, node.children))


class Counting:
    """Counts one section of a page, in its order.

    Args:
        figures: the state of the page's figures by their names, as `live` leaves it.
    """

    def __init__(self, figures: dict[str, dict[str, Any]]) -> None:
        self.figures = figures
        self.read: Amounts = Counter()
        self.folded: Amounts = Counter()  # hints, and answers to what is written
        self.cells: dict[int, int] = {}  # lines of the code that is shown
        self.predicted = False  # whether the next answer belongs to a prediction

    def visit(self, node: nodes.Node, to: Amounts) -> None:
        """Add what a piece of the page has to these amounts."""
        if isinstance(node, nodes.raw | nodes.Invisible) or not isinstance(node, nodes.Element):
            return
        if node.get("nb_element") == "cell_code":
            self.visit_cell(node, to)
        elif node.get("design_component") == "dropdown":
            self.visit_fold(node, to)
        elif isinstance(node, nodes.math_block):
            to["formula"] += 1
        elif isinstance(node, nodes.image):
            to["picture"] += 1
        elif isinstance(node, nodes.TextElement):
            to["word"] += words(text_of(node))
            to["picture"] += len([*node.findall(nodes.image)])
            to["question"] += is_question(node)
        else:
            for child in node.children:
                self.visit(child, to)

    def visit_fold(self, fold: nodes.Element, to: Amounts) -> None:
        """Count a fold: everyone opens the answer to a prediction, and not everyone the others."""
        if "attnbook-answer" in fold["container_classes"] and self.predicted:
            self.predicted = False
        else:
            to = self.folded
        for child in fold.children[1:]:  # the first is its title
            self.visit(child, to)

    def visit_cell(self, cell: nodes.Element, to: Amounts) -> None:
        """Count the code that is shown, and the figures and tasks among the outputs."""
        self.predicted |= PREDICT in tags_of(cell)
        for bundle in nb_elements(cell, "mime_bundle"):
            self.visit_output(bundle, to)
        for source in nb_elements(cell, "cell_code_source") if SETUP not in tags_of(cell) else ():
            code = source.astext()
            to["word"] += words(code)
            to["code"] += bool(TO_COMPLETE.search(code))
            if to is not self.folded:
                self.cells[cell["cell_index"]] = len([*filter(str.strip, code.splitlines())])

    def visit_output(self, bundle: nodes.Element, to: Amounts) -> None:
        """Count the form of an output that the page shows; printed numbers are no words."""
        forms = {form.get("mime_type", ""): form for form in bundle.children}
        if VIEW in forms:
            for name in VIEWED.findall(forms[VIEW].astext()):
                self.visit_figure(self.figures.get(name, {}), to)
        elif "text/html" in forms:
            html = forms["text/html"].astext()
            to["picture"] += "<figure" in html
            to["word"] += words(unescape(TAG.sub(" ", " ".join(CAPTION.findall(html)))))
        elif "text/markdown" in forms:
            self.visit(forms["text/markdown"], to)
        else:
            to["picture"] += any(kind.startswith("image/") for kind in forms)

    def visit_figure(self, figure: dict[str, Any], to: Amounts) -> None:
        """Count a live figure, a prediction or an editor, with the words that it shows."""
        kind = figure.get("kind")
        to[kind if kind == "prediction" else "editor" if kind == "code" else "figure"] += 1
        texts = [figure.get(name, "") for name in ("action", "ask", "statement", "starter")]
        texts += [figure.get("caption", ""), *figure.get("options", []), *figure.get("labels", [])]
        to["word"] += words(" ".join(texts))


def is_question(node: nodes.Element) -> bool:
    """Whether a paragraph is a numbered question of the practice."""
    return bool(NUMBER.fullmatch(bold_start(node)))


def anchors(node: nodes.Element) -> dict[str, str]:
    """The names by which a link may lead into a part of a page; sections also have a title."""
    return {
        name: part[0].astext() if isinstance(part, nodes.section) else ""
        for part in node.findall(nodes.Element)
        for name in [*part["ids"], part.get("slug", "")]
        if name
    }


def count(page: nodes.Element, figures: dict[str, dict[str, Any]]) -> Parts:
    """Count the section that is a whole page, and store each deeper section's minutes in it."""
    parts = Parts()
    for child in [*page.children]:
        if isinstance(child, Divider):
            parts.divided, parts.anchors = True, anchors(child)
            continue
        counting = Counting(figures)
        counting.visit(child, counting.read)
        practice = isinstance(child, nodes.section) and PRACTICE in child["ids"]
        own = parts.practice if practice else parts.deeper if parts.divided else parts.core
        # Who reads on need not do the exercises: below the divider, each is practice.
        exercises = Counter(code=counting.read["code"] if own is parts.deeper else 0)
        own.update(counting.read - exercises)
        parts.practice.update(counting.folded + exercises)
        parts.practiced |= practice
        if not parts.divided:
            parts.cells |= {} if practice else counting.cells
        elif isinstance(child, nodes.section):
            parts.anchors |= anchors(child)
            child["minutes"] = minutes(
                counting.read + counting.folded if practice else counting.read
            )
    return parts


def core_time(parts: Parts) -> str:
    """How long the core of a chapter takes, or all that is read if it has no divider, in words."""
    time = parts.times[0]
    return TEXT("core_minutes" if parts.divided else "reading_minutes", minutes=time)


def times_in_words(parts: Parts) -> str:
    """How long the core, the deeper half and the practice take."""
    _, deeper, practice = parts.times
    texts = [core_time(parts)]
    texts += [TEXT("deeper_minutes", minutes=deeper)] if deeper else []
    texts += [TEXT("practice_minutes", minutes=practice)] if practice else []
    return " · ".join(texts)


def is_notebook(env: BuildEnvironment, page: str) -> bool:
    """Whether a page is written as a notebook, as chapters are."""
    return Path(env.doc2path(page)).suffix == ".ipynb"


def figures_of(env: BuildEnvironment, page: str) -> dict[str, dict[str, Any]] | None:
    """The state of a page's figures by their names; None if this build did not run the page."""
    remembered = page_data(env, page)
    if is_notebook(env, page) and "exec_data" not in remembered:
        return None
    _, script = remembered.get("js_files", {}).get("live_state", ("", {"body": "{}"}))
    figures: dict[str, dict[str, Any]] = json.loads(script["body"])
    return figures


def parts_of(env: BuildEnvironment, page: str) -> Parts | None:
    """What a page asks of its reader, if it is known."""
    parts: Parts | None = page_data(env, page).get(KEY)
    return parts


def path_total(env: BuildEnvironment, path: list[str]) -> tuple[int, int] | None:
    """Words and minutes of the short path; None while a page of it has no divider."""
    first, *cores = [parts_of(env, page) for page in path]
    if not first or not all(core and core.divided for core in cores):
        return None
    found = [first, *(core for core in cores if core)]
    return sum(each.core["word"] for each in found), sum(each.times[0] for each in found)


def count_page(app: Sphinx, tree: nodes.document) -> None:
    """Count a page that was just read."""
    page = app.env.docname
    section = first_section(tree)
    figures = figures_of(app.env, page)
    if section is None or figures is None:
        return
    parts = count(section, figures)
    parts.practiced &= is_notebook(app.env, page)
    NbMetadataCollector.set_doc_data(app.env, page, KEY, parts)


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """All pages, to be written again, if something changed that they show of one another."""
    if app.builder.format != "html":
        return []
    parts = {page: parts_of(env, page) for page in env.found_docs}
    now = {
        page: (env.titles[page].astext(), each.times, each.divided, each.anchors)
        for page, each in parts.items()
        if each
    }
    return sorted(env.found_docs) if has_changed(env, SHOWN, now) else []
