"""The items that a reader can do on a page, and the names under which the browser stores them.

A name is `KIND/ID/HASH`. The hash is that of the question, so that no answer is shown for a
question that has changed; `static/storage.js` puts the site in front of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from math import floor
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from docutils import nodes

from tools.site.page_tree import Divider, start_of_question

ATTRIBUTE = "data-attnbook-item"  # of a figure on a page
FOUND = re.compile(rf'{ATTRIBUTE}="([^"]+)"')


class Item(NamedTuple):
    """A prediction or a task of a page."""

    name: str
    core: bool  # whether it comes before the divider


def page_name(page: str) -> str:
    """The name of a page: the last part of its address."""
    return PurePosixPath(page).name


def digest(*parts: object) -> str:
    """A short hash of data that JSON can hold."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]


def question_before(cell: nodes.Element) -> str:
    """The text before a cell, which puts the question that the cell asks."""
    end = cell.parent.index(cell)
    start = start_of_question(cell.parent, end, cell["cell_index"] - 1)
    texts = cell.parent[start if start < end else max(0, end - 1) : end]
    return " ".join(" ".join(text.astext() for text in texts).split())


def name_of(state: dict[str, Any], question: str, page: str) -> str:
    """The name of a figure's question or task; empty if it has none.

    Numbers count as finely as they are judged: another processor's last digit is no other answer.
    0.37, because no number of the book is there between two steps, as many are at 0 or 0.5.
    """
    if state["kind"] == "prediction":
        right, within = state["right"], state["within"]
        if not isinstance(right, str):
            right = [floor(number / within + 0.37) for number in right] if within else right
        hashed = digest(question, state["ask"], state["labels"], state["options"], right)
        return f"prediction/{page_name(page)}/{hashed}"
    if state["kind"] == "code":
        task = state["task"]
        cases = [[case["name"], case["arguments"]] for case in task["cases"]]
        return f"task/{task['name']}/{digest(state['statement'], cases)}"
    return ""


def items_in(tree: nodes.document) -> list[Item]:
    """The items of a page, in their order."""
    found: dict[str, bool] = {}
    core = True
    for node in tree.findall():
        core = core and not isinstance(node, Divider)
        if isinstance(node, nodes.raw):
            for name in FOUND.findall(node.astext()):
                found.setdefault(name, core)
    return [Item(*pair) for pair in found.items()]
