"""What a reader can do on a page, by the names under which the browser stores it.

A name is `KIND/ID/HASH`. The hash is that of what is asked, so that no answer is ever shown for a
question that has changed; `static/storage.js` puts the site in front of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from docutils import nodes

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
    place = cell.parent.index(cell)
    return " ".join(cell.parent[place - 1].astext().split()) if place else ""


def name_of(state: dict[str, Any], question: str, page: str) -> str:
    """The name of what a figure asks of a reader; empty if it asks nothing.

    Numbers count as finely as they are judged: another processor's last digit is no other answer.
    """
    if state["kind"] == "prediction":
        right, within = state["right"], state["within"]
        if not isinstance(right, str):
            right = [round(number / within) for number in right] if within else right
        asked = digest(question, state["ask"], state["labels"], state["options"], right)
        return f"prediction/{page_name(page)}/{asked}"
    if state["kind"] == "code":
        task = state["task"]
        cases = [[case["name"], case["arguments"]] for case in task["cases"]]
        return f"task/{task['name']}/{digest(state['statement'], cases)}"
    return ""


def begins_deeper(node: nodes.Node) -> bool:
    """Whether the divider between the core and the rest of a chapter is here."""
    if isinstance(node, nodes.raw):
        return "attnbook-divider" in node.astext()
    return isinstance(node, nodes.Element) and "deeper" in node["ids"]


def items_in(tree: nodes.document) -> list[Item]:
    """What a reader can do on a page, in its order."""
    found: dict[str, bool] = {}
    core = True
    for node in tree.findall():
        core = core and not begins_deeper(node)
        if isinstance(node, nodes.raw):
            for name in FOUND.findall(node.astext()):
                found.setdefault(name, core)
    return [Item(*pair) for pair in found.items()]
