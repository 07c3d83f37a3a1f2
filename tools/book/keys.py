"""The role of keys in prose: {key}`dog` names a key of a figure by its label.

Other words name theirs as in Sphinx's references, {key}`the animal <dog>`, or by its number,
{key}`it <0>`.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import ReferenceRole

KEY = "key"  # the name that a node of a page has


class KeyRole(ReferenceRole):
    """The words in bold; the site gives them the key's colour."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Name the key."""
        node = nodes.strong(self.rawtext, self.title, **{KEY: self.target})
        self.set_source_info(node)
        return [node], []
