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


def color_keys(tree: nodes.Element) -> None:
    """Give each key the colour of its nearest figure; warn of names that no figure has."""
    parts = [part for part in tree.findall(nodes.Element) if KEY in part or LABELS in part]
    for position, node in enumerate(parts):
        if KEY not in node:
            continue
        nearest = [*reversed(parts[:position]), *parts[position:]]
        # With more keys, a figure mixes their colours.
        figures = [part[LABELS] for part in nearest if 0 < len(part.get(LABELS, [])) <= len(KEYS)]
        found = [labels.index(node[KEY]) for labels in figures if node[KEY] in labels]
        if node[KEY] in map(str, range(len(figures[0]) if figures else 0)):
            found.append(int(node[KEY]))
        if found:
            node["classes"] += [CLASS, f"{CLASS}-{found[0]}"]
        else:
            known = ", ".join(dict.fromkeys(label for labels in figures for label in labels))
            logger.warning("{key}`%s` must be one of %s", node[KEY], known, location=node)


def style() -> str:
    """The colours of keys in prose."""
    paints = "".join(f".{CLASS}-{i} {{ --paint: var(--key-{i}); }}\n" for i in range(len(KEYS)))
    return css_variables(f".{CLASS}") + paints
