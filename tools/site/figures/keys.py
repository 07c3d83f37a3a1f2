"""Keys in prose, in the colours that a figure of their page gives them.

{key}`dog` is the key with this label in the nearest figure before it, else after it. Other words
name their key as Sphinx's references do: {key}`the animal <dog>`, or by number, {key}`it <0>`.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole

from attnbook.colors import KEYS, css_variables

KEY, LABELS = "key", "key_labels"  # what a node of a page names; LABELS is also a figure's trait
CLASS = "attnbook-key"

logger = logging.getLogger(__name__)


class KeyRole(ReferenceRole):
    """The name of a key, in bold until the page's figures are known."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Name its key."""
        node = nodes.strong(self.rawtext, self.title, **{KEY: self.target})
        self.set_source_info(node)
        return [node], []


def color_index(key: str, figures: list[list[str]]) -> int | None:
    """The number of a key's colour, from the labels of the figures, the nearest first."""
    for labels in figures:
        if key in labels:
            return labels.index(key)
    is_number = key.isdecimal() and figures and int(key) < len(figures[0])
    return int(key) if is_number else None


def color_keys(tree: nodes.Element) -> None:
    """Give each key its figure's colour; warn of names that no figure has."""
    parts = [part for part in tree.findall(nodes.Element) if KEY in part or LABELS in part]
    for position, node in enumerate(parts):
        if KEY not in node:
            continue
        nearest = [*reversed(parts[:position]), *parts[position:]]
        # With more keys, a figure mixes their colours.
        figures = [part[LABELS] for part in nearest if 0 < len(part.get(LABELS, [])) <= len(KEYS)]
        index = color_index(node[KEY], figures)
        if index is None:
            known = ", ".join(dict.fromkeys(label for labels in figures for label in labels))
            logger.warning("{key}`%s` must be one of %s", node[KEY], known, location=node)
        else:
            node["classes"] += [CLASS, f"{CLASS}-{index}"]


def style() -> str:
    """The colours of keys in prose."""
    paints = "".join(f".{CLASS}-{i} {{ --paint: var(--key-{i}); }}\n" for i in range(len(KEYS)))
    return css_variables(f".{CLASS}") + paints
