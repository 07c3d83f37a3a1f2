"""Keys in prose, in the colours of the nearest figure with this key, before them or else after."""

from __future__ import annotations

from docutils import nodes
from sphinx.util import logging

from attnbook.colors import KEYS
from tools.book.keys import KEY
from tools.site.assets.styles import KEY_CLASS

LABELS = "key_labels"  # of a figure's keys: one of its traits, and of its node on a page

logger = logging.getLogger(__name__)


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
            node["classes"] += [KEY_CLASS, f"{KEY_CLASS}-{found[0]}"]
        else:
            known = ", ".join(dict.fromkeys(label for labels in figures for label in labels))
            logger.warning("{key}`%s` must be one of %s", node[KEY], known, location=node)
