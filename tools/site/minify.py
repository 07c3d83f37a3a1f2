"""Scripts and styles in fewer bytes, by esbuild: what they do and the names they show stay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tools.site import node

PROGRAM = Path(__file__).with_suffix(".mjs")


def minified(texts: Sequence[tuple[str, str]]) -> list[str]:
    """The same programs and styles, smaller.

    Args:
        texts: "js" or "css", and the text of it.

    Raises:
        ExtensionError: one of them is no such text.
    """
    small: list[str] = json.loads(node.run(PROGRAM, given=json.dumps(texts)))
    return small
